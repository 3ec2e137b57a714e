"""How functions, classes and objects are taken apart and put together again."""

import builtins
import collections
import contextlib
import types
from collections.abc import Sequence
from typing import Any

from jax import tree_util

from .._compat import pytree_from_node, pytree_node
from .._trees import Constant, identity, is_library, is_named
from ._kinds import ConstantKind, Expression, Kind, Source, Split


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

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        if not part:
            return super().guard(source, name, part, n)
        return [f"{name}.cell_contents"]


class CodeKind(ConstantKind):
    """A function without captured values: its code and its globals are all."""

    def __init__(self) -> None:
        super().__init__(
            lambda f: (
                f.__code__,
                identity(f.__globals__),
                f.__name__,
                f.__qualname__,
                f.__module__,
            )
        )

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        code, globals_, *names = part.key
        _guard_code(source, name, code, globals_.value, names)
        source.require(
            f"{name}.__closure__ is None and {name}.__defaults__ is None and "
            f"{name}.__kwdefaults__ is None and not {name}.__dict__"
        )
        return ()


class FunctionKind(Kind):
    """A function made at run time: code and globals count, captured values are opened.

    The shell holds the cells; defaults and attributes come when it is filled.
    """

    changeable = True

    def split(self, x: Any) -> Split:
        cells = x.__closure__ or ()
        part = (
            x.__code__,
            Constant(id(x.__globals__), (x.__globals__, x.__doc__, x.__annotations__)),
            (x.__name__, x.__qualname__, x.__module__),
            len(cells),
        )
        return part, (*cells, x.__defaults__, x.__kwdefaults__, x.__dict__ or None)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        code, constant, (name, qualname, module), _ = part
        variables, doc, annotations = constant.value
        clone = types.FunctionType(code, variables, name, None, tuple(children))
        clone.__qualname__, clone.__module__, clone.__doc__ = qualname, module, doc
        clone.__annotations__ = annotations
        return clone

    def cells(self, part: Any) -> int:
        return int(part[3])

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        *_, shell.__defaults__, shell.__kwdefaults__, attributes = children
        if attributes is not None:
            shell.__dict__ = attributes

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        code, _, _, n = part
        if k < n:
            return str(code.co_freevars[k])
        return (".__defaults__", ".__kwdefaults__", "")[k - n]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        code, constant, names, cells = part
        _guard_code(source, name, code, constant.value[0], names)
        return [
            (f"{name}.__closure__", cells),
            f"{name}.__defaults__",
            f"{name}.__kwdefaults__",
            f"({name}.__dict__ or None)",
        ]


class NamedFunctionKind(Kind):
    """A function that its module holds by name: itself; its defaults by value."""

    named = keyed = True

    def split(self, x: Any) -> Split:
        part = identity(x), x.__code__  # some editors replace the code in place
        return part, (x.__defaults__, x.__kwdefaults__, x.__dict__ or None)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part[0].value

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        function, code = part[0].value, part[1]
        constant = source.constant(function)
        source.require(f"{name} is {constant}")
        source.require(f"{name}.__code__ is {source.constant(code)}")
        return [
            f"{name}.__defaults__",
            f"{name}.__kwdefaults__",
            f"({name}.__dict__ or None)",
        ]


class ClassKind(Kind):
    """A class of the user: itself, with what instances read from it, by value.

    Plain functions are told by identity and code; the captured values and defaults of
    others are looked at.
    """

    named = keyed = True

    def split(self, x: Any) -> Split:
        plain: list[Any] = []
        names: list[tuple[type, str]] = []
        values: list[Any] = []
        for key, value in class_data(x).items():
            function = function_behind(value)
            if isinstance(function, types.FunctionType) and (
                # A dataclass makes its own with a closure: slow to look at each time.
                key[1] == "__repr__" or _is_plain(function, x.__mro__)
            ):
                plain += (value, function.__code__, identity(function.__defaults__))
            else:
                names.append(key)
                values.append(function)
        return (identity(x), tuple(names), tuple(plain)), values

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part[0].value

    def contents(self, x: Any) -> Split:
        data = class_data(x)
        return tuple(data), tuple(data.values())

    def restore(self, cls: type, names: Sequence[Any], values: Sequence[Any]) -> None:
        """Undo what code did to the attributes of a class."""
        before, now = dict(zip(names, values, strict=True)), class_data(cls)
        for base, name in now.keys() - before.keys():
            delattr(base, name)
        for (base, name), value in before.items():
            if now.get((base, name)) is not value:
                setattr(base, name, value)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        base, name = (part[1] if isinstance(part[0], Constant) else part)[k]
        return f"{base.__qualname__}.{name}"

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        constant, names, _ = part
        cls: type = constant.value
        if name != source.constant(cls):
            source.require(f"{name} is {source.constant(cls)}")
        data = {base for base, _ in names}
        for base in cls.__mro__:
            if base in data:
                source.require(
                    f"len({source.constant(base)}.__dict__) == {len(vars(base))}"
                )
            elif not is_library(base):
                attributes = dict(vars(base))
                key = tuple((k, id(value)) for k, value in attributes.items())
                expected = source.constant(attributes, key)
                source.require(f"{source.constant(base)}.__dict__ == {expected}")
        for (base, key), value in class_data(cls).items():
            if (base, key) not in names:
                _guard_plain(source, base, key, value, look_up=base in data)
        return [
            f"function_behind({source.constant(base)}.__dict__[{key!r}])"
            for base, key in names
        ]


