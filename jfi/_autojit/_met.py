"""What methods of classes read, and functions that are run as copies read, too.

A function is run with a copy of its module's variables, so that data in them can be
traced; a method is run as it is, since its class is passed itself. A list, a dict or an
object that both read would be two things while the body runs: `with training():` of a
function would not reach the layers of a model. So both get it itself. It is a setting
then, as it is for the methods anyway. What is changed in it is undone after the trace;
if that leaves something out, the function runs uncompiled.
"""

import types
from collections.abc import Sequence
from typing import Any

from ._modes import Mode
from ._reading import Read
from .kinds._base import Kind, RefusedError
from .kinds._classify import CELL, VARIABLES, kind_of
from .kinds._variables import Namespace


CHANGED = "changes what methods of classes read, too"


def with_met(
    node: tuple[Kind, Any],
    x: Any,
    children: Sequence[Any],
    below: Sequence[Mode],
    read: Read,
) -> Sequence[Mode]:
    """How the children of a value are taken, of which methods may meet some.

    Args:
        node: The kind of the value, and its part.
        x: The value: the variables of a module, a function, or another.
        children: What it holds.
        below: How that is taken otherwise.
        read: What code reads.
    """
    kind, part = node
    if kind is VARIABLES:
        module = x.all
        while isinstance(module, Namespace):  # of a function that runs as a copy
            module = module.module
        met = read.met_by_methods(module)
        if not met:
            return below
        held = zip(part[1], children, strict=False)
        is_met = [name in met and child is module.get(name) for name, child in held]
    elif read.met_cells:
        cells = read.met_cells
        is_met = [isinstance(c, types.CellType) and id(c) in cells for c in children]
    else:
        return below
    return [
        Mode.MET if found and _may_change(child) else as_parent
        for found, child, as_parent in zip(is_met, children, below, strict=True)
    ]


def _may_change(x: Any) -> bool:
    """Whether Python code may change a value in place."""
    if isinstance(x, types.FunctionType):
        return False
    try:
        kind = kind_of(x)
    except RefusedError:
        return False
    if kind is CELL:  # that of `super()` holds the class, always
        return not any(isinstance(held, type) for held in kind.split(x)[1])
    return kind.changeable
