"""How a draw is made, and the checks of what random functions are given."""

import functools
import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, SupportsIndex, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike

from .._arrays._config import DTypeLike, get_default_dtype, named_dtype
from .._arrays._devices import DeviceLike
from .._arrays._placement import (
    dtype_of_data,
    own_dtypes,
    place,
    put,
    refuse_wide_integers,
)
from .._errors import RandomError
from .._jax_internals import Device, at_top_level
from .._values import is_numeric
from ._in_advance import KindOfDraw
from ._seeding import one_key
from ._streams import current
from .traced import next_key_data


Sampler: TypeAlias = Callable[..., jax.Array]
Shape: TypeAlias = tuple[int, ...]

# What random functions take besides the parameters of their distribution.
Key: TypeAlias = jax.Array
Size: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None


def draw(
    caller: str,
    sampler: Sampler,
    static: tuple[Any, ...],
    dynamic: tuple[Any, ...],
    key: jax.Array | None,
    device: DeviceLike | None,
) -> jax.Array:
    """Sample once, with the key given or with the next one of the current stream."""
    if device is not None:
        return _on_device(caller, sampler, static, dynamic, key, device)
    if key is None and at_top_level():
        stream = current()
        origin, number = stream.reserve(1)
        try:
            kind = _kind(sampler, static, origin.impl)
            return kind.draw(origin, number, dynamic)
        except BaseException:
            stream.release(number + 1, number)  # a refused draw changes nothing
            raise
    drawn: jax.Array
    if key is None:
        data, impl = next_key_data()
        drawn = _with_key_data(sampler, static, impl, data, dynamic)
    else:
        drawn = _with_key(sampler, static, _one_key(key, caller), dynamic)
    return drawn


def _on_device(
    caller: str,
    sampler: Sampler,
    static: tuple[Any, ...],
    dynamic: tuple[Any, ...],
    key: jax.Array | None,
    device: DeviceLike,
) -> jax.Array:
    target = place(device, caller)
    on_device = isinstance(target, Device)
    with jax.default_device(target) if on_device else nullcontext():
        drawn = draw(caller, sampler, static, dynamic, key, None)
    return put(drawn, target, caller)


_kind = functools.lru_cache(maxsize=4096)(KindOfDraw)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _with_key(
    sampler: Sampler, static: tuple[Any, ...], key: jax.Array, dynamic: tuple[Any, ...]
) -> jax.Array:
    return sampler(key, *static, *dynamic)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _with_key_data(
    sampler: Sampler,
    static: tuple[Any, ...],
    impl: Any,
    data: jax.Array,
    dynamic: tuple[Any, ...],
) -> jax.Array:
    key = jax.random.wrap_key_data(data, impl=impl)
    return sampler(key, *static, *dynamic)


def _one_key(key: Any, caller: str) -> jax.Array:
    typed = one_key(key)
    if typed is not None:
        return typed
    what = f"shape {key.shape}" if isinstance(key, jax.Array) else repr(key)
    raise RandomError(
        f"{caller}() got key={what}, which is not one random key. Write "
        "key=jnp.key(0), or jnp.vmap over an array of keys."
    )


def parameter(data: Any, caller: str) -> Any:
    """A parameter, as an array if it is a list: NumPy's functions take lists too."""
    if not isinstance(data, (list, tuple)):
        refuse_wide_integers(data, caller)
        return data
    dtype = dtype_of_data(None, data, caller)
    # JAX would trace known numbers too, which could no longer be checked.
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(data)):
        return jnp.asarray(data, dtype)
    known = np.asarray(data, dtype)
    if not is_numeric(known.dtype):
        raise TypeError(
            f"{caller}() got a list of other things than numbers. "
            "Draw positions in it: jnp.randint(len(names), (3,))."
        )
    refuse_wide_integers(known, caller)
    return known


def shape_from(caller: str, *size: Any) -> Shape:
    """The shape given as ints or as one tuple of ints."""
    if len(size) == 1 and type(size[0]) is int and size[0] >= 0:
        return size  # in most calls: no need to look further
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    return _shape(caller, size, f"{caller}(2, 3) or {caller}((2, 3))")


def _shape(caller: str, size: tuple[Any, ...], instead: str) -> Shape:
    try:
        if any(isinstance(n, bool) for n in size):
            raise TypeError  # an option in the place of a size
        shape = tuple(map(operator.index, size))
    except TypeError as error:
        if any(isinstance(n, Tracer) for n in size):
            raise  # JAX explains best what a traced size means
        raise TypeError(
            f"{caller}() got the size {size}, whose parts are not all ints. "
            f"Write {instead}."
        ) from error
    if any(n < 0 for n in shape):
        raise ValueError(f"{caller}() got the size {shape}; a size is 0 or more.")
    return shape


def count_from(caller: str, n: Any) -> int:
    """A number of elements."""
    if isinstance(n, (tuple, list)):
        raise TypeError(f"{caller}() got {n!r}; it takes one int.")
    return _shape(caller, (n,), f"{caller}(3)")[0]


