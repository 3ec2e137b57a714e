"""Less work for JAX in the tests: here alone they change what is not documented.

The tests pass without it, and take longer.
"""

import functools
import threading

from jax import config
from jax._src import compilation_cache, traceback_util  # noqa: TID251 - see remember_...
from jax._src.interpreters import mlir  # noqa: TID251 - see share_contexts


PROGRAMS = 100
REMEMBERED = 1000


def share_contexts():
    """Each thread of this process lowers many programs in one context.

    JAX 0.10 makes a context, with all dialects, for every program that it lowers. That
    is more than half the time of lowering, and a sixth of that of all tests. Later
    versions keep a context for ten programs (`_create_ir_context` makes one), and are
    left as they are. A context keeps each type and constant that it has seen: so a new
    one comes after some programs. A program that is compiled while another one is being
    lowered has its own: in the same context MLIR would write it into the other one.
    """
    if hasattr(mlir, "_create_ir_context"):
        return
    make = mlir.make_ir_context
    of_thread = threading.local()

    @functools.wraps(make)
    def shared():
        if is_lowering():
            return make()
        context, left = getattr(of_thread, "context", (None, 0))
        if not left:
            context, left = make(), PROGRAMS
        of_thread.context = context, left - 1
        return context

    mlir.make_ir_context = shared


def is_lowering():
    """Whether this thread is inside a context."""
    try:
        return mlir.ir.Context.current is not None
    except ValueError:  # "No current Context"
        return False


def remember_paths():
    """JAX asks the file system about each frame of each error, for every folder of it.

    The answer for two paths stays: asked once, it saves 3 % of the tests' time.
    """
    asked = getattr(traceback_util, "_path_starts_with", None)
    if asked is not None:  # as in the releases that were tested
        traceback_util._path_starts_with = functools.cache(asked)


def remember_programs():
    """A program that this process has compiled or loaded isn't loaded from disk again.

    Of the programs that tests ask for, a third were there before: of another function
    with the same code. JAX reads each from the cache of compiled programs, and links
    it anew. Folders of tests of this cache, which are others, are left alone.
    """
    read = getattr(compilation_cache, "get_executable_and_time", None)
    write = getattr(compilation_cache, "put_executable_and_time", None)
    if read is None or write is None:  # as in the releases that were tested
        return
    folder, programs = config.jax_compilation_cache_dir, {}

    def keep(place, program):
        if len(programs) >= REMEMBERED:
            programs.clear()
        programs[place] = program

    @functools.wraps(read)
    def read_once(key, options, backend, devices, *callbacks):
        if config.jax_compilation_cache_dir != folder or any(callbacks):
            return read(key, options, backend, devices, *callbacks)
        place = key, backend, tuple(devices)
        if place not in programs:
            found = read(key, options, backend, devices)
            if found[0] is None:
                return found
            keep(place, found)
        return programs[place]

    @functools.wraps(write)
    def write_and_keep(key, name, program, backend, seconds):
        write(key, name, program, backend, seconds)
        if config.jax_compilation_cache_dir == folder:
            keep((key, backend, tuple(program.local_devices())), (program, seconds))

    compilation_cache.get_executable_and_time = read_once
    compilation_cache.put_executable_and_time = write_and_keep
