"""How functions are taken apart and put together again."""

import builtins
import functools
import types
from collections.abc import Sequence
from typing import Any

from .._trees import Constant, identity, is_named
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


LRU_CACHED = type(functools.cache(lambda: None))


class CachedKind(Kind):
    """A function of functools.lru_cache made at run time; its cache stays behind."""

    def split(self, x: Any) -> Split:
        parameters = x.cache_parameters()
        return (parameters["maxsize"], parameters["typed"]), (x.__wrapped__,)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return functools.lru_cache(*part)(children[0])

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""


class PartialKind(Kind):
    """A `functools.partial`, with its attributes."""

    reads = True

    def split(self, x: Any) -> Split:
        return type(x), (x.func, x.args, x.keywords, x.__dict__ or None)

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
        return [*steps, f"({name}.__dict__ or None)"]


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


class AutojittedKind(Kind):
    """A function under `autojit` made at run time: its own function is opened."""

    changeable = True

    def split(self, x: Any) -> Split:
        mark: AutojitMark = x.__dict__[AutojitMark.ATTRIBUTE]
        own = {k: v for k, v in x.__dict__.items() if k not in mark.attributes}
        children = (x.__wrapped__, x.__defaults__, x.__kwdefaults__, own)
        return (mark.template, mark.fill), children

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return types.FunctionType(part[0], {"__builtins__": builtins})

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        part[1](shell, children[0])
        _, shell.__defaults__, shell.__kwdefaults__, own = children
        shell.__dict__.update(own)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ("", ".__defaults__", ".__kwdefaults__", "")[k]

    def contents(self, x: Any) -> Split:
        return None, ()


class EmptyKind(Kind):
    """An object whose contents mean nothing to the body of a function."""

    def split(self, x: Any) -> Split:
        return type(x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return object.__new__(part)


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
