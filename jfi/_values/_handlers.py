"""What code catches, and whether it divides there."""

import dis
import itertools
from collections.abc import Sequence
from typing import NamedTuple


class Handlers(NamedTuple):
    """The `except` clauses of code, and of what is defined in it.

    Attributes:
        some: Whether there are any, or `contextlib.suppress`.
        of_all: Whether some have no class.
        around_division: Whether it divides where it has some: what Python refuses for
            some floats.
    """

    some: bool
    of_all: bool
    around_division: bool

    def __or__(self, other: "Handlers") -> "Handlers":
        return Handlers(*(a or b for a, b in zip(self, other, strict=True)))


def handlers_in(steps: Sequence[dis.Instruction]) -> Handlers:
    """Those of one function, from what its code does."""
    of_all = any(
        step.opname == "PUSH_EXC_INFO" and following.opname == "POP_TOP"
        for step, following in itertools.pairwise(steps)
    )
    named = any(
        step.opname == "CHECK_EXC_MATCH" or step.argval == "suppress" for step in steps
    )
    some = of_all or named
    return Handlers(some, of_all, some and any(map(_may_divide, steps)))


def _may_divide(step: dis.Instruction) -> bool:
    is_operation = step.opname == "BINARY_OP"
    return is_operation and step.argrepr.rstrip("=") in ("/", "//", "%", "**")
