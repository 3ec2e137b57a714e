"""Global variables that are read deeper down: by captured functions, by methods ...

They stay constants of the compiled code. Their values are compared at each call: where
one is another, the code is compiled anew.
"""

import functools
import os
import sys
import types
from collections.abc import Collection, Iterator
from typing import Any

import jax

from .._trees import is_library
from ._globals import Reading, attributes_read, names_read


class WidenedError(Exception):
    """More variables are watched now: the call must be made with their values."""


class Watched:
    """The variables that the functions of some calls read."""

    def __init__(self) -> None:
        self._variables: dict[tuple[int, str], dict[str, Any]] = {}
        self._tokens: dict[int, _Same] = {}

    def values(self) -> tuple[Any, ...]:
        """What they are now, as settings for autojit."""
        return tuple(
            self._setting(variables.get(name))
            for (_, name), variables in self._variables.items()
        )

    def widen(self, values: Any, readings: Collection[Reading]) -> None:
        """Watch what functions among some values read.

        Args:
            values: What holds functions: they, their arguments ...
            readings: Of functions whose own variables are passed as data.

        Raises:
            WidenedError: There is more than was watched.
        """
        passed = {code for reading in readings for code in reading.codes()}
        before = len(self._variables)
        for variables, name in _reached(values, passed):
            self._variables.setdefault((id(variables), name), variables)
        if len(self._variables) > before:
            raise WidenedError

    def _setting(self, value: Any) -> Any:
        if type(value) in (list, tuple, dict):
            try:
                return jax.tree.map(self._setting_of_leaf, value)
            except (TypeError, ValueError):  # keys that can't be sorted
                return value
        return self._setting_of_leaf(value)

    def _setting_of_leaf(self, value: Any) -> Any:
        """Itself, or for what does not change in place a token of its identity."""
        if not isinstance(value, _BY_IDENTITY):
            return value
        token = self._tokens.get(id(value))
        if token is None:
            if len(self._tokens) >= MAX_TOKENS:
                self._tokens.clear()
            token = self._tokens[id(value)] = _Same(value)
        return token


MAX_TOKENS = 1000
_BY_IDENTITY = (
    jax.Array, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type,
)  # fmt: skip


class _Same:
    """Stands for an object that it keeps alive."""

    __jfi_static__ = True  # autojit compares it by identity

    def __init__(self, value: Any) -> None:
        self.value = value


def _reached(
    values: Any, passed: Collection[types.CodeType]
) -> Iterator[tuple[dict[str, Any], str]]:
    """The global variables that functions read which can be got at from some values."""
    waiting, seen = [values], set[int]()
    modules: list[types.ModuleType] = []
    attributes: dict[str, None] = {}  # a set in order, of those that functions read
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            waiting.extend(_inside(value))
            if isinstance(value, types.ModuleType):
                modules.append(value)
            elif isinstance(value, types.FunctionType):
                code, variables = value.__code__, value.__globals__
                attributes |= dict.fromkeys(attributes_read(code))
                # A function of autojit has global variables of its own: jfi's.
                own = str(variables.get("__name__"))
                for name in () if _is_of_library(own) else names_read(code):
                    if name in variables:
                        waiting.append(variables[name])
                        if code not in passed:
                            yield variables, name
        if not waiting:  # what is read of modules, by any function
            for module in modules:
                if _is_of_library(module.__name__):
                    continue
                for name in attributes.keys() & vars(module).keys():
                    yield vars(module), name
                    waiting.append(vars(module)[name])
            waiting = [x for x in waiting if id(x) not in seen]


def _inside(value: Any) -> list[Any]:
    """What functions may be in, of a value."""
    cls = type(value)
    if cls in (list, tuple, set, frozenset):
        return list(value)
    if cls is dict:
        return list(value.values())
    if isinstance(value, types.FunctionType):
        cells = [c.cell_contents for c in value.__closure__ or () if _is_full(c)]
        return [*cells, value.__defaults__, value.__kwdefaults__, *vars(value).values()]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget]
    if isinstance(value, types.ModuleType):
        return []
    if isinstance(value, type):
        return [] if _is_of_others(value) else list(vars(value).values())
    wrapped = getattr(value, "__wrapped__", None) if callable(value) else None
    if _is_of_others(cls) and cls is not types.SimpleNamespace:
        return [wrapped]
    return [wrapped, *getattr(value, "__dict__", {}).values(), *cls.__mro__]


def _is_full(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # the variable has no value yet
        return False


def _is_of_others(cls: type) -> bool:
    """Whether a class comes from a library: its methods are not looked at."""
    return is_library(cls) or _is_of_library(cls.__module__)


@functools.lru_cache(4096)
def _is_of_library(module: str | None) -> bool:
    """Whether a module was installed, or comes with Python."""
    root = (module or "").partition(".")[0]
    if root in ("jax", "jaxlib", "jfi", "numpy") or root in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return file.startswith(_STANDARD) or "site-packages" in file


_STANDARD = os.path.dirname(os.__file__) + os.sep
