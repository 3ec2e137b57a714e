"""`pytree`: a class whose objects JAX takes apart, by `autojit`'s rule for data."""

import enum
import functools
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, overload

import jax
from jax.tree_util import GetAttrKey

from ..._errors import TreeError
from .. import attributes_of, full_name
from ._settings import (
    Declared,
    Settings,
    declarations as _registered,
    divided,
    has_data,
    is_array_of_tree,
    is_object_of_tree,
    put_together,
    refuse_computed_data,
    refuse_hidden_data,
)
from ._texts import text_of_object


C = TypeVar("C", bound=type)


Names: TypeAlias = str | Iterable[str]


@overload
def pytree(
    cls: C,
    /,
    *,
    data: Names = (),
    settings: Names = (),
    buffers: Names = (),
) -> C: ...
@overload
def pytree(
    cls: None = None,
    /,
    *,
    data: Names = (),
    settings: Names = (),
    buffers: Names = (),
) -> Callable[[C], C]: ...
def pytree(
    cls: C | None = None,
    /,
    *,
    data: Names = (),
    settings: Names = (),
    buffers: Names = (),
) -> C | Callable[[C], C]:
    """Make the objects of a class trees, which `grad`, `vmap`, loops and optax take.

    Data are the arrays in the attributes, also in lists, dicts and other trees: they
    are differentiated, mapped, carried. All else is settings: numbers of Python
    (`self.eps = 1e-5`), texts, functions. They stay as they are, and `jax.jit` compiles
    again when they change; `autojit` takes floats as data there, too, and does not.
    Results have the class, too, made without calling it: `jnp.grad(loss)(model, x)` is
    a model of gradients. Objects print their attributes, if their class does not say
    how.

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
        >>> line
        Line(slope=float32[2], name='line')

        A float that is to be trained is named, or made an array:

        >>> @jnp.pytree(data="rate")
        ... class Decay:
        ...     def __init__(self):
        ...         self.rate, self.eps = 0.5, 1e-5
        >>> slope = jnp.grad(lambda m, x: m.rate * x + m.eps)(Decay(), 3.0)
        >>> float(slope.rate), slope.eps
        (3.0, 1e-05)

    Args:
        cls: The class; its subclasses become trees, too.
        data: The name of an attribute, or several, whose floats are data.
        settings: The same, of attributes whose arrays are settings: constants of
            compiled code, compiled again when they change.
        buffers: The same, of attributes whose arrays are data and not trained, such as
            running means: their gradient is zero, and `apply_updates` leaves them.

    Returns:
        The same class; without `cls`, a decorator.

    Raises:
        TreeError: This is no class, or JAX knows it as a tree already, or its objects
            hold more than attributes (dicts, enums, torch's modules), or a name is
            declared twice. Later, when an object is taken apart: it holds another one
            with arrays, of an ordinary class, or a function that holds the object.
    """
    declared = Declared(_names(data), _names(settings), _names(buffers))
    if twice := declared.settings & (declared.data | declared.buffers):
        name = min(twice)
        other = "data" if name in declared.data else "buffers"
        raise TreeError(
            f"pytree() got {name!r} as {other} and as settings. Write it in one."
        )
    if cls is None:
        return lambda cls: _tree(cls, declared)
    return _tree(cls, declared)


def _names(names: Names) -> frozenset[str]:
    return frozenset([names] if isinstance(names, str) else names)


def _tree(cls: C, declared: Declared) -> C:
    if not isinstance(cls, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TreeError(f"pytree() got {cls!r}. Write @jnp.pytree above a class.")
    _register(cls, declared)
    owner: Any = cls
    if owner.__repr__ is object.__repr__:
        owner.__repr__ = text_of_object
    of_user = cls.__dict__.get("__init_subclass__")

    def __init_subclass__(subclass: type, /, **kwargs: Any) -> None:  # noqa: N807
        if of_user is None:
            super(owner, subclass).__init_subclass__(**kwargs)
        else:
            of_user.__get__(None, subclass)(**kwargs)
        if subclass not in _registered:
            _register(subclass, declared)

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


def is_pytree_class(cls: type) -> bool:
    """Whether `pytree` has registered a class; it registers subclasses, too."""
    return cls in _registered


def _register(cls: type, declared: Declared) -> None:
    if cls in _registered and any(declared):  # a subclass that declares more
        inherited = _registered[cls]
        _registered[cls] = Declared(*map(frozenset.union, inherited, declared))
        return
    _refuse_contents(cls)
    make = functools.partial(_unflatten, cls)
    try:
        jax.tree_util.register_pytree_with_keys(cls, _flatten_with_keys, make, _flatten)
    except ValueError:
        raise TreeError(
            f"pytree() got the class {cls.__name__}, which is a tree already. Leave "
            "@jnp.pytree out: subclasses of a tree are trees, too."
        ) from None
    _registered[cls] = declared


def _divided(x: object) -> tuple[dict[str, Any], Settings]:
    children, settings = divided(x, declared=_registered[type(x)])
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
    buffers = _registered[cls].buffers
    return put_together(cls, settings, children, is_array_of_tree, buffers)


def _has_buffers(x: object) -> bool:
    declared = _registered.get(type(x))
    return declared is not None and bool(declared.buffers)


def are_buffers(tree: Any) -> list[bool]:
    """Which leaves of a tree are of attributes that a class declares as buffers."""
    found: list[bool] = []
    for part in jax.tree.leaves(tree, is_leaf=_has_buffers):
        if not _has_buffers(part):
            found.append(False)
            continue
        for name, child in _divided(part)[0].items():
            of_buffer = name in _registered[type(part)].buffers
            size = len(jax.tree.leaves(child))
            found += [True] * size if of_buffer else are_buffers(child)
    return found


def pytree_line(x: object) -> str:
    """The line that makes an object of an ordinary class a tree; "" for all else."""
    if isinstance(x, enum.Enum) or not has_data(x):  # members are settings
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


def float_line(tree: Any) -> str:
    """What to write where objects of trees hold floats alone, which are settings."""
    for x in jax.tree.leaves(tree, is_leaf=is_object_of_tree):
        for name, value in attributes_of(x).items() if is_object_of_tree(x) else ():
            if type(value) is float:
                cls = type(x).__name__
                return (
                    f"{cls}.{name} is a float, which is a setting in an object. Write "
                    f"self.{name} = jnp.asarray(...), or @jnp.pytree(data={name!r}) "
                    f"above class {cls}."
                )
    return ""


def add_advice(error: Exception, tree: Any) -> None:
    """Add to an error of JAX which class of an argument should be a tree, if one is."""
    for leaf in jax.tree.leaves(tree):
        if text := pytree_line(leaf):
            error.add_note(text)
            return
