"""Programs, arguments and results as bytes.

A program carries its code along: functions and classes of the user's own modules are
pickled by value, so that the server never imports a file of the user. Results carry
none: a class in them is told by its number among those that the program reaches, which
client and server count alike.
"""

import functools
import io
import pickle
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import cloudpickle
import jax

from jfi._jax_internals import Device
from jfi._jit._function import is_jitted, jit, options_of
from jfi._values import is_user_module
from jfi_server.fingerprint import Registration, register, registration

from .arrays import device_named, name_of_device, put_together, take_apart
from .protocol import NotServed


_LRU_CACHE: Any = type(functools.lru_cache(lambda: None))
_MAKES_CLASS = ("_make_skeleton_class", "_make_skeleton_enum")


def dumps_program(program: object) -> bytes:
    """Pickle a program with all the user's code that it reaches."""
    file = io.BytesIO()
    with _user_modules_by_value():
        _ProgramPickler(file, protocol=5).dump(program)
    return file.getvalue()


def dumps(value: object, shared: Sequence[object] = ()) -> bytes:
    """Pickle data.

    Args:
        value: A tree of arrays and constants.
        shared: Classes and functions that the reader has under the same numbers.

    Raises:
        pickle.PicklingError: There is code in it which the reader would not know.
    """
    file = io.BytesIO()
    _DataPickler(file, shared).dump(value)
    return file.getvalue()


def loads(data: bytes, shared: Sequence[object] = ()) -> Any:
    """Read what `dumps` or `dumps_program` wrote, for the same user only."""
    return _Unpickler(io.BytesIO(data), shared).load()


class Registrations:
    """Registers copies of pytree classes as the originals are."""

    def __init__(self, shared: Sequence[object]) -> None:
        self._how: dict[int, Registration] = {}
        for number, item in enumerate(shared):
            how = registration(item) if isinstance(item, type) else None
            if how is not None:
                self._how[number] = how

    def apply(self, shared: Sequence[Any]) -> None:
        """Register those copies that have the originals' numbers."""
        for number, how in self._how.items():
            try:
                register(shared[number], how)
            except LookupError as error:
                raise NotServed(
                    f"the pytree class {error} can't be registered in the server",
                    for_ever=True,
                ) from error


class _ProgramPickler(cloudpickle.Pickler):  # type: ignore[misc]
    def reducer_override(self, obj: Any) -> Any:
        reduced = _reduce_array(obj)
        if reduced is NotImplemented and isinstance(obj, _LRU_CACHE):
            reduced = _cached, (obj.__wrapped__, obj.cache_parameters())
        if reduced is NotImplemented and isinstance(
            obj, (jax.custom_jvp, jax.custom_vjp)
        ):
            # Their own pickled form can't be read: it calls the class without `fun`.
            reduced = type(obj), (vars(obj)["__wrapped__"],), vars(obj)
        if reduced is NotImplemented and is_jitted(obj):
            reduced = jit, (obj.__wrapped__, options_of(obj))
        if reduced is NotImplemented and isinstance(obj, _jit_type()):
            # With its attributes, which JAX leaves behind: `__wrapped__` and `lower`.
            maker, arguments, state, *_ = obj.__reduce_ex__(5)
            reduced = maker, arguments, (state, vars(obj)), None, None, _restore_jit
        if reduced is NotImplemented:
            reduced = super().reducer_override(obj)
        return _untracked(reduced)


class _DataPickler(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file, protocol=5)
        self._numbers = {id(item): number for number, item in enumerate(shared)}

    def persistent_id(self, obj: object) -> int | None:
        if isinstance(obj, (type, FunctionType)):
            return self._numbers.get(id(obj))
        return None

    def reducer_override(self, obj: Any) -> Any:
        reduced = _reduce_array(obj)
        if reduced is not NotImplemented:
            return reduced
        if super().reducer_override(obj) is not NotImplemented:
            name = getattr(obj, "__qualname__", type(obj).__qualname__)
            raise pickle.PicklingError(f"{name} is code that the reader does not know")
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, pid: Any) -> object:
        return self._shared[pid]


def _reduce_array(obj: Any) -> Any:
    if isinstance(obj, jax.Array):
        return put_together, take_apart(obj)
    if isinstance(obj, Device):
        return device_named, (name_of_device(obj),)
    return NotImplemented


def _untracked(reduced: Any) -> Any:
    """Leave out the id by which cloudpickle takes two classes for one.

    Else a class that was changed in place and sent again would change, in the server,
    under the programs that were sent before.
    """
    if (
        isinstance(reduced, tuple)
        and getattr(reduced[0], "__name__", "") in _MAKES_CLASS
    ):
        maker, (*arguments, _tracker, extra), *rest = reduced
        return maker, (*arguments, None, extra), *rest
    return reduced


@functools.cache
def _jit_type() -> Any:
    return type(jax.jit(lambda: None))


def _restore_jit(jitted: Any, state: tuple[Any, dict[str, Any]]) -> None:
    jitted.__setstate__(state[0])
    vars(jitted).update(state[1])


def _cached(fn: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(fn)


_registry_lock = threading.Lock()


@contextmanager
def _user_modules_by_value() -> Generator[None]:
    """Let cloudpickle write the code of the user's modules, instead of their names."""
    with _registry_lock:
        before = cloudpickle.cloudpickle.list_registry_pickle_by_value()
        modules = [
            module
            for name, module in list(sys.modules.items())
            # Some packages put other objects among the modules, or one under two names.
            if getattr(module, "__name__", None) == name != "__main__"
            and name not in before
            and is_user_module(name)
        ]
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in modules:
                cloudpickle.unregister_pickle_by_value(module)
