"""Callbacks of compiled programs: XLA's code has numbers in their place.

`jax.experimental.serialize_executable` writes no program that calls back to Python, as
it would pickle the callbacks. But XLA's code knows a callback by its number alone, and
takes a list of them when it is loaded. So the code is kept without them, and another
process hands over its own, in the order in which it lowers the same program.
"""

import dataclasses
import hashlib
import io
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax


class Slots(NamedTuple):
    """What a program that calls back holds of this process.

    Attributes:
        host_callbacks: The callbacks, by number.
        unordered_effects: What JAX knows of them: the effects that may run in any
            order ...
        ordered_effects: ... and those that run one after the other.
        keepalive: What has to live as long as the program.
    """

    host_callbacks: Sequence[Callable[..., Any]]
    unordered_effects: Sequence[Any] = ()
    ordered_effects: Sequence[Any] = ()
    keepalive: Sequence[Any] = ()


def slots_of(lowered: Any) -> Slots:
    """The callbacks of a program that was lowered."""
    arguments = lowered._lowering.compile_args
    return Slots(*(tuple(arguments[name]) for name in Slots._fields))


def digest_of(lowered: Any) -> str:
    """Equal for lowered programs that differ in their callbacks alone."""
    return hashlib.sha256(lowered.as_text().encode()).hexdigest()


def without_callbacks(compiled: Any) -> Any:
    """A compiled program as `serialize_executable.serialize` takes it."""
    program = compiled._executable._unloaded_executable
    empty = dataclasses.replace(program, **Slots(())._asdict())
    return types.SimpleNamespace(
        _executable=types.SimpleNamespace(_unloaded_executable=empty),
        **{name: getattr(compiled, name) for name in _OTHERS},
    )


_OTHERS = ("args_info", "_params", "_no_kwargs", "in_tree", "out_tree")


def filled(
    code: bytes, slots: Slots, arguments: Any, results: Any, device: Any
) -> Callable[..., Any]:
    """A program that was written without its callbacks.

    Args:
        code: What `serialize` made of it.
        slots: The callbacks.
        arguments: The tree of its arguments.
        results: That of its results.
        device: Where it runs.
    """
    from jax.experimental import serialize_executable

    base: Any = serialize_executable._JaxPjrtUnpickler  # pyright: ignore[reportPrivateUsage]

    class Unpickler(base):  # type: ignore[misc, unused-ignore]
        def persistent_load(self, pid: Any) -> Any:
            if pid[0] != "exec":
                return super().persistent_load(pid)
            callbacks = list(slots.host_callbacks)
            devices = self.execution_devices
            return self.backend.deserialize_executable(pid[1], devices, None, callbacks)

    loading = Unpickler(io.BytesIO(code), device.client, [device])
    empty, infos, no_kwargs = loading.load()
    program = dataclasses.replace(
        empty, **{name: list(value) for name, value in slots._asdict().items()}
    )
    make: Any = jax.stages.Compiled
    infos = arguments.unflatten(infos)
    called: Callable[..., Any] = make(
        program.load(), [], infos, results, no_kwargs=no_kwargs
    )
    return called
