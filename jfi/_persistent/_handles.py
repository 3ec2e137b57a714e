"""Arrays that stay in a server on another machine: `on_server`.

A handle is an array to JAX and to all of jfi: a persistent function that runs on the
same server is sent its number, and whoever else asks for its values has them fetched.
"""

import contextlib
import functools
import math
import os
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray

from .._errors import RemoteError
from .._jax_internals import array_classes
from .._values import is_array, is_key
from ._environment import device_in_force
from ._store import server_module


class ServerArray(jax.Array):
    """An array that stays in a server: of `on_server`, or of a function that ran there.

    It is an array of JAX: what asks for its values, as NumPy, `print` of an element or
    a function that runs here, fetches them, once. Its type is known without.
    """

    def __init__(self, client: Any, number: int, shape: Any, dtype: Any) -> None:
        self._client, self.number, self._owner = client, number, os.getpid()
        self._value: jax.Array | None = None
        self._type: Any = ShapedArray(tuple(shape), np.dtype(dtype))

    def __del__(self) -> None:
        # A forked process has copies of what its parent goes on using.
        with contextlib.suppress(TypeError):  # `os` may be gone before, at the end
            if self.__dict__.get("_owner") == os.getpid():
                self._client.free(self.number)

    def number_at(self, client: Any) -> int | None:
        """Its number in a server; None: it is in another one."""
        return self.number if self._client is client else None

    def value(self) -> jax.Array:
        """The array, fetched.

        Raises:
            RemoteError: The server has it no more, or can't be reached.
        """
        value = self._value
        if value is None:
            with jax.enable_x64(True):  # as it is there, whatever is the world here
                self._value = value = jax.device_put(self._fetched())
        return value

    __jax_array__ = value

    def _fetched(self) -> np.ndarray[Any, Any]:
        errors = server_module("errors")
        try:
            array: np.ndarray[Any, Any] = self._client.fetch(self.number)
        except errors.ArrayGone:
            raise self.gone() from None
        except errors.ServerLost as error:
            raise self.unreachable(str(error)) from error
        return array

    def gone(self) -> RemoteError:
        """The error of an array that its server has no more."""
        return RemoteError(
            f"The server at {self._client.address} has no {self.aval.str_short()} of "
            "this handle any more: it has ended since, or has not heard of this "
            "process for a while. Make the array again, and then: "
            "params = jfi.on_server(params)."
        )

    def unreachable(self, why: str) -> RemoteError:
        """The error of an array whose server does not answer."""
        return RemoteError(
            f"An array of {self.aval.str_short()} is at {self._client.address}, and "
            f"can't be had: {why.rstrip('.')}. If the server does not come back, make "
            "the array again, and then: params = jfi.on_server(params)."
        )

    def __repr__(self) -> str:
        return f"ServerArray({self.aval.str_short()} at {self._client.address})"

    __str__ = __repr__
    __hash__: None = None  # type: ignore[assignment]  # as of all arrays

    # What is known without its values. JAX asks for all of it whenever it traces.
    format = None  # the layout in memory

    @property
    def weak_type(self) -> bool:
        """Whether its type is weak: those come back."""
        return False

    @property
    def committed(self) -> bool:
        """Whether it may not be moved."""
        return False

    _committed = committed

    @property
    def aval(self) -> Any:
        """Its type, as JAX traces it."""
        return self._type

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        shape: tuple[int, ...] = self._type.shape
        return shape

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Its dtype."""
        dtype: np.dtype[Any] = self._type.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return self.size * self.dtype.itemsize

    @property
    def sharding(self) -> Any:
        """As of an array that is free to move."""
        return jax.sharding.SingleDeviceSharding(device_in_force())

    def block_until_ready(self) -> "ServerArray":
        """Return it: a call has ended there before it has ended here."""
        return self

    def is_deleted(self) -> bool:
        """Whether it was deleted."""
        return False

    def __array__(
        self, dtype: Any = None, context: None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        make = np.array if copy else np.asarray
        return make(self.value(), dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value(), name)

    def __copy__(self) -> "ServerArray":
        return self  # nobody can change it

    def __deepcopy__(self, memo: Any) -> "ServerArray":
        return self

    def __reduce__(self) -> Any:
        return self.value().__reduce__()


def _of_values(name: str) -> property:
    """What the array of JAX answers, once it is fetched."""
    return property(lambda self: getattr(self.value(), name))


_OPERATORS = {
    f"__{name}__"
    for name in (
        *("bool", "complex", "float", "index", "int"),
        *("dlpack", "dlpack_device", "format", "iter", "len"),
    )
}
_LEFT_OUT = {*vars(ServerArray), "__doc__", "__slots__"}
for _name in ({*vars(jax.Array)} | _OPERATORS) - _LEFT_OUT:
    setattr(ServerArray, _name, _of_values(_name))


_MOST_AT_ONCE = 256 << 20  # bytes of arrays in one message, if there are several


def stored(tree: Any, client: Any) -> Any:
    """A tree whose arrays stay in a server.

    Raises:
        RemoteError: There is no server, or it takes no more.
        TypeError: The tree has no arrays.
    """
    leaves, structure = jax.tree.flatten(tree)
    is_there = [isinstance(x, ServerArray) and x.number_at(client) for x in leaves]
    places = [k for k, x in enumerate(leaves) if is_array(x) and not is_key(x)]
    if not places:
        raise TypeError(
            f"on_server() found no array in {type(tree).__name__}. Pass arrays, or "
            "lists, dicts and other pytrees of arrays; of an object of your own its "
            "attributes: model.params = jfi.on_server(model.params)."
        )
    _register()
    waiting = [k for k in places if not is_there[k]]
    while waiting:
        some = _some_of(waiting, leaves)
        waiting = waiting[len(some) :]
        # Under JAX's own rules of what 64 bits become.
        arrays = [np.asarray(leaves[k], jax.typeof(leaves[k]).dtype) for k in some]
        try:
            numbers = client.put(arrays)
        except server_module("errors").ServerLost as error:
            why = str(error).rstrip(".")
            raise RemoteError(f"Arrays can't be put there: {why}.") from error
        for k, number, array in zip(some, numbers, arrays, strict=True):
            leaves[k] = ServerArray(client, number, array.shape, array.dtype)
    return jax.tree.unflatten(structure, leaves)


def _some_of(places: Sequence[int], leaves: Sequence[Any]) -> Sequence[int]:
    """The first arrays, as many as a message should have."""
    size = 0
    for count, k in enumerate(places):
        size += leaves[k].nbytes
        if count and size > _MOST_AT_ONCE:
            return places[:count]
    return places


@functools.cache
def _register() -> None:
    register = array_classes()
    if register is None:
        raise RemoteError(
            f"on_server() has no way to make JAX {jax.__version__} take its arrays: "
            "leave params as they are, and they travel with each call."
        )
    register(ServerArray, ServerArray.value)
