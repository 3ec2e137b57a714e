"""How functions are taken apart and put together again."""

import builtins
import functools
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ..._shown import ShownFunction
from ..._values import (
    KeyedValue,
    identity_key,
    is_named,
    is_user_function,
    own_attributes,
)
from .._reading import Read
from ._base import (
    IMMUTABLE,
    MISSING,
    Expression,
    Kind,
    Source,
    Split,
    ValueKind,
    Watches,
)
from ._containers import PartsKind
from ._variables import Variables, module_of, variables_of


# ---- Attributes that code gives to functions, and those that `autojit` gives them ----


class AttributesKind(Kind):
    """A function that code may give attributes: `step.calls = 1`."""

    def contents(self, x: Any) -> Split:
        given = x.__dict__[AutojitMark.ATTRIBUTE].attributes if is_autojitted(x) else ()
        own = {name: value for name, value in x.__dict__.items() if name not in given}
        return tuple(own), list(own.values())

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        return tuple(part)

    def put(self, x: Any, key: Any, value: Any) -> None:
        x.__dict__[key] = value

    def remove(self, x: Any, key: Any) -> None:
        x.__dict__.pop(key, None)

    def replace(self, x: Any, part: Any, children: Sequence[Any]) -> None:
        for name in self.contents(x)[0]:
            self.remove(x, name)


class AutojitMark:
    """Among the attributes of what `autojit` returns.

    It names the code, since wrappers such as `jax.grad` copy the attributes.

    Attributes:
        code: That of the wrapper.
        template: The same, calling nobody.
        fill: Lets an empty copy of the wrapper call a function.
        attributes: The names of those that `autojit` gave the wrapper.
    """

    ATTRIBUTE = "__jfi_autojit__"

    def __init__(self, code: Any, template: Any, fill: Any, attributes: Any) -> None:
        self.code, self.template, self.fill = code, template, fill
        self.attributes = attributes


def is_autojitted(value: Any) -> bool:
    """Whether this is what `autojit` returned."""
    if not isinstance(value, types.FunctionType):
        return False
    mark = value.__dict__.get(AutojitMark.ATTRIBUTE)
    return isinstance(mark, AutojitMark) and mark.code is value.__code__


class CellKind(Kind):
    """The cell of a variable that a function captured; two functions may share it."""

    changeable = True

    def split(self, x: Any) -> Split:
        try:
            return True, (x.cell_contents,)
        except ValueError:  # the variable has no value yet
            return False, ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return types.CellType()

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        if part:
            (shell.cell_contents,) = children

    def empty(self, x: Any) -> None:
        del x.cell_contents

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        return ("",) if part else ()

    def key_of(self, part: Any, k: int) -> Any:
        return ""

    def put(self, x: Any, key: Any, value: Any) -> None:
        x.cell_contents = value

    def remove(self, x: Any, key: Any) -> None:
        del x.cell_contents

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        if not part:
            return super().guard(source, name, part, n)
        return [f"{name}.cell_contents"]

    def watches(self, x: Any, part: Any) -> Watches | None:
        return Watches(attributes=((x, "cell_contents"),)) if part else None


_ATTRIBUTES = "__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__"


def _watches_of_function(x: types.FunctionType) -> Watches:
    attributes = [(x, name) for name in _ATTRIBUTES]
    return Watches(dicts=(x.__dict__,), attributes=attributes)


class PlainKind(AttributesKind):
    """A function that captures nothing: by its code, its module, its defaults.

    It is passed itself if it reads nothing but libraries, and what does likewise.
    """

    constant = True

    def split(self, x: Any) -> Split:
        variables = variables_of(x)
        part = (
            x.__code__,
            KeyedValue(id(x.__globals__), x),
            (x.__name__, x.__qualname__, x.__module__),
            len(variables),
        )
        return part, (*variables, x.__defaults__, x.__kwdefaults__, x.__dict__ or None)

    def functions(self, x: Any, read: Read) -> Iterable[types.FunctionType]:
        return (x,)

    def looked_at(self, part: Any, n: int) -> int:
        return int(part[3])

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        code, constant, _, own = part
        fn = constant.value
        variables = as_variables(children[0]) if own else fn.__globals__
        # The first function of this code: an editor may have replaced it since.
        if variables is fn.__globals__ and fn.__code__ is code:
            return fn
        return in_module(fn, code, variables)

    def portable(self, part: Any) -> Any:
        code, constant, names, own = part
        return code, module_of(constant.value.__globals__), names, own

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ("", ".__defaults__", ".__kwdefaults__", "")[k + 1 - part[3]]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        code, constant, names, own = part
        function = constant.value
        # The name of the constant must be the same for all functions of this code.
        known = source.constant(function, (code, constant.key, names))
        same = _code_checks(source, name, code, function.__globals__, names)
        source.require(f"{name} is {known} or {same}")
        source.require(f"{name}.__code__ is {source.constant(code)}")
        variables = [source.variables(function.__globals__)] if own else []
        return [*variables, *_guard_attributes(source, name, own)]

    def watches(self, x: Any, part: Any) -> Watches | None:
        return _watches_of_function(x) if is_user_function(x) else IMMUTABLE