class ObjectKind(Kind):
    """An object of a Python class: attributes, and the items of a builtin base class.

    The clone is made without calling the class. Its attributes are set below any
    `__setattr__` of the class (frozen dataclasses have one).
    """

    changeable = True

    def __init__(self, cls: type, *, frozen: bool, base: Kind | None = None) -> None:
        self._frozen, self._base = frozen, base
        self._slots = slots(cls)

    def split(self, x: Any) -> Split:
        attributes = dict(getattr(x, "__dict__", ()))
        # An attribute dict that is the object itself (`self.__dict__ = self`).
        own = getattr(x, "__dict__", None) is x
        if own:
            attributes = {}
        for name, slot in self._slots.items():
            try:
                attributes[name] = slot.__get__(x)
            except AttributeError:  # the slot is empty
                continue
        base, items = self._base.split(x) if self._base else (None, ())
        part = (type(x), tuple(attributes), base, own)
        return part, (type(x), *attributes.values(), *items)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return new(part[0])

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        _, names, base, own = part
        n = 1 + len(names)
        if self._base:
            self._base.fill(shell, base, children[n:])
        if own:
            shell.__dict__ = shell
        for name, value in zip(names, children[1:n], strict=True):
            if name in self._slots:
                self._slots[name].__set__(shell, value)
            else:
                shell.__dict__[name] = value

    def empty(self, x: Any) -> None:
        getattr(x, "__dict__", {}).clear()
        for slot in self._slots.values():
            with contextlib.suppress(AttributeError):  # it is empty
                slot.__delete__(x)
        if self._base:
            self._base.empty(x)

    def puts(self, part: Any, k: int) -> bool:
        _, names, _, own = part
        return 0 < k <= len(names) and not own

    def target(self, part: Any, k: int) -> str:
        name = part[1][k - 1]
        return "" if name in self._slots else f".__dict__[{name!r}]"

    def put(self, x: Any, part: Any, k: int, value: Any) -> None:
        name = part[1][k - 1]
        if name in self._slots:
            self._slots[name].__set__(x, value)
        else:
            x.__dict__[name] = value

    def replace(self, x: Any, part: Any, children: Sequence[Any]) -> None:
        if type(x) is not part[0]:
            x.__class__ = part[0]
        super().replace(x, part, children)

    def frozen(self, part: Any, n: int) -> int:
        return n if self._frozen else 0

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        cls, names, base, own = part
        if base or own or not names or self._slots:
            return super().guard(source, name, part, n)
        constant = source.constant(cls)
        source.require(f"type({name}) is {constant}")
        attributes = source.local(f"{name}.__dict__")
        source.require(f"tuple({attributes}) == {names!r}")
        return [constant, (f"{attributes}.values()", n - 1)]

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        _, names, base, _ = part
        if k == 0:
            return ".__class__"
        if k <= len(names):
            return f".{names[k - 1]}"
        n = 1 + len(names)
        return self._base.step(base, k - n, children[n:]) if self._base else ""


class PytreeKind(Kind):
    """An object registered as a pytree with JAX: its children, and its static data."""

    reads = True

    def split(self, x: Any) -> Split:
        children, structure = tree_util.tree_flatten(x, is_leaf=lambda y: y is not x)
        node = pytree_node(structure)
        return type(x), (type(x), node and node[1], *children)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        _, data, *rest = children
        return pytree_from_node(part, data, rest)

    def frozen(self, part: Any, n: int) -> int:
        return 2

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        if isinstance(part, tuple):
            return f".{part[k]}"
        return (".__class__", ".<static data>", f"[<leaf {k - 2}>]")[min(k, 2)]

    def contents(self, x: Any) -> Split:
        # Taking it apart may make new containers every time; the attributes stay.
        attributes = dict(getattr(x, "__dict__", ()))
        return tuple(attributes), tuple(attributes.values())

    def replace(self, x: Any, part: Any, children: Sequence[Any]) -> None:
        x.__dict__.clear()
        x.__dict__.update(zip(part, children, strict=True))


def slots(cls: type) -> dict[str, types.MemberDescriptorType]:
    """The attributes that a class keeps in `__slots__`, by their stored names."""
    return {
        name: value
        for base in reversed(cls.__mro__)
        for name, value in vars(base).items()
        if isinstance(value, types.MemberDescriptorType) and name != "__dict__"
    }


# Builtin classes whose instances and subclasses can be made empty, most special first.
EMPTY_BASES: tuple[Any, ...] = (
    collections.OrderedDict,
    collections.defaultdict,
    dict,
    list,
    set,
    types.SimpleNamespace,
    object,
)