def number_from(a: Any) -> int | None:
    """The n of which `choice` draws from 0 to n - 1; None for an array of choices."""
    if isinstance(a, (jax.Array, np.ndarray)) and not isinstance(a, Tracer):
        is_number = a.ndim == 0 and jnp.issubdtype(a.dtype, np.integer)
        return int(a) if is_number else None
    return int(a) if isinstance(a, (int, np.integer)) else None


def drawn_shape(caller: str, size: Any, *parameters: ArrayLike) -> Shape:
    """The shape asked for; if none, that of the parameters together."""
    shapes = [np.shape(x) for x in parameters]
    if size is None:
        return np.broadcast_shapes(*shapes)
    size = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    shape = _shape(caller, size, "size=(2, 3)")
    for own in shapes:
        if not _fits(own, shape):
            raise ValueError(
                f"{caller}() got a parameter of shape {own}, which does not fit the "
                f"size {shape}. Leave the size out, or write one that ends in {own}."
            )
    return shape


def _fits(own: Shape, shape: Shape) -> bool:
    """Whether an array of one shape broadcasts to another, its dimensions last."""
    return len(own) <= len(shape) and all(
        a in (1, b) for a, b in zip(own[::-1], shape[::-1], strict=False)
    )


def float_for(dtype: DTypeLike, caller: str, *data: ArrayLike) -> np.dtype[Any]:
    """The float dtype asked for, that of float arrays in the data, or the default."""
    if any(np.iscomplexobj(x) for x in data):
        raise TypeError(
            f"{caller}() got a complex number for a parameter; it takes real ones. "
            "Draw the real and the imaginary part."
        )
    if dtype is not None:
        return _of_kind(dtype, np.floating, "a float", caller)
    floats = [own for own in own_dtypes(data) if jnp.issubdtype(own, np.floating)]
    return jnp.result_type(*floats) if floats else get_default_dtype()


def inexact_for(dtype: DTypeLike, caller: str) -> np.dtype[Any]:
    """The float or complex dtype asked for, or the default float dtype."""
    if dtype is None:
        return get_default_dtype()
    return _of_kind(dtype, np.inexact, "a float or complex", caller)


def integer_for(dtype: DTypeLike, caller: str) -> np.dtype[Any]:
    """The integer dtype asked for, or the widest that JAX allows."""
    kind = int if dtype is None else dtype
    return _of_kind(kind, np.integer, "an integer", caller)


def _of_kind(dtype: DTypeLike, kind: Any, words: str, caller: str) -> np.dtype[Any]:
    named = named_dtype(dtype, caller)
    if not jnp.issubdtype(named, kind):
        raise TypeError(f"{caller}() got dtype={named.name}; it draws {words} dtype.")
    return named


def check_bounds(
    value: ArrayLike, allowed: Callable[[Any], Any], caller: str, name: str, words: str
) -> None:
    """Refuse a parameter that is out of bounds; a traced one can't be looked at."""
    if isinstance(value, Tracer):
        return
    if not np.all(allowed(np.asarray(value))):
        raise ValueError(f"{caller}() got {name}={value}, which is not {words}.")


def check_width(low: Any, high: Any, dtype: np.dtype[Any], caller: str) -> None:
    """Refuse an interval so wide that its width overflows."""
    if isinstance(low, Tracer) or isinstance(high, Tracer):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        width = np.asarray(high).astype(dtype) - np.asarray(low).astype(dtype)
        finite = np.isfinite(width)
    if not np.all(finite):
        raise ValueError(
            f"{caller}() got low={low} and high={high}, which are infinite or too far "
            f"apart for {dtype.name}."
        )


def check_order(low: Any, high: Any, *, strict: bool, caller: str) -> None:
    """Refuse an interval without numbers in it."""
    if isinstance(low, Tracer) or isinstance(high, Tracer):
        return
    compare = np.less if strict else np.less_equal
    if not np.all(compare(np.asarray(low), np.asarray(high))):
        raise ValueError(
            f"{caller}() got low={low} and high={high}; "
            f"low is {'below' if strict else 'at most'} high."
        )


def check_probabilities(p: Any, without_replacement: int | None, caller: str) -> None:
    """Refuse what is no distribution, or has too few elements to draw so many."""
    if isinstance(p, Tracer):
        return
    dtype, exact = jnp.result_type(p), np.asarray(p, np.float64)
    near = 1e-4
    if jnp.issubdtype(dtype, np.floating):  # each element is rounded in its own dtype
        near = max(near, float(jnp.finfo(dtype).eps))  # type: ignore[no-untyped-call]
    check_bounds(exact, lambda q: q >= 0, caller, "p", "0 or more")
    check_bounds(exact, lambda q: abs(q.sum() - 1) < near, caller, "p", "of sum 1")
    likely = np.count_nonzero(exact)
    if without_replacement is not None and without_replacement > likely:
        raise ValueError(
            f"{caller}() got p with {likely} elements above 0, too few to draw "
            f"{without_replacement} without replacement."
        )