def _guard_attributes(source: Source, name: str, before: int) -> list[str]:
    """Where defaults and attributes are; read once, as audit hooks make that slow."""
    found = [f"{name}{step}" for step in (".__defaults__", ".__kwdefaults__")]
    found.append(f"({name}.__dict__ or None)")
    if all(isinstance(kind, ValueKind) for kind in source.kinds()[before:]):
        source.require(f"not ({' or '.join(found)})")
        return ["None"] * 3
    return found


def as_variables(found: Any) -> dict[str, Any]:
    """The dict of variables; where a call returns them they come as the module's."""
    variables: dict[str, Any] = found.all if isinstance(found, Variables) else found
    return variables


def in_module(
    fn: types.FunctionType, code: types.CodeType, variables: dict[str, Any]
) -> types.FunctionType:
    """The same function with some code and other global variables."""
    clone = types.FunctionType(
        code, variables, fn.__name__, fn.__defaults__, fn.__closure__
    )
    clone.__kwdefaults__, clone.__qualname__ = fn.__kwdefaults__, fn.__qualname__
    clone.__module__, clone.__doc__ = fn.__module__, fn.__doc__
    clone.__annotations__ = fn.__annotations__
    clone.__dict__.update(fn.__dict__)
    return clone


class FunctionKind(Kind):
    """A function made at run time: code and globals count, captured values are opened.

    The shell holds the variables of its module and the cells; defaults and attributes
    come when it is filled.
    """

    changeable = True

    def split(self, x: Any) -> Split:
        cells, variables = x.__closure__ or (), variables_of(x)
        part = (
            x.__code__,
            KeyedValue(
                id(x.__globals__), (x.__globals__, x.__doc__, x.__annotations__)
            ),
            (x.__name__, x.__qualname__, x.__module__),
            len(variables),
            len(cells),
        )
        own = x.__defaults__, x.__kwdefaults__, x.__dict__ or None
        return part, (*variables, *cells, *own)

    def functions(self, x: Any, read: Read) -> Iterable[types.FunctionType]:
        return (x,)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        code, constant, (name, qualname, module), own, _ = part
        variables, doc, annotations = constant.value
        if own:
            variables = as_variables(children[0])
        clone = types.FunctionType(code, variables, name, None, tuple(children[own:]))
        clone.__qualname__, clone.__module__, clone.__doc__ = qualname, module, doc
        clone.__annotations__ = annotations
        return clone

    def portable(self, part: Any) -> Any:
        code, constant, *rest = part
        return code, module_of(constant.value[0]), rest

    def cells(self, part: Any) -> int:
        return int(part[3] + part[4])

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        *_, shell.__defaults__, shell.__kwdefaults__, attributes = children
        if attributes is not None:
            shell.__dict__ = attributes

    def empty(self, x: Any) -> None:
        x.__dict__ = {}

    def contents(self, x: Any) -> Split:
        return None, (x.__defaults__, x.__kwdefaults__, x.__dict__ or None)

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        return ("__defaults__", "__kwdefaults__", "__dict__")

    def put(self, x: Any, key: Any, value: Any) -> None:
        setattr(x, key, {} if key == "__dict__" and value is None else value)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        code, _, _, own, n = part
        if k < own:
            return ""
        if k < own + n:
            return str(code.co_freevars[k - own])
        return (".__defaults__", ".__kwdefaults__", "")[k - n - own]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        code, constant, names, own, cells = part
        variables = constant.value[0]
        source.require(_code_checks(source, name, code, variables, names))
        above = [source.variables(variables)] if own else []
        rest = _guard_attributes(source, name, own + cells)
        return [*above, (f"{name}.__closure__", cells), *rest]

    def watches(self, x: Any, part: Any) -> Watches | None:
        # Those of a library stay what they are, but for what they captured.
        return _watches_of_function(x) if is_user_function(x) else IMMUTABLE


class Body:
    """The function that `autojit` compiles, among what a call is made of."""

    def __init__(self, fn: types.FunctionType) -> None:
        self.fn = fn


