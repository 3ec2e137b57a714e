"""Which code reads attributes by names that it does not spell out.

`getattr(self, "momentum", None)` names what it reads as `self.momentum` does.
"""

import dis
from collections.abc import Iterator, Sequence
from types import CodeType


_BY_NAME = frozenset(("delattr", "getattr", "hasattr", "setattr"))
_READS_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_NO_EFFECT = frozenset(("CACHE", "EXTENDED_ARG", "KW_NAMES", "NOP", "PRECALL"))
_JUMPS = frozenset((*dis.hasjabs, *dis.hasjrel))


def made_up_names(code: CodeType) -> Iterator[str]:
    """Those of `getattr`, `hasattr` ... that code may call with names that it makes up.

    Not what nested functions call.
    """
    if _BY_NAME.isdisjoint(code.co_names):  # most code: listing its steps is slow
        return
    steps = list(dis.get_instructions(code))
    for i, step in enumerate(steps, start=1):
        by_name = step.opname in _READS_GLOBAL and step.argval in _BY_NAME
        if by_name and not _is_called_with_text(steps[i:]):
            yield step.argval


def _is_called_with_text(steps: Sequence[dis.Instruction]) -> bool:
    """Whether what is on the stack is called, with a text as second argument.

    How many values are above the function is counted until they are its arguments.
    """
    above, is_text = 0, False
    for step in steps:
        if step.opname in _NO_EFFECT:
            continue
        if step.opname == "CALL" and step.arg == above:
            return is_text
        if step.opcode in _JUMPS or above < 0:
            return False
        if step.opname == "LOAD_CONST" and above == 1:
            above, is_text = 2, isinstance(step.argval, str)
            continue
        if step.opname == "CALL":  # nominally, what precedes it has taken the arguments
            above -= (step.arg or 0) + 1
        else:
            above += dis.stack_effect(step.opcode, step.arg)
        is_text = is_text and above > 2  # else a value was made of the text
    return False
