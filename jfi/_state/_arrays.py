"""Arrays of a state: as NumPy stores them, and what JAX has besides."""

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from .._arrays._weak_types import weakly_typed
from .._errors import StateError
from .._values import array_label, is_key


def stored(x: Any, path: str) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """An array as NumPy writes it, and the rest in words.

    Raises:
        StateError: It holds Python objects, or is spread over other processes.
    """
    if isinstance(x, jax.Array) and not x.is_fully_addressable:
        raise StateError(
            f"{path} is spread over several processes. Save it with orbax, or gather "
            "it: jax.experimental.multihost_utils.process_allgather(x, tiled=True)."
        )
    words: dict[str, Any] = {"of": _whose_array(x)}
    if is_key(x):
        words["key"] = str(jax.random.key_impl(x))
        x = jax.random.key_data(x)
    elif isinstance(x, jax.Array) and x.weak_type:
        words["weak"] = True
    array = np.asarray(x)
    if array.dtype.hasobject:
        raise StateError(
            f"{path} is a NumPy array of Python objects. Save a list of them."
        )
    words["dtype"] = array.dtype.name
    if _is_extension(array.dtype):  # NumPy would write it as memory without a type
        array = array.view(f"u{array.dtype.itemsize}")
    if not _is_readable(array.dtype):
        raise StateError(
            f"{path} is a NumPy array of {array.dtype}, which can't be read from a "
            "file again. Save its fields one by one, in a dict."
        )
    return array, words


def restored(
    array: np.ndarray[Any, Any], words: dict[str, Any], like: Any, path: str
) -> Any:
    """The array again: on the devices of `like`, where that has chosen some.

    Raises:
        StateError: JAX has no such dtype here.
    """
    if _is_extension(np.dtype(getattr(ml_dtypes, words["dtype"], array.dtype))):
        array = array.view(getattr(ml_dtypes, words["dtype"]))
    if words["of"] == "numpy":
        return array
    if words["of"] == "number":
        return array[()]
    if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
        raise StateError(
            f"{path} is {array.dtype} in the file, and JAX has no 64-bit types here. "
            'Write jnp.set_default_dtype("float64") at the start.'
        )
    found = jnp.asarray(array)
    if "key" in words:
        found = jax.random.wrap_key_data(found, impl=words["key"])
    elif words.get("weak"):
        found = weakly_typed(found)
    sharding = getattr(like, "sharding", None)
    chosen = getattr(like, "committed", True)  # a ShapeDtypeStruct says so at once
    return jax.device_put(found, sharding) if sharding and chosen else found


def form(x: Any) -> str:
    """Shape and dtype, as JAX prints them: `float32[2,3]`."""
    return array_label(x.shape, x.dtype.name)


def form_in_file(array: np.ndarray[Any, Any], words: dict[str, Any]) -> str:
    """The same of a stored array."""
    if "key" in words:
        key = jax.random.key(0, impl=words["key"])
        data = jax.random.key_data(key).ndim
        shape = array.shape[: array.ndim - data]
        return array_label(shape, key.dtype.name)
    return array_label(array.shape, words["dtype"])


def _whose_array(x: Any) -> str:
    if isinstance(x, jax.Array):
        return "jax"
    return "number" if isinstance(x, np.generic) else "numpy"


def _is_extension(dtype: np.dtype[Any]) -> bool:
    # Not by its kind: float8_e5m2 has that of NumPy's own floats, unlike all others.
    return dtype.isbuiltin == _REGISTERED and hasattr(ml_dtypes, dtype.name)


_REGISTERED = 2  # with NumPy, by another library


def _is_readable(dtype: np.dtype[Any]) -> bool:
    """Whether a file says which dtype this is: of bfloat16 in a field it does not."""
    try:
        found = np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(dtype))
    except (TypeError, ValueError):
        return False
    return found == dtype
