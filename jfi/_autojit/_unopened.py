"""Attributes that a traced body writes where no kind opens attributes.

A logger, an enum's member, a function of `jax.jit` is a constant, and passed itself:
JAX's tracers would stay in it. A partial function is made anew without attributes, and
what is written there would be lost. Hardly any code does this, and Python allows it.
"""

import types
from collections.abc import Sequence
from typing import Any

import jax
from jax.core import Tracer

from .._values import own_attributes
from ._changes import is_writable
from ._graphs import Graph
from .kinds._base import ConstantKind, Kind
from .kinds._classify import MET
from .kinds._sentinels import SENTINEL, note_filled


class UnopenedAttributes:
    """What the attributes of such values were before the body ran.

    Args:
        graph: That of the call.
        built: What the body gets.
    """

    def __init__(self, graph: Graph, built: Sequence[Any]) -> None:
        self._before = [
            # A sentinel was empty: what is there comes from a trace in another thread.
            (kind, x, {} if kind is SENTINEL else dict(own_attributes(x)))
            for (kind, _, _), x in zip(graph, built, strict=True)
            if _is_unopened(kind, x)
        ]
        self.filled = False

    def take_back(self) -> str:
        """Undo what the body wrote, if that can't be written in compiled code.

        It notes whether objects were filled that were taken for sentinels.

        Returns:
            What it wrote, in words; "" if all is well.
        """
        found = ""
        for kind, x, before in self._before:
            now = own_attributes(x)
            # A copy: another thread may write meanwhile.
            new = {k: v for k, v in dict(now).items() if before.get(k, before) is not v}
            if not new or _is_effect(kind, new):
                continue
            if kind is SENTINEL:
                self.filled = True
                note_filled(type(x))
            else:
                found = f"the attribute {next(iter(new))!r} of a {type(x).__name__}"
            for name in new:  # another thread may write others meanwhile
                now.pop(name, None)
            now.update({name: before[name] for name in new if name in before})
        return found


def _is_unopened(kind: Kind, x: Any) -> bool:
    if kind is MET or is_writable(kind) or isinstance(x, (type, types.ModuleType)):
        return False
    return bool(type(x).__dictoffset__) and not isinstance(x, Tracer)


def _is_effect(kind: Kind, new: dict[str, Any]) -> bool:
    """Whether new attributes hold no data: they are written when it is compiled."""
    if kind is SENTINEL or not isinstance(kind, ConstantKind):
        return False
    leaves = jax.tree.leaves(list(new.values()))
    return not any(isinstance(leaf, Tracer) for leaf in leaves)
