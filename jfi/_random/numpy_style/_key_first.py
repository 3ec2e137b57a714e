"""One name, two ways to call: as in NumPy, or as in `jax.random` with a key first."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeAlias, cast, overload

import jax
import numpy as np

from ..._errors import RandomError
from ..._jax_internals import setting
from ..._values import is_key


Ours = ParamSpec("Ours")
Theirs = ParamSpec("Theirs")

# How many words the keys of the implementations of JAX have that are in use without
# types. A single word would be taken for any column of numbers.
_OLD_WORDS = (2, 4)


class KeyFirst(Protocol[Ours, Theirs]):
    """A random function as NumPy calls it, or as `jax.random` does."""

    @overload
    def __call__(self, *args: Ours.args, **kwargs: Ours.kwargs) -> jax.Array: ...
    @overload
    def __call__(self, *args: Theirs.args, **kwargs: Theirs.kwargs) -> jax.Array: ...


# An alias: of the same written out jedi shows `KeyFirst(*args, **kwargs)` to users.
Decorator: TypeAlias = Callable[[Callable[Ours, jax.Array]], KeyFirst[Ours, Theirs]]


def key_first(
    theirs: Callable[Theirs, Any], *, takes_arrays: bool = True
) -> Decorator[Ours, Theirs]:
    """Let a function be that of `jax.random` wherever a key comes first.

    Args:
        theirs: The function of `jax.random`.
        takes_arrays: Whether the first argument of ours can be an array, for which
            old keys in rows, a uint32 array, could be taken.
    """
    as_in_jax: Callable[..., Any] = theirs

    def decorate(ours: Callable[Ours, jax.Array]) -> KeyFirst[Ours, Theirs]:
        name = ours.__name__
        own = frozenset(inspect.signature(ours).parameters)
        plain: Callable[..., jax.Array] = ours

        @functools.wraps(ours)
        def either(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], jax.Array):
                first = args[0]
                if is_key(first) or is_old_key(first):
                    return as_in_jax(*args, **kwargs)
                if _may_be_old_keys(first):
                    if not takes_arrays:
                        return as_in_jax(*args, **kwargs)
                    raise _ambiguous(name, first, next(iter(own_names(ours))))
            if not own.issuperset(kwargs) and _names_of(theirs).issuperset(kwargs):
                if "key" in kwargs:
                    return as_in_jax(*args, **kwargs)
                raise _keyless(name, sorted(set(kwargs) - own))
            return plain(*args, **kwargs)

        return cast("KeyFirst[Ours, Theirs]", either)

    return decorate


def key_by_name(ours: Callable[Ours, jax.Array]) -> Callable[Ours, jax.Array]:
    """Refuse a key in the first place: `jax.random` has no function of this name."""
    name = ours.__name__

    @functools.wraps(ours)
    def checked(*args: Ours.args, **kwargs: Ours.kwargs) -> jax.Array:
        if args and (is_key(args[0]) or is_old_key(args[0])):
            raise RandomError(
                f"random.{name}() got a random key for "
                f"{next(iter(own_names(ours)))}; jax.random has no {name}. "
                f"Write jnp.random.{name}(..., key=key)."
            )
        if args and _may_be_old_keys(args[0]):
            raise _ambiguous(name, args[0], next(iter(own_names(ours))))
        return ours(*args, **kwargs)

    return checked


def own_names(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


@functools.cache
def _names_of(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(own_names(function))


def is_old_key(x: Any) -> bool:
    """Whether an array of JAX is a key without a type, as `jax.random.PRNGKey` makes.

    In place of one it can't be data: what NumPy made of uint32 is.
    """
    return (
        isinstance(x, jax.Array)
        and x.dtype == np.uint32
        and x.ndim == 1
        and x.shape == _shape_of_old_keys(setting("jax_default_prng_impl"))
    )


@functools.cache
def _shape_of_old_keys(implementation: str) -> tuple[int, ...]:
    make = functools.partial(jax.random.PRNGKey, impl=implementation)
    shape: tuple[int, ...] = jax.eval_shape(make, 0).shape
    return shape


def _may_be_old_keys(x: Any) -> bool:
    """Whether an array holds rows of them, or a key of another implementation."""
    return (
        isinstance(x, jax.Array)
        and x.dtype == np.uint32
        and x.ndim >= 1
        and x.shape[-1] in _OLD_WORDS
    )


def _ambiguous(name: str, x: Any, first: str) -> RandomError:
    return RandomError(
        f"random.{name}() got a uint32 array of shape {x.shape} in the first place, "
        "which may be old keys or data. Write jnp.random.wrap_key(keys) for "
        f"keys, or {name}({first}=...) for data."
    )


def _keyless(name: str, theirs: list[str]) -> TypeError:
    return TypeError(
        f"random.{name}() got {', '.join(theirs)} without a key. "
        f"Write jnp.random.{name}(key, {theirs[0]}=...) as in jax.random, "
        "or size=(2, 3) and NumPy's names of the parameters."
    )
