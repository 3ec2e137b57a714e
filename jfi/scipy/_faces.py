"""The modules of `jfi.scipy`: SciPy's names, of functions of JAX and of jfi's own.

Each is a table of contents: it imports JAX's names, then jfi's in their place, and says
`face`. Its functions are made again on first use, as wrappers that ask for the rules of
custom arrays (`_dispatch`) and take SciPy's arguments (`_scipy_words`).
"""

import importlib
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeAlias

from .._advice._missing_names import explained
from .._dispatch._names import LEFT, attached
from .._jax_internals import on_demand
from .._optional._packages import attach
from ._scipy_names import line_of_scipy
from ._scipy_words import knowing_scipy, knows_scipy


#: `__getattr__` and `__dir__` of a module.
Access: TypeAlias = tuple[Callable[[str], Any], Callable[[], list[str]]]

_ROOM = str(__package__)
_JFI = _ROOM.partition(".")[0]


def face(module: str, *without_arrays: str) -> Access:
    """Make the `__getattr__` and `__dir__` of a module of functions of arrays.

    Args:
        module: Its `__name__`.
        *without_arrays: Functions of JAX that take none, and have no rules for that.
    """
    _add_words(module, *without_arrays)
    place = module.removeprefix(f"{_JFI}.")
    own = {
        name: value.__module__.removeprefix(f"{_JFI}.")
        for name, value in vars(sys.modules[module]).items()
        if isinstance(value, FunctionType) and not name.startswith("_")
        if f"{place}.{name}" not in LEFT and value.__module__.startswith(_ROOM)
    }
    return attached(module, own, _on_demand(module), _takes_words)


def plain_face(module: str, *functions: str, **submodules: str) -> Access:
    """The same of a module whose functions have no rules.

    Args:
        module: Its `__name__`.
        *functions: Functions of JAX that get SciPy's arguments.
        **submodules: Modules in it that are imported on first use, twice their names.
    """
    _add_words(module, *functions)
    return attach(module, submodules, _on_demand(module))


def _add_words(module: str, *functions: str) -> None:
    """Put functions of JAX into a module that take SciPy's arguments."""
    theirs, place = _of_jax(module), module.removeprefix(f"{_ROOM}.")
    found = [getattr(theirs, name) for name in functions]
    vars(sys.modules[module]).update(knowing_scipy(place, found))


def _takes_words(name: str, plain: Callable[..., Any]) -> Callable[[Any], Any]:
    return knows_scipy(name.removeprefix("scipy."), like=plain)


def _on_demand(module: str) -> Callable[[str], Any]:
    """Names that JAX has on demand, and what to write for others that SciPy has."""
    refuse = explained(module, advice=line_of_scipy)
    theirs = on_demand(module, _of_jax(module), refuse)
    return lambda name: (refuse if name.startswith("_") else theirs)(name)


def _of_jax(module: str) -> Any:
    return importlib.import_module(f"jax{module.removeprefix(_JFI)}")
