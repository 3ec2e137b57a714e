"""`pytree`: a class whose objects JAX takes apart, by `autojit`'s rule for data."""

import enum
import functools
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

import jax
from jax.tree_util import GetAttrKey

from ..._errors import TreeError
from .. import full_name
from ._settings import (
    Settings,
    divided,
    has_data,
    put_together,
    refuse_computed_data,
    refuse_hidden_data,
)


C = TypeVar("C", bound=type)


def pytree(cls: C) -> C:
    """Make the objects of a class trees, which `grad`, `vmap`, loops and optax take.

    Data are the arrays and floats in the attributes, also in lists, dicts and other
    trees: they are differentiated, mapped, carried. All else is settings: integers,
    texts, functions. They stay as they are, and a compiled function is compiled again
    when they change. This is `autojit`'s rule. Results have the class, too, made
    without calling it: `jnp.grad(loss)(model, x)` is a model of gradients.

    Example:
        >>> import jfi as jnp
        >>> @jnp.pytree
        ... class Line:
        ...     def __init__(self, slope):
        ...         self.slope, self.name = slope, "line"
        ...     def __call__(self, x):
        ...         return self.slope * x
        >>> line = Line(jnp.array([2.0, 1.0]))
        >>> gradient = jnp.grad(lambda line: jnp.sum(line(3.0) ** 2))(line)
        >>> gradient.slope, gradient.name
        (Array([36., 18.], dtype=float32), 'line')

    Args:
        cls: The class; its subclasses become trees, too.

    Returns:
        The same class.

    Raises:
        TreeError: This is no class, or JAX knows it as a tree already, or its objects
            hold more than attributes (dicts, enums, torch's modules). Later, when an
            object is taken apart: it holds another one with arrays, of an ordinary
            class, or a function that holds the object itself.
    """
    if not isinstance(cls, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TreeError(f"pytree() got {cls!r}. Write @jnp.pytree above a class.")
    _register(cls)
    owner: Any = cls
    of_user = cls.__dict__.get("__init_subclass__")

    def __init_subclass__(subclass: type, /, **kwargs: Any) -> None:  # noqa: N807
        if of_user is None:
            super(owner, subclass).__init_subclass__(**kwargs)
        else:
            of_user.__get__(None, subclass)(**kwargs)
        if subclass not in _registered:
            _register(subclass)

    setattr(cls, "__init_subclass__", classmethod(__init_subclass__))  # noqa: B010
    return cls


def _refuse_contents(cls: type) -> None:
    """Refuse a class whose objects are more than their attributes."""
    name = cls.__name__
    if issubclass(cls, enum.Enum):
        remedy = "its members are settings without it. Leave @jnp.pytree out."
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        remedy = "named tuples are trees without it. Leave @jnp.pytree out."
    elif base := next((b for b in cls.__mro__[1:] if _holds_more(b)), None):
        remedy = (
            f"its objects are {base.__name__}s, which hold more than attributes. "
            "Write a class of its own, with that in an attribute."
        )
    else:
        return
    raise TreeError(f"pytree() got the class {name}: {remedy}")


def _holds_more(base: type) -> bool:
    made_in_python = bool(base.__flags__ & 1 << 9)  # Py_TPFLAGS_HEAPTYPE
    torch = base.__module__.startswith("torch.nn.modules")
    return torch or not (made_in_python or base in (object, Generic, Protocol))


_registered: set[type] = set()  # as JAX's own registry, which keeps them for ever


def is_pytree_class(cls: type) -> bool:
    """Whether `pytree` has registered a class; it registers subclasses, too."""
    return cls in _registered


def _register(cls: type) -> None:
    _refuse_contents(cls)
    make = functools.partial(_unflatten, cls)
    try:
        jax.tree_util.register_pytree_with_keys(cls, _flatten_with_keys, make, _flatten)
    except ValueError:
        raise TreeError(
            f"pytree() got the class {cls.__name__}, which is a tree already. Leave "
            "@jnp.pytree out: subclasses of a tree are trees, too."
        ) from None
    _registered.add(cls)


def _divided(x: object) -> tuple[dict[str, Any], Settings]:
    children, settings = divided(x)
    refuse_hidden_data(x, settings)
    refuse_computed_data(x, settings)
    return children, settings


def _flatten(x: object) -> tuple[list[Any], Settings]:
    children, settings = _divided(x)
    return list(children.values()), settings


def _flatten_with_keys(x: object) -> tuple[list[tuple[Any, Any]], Settings]:
    children, settings = _divided(x)
    return [(GetAttrKey(name), child) for name, child in children.items()], settings


def _unflatten(cls: type, settings: Settings, children: Iterable[Any]) -> Any:
    return put_together(cls, settings, children)


def pytree_line(x: object) -> str:
    """The line that makes an object of an ordinary class a tree; "" for all else."""
    if not has_data(x):
        return ""
    cls = type(x)
    if "__slots__" in cls.__dict__ and full_name(cls) in map(full_name, _registered):
        return (
            f"Write @jnp.pytree above @dataclass(slots=True) of class {cls.__name__}, "
            "not below: dataclass makes another class, which is no tree."
        )
    return (
        f"Write @jnp.pytree above class {type(x).__name__}: its arrays are data then."
    )


def add_advice(error: Exception, tree: Any) -> None:
    """Add to an error of JAX which class of an argument should be a tree, if one is."""
    for leaf in jax.tree.leaves(tree):
        if text := pytree_line(leaf):
            error.add_note(text)
            return
