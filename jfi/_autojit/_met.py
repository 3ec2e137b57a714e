"""What methods of classes read outside, and the function of a call gets, too.

A function is run with copies of its arguments and of its module's variables, so that
data in them can be traced; a method is run with its module's own, since its class is
passed itself. A list, a dict or an object that both meet would be two things while the
body runs: `with training():` of a function would not reach the layers of a model. So
both get it itself. It is a setting then, as it is for the methods anyway. What is
changed in it is undone after the trace; if that leaves something out, the function runs
uncompiled.
"""

import types
from collections.abc import Collection, Sequence

from ._modes import KEYS, Mode
from .kinds._base import RefusedError
from .kinds._classify import CELL, kind_of


CHANGED = "changes what methods of classes read, too"


def met_among(
    objects: Sequence[object], modes: Sequence[Mode], looked_at: Collection[int]
) -> frozenset[int]:
    """The ids of what is passed to a function, and met by methods of classes.

    Args:
        objects: The values of a call, by node.
        modes: How they are taken.
        looked_at: The ids of what belongs to classes.
    """
    return frozenset(
        id(x)
        for x, mode in zip(objects, modes, strict=True)
        if mode not in KEYS and id(x) in looked_at and may_change(x)
    )


def may_change(x: object) -> bool:
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
