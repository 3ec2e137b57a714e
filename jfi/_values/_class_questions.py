"""What code does that depends on whether a value is an array of NumPy or of JAX."""

import dis
import itertools
from collections.abc import Iterator, Sequence


_COMPARES = frozenset({"COMPARE_OP", "CONTAINS_OP", "IS_OP"})
_DATA = ("complex", "float", "float32", "float64", "ndarray")
_APART = 12  # steps from `type` to the end of `type(x) in (int, float, np.float32)`


def compared_classes(steps: Sequence[dis.Instruction]) -> Iterator[str]:
    """The names of classes with which code compares `type(x)`.

    Args:
        steps: What the code does, without steps of no effect.
    """
    for i, step in enumerate(steps):
        if step.opname == "LOAD_GLOBAL" and step.argval == "type":
            before = steps[i - 1].argval if i else None
            of_subclass, calls, names = before == "issubclass", 0, []
            for after, later in itertools.pairwise(steps[i : i + _APART]):
                calls += later.opname == "CALL"  # of `type`, and of `issubclass`
                of_type = calls == 1 and after.opname == "CALL"
                if before == "get" and of_type and later.opname != "LOAD_ATTR":
                    yield from _DATA  # `RULES.get(type(x), rule)`: whatever it has
                    break
                if later.opname == "LOAD_CONST" and after.argval == "type":
                    names.append(type(later.argval).__name__)  # `type(x) is type(1.0)`
                elif later.opname in ("LOAD_ATTR", "LOAD_GLOBAL"):
                    names.append(later.argval)
                elif later.opname in _COMPARES or (of_subclass and calls == 2):
                    yield from names
                    break


def is_in_place(step: dis.Instruction, following: dis.Instruction) -> bool:
    """Whether two steps are the end of `x += 1`, of a local variable."""
    is_operation = step.opname == "BINARY_OP" and step.argrepr.endswith("=")
    return is_operation and following.opname.startswith(("STORE_DEREF", "STORE_FAST"))