class BodyKind(FunctionKind):
    """Its code and what it captured; all its parameters are given at every call."""

    named = True

    def split(self, x: Any) -> Split:
        part, children = super().split(x.fn)
        # An editor may replace what a named function consists of, in place.
        named = identity_key(x.fn.__defaults__) if is_named(x.fn) else None
        return (part, named), children[: part[3] + part[4]]

    def functions(self, x: Any, read: Read) -> Iterable[types.FunctionType]:
        return (x.fn,)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return super().make(part[0], children)

    def portable(self, part: Any) -> Any:
        return super().portable(part[0]), bool(part[1])

    def cells(self, part: Any) -> int:
        return super().cells(part[0])

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        """It has no defaults and no attributes."""

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return super().step(part[0], k, children)

    def contents(self, x: Any) -> Split:
        return None, ()

    def watches(self, x: Any, part: Any) -> Watches | None:
        return None

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        (code, constant, _, own, cells), named = part
        if named is not None:
            source.require(f"{name}.__code__ is {source.constant(code)}")
            defaults = source.constant(named.value)
            source.require(f"{name}.__defaults__ is {defaults}")
        variables = [source.variables(constant.value[0])] if own else []
        return [*variables, (f"{name}.__closure__", cells)]


class AutojittedKind(AttributesKind):
    """A function under `autojit`: its own function is opened, and its attributes.

    That which its module holds by name is passed itself, unless it reads data there,
    or has attributes that code may write: `step.calls += 1`.
    """

    changeable = constant = True

    def split(self, x: Any) -> Split:
        mark: AutojitMark = x.__dict__[AutojitMark.ATTRIBUTE]
        names, own = self.contents(x)
        children = (x.__wrapped__, x.__defaults__, x.__kwdefaults__, *own)
        named = identity_key(x) if is_named(x) else None
        return (mark.template, mark.fill, named, names), children

    def stays(self, part: Any) -> bool:
        return part[2] is not None and not part[3]

    def itself(self, part: Any) -> Any:
        return MISSING if part[2] is None else part[2].value

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return types.FunctionType(part[0], {"__builtins__": builtins})

    def portable(self, part: Any) -> Any:
        template, fill, named, names = part
        return template, fill.options, named is not None, names

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        part[1](shell, children[0])
        _, shell.__defaults__, shell.__kwdefaults__, *own = children
        shell.__dict__.update(zip(part[3], own, strict=True))

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        own = (f".{name}" for name in part[3])
        return ("", ".__defaults__", ".__kwdefaults__", *own)[k]

    def key_of(self, part: Any, k: int) -> Any:
        return part[3][k - 3] if k >= 3 else None

    def replace(self, x: Any, part: Any, children: Sequence[Any]) -> None:
        super().replace(x, part, children)  # what it calls stays
        x.__dict__.update(zip(part[3], children[3:], strict=True))

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        if part[2] is None or part[3]:
            return super().guard(source, name, part, n)
        function = part[2].value
        size, known = len(function.__dict__), source.constant(function)
        # Straight to the attributes of the function inside, which are in C.
        inside = f"{name}._jfi_function" if type(function) is ShownFunction else name
        source.require(f"{name} is {known} and len({inside}.__dict__) == {size}")
        steps = "__wrapped__", "__defaults__", "__kwdefaults__"
        return [f"{inside}.{step}" for step in steps]


