"""The random generators of NumPy and Python that a function uses."""

import random
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._values import references


_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)


def generators_read(fn: Any) -> Iterator[str]:
    """Their names: among the global and the captured variables of a function."""
    code = getattr(fn, "__code__", None)
    if code is None:
        return
    module = getattr(fn, "__globals__", {})
    for name, *_ in references(code).chains:
        if isinstance(module.get(name), _GENERATORS):
            yield name
    cells = getattr(fn, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars, cells, strict=True):
        if isinstance(_contents(cell), _GENERATORS):
            yield name


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None
