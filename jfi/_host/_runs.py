"""Runs of host functions: eagerly without XLA, and by XLA's callback.

Things that don't work, and why (JAX 0.10.2, measured with one core):

- `jax.pure_callback` on the CPU. It hands over JAX arrays (jax-ml/jax#21526); with
  arguments of 4 to 16 MB, 10 of 12 runs hung in `np.asarray`. With two cores none did.
- JAX inside the function. With 16 MB every kind of callback hangs: the function waits
  for the thread that waits for it (jax-ml/jax#24255; more in jax-ml/jax#25861).
- `jax_cpu_enable_async_dispatch=False`. It helps, but only if it is set before JAX has
  looked for its devices.
- `buffer_callback` on a GPU for NumPy: "Buffer.__array__ is only supported on CPU"
  (jax-ml/jax#38173).
- Views that a function keeps, or writes into. The memory is valid during the call only:
  what was kept reads as garbage later, and what it writes changes an array of JAX. So
  views are read-only, and functions that `may_write` get copies.
- A call with several results that is all that the body of a loop does, in the order of
  its state. XLA takes the call for the tuple of the state: the loop hangs, or XLA dies
  compiling ("while_body_root->opcode() == HloOpcode::kTuple"). So there is a barrier.
- Large results by `jnp.asarray`: it copies at a quarter of the speed of NumPy. Memory
  with the alignment of XLA is taken as it is, by DLPack; NumPy's own has another one.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from .._errors import RandomError
from .._jax_internals import (
    at_top_level,
    called_on_buffers,
    note_host_call,
    recorded,
)
from .._random._streams import DrawnOutOfOrder, out_of_order, without_draws
from ._forms import (
    NUMPY,
    SHARED_BYTES,
    Result,
    aligned,
    checked,
    from_numpy,
    handed_over,
)
from ._functions import HostFunction, results_of
from ._pages import LARGE_BYTES, ask_for_large_pages


def runs_now(arguments: Sequence[Any]) -> bool:
    """Whether a host function can be called on these values at once, without XLA."""
    traced = any(isinstance(argument, Tracer) for argument in arguments)
    return not traced and at_top_level()


def run_now(function: HostFunction, arguments: Sequence[Any]) -> list[jax.Array]:
    """Call a function on values: its exceptions pass through as they are."""
    # Eager vmap and grad hand on NumPy arrays as they came, with x64 off float64 too.
    arrays = [a if isinstance(a, jax.Array) else jnp.asarray(a) for a in arguments]
    specs = results_of(function, arrays)
    form = function.form
    views = form.views(arrays)
    if function.may_write:
        views = [form.copy(view) for view in views]
    device = device_of(arrays)
    if _fills(function, specs) and all(s.nbytes >= SHARED_BYTES for s in specs):
        out = [aligned(s.shape, s.dtype) for s in specs]
        function.run_into(out, *views)
        return [handed_over(memory, device) for memory in out]
    return form.to_jax(function.run(*views), specs, device, function.name)


def _fills(function: HostFunction, results: Sequence[Result]) -> bool:
    """Whether a function writes its results itself, in the dtypes that JAX wants."""
    return function.writes_out and all(
        result.dtype == result.declared for result in results
    )


def device_of(arrays: Sequence[jax.Array]) -> Any:
    """The one device to which arguments are committed; None where there is not one."""
    found: set[Any] = set()
    for array in arrays:
        if array.committed:
            found |= array.devices()
    return found.pop() if len(found) == 1 else None


def to_jax(values: Sequence[Any], arguments: Sequence[Any]) -> list[jax.Array]:
    """Turn fresh NumPy arrays into JAX arrays on the device of the arguments.

    The memory is JAX's from here on: the caller must not write into it again.
    """
    device = device_of([a for a in arguments if isinstance(a, jax.Array)])
    return [
        from_numpy(value, jax.dtypes.canonicalize_dtype(value.dtype), device)
        for value in values
    ]


def staged(
    function: HostFunction, specs: Sequence[Any], *, on_cpu: bool
) -> Callable[..., Any]:
    """A function of JAX arrays that makes XLA call a host function when it runs.

    Args:
        function: What to call.
        specs: Those of the arguments, or arrays.
        on_cpu: Whether XLA runs on the CPU, so that the function sees its memory.
            Otherwise arrays come to the host and go back.
    """
    # The ways differ in one thing each, and are written out: they run in XLA's threads
    # at every call, where what is the same in all calls has been decided before. So the
    # branches on `copies`, `fills` and `form` stand twice, and cost a test of a local.
    note_host_call()
    viewers = [function.form.viewer(spec.dtype) for spec in specs]
    with refusing_draws(function.name):
        declared = results_of(function, specs)
    # Looked up now: in XLA's threads this thread's 64-bit setting is not in force.
    run, form, name, copies = (
        function.run,
        function.form,
        function.name,
        function.may_write,
    )

    fills = _fills(function, declared)
    large = [k for k, r in enumerate(declared) if r.nbytes >= LARGE_BYTES]

    def on_buffers(_: object, *buffers: Any) -> tuple[()]:
        try:
            arrays = [buffer.__array__() for buffer in buffers]
            views = [view(array) for view, array in zip(viewers, arrays)]  # noqa: B905
            out = arrays[len(viewers) :]
            if copies:
                views = list(map(form.copy, views))
            for k in large:
                ask_for_large_pages(out[k])
            if fills:
                function.run_into(out, *views)
            else:
                form.write(run(*views), out, declared, name)
        except DrawnOutOfOrder:
            raise recorded(_drawn(name)) from None
        except BaseException as error:
            # XLA knows of no exceptions: `original` finds this one by its number.
            raise recorded(error) from error
        return ()

    def on_host(*arrays: Any) -> Any:
        try:
            pairs = zip(viewers, map(np.asarray, arrays), strict=True)
            views = [view(array) for view, array in pairs]
            if copies:
                views = list(map(form.copy, views))
            with refusing_draws(name):
                values = run(*views)
            if form is NUMPY:
                return checked(values, declared, name)
            return form.to_jax(values, declared, None, name)
        except BaseException as error:
            raise recorded(error) from error

    if on_cpu:
        on_cpu_buffers = _barred(on_buffers) if function.may_draw else on_buffers
        called: Callable[..., Any] = called_on_buffers(on_cpu_buffers, declared)
        if len(declared) == 1:
            return called
        return lambda *arrays: jax.lax.optimization_barrier(called(*arrays))

    def elsewhere(*arrays: jax.Array) -> Any:
        return jax.pure_callback(on_host, declared, *arrays)

    return elsewhere


def _barred(call: Callable[..., tuple[()]]) -> Callable[..., tuple[()]]:
    """A call that must not draw: as `without_draws`, in a microsecond less."""

    def barred(*arguments: Any) -> tuple[()]:
        thread = get_ident()
        is_nested = thread in out_of_order
        out_of_order.add(thread)
        try:
            return call(*arguments)
        finally:
            if not is_nested:
                out_of_order.discard(thread)

    return barred


@contextmanager
def refusing_draws(name: str) -> Generator[None]:
    """Refuse a host function that draws while compiled code runs.

    The code around it has set its numbers aside before, and XLA's thread does not know
    which stream is current: the function would draw other numbers than in plain Python.
    """
    try:
        with without_draws():
            yield
    except DrawnOutOfOrder:
        raise _drawn(name) from None


def _drawn(name: str) -> RandomError:
    return RandomError(
        f"{name} draws random numbers of jfi, and compiled code calls it, which can't "
        "tell which come next. Draw outside of it, and pass them as an argument: "
        "noise=jnp.randn(3)."
    )