class EmptyKind(Kind):
    """An object whose contents mean nothing to the body of a function."""

    def split(self, x: Any) -> Split:
        return type(x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return object.__new__(part)


def _code_checks(
    source: Source, name: str, code: Any, globals_: Any, names: Sequence[str]
) -> str:
    """What is true of all functions with this code, of this module."""
    plain, qualname, module = names
    return (
        f"type({name}) is {source.constant(types.FunctionType)} and "
        f"{name}.__code__ is {source.constant(code)} and "
        f"{name}.__globals__ is {source.constant(globals_)} and "
        f"{name}.__name__ == {plain!r} and {name}.__qualname__ == {qualname!r} and "
        f"{name}.__module__ == {module!r}"
    )


# ---- Bound methods ----


METHOD = PartsKind(
    lambda m: (m.__func__, m.__self__),
    lambda cls, function, owner: types.MethodType(function, owner),
    [".__func__", ".__self__"],
)


def is_of_class(method: types.MethodType) -> bool:
    """Whether the function of a method is what the class of its object has."""
    name = getattr(method.__func__, "__name__", None)
    return (
        isinstance(name, str) and _found(type(method.__self__), name) is method.__func__
    )


def _found(cls: type, name: str) -> Any:
    """What a class holds under a name, before it is bound."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


class OwnMethodKind(Kind):
    """A method of the class of its object: `self.act = self.tanh`.

    Its function is the one that the class holds, as for `self.tanh` in the body: the
    two are equal. The class is compared with the object.
    """

    constant = True

    def split(self, x: Any) -> Split:
        return x.__func__.__name__, (x.__self__,)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        (owner,) = children
        return types.MethodType(_found(type(owner), part), owner)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ".__self__"

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {source.constant(types.MethodType)}")
        source.require(f"{name}.__func__.__name__ == {part!r}")
        # What `is_of_class` says, without a frame of Python.
        source.require(f"getattr(type({name}.__self__), {part!r}) is {name}.__func__")
        return [f"{name}.__self__"]


# Functions that run an autojitted one in a way of their own: those of `persistent`.


F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__jfi_wrapper__"


def mark_wrapper(fn: F) -> F:
    """Say that a function runs the autojitted one that its `__wrapped__` is."""
    setattr(fn, _MARK, getattr(fn, "__code__"))  # noqa: B009 - unknown to type checkers
    return fn


def is_wrapper(value: Any) -> bool:
    """Whether a function is marked so; those that copy its attributes are not."""
    if not isinstance(value, types.FunctionType):
        return False
    return value.__dict__.get(_MARK) is value.__code__


def plain_function(value: Any) -> Any:
    """What the user wrote, of a function under `persistent` or `autojit`."""
    if is_wrapper(value):
        value = value.__wrapped__
    return value.__wrapped__ if is_autojitted(value) else value


class WrapperKind(AttributesKind):
    """Such a function: in compiled code it is the autojitted one, with its attributes.

    The parts are the names of those that the user gave it. What the body gives the
    autojitted one is written to both.
    """

    def split(self, x: Any) -> Split:
        inner = x.__wrapped__
        own = {
            name: value
            for name, value in x.__dict__.items()
            if name not in (_MARK, "__wrapped__")
            and (name not in inner.__dict__ or inner.__dict__[name] is not value)
        }
        return tuple(own), (inner, *own.values())

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        made, *values = children
        made.__dict__.update(zip(part, values, strict=True))
        return made

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return f".{part[k - 1]}" if k else ""


def is_shown(fn: object) -> bool:
    """Whether it is what a tool returned, with the function inside."""
    return type(fn) is ShownFunction  # which it is to `isinstance`, too


class ShownKind(PartsKind):
    """What other tools return, such as `vmap` and `grad`: the function in it counts."""

    def __init__(self) -> None:
        parts = operator.attrgetter("_jfi_function", "_jfi_describe")
        steps = ["._jfi_function", "._jfi_describe"]
        super().__init__(parts, lambda cls, *parts: cls(*parts), steps)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""


# How what `functools` makes of functions is taken apart and put together again.


# `x.__dict__` would make one, after which `partial(x, 2)` has `x` for its function.
_STATE: Any = functools.partial.__reduce__


class PartialKind(Kind):
    """A `functools.partial`, with its attributes."""

    reads = True

    def split(self, x: Any) -> Split:
        function, args, keywords, attributes = _STATE(x)[2]
        return type(x), (function, args, keywords, attributes or None)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        made = part.__new__(part, children[0])
        made.__setstate__(tuple(children))  # keeps the dict of keywords itself
        return made

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return (".func", ".args", ".keywords", "")[k]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {source.constant(part)}")
        steps = (f"{name}.func", f"{name}.args", f"{name}.keywords")
        return [*steps, f"({source.constant(_STATE)}({name})[2][3] or None)"]


def cached_property_of(
    cls: type["functools.cached_property[Any]"], func: Any, name: str | None
) -> Any:
    """A `functools.cached_property`, as a class has made it known under a name."""
    made = cls(func)
    made.attrname = name
    return made


# ---- Properties: the functions behind them, and what a class of properties adds ----


PROPERTY = PartsKind(
    lambda p: (p.fget, p.fset, p.fdel),
    lambda cls, *parts: property(*parts),
    [".fget", ".fset", ".fdel"],
)


def _parts_of(x: Any) -> tuple[Any, ...]:
    return x.fget, x.fset, x.fdel, dict(own_attributes(x)) or None


def _special_property(cls: type, *parts: Any) -> Any:
    *functions, attributes = parts
    made: Any = property.__new__(cls)
    property.__init__(made, *functions)
    own_attributes(made).update(attributes or {})
    return made


# Such as numpyro's `constraints.dependent_property`, which is registered with JAX as
# a constraint, and can't be flattened.
SPECIAL_PROPERTY = PartsKind(
    _parts_of, _special_property, [".fget", ".fset", ".fdel", ""]
)
