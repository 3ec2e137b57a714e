"""Custom arrays made plain ones where no rule answers: with a warning, or refused."""

import contextlib
import contextvars
import functools
import warnings
import weakref
from collections.abc import Callable, Generator, Mapping
from typing import Any, Literal, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from .._arrays._conversion import asarray
from .._errors import MaterialiseError, MaterialiseWarning
from .._values import in_native_order, user_level
from ._custom import (
    DEPTH,
    PASSED_ON,
    all_known,
    is_custom,
    is_of_library,
    known,
    takes_part,
)
from ._names import is_wrapped
from ._retracing import settings


_P = ParamSpec("_P")
_T = TypeVar("_T")
Policy = Literal["allow", "warn", "error"]
_POLICIES = ("allow", "warn", "error")
#: A class's own policy.
POLICY = "__jfi_materialise__"

# Who calls these asks for a plain array, or for what costs nothing.
_CONVERSIONS = frozenset("array asarray item tensor to_numpy".split())
_ASKED_FOR = _CONVERSIONS | frozenset("ndim result_type shape size".split())
_METHODS = ("__jfi_array__", "__jax_array__", "materialise", "todense")
_NUMBERS = (bool, int, float, complex)
_PLAIN = (jax.Array, np.ndarray, np.generic, *_NUMBERS)
_policy: contextvars.ContextVar[Policy | None]
_policy = contextvars.ContextVar("on_materialise", default=None)
_warned: weakref.WeakKeyDictionary[type, set[str]] = weakref.WeakKeyDictionary()


@contextlib.contextmanager
def on_materialise(policy: Policy) -> Generator[None, None, None]:
    """Say what happens in this block where no rule takes a custom array.

    >>> import jfi as jnp
    >>> class Diagonal(jnp.CustomArray):
    ...     def __init__(self, diagonal): self.diagonal = diagonal
    ...     def __jfi_array__(self): return jnp.diag(self.diagonal)
    >>> with jnp.on_materialise("allow"):
    ...     jnp.sum(Diagonal(jnp.array([1.0, 2.0])))
    Array(3., dtype=float32)

    Args:
        policy: "warn" (the default) warns once for a class and a function, and uses
            the plain array; "allow" uses it; "error" raises `MaterialiseError`. It
            holds for this thread. Classes with their own `__jfi_materialise__` keep it.

    Yields:
        Nothing.

    Raises:
        ValueError: There is no such policy.
    """
    if policy not in _POLICIES:
        raise ValueError(
            f"on_materialise() got {policy!r}. Pass 'allow', 'warn' or 'error'."
        )
    token = _policy.set(policy)
    try:
        with settings(materialise=policy):
            yield
    finally:
        _policy.reset(token)


def materialise(x: Any) -> jax.Array:
    """Make the plain array that a custom array stands for.

    >>> import jfi as jnp
    >>> class Diagonal(jnp.CustomArray):
    ...     def __init__(self, diagonal): self.diagonal = diagonal
    ...     def __jfi_array__(self): return jnp.diag(self.diagonal)
    >>> jnp.materialise(Diagonal(jnp.array([1.0, 2.0])))
    Array([[1., 0.],
           [0., 2.]], dtype=float32)

    Args:
        x: An object with `__jfi_array__`, `__jax_array__`, `materialise` or `todense`;
            or an array or number, in code that takes both.

    Returns:
        What the first of these methods returns; an array of JAX as it is.

    Raises:
        MaterialiseError: It has none of them, or what they return is no array.
    """
    cls = type(x)
    if isinstance(x, _PLAIN) and not is_custom(cls):
        return x if isinstance(x, jax.Array) else asarray(x)
    for name in _METHODS:
        if hasattr(cls, name):
            return _array_of(getattr(x, name)(), x, name)
    raise MaterialiseError(
        f"a {cls.__name__} can't be made a plain array: it has no __jfi_array__(). "
        f"Write the method, or a rule: jnp.register_function({cls.__name__}, ...)."
    )


def _array_of(found: Any, x: Any, method: str) -> jax.Array:
    """What a method of `x` returned, if that is an array or stands for one."""
    if type(found) not in known and is_custom(type(found)) and found is not x:
        return materialise(found)
    if isinstance(found, _NUMBERS):
        return jnp.asarray(found)
    if found is x or not hasattr(found, "dtype"):
        what = "itself" if found is x else f"a {type(found).__name__}"
        raise MaterialiseError(
            f"{method}() of a {type(x).__name__} returned {what}, which is no plain "
            "array. Return jnp.asarray(...)."
        )
    array: jax.Array = found
    return array


