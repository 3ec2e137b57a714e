"""The form in which a library sees JAX's memory, and JAX its results."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._errors import CallbackError
from .._jax_internals import copied_from_host, uncommitted
from .._values import array_label


Spec = jax.ShapeDtypeStruct

# Larger results are handed to JAX without a copy, smaller ones with: it is faster.
SHARED_BYTES = 524_288
_ALIGNMENT = 64  # of memory that XLA takes as it is


@dataclass(frozen=True)
class Result:
    """What a result looks like: its dtype in JAX, and the one that was declared.

    They differ where JAX has no 64-bit types. Values of either are accepted.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    declared: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        return math.prod(self.shape) * self.dtype.itemsize


class Form:
    """How arrays cross the border: a subclass for each library."""

    def viewer(self, dtype: np.dtype[Any]) -> Callable[[NDArray[Any]], Any]:
        """What makes an array of the library in the memory of one of NumPy of a dtype.

        That is JAX's own memory, or XLA's, which is valid during the call only.
        """
        raise NotImplementedError

    def views(self, arrays: Sequence[jax.Array]) -> list[Any]:
        """Arrays of the library in the memory of JAX's."""
        return [self.viewer(array.dtype)(np.asarray(array)) for array in arrays]

    def copy(self, view: Any) -> Any:
        """A copy of such an array, into which a function may write."""
        raise NotImplementedError

    def write(
        self,
        values: Sequence[Any],
        out: Sequence[NDArray[Any]],
        results: Sequence[Result],
        name: str,
    ) -> None:
        """Copy results into the memory of XLA.

        Raises:
            CallbackError: They are not as declared: see `mismatch`.
        """
        raise NotImplementedError

    def to_jax(
        self, values: Sequence[Any], results: Sequence[Result], device: Any, name: str
    ) -> list[jax.Array]:
        """Results as JAX arrays, committed to a device, or to none (None).

        A list is nobody else's: what JAX takes over may be taken out of it.

        Raises:
            CallbackError: They are not as declared: see `mismatch`.
        """
        raise NotImplementedError


class NumpyForm(Form):
    """NumPy arrays: read-only views of JAX's memory."""

    def viewer(self, dtype: np.dtype[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """See `Form.viewer`."""
        return _read_only

    def copy(self, view: NDArray[Any]) -> NDArray[Any]:
        """See `Form.copy`."""
        return np.array(view)

    def write(
        self,
        values: Sequence[Any],
        out: Sequence[NDArray[Any]],
        results: Sequence[Result],
        name: str,
    ) -> None:
        """See `Form.write`."""
        arrays = checked(values, results, name)
        for array, memory in zip(arrays, out, strict=True):
            memory[...] = array

    def to_jax(
        self, values: Sequence[Any], results: Sequence[Result], device: Any, name: str
    ) -> list[jax.Array]:
        """See `Form.to_jax`."""
        arrays = checked(values, results, name)
        pairs = zip(arrays, results, strict=True)
        return [from_numpy(array, result.dtype, device) for array, result in pairs]


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


NUMPY = NumpyForm()


def checked(
    values: Sequence[Any] | None, results: Sequence[Result], name: str
) -> list[NDArray[Any]]:
    """Results as NumPy arrays of the declared shapes and of dtypes that fit.

    Raises:
        CallbackError: They are not as declared.
    """
    arrays = [] if values is None else [np.asarray(value) for value in values]
    fits = len(arrays) == len(results)
    as_they_are = True
    # Not a generator: this is on the way of every small call.
    for array, result in zip(arrays, results, strict=False):
        if array.shape != result.shape:
            fits = False
        elif array.dtype != result.dtype:
            as_they_are = False
            fits &= _native(array.dtype) == _native(result.declared)
    if not fits:
        mismatch(name, [describe(a.shape, a.dtype) for a in arrays], results)
    if as_they_are:
        return arrays
    pairs = zip(arrays, results, strict=True)
    return [narrowed(array, name, result.dtype) for array, result in pairs]


def narrowed(
    value: NDArray[Any],
    name: str,
    dtype: np.dtype[Any] | None = None,
    verb: str = "returned",
) -> NDArray[Any]:
    """A value in the dtype that JAX gives it.

    Args:
        value: Any array.
        name: What the user calls the function, for messages.
        dtype: That of JAX.
        verb: What the function did with the value, for messages.

    Raises:
        CallbackError: It has an integer that does not fit: it is not cut.
    """
    dtype = canonical(value.dtype) if dtype is None else dtype
    if value.dtype == dtype:
        return value
    if value.dtype.kind in "iu" and value.size:
        bounds = np.iinfo(dtype)
        least, most = int(value.min()), int(value.max())
        if least < bounds.min or most > bounds.max:
            message = (
                f"{name} {verb} the integer {most if most > bounds.max else least}, "
                f"which does not fit into {dtype}. Allow 64-bit types: "
                'jnp.set_default_dtype("float64").'
            )
            raise CallbackError(message)
    return value.astype(dtype)


def mismatch(name: str, got: Sequence[str], results: Sequence[Result]) -> NoReturn:
    """Refuse results that are not as declared.

    Raises:
        CallbackError: Always.
    """
    wanted = ", ".join(describe(r.shape, r.declared) for r in results)
    message = (
        f"{name} returned {', '.join(got) or 'nothing'}, where {wanted} was declared "
        "or inferred before. Shapes and dtypes may depend on those of the arguments "
        "only: return arrays of one shape, for example padded ones with a mask. "
        "If what the function reads has changed since, wrap and compile it again."
    )
    raise CallbackError(message)


def from_numpy(value: NDArray[Any], dtype: DTypeLike, device: Any) -> jax.Array:
    """A NumPy array as a JAX array that nobody can write into any more.

    `jnp.array` copies large arrays at a quarter of the speed of NumPy.
    """
    if value.nbytes < SHARED_BYTES:
        array = copied_from_host(value, dtype)
        return array if device is None else jax.device_put(array, device)
    memory = aligned(value.shape, dtype)
    memory[...] = value
    return handed_over(memory, device)


def handed_over(memory: NDArray[Any], device: Any) -> jax.Array:
    """Memory of `aligned` as a JAX array."""
    if is_numpys(memory.dtype):
        array = jax.dlpack.from_dlpack(memory)
        return uncommitted(array) if device is None else jax.device_put(array, device)
    # NumPy hands on none of the others.
    array = jnp.array(memory)
    return array if device is None else jax.device_put(array, device)


def is_numpys(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of NumPy's own: bfloat16 and its like are not."""
    return dtype.isbuiltin == 1


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An empty array in memory that XLA takes as it is: NumPy's has 16-byte bounds."""
    size = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def canonical(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype that JAX gives an array of this dtype: 32-bit where x64 is off.

    Its bytes are in the order of this machine: JAX would take others for native ones.
    """
    return _native(np.dtype(jax.dtypes.canonicalize_dtype(dtype)))


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def describe(shape: tuple[int, ...], dtype: DTypeLike) -> str:
    """A shape and dtype as JAX prints them: `float32[2,3]`."""
    return array_label(shape, np.dtype(dtype))
