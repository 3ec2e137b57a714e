"""Rules: what a function does with arrays of a class."""

import builtins
import difflib
import sys
from collections.abc import Callable
from typing import Any, TypeVar, overload

import jax
import numpy as np
from jax.core import Tracer

from .._values import full_name
from ._active import replace_active
from ._calls import Function
from ._custom import is_beside, make_rules, rules_for
from ._materialising import densified
from ._names import PLACES, TORCH, functions_of, is_wrapped, qualified
from ._namespace import OPERATIONS, functions, wrapped
from ._retracing import rule_changes
from ._swapping import present, swap_for_good


Rule = TypeVar("Rule", bound=Callable[..., Any])


@overload
def register_function(
    cls: type, fn: Callable[..., Any] | str, rule: Rule, *, wrap: bool = False
) -> Rule: ...
@overload
def register_function(
    cls: Callable[..., Any] | str, fn: Rule, rule: None = None, *, wrap: bool = False
) -> Rule: ...
@overload
def register_function(
    cls: type, fn: Callable[..., Any] | str, rule: None = None, *, wrap: bool = False
) -> Callable[[Rule], Rule]: ...
def register_function(
    cls: type | Callable[..., Any] | str,
    fn: Callable[..., Any] | str,
    rule: Callable[..., Any] | None = None,
    *,
    wrap: bool = False,
) -> Any:
    """Say what a function of jfi does with arrays of a class.

    The rule gets the required arguments by position and the others by keyword, without
    those that are the default: `sum(x, 0)`, `sum(x, axis=0)` and `np.sum(x, 0)` are all
    `rule(x, axis=0)`. Compiled functions that hold another rule are traced again.

    >>> import jfi as jnp
    >>> class Diagonal(jnp.CustomArray):
    ...     def __init__(self, diagonal): self.diagonal = diagonal
    >>> @jnp.register_function(Diagonal, jnp.trace)
    ... def trace(x):
    ...     return jnp.sum(x.diagonal)
    >>> jnp.trace(Diagonal(jnp.array([1.0, 2.0])))
    Array(3., dtype=float32)

    `register_function("linalg.svd", new)`, without a class, swaps a function for good,
    as `override` does for a block: for all arrays, in all threads.

    Args:
        cls: The class; its subclasses follow the rule, too. Or a function of jfi, or
            its name, for which `fn` is called from now on.
        fn: A function of jfi, `jax.numpy` or NumPy, or its name: "linalg.det". The
            name "getitem" stands for `x[...]` of a `CustomArray`, "at.set" for
            `x.at[...].set(values)`.
        rule: Gets the arguments; it may return NotImplemented, and the next rule is
            asked. Without it, this is a decorator.
        wrap: Whether `rule` makes the rule from the one before.

    Returns:
        The rule, or the decorator.

    Raises:
        TypeError: Arrays of JAX and NumPy have no rules, and what is no class; or the
            rule is no function.
        ValueError: There is no such function.
    """
    if not isinstance(cls, type) and callable(fn) and rule is None:
        swapped = function_of(cls)
        if swapped.name in OPERATIONS:
            raise ValueError(
                f"register_function() got {cls!r}, which is no function but an "
                "operation. Name a class: register_function(MyArray, ...)."
            )
        swap_for_good(swapped, fn(present(swapped)) if wrap else fn)
        return fn
    cls = _class(cls)
    function = function_of(fn)
    if rule is None:
        return lambda later: register_function(cls, fn, later, wrap=wrap)
    new = _callable(rule)(_rule_before(cls, function)) if wrap else rule
    make_rules(cls)[function.rule] = _callable(new)
    if is_beside(cls):
        replace_active(f"{full_name(cls)} {function.rule}", new)
    rule_changes(cls, function.rule)
    return rule


def implements(fn: Callable[..., Any] | str, *classes: type) -> Callable[[Rule], Rule]:
    """Decorate a rule of a function for some classes: see `register_function`.

    >>> import jfi as jnp
    >>> class Diagonal(jnp.CustomArray):
    ...     def __init__(self, diagonal): self.diagonal = diagonal
    >>> @jnp.implements("linalg.det", Diagonal)
    ... def det(x):
    ...     return jnp.prod(x.diagonal)
    >>> jnp.linalg.det(Diagonal(jnp.array([2.0, 3.0])))
    Array(6., dtype=float32)

    Args:
        fn: A function of jfi, `jax.numpy` or NumPy, or its name.
        classes: The classes whose arrays the rule is for.

    Returns:
        The decorator, which returns the rule as it is.
    """
    if not classes:
        raise TypeError("implements() got no class. Write implements(fn, MyArray).")

    def register(rule: Rule) -> Rule:
        for cls in classes:
            register_function(cls, fn, rule)
        return rule

    return register


def _callable(rule: Any) -> Any:
    if callable(rule):
        return rule
    raise TypeError(
        f"register_function() got {rule!r} as a rule. A rule is a function of the "
        "arguments: register_function(cls, fn, lambda x: ...)."
    )


def _class(cls: Any) -> type:
    if not isinstance(cls, type):
        raise TypeError(
            f"register_function() got {cls!r} as its class. Pass the class itself, "
            f"such as {type(cls).__name__}."
        )
    plain = (jax.Array, Tracer, np.ndarray, np.generic)
    # Classes of a text run by `exec` say that they are Python's own.
    builtin = getattr(builtins, cls.__name__, None) is cls
    if builtin or (issubclass(cls, plain) and cls.__module__.startswith(_ARRAYS)):
        raise TypeError(
            f"register_function() got the class {cls.__name__}, whose functions stay "
            f"JAX's. To swap a function for a block, write: with jnp.override(fn, new)."
        )
    return cls


_ARRAYS = ("jax", "numpy")


def _rule_before(cls: type, function: Function) -> Callable[..., Any]:
    """The rule in force, or the function on plain arrays."""
    for rule in rules_for(cls, function.rule):
        found: Callable[..., Any] = rule
        return found

    def on_plain_arrays(*args: Any, **named: Any) -> Any:
        args, named = densified(function.name, args, named)
        return function.plain(*args, **named)

    return on_plain_arrays


def function_of(fn: Callable[..., Any] | str) -> Function:
    """The function of jfi that is meant, or the operation."""
    name = fn if isinstance(fn, str) else _name_of(fn)
    if name in OPERATIONS:
        return OPERATIONS[name]
    if name and is_wrapped(name):
        return functions[wrapped(name)]
    raise ValueError(
        f"jfi has no function {fn if isinstance(fn, str) else repr(fn)} that takes "
        f"rules.{_nearest(name or '')}"
    )


def _name_of(fn: Any) -> str | None:
    """The name in jfi of a function of jfi, `jax.numpy` or NumPy."""
    if not callable(fn):
        raise TypeError(
            f"register_function() got {fn!r}, which is no function. Pass a function "
            "of jfi, such as jnp.exp, or its name."
        )
    known = functions.get(fn)
    if known is not None:
        return known.name
    own = getattr(fn, "__name__", "")
    for place in PLACES:
        for module in (PLACES[place], PLACES[place].removeprefix("jax.")):
            if getattr(sys.modules.get(module), own, None) is fn:
                return qualified(place, own)
    return None


def _nearest(name: str) -> str:
    names = [qualified(place, own) for place in PLACES for own in functions_of(place)]
    names += [*TORCH, *OPERATIONS]
    near = difflib.get_close_matches(name, names, 1)
    return f" Did you mean {near[0]!r}?" if near else ""
