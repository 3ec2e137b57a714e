"""Names whose values code only counts in, or appends to, as its bytecode shows.

`self.calls += 1`, `n = n + 1`, `table["k"] -= 2`, `self.losses.append(loss)` and
`log["loss"].append(loss)`. Whatever else code does with a name, and any way of writing
these that is not known here, is a use: it costs a compilation, and never a result.
"""

import dis
from collections.abc import Sequence
from types import CodeType

from ._caches import by_identity


@by_identity
def used_otherwise(code: CodeType) -> frozenset[str]:
    """The variables and attributes that code uses otherwise, or spells as a text."""
    steps = [s for s in dis.get_instructions(code) if s.opname not in _NO_EFFECT]
    names = {
        step.argval
        for k, step in enumerate(steps)
        if isinstance(step.argval, str) and not _is_harmless(step)
        if step.opname not in _LOADS
        or not _only_changes(step.argval, steps[k + 1 : k + 8])
    }
    texts = {x for x in code.co_consts if isinstance(x, str)}
    inner = (used_otherwise(x) for x in code.co_consts if isinstance(x, CodeType))
    return frozenset(names | texts).union(*inner)


_NO_EFFECT = frozenset(
    ("CACHE", "COPY", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL", "RESUME", "SWAP")
)
_LOADS = frozenset(
    ("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
)
_STORES = frozenset(("STORE_ATTR", "STORE_GLOBAL", "STORE_NAME", "STORE_DEREF"))
_OF_FUNCTION = ("LOAD_FAST", "STORE_FAST", "DELETE_FAST", "LOAD_CLOSURE", "MAKE_CELL")
_SIGNS = frozenset(("+", "+=", "-", "-=", "*", "*="))


def _is_harmless(step: dis.Instruction) -> bool:
    """Whether it only stores under a name, or names a variable of the function itself.

    Functions inside are looked at for themselves, with the variables that they share.
    """
    return step.opname in _STORES or step.opname.startswith(_OF_FUNCTION)


def _only_changes(name: str, steps: Sequence[dis.Instruction]) -> bool:
    """Whether what follows the load of a name counts in its value, or appends to it."""
    in_item = len(steps) > 1 and _takes_item(steps[1])
    if in_item:  # `table["k"]`
        if steps[0].opname != "LOAD_CONST":
            return False
        steps = steps[2:]
    if not steps:
        return False
    if steps[0].opname in ("LOAD_ATTR", "LOAD_METHOD"):
        return steps[0].argval in ("append", "extend")
    if steps[0].opname.startswith("LOAD_"):  # else the other number came first
        steps = steps[1:]
    if not steps or steps[0].opname != "BINARY_OP" or steps[0].argrepr not in _SIGNS:
        return False
    # Of `self.n = self.n + 1`, `self` is loaded in between.
    store = next((s for s in steps[1:3] if not s.opname.startswith("LOAD_")), None)
    if in_item:
        return store is not None and store.opname == "STORE_SUBSCR"
    return store is not None and store.opname in _STORES and store.argval == name


def _takes_item(step: dis.Instruction) -> bool:
    return step.opname == "BINARY_SUBSCR" or step.argrepr == "[]"
