"""What a function reads from its module: variables that may be others at the next call.

Compiled code holds global variables as constants. In a script or a notebook that would
go wrong at the next cell, so that they are passed like the variables that a function
captured. Functions of the same module that it calls are followed.
"""

import dis
import functools
import operator
import random
import types
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np


class Reading:
    """What a function reads from its module, directly or through what it calls there.

    Functions, classes and modules are compared by identity; all else is data.

    Attributes:
        data: The names of the data.
        writes: Whether something assigns global variables.
    """

    __jfi_static__ = True  # autojit compares it by identity, which costs nothing

    def __init__(self, fn: Any) -> None:
        self._code = getattr(fn, "__code__", None)
        self._globals: dict[str, Any] = getattr(fn, "__globals__", {})
        self._functions: dict[str, types.FunctionType] = {}
        self.writes = False
        constants: list[str] = []
        self.data: list[str] = []
        names = [] if self._code is None else self._names_in(self._code)
        for name in names:  # the list grows meanwhile
            if name not in self._globals or name in constants or name in self.data:
                continue
            value = self._globals[name]
            if not _is_constant(value):
                self.data.append(name)
                continue
            constants.append(name)
            if isinstance(value, types.FunctionType) and self._is_near(value):
                self._functions[name] = value
                names.extend(self._names_in(value.__code__))
        self._names = tuple(constants)
        self._get_constants = _getter(constants)
        self._constants = self._get_constants(self._globals)
        self._followed = list(self._functions.values())
        self._codes = [f.__code__ for f in self._followed]
        self._get_data = _getter(self.data)

    def fits(self, fn: Any) -> bool:
        """Whether a function reads the same constants."""
        if getattr(fn, "__code__", None) is not self._code:
            return False
        if self._code is not None and fn.__globals__ is not self._globals:
            return False
        if self._constants:
            try:
                if self._get_constants(self._globals) != self._constants:
                    return False
            except KeyError:  # one was deleted
                return False
        # Some editors replace the code of a function in place.
        return not self._codes or [f.__code__ for f in self._followed] == self._codes

    def key(self) -> Hashable:
        """Equal for functions that read the same constants."""
        code = None if self._code is None else id(self._code)
        constants = tuple(id(self._globals[name]) for name in self._names)
        codes = tuple(map(id, self._codes))
        return code, id(self._globals), self._names, constants, codes, tuple(self.data)

    def codes(self) -> list[types.CodeType]:
        """The code of the functions whose variables are passed."""
        return self._codes if self._code is None else [self._code, *self._codes]

    def values(self) -> Any:
        """The data that it reads, as they are now."""
        return self._get_data(self._globals)

    def generators(self, fn: Any) -> Iterator[str]:
        """The names of NumPy's and Python's random generators that a function uses."""
        for name in self.data:
            if isinstance(self._globals[name], _GENERATORS):
                yield name
        captured = getattr(self._code, "co_freevars", ())
        cells = getattr(fn, "__closure__", None) or ()
        for name, cell in zip(captured, cells, strict=True):
            if isinstance(_contents(cell), _GENERATORS):
                yield name

    def with_values(self, fn: Any, values: Any) -> Any:
        """The function with other data in place of the global ones."""
        if not self.data:
            return fn
        if isinstance(fn, types.MethodType):
            return types.MethodType(self._with(fn.__func__, values), fn.__self__)
        return self._with(fn, values)

    def _with(self, fn: Any, values: Any) -> types.FunctionType:
        variables = dict(self._globals)
        variables.update(
            zip(self.data, values if len(self.data) > 1 else (values,), strict=True)
        )
        for name, function in self._functions.items():
            variables[name] = _in_module(function, variables)
        return _in_module(fn, variables)

    def _names_in(self, code: types.CodeType) -> list[str]:
        self.writes |= _writes(code)
        return list(names_read(code))

    def _is_near(self, function: types.FunctionType) -> bool:
        return function.__globals__ is self._globals


@functools.lru_cache(4096)
def names_read(code: types.CodeType) -> tuple[str, ...]:
    """The global variables that code reads, and the functions inside of it."""
    return tuple(
        instruction.argval
        for instruction in _instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    )


@functools.lru_cache(4096)
def attributes_read(code: types.CodeType) -> tuple[str, ...]:
    """The attributes, of whatever, that code reads, and the functions inside of it."""
    return tuple(
        instruction.argval
        for instruction in _instructions(code)
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")
    )


def _writes(code: types.CodeType) -> bool:
    return any(
        instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
        for instruction in _instructions(code)
    )


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)


_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None


def _is_constant(value: Any) -> bool:
    if isinstance(value, _CONSTANTS):
        return True
    library = type(value).__module__.partition(".")[0]
    return callable(value) and library in ("jax", "jaxlib", "numpy", "jfi")


_CONSTANTS = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)


def _getter(names: list[str]) -> Callable[[dict[str, Any]], Any]:
    """Looks up names: a tuple of several, the value of one."""
    return operator.itemgetter(*names) if names else lambda _: ()


def _in_module(fn: Any, variables: dict[str, Any]) -> types.FunctionType:
    """The same function with other global variables."""
    clone = types.FunctionType(
        fn.__code__, variables, fn.__name__, fn.__defaults__, fn.__closure__
    )
    clone.__kwdefaults__, clone.__qualname__ = fn.__kwdefaults__, fn.__qualname__
    clone.__module__, clone.__doc__ = fn.__module__, fn.__doc__
    clone.__dict__.update(fn.__dict__)
    return clone