def new(cls: type) -> Any:
    """An empty instance, without `__init__`: TypeError where Python can't make one."""
    base = next(b for b in EMPTY_BASES if issubclass(cls, b))
    return base.__new__(cls)


def class_data(cls: type) -> dict[tuple[type, str], Any]:
    """The attributes that users gave a class and its bases, by base and name."""
    return {
        (base, name): value
        for base in cls.__mro__
        if not is_library(base)
        for name, value in vars(base).items()
        if name[:2] != "__" or callable(value)
        if not isinstance(value, _SLOTS) and not name.startswith("_abc_")
    }


# Of these, the value can't change while the tuple of defaults is the same.
_CONSTANT = frozenset((int, float, complex, str, bool, bytes, type(None)))


def _is_plain(fn: types.FunctionType, classes: Sequence[type]) -> bool:
    """Whether its code and the identity of its defaults tell a function of a class."""
    if fn.__kwdefaults__ or fn.__dict__:
        return False
    if not all(type(default) in _CONSTANT for default in fn.__defaults__ or ()):
        return False
    try:
        captured = [cell.cell_contents for cell in fn.__closure__ or ()]
    except ValueError:  # a captured variable has no value yet
        return False
    # `super()` captures the class, which is looked at anyway.
    return all(
        isinstance(value, type) and (value in classes or is_library(value))
        for value in captured
    )


_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def _guard_code(
    source: Source, name: str, code: Any, globals_: Any, names: Sequence[str]
) -> None:
    plain, qualname, module = names
    source.require(f"type({name}) is {source.constant(types.FunctionType)}")
    source.require(
        f"{name}.__code__ is {source.constant(code)} and "
        f"{name}.__globals__ is {source.constant(globals_)} and "
        f"{name}.__name__ == {plain!r} and {name}.__qualname__ == {qualname!r} and "
        f"{name}.__module__ == {module!r}"
    )


def _guard_plain(
    source: Source, base: type, key: str, value: Any, *, look_up: bool
) -> None:
    if look_up:
        attribute = f"{source.constant(base)}.__dict__[{key!r}]"
        source.require(f"{attribute} is {source.constant(value)}")
    # Editors that reload a module replace the code of its functions in place.
    function = function_behind(value)
    name = source.constant(function)
    source.require(
        f"{name}.__code__ is {source.constant(function.__code__)} and "
        f"{name}.__defaults__ is {source.constant(function.__defaults__)}"
    )


def function_behind(value: Any) -> Any:
    """What a property, class method, static method or `autojit` calls."""
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    return value.__wrapped__ if is_autojitted(value) else value


class AutojitMark:
    """Among the attributes of what `autojit` returns.

    It names the code, since wrappers such as `jax.grad` copy the attributes.

    Attributes:
        code: That of the wrapper.
        template: The same, calling nobody.
        fill: Lets an empty copy of the wrapper call a function.
    """

    ATTRIBUTE = "__jfi_autojit__"

    def __init__(self, code: Any, template: Any, fill: Any) -> None:
        self.code, self.template, self.fill = code, template, fill


def is_autojitted(value: Any) -> bool:
    """Whether this is what `autojit` returned."""
    if not isinstance(value, types.FunctionType):
        return False
    mark = value.__dict__.get(AutojitMark.ATTRIBUTE)
    return isinstance(mark, AutojitMark) and mark.code is value.__code__


class EmptyKind(Kind):
    """An object whose contents mean nothing to the body of a function."""

    def split(self, x: Any) -> Split:
        return type(x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return object.__new__(part)


class Body:
    """The function that `autojit` compiles, among what a call is made of."""

    def __init__(self, fn: types.FunctionType) -> None:
        self.fn = fn


class BodyKind(FunctionKind):
    """Its code and captured values; all its parameters are given at every call."""

    named = True

    def split(self, x: Any) -> Split:
        part, children = super().split(x.fn)
        return (part, is_named(x.fn)), children[: part[3]]

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return super().make(part[0], children)

    def cells(self, part: Any) -> int:
        return super().cells(part[0])

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        """It has no defaults and no attributes."""

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return super().step(part[0], k, children)

    def contents(self, x: Any) -> Split:
        return None, ()

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        (code, *_), named = part
        if named:  # an editor may replace its code in place
            source.require(f"{name}.__code__ is {source.constant(code)}")
        return [(f"{name}.__closure__", n)]


class AutojittedKind(Kind):
    """A function under `autojit` made at run time: its own function is opened."""

    changeable = True

    def split(self, x: Any) -> Split:
        mark: AutojitMark = x.__dict__[AutojitMark.ATTRIBUTE]
        return (mark.template, mark.fill), (
            x.__wrapped__,
            x.__defaults__,
            x.__kwdefaults__,
        )

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return types.FunctionType(part[0], {"__builtins__": builtins})

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        part[1](shell, children[0])
        _, shell.__defaults__, shell.__kwdefaults__ = children

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ("", ".__defaults__", ".__kwdefaults__")[k]

    def contents(self, x: Any) -> Split:
        return None, ()