def densified(
    name: str, args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with plain arrays in the place of custom ones."""
    return (
        tuple(_dense(name, x) for x in args),
        {key: x if key in PASSED_ON else _dense(name, x) for key, x in named.items()},
    )


def _dense(name: str, x: Any, depth: int = DEPTH) -> Any:
    cls = type(x)
    if cls in known:
        return x
    if is_custom(cls):
        _permit(name, x)
        dense = materialise(x)
        _warn_of_plain_array(name, x, dense)
        return dense
    if not depth:
        return x
    if issubclass(cls, dict):
        return {key: _dense(name, value, depth - 1) for key, value in x.items()}
    if issubclass(cls, (list, tuple)):
        parts = [_dense(name, value, depth - 1) for value in x]
        return cls(*parts) if hasattr(cls, "_fields") else cls(parts)
    return x


def plain_array(name: str, x: Any) -> Any:
    """The argument of a function that has no rules: no custom array, native bytes.

    Args:
        name: The function, or the method: "KDTree.query".
        x: The argument.
    """
    return in_native_order(x) if type(x) in known else _dense(name, x)


def of_plain_arrays(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """A method that gets plain arrays in the place of custom ones."""

    @functools.wraps(method)
    def call(*args: _P.args, **named: _P.kwargs) -> _T:
        if all_known(map(type, args[1:])) and all_known(map(type, named.values())):
            return method(*args, **named)
        whole: Any = method
        own = "" if method.__name__.startswith("__") else f".{method.__name__}"
        name = type(args[0]).__name__ + own
        plain, by_name = densified(name, args[1:], named)
        found: _T = whole(args[0], *plain, **by_name)
        return found

    return call


def is_conversion(name: str) -> bool:
    """Whether a function is there to make a plain array."""
    return name in _CONVERSIONS


def policy_of(cls: type, name: str) -> str:
    """What happens where a function has no rule for a class."""
    own: str | None = getattr(cls, POLICY, None)
    if name in _ASKED_FOR:
        return "allow"
    # Whoever writes __jax_array__ alone means its values to become plain arrays.
    usual = "warn" if takes_part(cls) or is_of_library(cls) else "allow"
    return own or _policy.get() or usual


def _permit(name: str, x: Any) -> None:
    cls = type(x)
    if policy_of(cls, name) == "error":
        raise MaterialiseError(
            f"{name}() has no rule for a {cls.__name__}, and making it a plain array "
            f"is not allowed here. {_instead(cls, name)}"
        )


def _instead(cls: type, name: str) -> str:
    """What to write in place of a call."""
    if not _has_rules(name):
        return "Make the plain array yourself: jnp.materialise(x)."
    return (
        f"{_line_of_rule(cls, name)} Or make the plain array yourself: {_call(name)}."
    )


def _has_rules(name: str) -> bool:
    return name == "getitem" or name.startswith("at.") or is_wrapped(name)


def _line_of_rule(cls: type, name: str) -> str:
    return f"Write the rule: jnp.register_function({cls.__name__}, {name!r}, rule)."


def _call(name: str) -> str:
    """A function or operation with the plain array."""
    if name == "getitem":
        return "jnp.materialise(x)[...]"
    if name.startswith("at."):
        return f"jnp.materialise(x).at[...]{name[2:]}(...)"
    return f"jnp.{name}(jnp.materialise(x))"


def _warn_of_plain_array(name: str, x: Any, dense: Any) -> None:
    """Warn, once for each function of a class."""
    cls = type(x)
    if policy_of(cls, name) != "warn" or name in _warned.get(cls, ()):
        return
    _warned.setdefault(cls, set()).add(name)
    size = dense.size * dense.dtype.itemsize
    line = f"{_line_of_rule(cls, name)} Or allow" if _has_rules(name) else "Allow"
    warnings.warn(
        f"{name}() has no rule for a {cls.__name__}: it became a plain array, "
        f"{dense.dtype}{list(dense.shape)} of {size:,} bytes. {line} it: "
        f"jnp.on_materialise('allow').",
        MaterialiseWarning,
        stacklevel=user_level(),
    )
