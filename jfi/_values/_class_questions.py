"""What code does that depends on whether a value is an array of NumPy or of JAX."""

import dis
from collections.abc import Iterator, Sequence


_COMPARES = frozenset({"COMPARE_OP", "CONTAINS_OP", "IS_OP"})
_APART = 12  # steps from `type` to the end of `type(x) in (int, float, np.float32)`


def compared_classes(steps: Sequence[dis.Instruction]) -> Iterator[str]:
    """The names of classes with which code compares `type(x)`.

    Args:
        steps: What the code does, without steps of no effect.
    """
    for i, step in enumerate(steps):
        if step.opname == "LOAD_GLOBAL" and step.argval == "type":
            names = []
            for later in steps[i + 1 : i + _APART]:
                if later.opname in ("LOAD_ATTR", "LOAD_GLOBAL"):
                    names.append(later.argval)
                elif later.opname in _COMPARES:
                    yield from names
                    break


def is_in_place(step: dis.Instruction, following: dis.Instruction) -> bool:
    """Whether two steps are the end of `x += 1`, of a local variable."""
    is_operation = step.opname == "BINARY_OP" and step.argrepr.endswith("=")
    return is_operation and following.opname.startswith(("STORE_DEREF", "STORE_FAST"))
