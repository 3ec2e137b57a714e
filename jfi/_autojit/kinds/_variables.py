"""How global variables and modules are taken apart: as far as code reads them.

A function that is given to a call, or compiled, may be run with a copy of its module's
variables, in which data is traced. One that reads nothing but libraries keeps its own.
"""

import builtins
import functools
import itertools
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

from ..._dispatch._active import ACTIVE_RULES
from ..._values import (
    KeyedValue,
    identity_key,
    is_installed_module,
    is_user_function,
    is_user_module,
)
from .._reading import KEYS, Mode, Read
from ._base import (
    MISSING,
    Expression,
    Kind,
    ModuleName,
    Source,
    Split,
    UnportableError,
    Watches,
)


class Variables:
    """The global variables of a module, among what a function is made of.

    Attributes:
        all: The module's own dict, or the copy with which compiled code runs.
        names: Which of them code reads or writes that runs with the module's own.
    """

    __slots__ = ("all", "names")

    def __init__(self, all_variables: dict[str, Any]) -> None:
        self.all = all_variables
        self.names: Sequence[str] = ()


class Namespace(dict[str, Any]):
    """A copy of a module's variables.

    Attributes:
        names: Which of them code reads or writes.
    """

    names: Sequence[str] = ()


def variables_of(fn: types.FunctionType) -> tuple[Variables, ...]:
    """The variables that a function has to be run with: none for a library's."""
    return (Variables(fn.__globals__),) if is_user_function(fn) else ()


def module_of(variables: dict[str, Any]) -> ModuleName:
    """The module that has a function."""
    return ModuleName(variables.get("__name__"))


class VariablesKind(Kind):
    """Some of the variables of a module; the copy is a `Namespace`."""

    changeable = True
    named = True
    constant = True
    ordered = False

    def open(self, x: Variables, read: Read, mode: Mode) -> Split:
        names = read.variables(x.all, mode)
        present = tuple(name for name in names if name in x.all)
        absent = tuple(name for name in names if name not in x.all)
        if mode in KEYS and x.all is not sys.modules:  # code meets the module itself
            x.names = names
        written = () if mode in KEYS else tuple(read.written(x.all, mode))
        part = KeyedValue(id(x.all), x.all), present, absent, written
        return part, [x.all[name] for name in present]

    def stays(self, part: Any) -> bool:
        return not part[3]

    def itself(self, part: Any) -> Any:
        return part[0].value

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        constant, present, absent, written = part
        made = Namespace(constant.value)
        made.names = (*present, *(name for name in absent if name in written))
        return made

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        shell.update(zip(part[1], children, strict=True))

    def portable(self, part: Any) -> Any:
        constant, present, absent, written = part
        if constant.value is sys.modules:
            for name in absent:
                if name != ACTIVE_RULES and not is_installed_module(name):
                    raise UnportableError(
                        f"it imports {name} inside it: import it at the top of the file"
                    )
        return constant.value.get("__name__"), present, absent, written

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return str(part[1][k])

    def contents(self, x: Any) -> Split:
        if isinstance(x, Namespace):
            names = tuple(name for name in x.names if name in x)
            return names, [x[name] for name in names]
        if isinstance(x, Variables):
            names = tuple(name for name in x.names if name in x.all)
            return names, [x.all[name] for name in names]
        return (), ()  # the module's own: nothing was copied

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        names: Sequence[Any] = part
        return names

    def key_of(self, part: Any, k: int) -> Any:
        return part[1][k]

    def put(self, x: Any, key: Any, value: Any) -> None:
        variables = x.all if isinstance(x, Variables) else x
        variables[key] = value

    def remove(self, x: Variables, key: Any) -> None:
        del x.all[key]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        constant, present, absent, *_ = part
        variables = constant.value
        same = {k: variables[k] for k, kind in zip(present, source.kinds(), strict=True)
                if kind.named}  # fmt: skip
        own = vars(builtins)
        same |= {k: own[k] for k in absent if k in own}
        same = {k: value for k, value in same.items() if k.isidentifier()}
        if same:
            key = id(variables), tuple((k, id(v)) for k, v in same.items())
            check = source.constant(_checker(variables, same), key)
            source.require(f"{check}()")
        module = source.constant(variables)
        for k in absent:
            # Layouts go when the first rule comes: most programs never have one.
            if k not in own and k != ACTIVE_RULES:
                source.require(f"{k!r} not in {module}")
        return [
            source.constant(same[k]) if k in same else f"{module}[{k!r}]"
            for k in present
        ]

    def watches(self, x: Any, part: Any) -> Watches | None:
        _, present, absent, *_ = part
        found = {name: x.all[name] for name in present}
        own = vars(builtins)
        found |= {name: own[name] for name in absent if name in own}
        found = {name: value for name, value in found.items() if name.isidentifier()}
        checks = [_checker(x.all, found)] if found else []
        rest = [name for name in (*present, *absent) if name not in found]
        if not rest:
            return Watches(checks=checks)
        missing = itertools.repeat(MISSING)
        lists = [functools.partial(map, d.get, rest, missing) for d in (x.all, own)]
        return Watches(checks=checks, calls=lists)


def _checker(variables: dict[str, Any], values: Mapping[str, Any]) -> Any:
    """A function that checks that global variables are still these objects.

    Python finds the variables of a running function's own module much faster than the
    items of a dict: ten of them in the time of one.
    """
    parameters = ", ".join(f"_jfi_{k}=None" for k in range(len(values)))
    same = " and ".join(f"{name} is _jfi_{k}" for k, name in enumerate(values))
    made: dict[str, Any] = {}
    text = f"def check({parameters}): return {same}"
    exec(compile(text, "<autojit check>", "exec"), made)
    code = made["check"].__code__
    return types.FunctionType(code, variables, "check", tuple(values.values()))


class ModuleKind(Kind):
    """A module of the user; the copy looks variables up in a `Namespace`."""

    named = constant = True

    def split(self, x: Any) -> Split:
        return identity_key(x), (Variables(vars(x)),)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        (variables,) = children
        if variables is vars(part.value):
            return part.value
        return _ModuleCopy(part.value.__name__, variables)

    def portable(self, part: Any) -> Any:
        return part.value.__name__

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"{name} is {source.constant(part.value)}")
        return source.variables_from(0)


class _ModuleCopy(types.ModuleType):
    """A module with other variables."""

    def __init__(self, name: str, variables: Namespace) -> None:
        super().__init__(name)
        object.__setattr__(self, "_jfi_variables", variables)

    def __getattribute__(self, name: str) -> Any:
        variables = object.__getattribute__(self, "_jfi_variables")
        if name == "__dict__":
            return variables
        try:
            return variables[name]
        except KeyError:
            answers = variables.get("__getattr__")
            if answers is None or hasattr(types.ModuleType, name):
                return super().__getattribute__(name)
        return answers(name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__getattribute__(self, "_jfi_variables")[name] = value

    def __delattr__(self, name: str) -> None:
        del object.__getattribute__(self, "_jfi_variables")[name]


def is_users_module(x: Any) -> bool:
    """Whether a value is a module of the user's."""
    return isinstance(x, types.ModuleType) and is_user_module(x.__name__)
