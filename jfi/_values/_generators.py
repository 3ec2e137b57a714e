"""Random generators that are not jfi's: NumPy's, Python's and SciPy's.

What they draw is a constant to whoever runs a function once for many calls, or rows.
"""

import random
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._bytecode import references


_GENERATORS = (np.random.RandomState, np.random.Generator, random.Random)


def generators_read(fn: Any) -> Iterator[str]:
    """The random generators of NumPy, Python and SciPy by which a function draws."""
    code = getattr(fn, "__code__", None)
    if code is None:
        return
    module = getattr(fn, "__globals__", {})
    for name, *attributes in references(code).chains:
        value, rest = module.get(name), attributes
        while isinstance(value, types.ModuleType) and rest:
            value, rest = vars(value).get(rest[0]), rest[1:]
        if is_generator(value, rest[0] if rest else ""):
            yield ".".join((name, *attributes))
    cells = getattr(fn, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars, cells, strict=True):
        if is_generator(_contents(cell), ""):
            yield name


def one_draw(name: str, generator: str, parts: str) -> str:
    """What is said of a loop or batch that draws by a generator that is not jfi's."""
    return (
        f"{name}() draws by {generator}, of NumPy, Python or SciPy, which draws once "
        f"for all {parts}.\n"
        "Draw outside and pass the numbers, or draw inside with jnp.randn(...)."
    )


def is_generator(value: Any, attribute: str) -> bool:
    """Whether a value, of which code reads an attribute, draws random numbers."""
    # The functions of these modules are methods: `random.gauss` of a generator there.
    is_method = isinstance(value, (types.MethodType, types.BuiltinMethodType))
    if isinstance(value.__self__ if is_method else value, _GENERATORS):
        return True
    return attribute == "rvs" and type(value).__module__.startswith("scipy.stats")


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None
