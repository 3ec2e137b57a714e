"""Which variables code uses, and does not only count in.

`calls += 1`, `COUNTS["step"] += 1`, `Model.made += 1` and `seen.append(name)` leave a
value where it was: nothing else that the code does depends on it. With `return x *
calls` beside, it does.

Where code reads a variable, the stack of Python is followed until nothing on it comes
from there. The syntax tree would be easier to read, and is not there for functions of
`exec` and of the interactive interpreter.
"""

import dis
import functools
from types import CodeType


_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_READS_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_NOTHING = frozenset("CACHE EXTENDED_ARG KW_NAMES NOP PRECALL".split())
# Takes values off the stack, and leaves one that is made of them.
_COMPUTES = frozenset(
    """BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE
    BUILD_STRING BUILD_TUPLE COMPARE_OP CONTAINS_OP CONVERT_VALUE FORMAT_SIMPLE
    FORMAT_VALUE FORMAT_WITH_SPEC IS_OP UNARY_INVERT UNARY_NEGATIVE UNARY_NOT""".split()
)
_BELOW = 64  # values that are on the stack before, of which none comes from there


class _UsedError(Exception):
    """The value gets elsewhere."""


@functools.lru_cache(maxsize=4096)
def used_names(code: CodeType) -> frozenset[str]:
    """The global variables and attributes that code uses otherwise than to count.

    It takes ten times as long as to list what code reads: ask only who changes some.
    """
    steps = list(dis.get_instructions(code))
    found: set[str] = set()
    for i, step in enumerate(steps):
        is_read = step.opname in _READS or step.opname in _READS_ATTRIBUTE
        if is_read and step.argval not in found and _is_used(steps[i:]):
            found.add(step.argval)
    for nested in code.co_consts:
        if isinstance(nested, CodeType):
            found |= used_names(nested)
    return frozenset(found)


def _is_used(steps: list[dis.Instruction]) -> bool:
    """Whether what the first step reads gets anywhere but back to where it was."""
    stack = _Stack(steps[0])
    try:
        for step in steps:
            stack.follow(step)
            if not any(stack.values):
                return False
    except _UsedError:
        pass
    return True


class _Stack:
    """Which values on Python's stack come from a variable.

    Args:
        read: The step that reads it.
    """

    def __init__(self, read: dis.Instruction) -> None:
        self._name, self._is_attribute = read.argval, read.opname in _READS_ATTRIBUTE
        self.values = [False] * _BELOW

    def follow(self, step: dis.Instruction) -> None:
        """Do to the stack what a step does.

        Raises:
            _UsedError: A value from the variable gets elsewhere, or may do so.
        """
        name, arg, values = step.opname, step.arg or 0, self.values
        if name == "COPY":
            values.append(values[-arg])
        elif name == "SWAP":
            values[-1], values[-arg] = values[-arg], values[-1]
        elif name in _READS:
            self._load(step, came=not self._is_attribute and self._is_named(step))
        elif name in _READS_ATTRIBUTE:
            came = self._is_attribute and self._is_named(step)
            (owner,) = self._take(1)
            more = dis.stack_effect(step.opcode, step.arg)
            values += [owner or came] * (1 + more)
        elif name in _COMPUTES:
            taken = self._take(1 - dis.stack_effect(step.opcode, step.arg))
            values.append(any(taken))
        elif name in ("CALL", "CALL_KW"):
            self._call(arg + 2 + (name == "CALL_KW"))
        elif name.startswith("LOAD_") or name == "PUSH_NULL":
            self._load(step, came=False)
        elif name not in _NOTHING:
            self._put(step)

    def _is_named(self, step: dis.Instruction) -> bool:
        return bool(step.argval == self._name)

    def _take(self, count: int) -> list[bool]:
        taken = self.values[len(self.values) - count :]
        del self.values[len(self.values) - count :]
        return taken

    def _load(self, step: dis.Instruction, *, came: bool) -> None:
        more = dis.stack_effect(step.opcode, step.arg)
        if came and more > 1:  # to be called itself
            raise _UsedError
        self.values += [came] * more

    def _call(self, count: int) -> None:
        """What is called, perhaps the object it is a method of, and the arguments."""
        first, second, *arguments = self._take(count)
        is_method = first or second
        if any(arguments) and not is_method:
            raise _UsedError
        self.values.append(is_method)

    def _put(self, step: dis.Instruction) -> None:
        """A step that leaves nothing on the stack: a value may go where it was."""
        match step.opname:
            case "POP_TOP" | "DELETE_ATTR":
                self._take(1)
                gone = False
            case "STORE_GLOBAL" | "STORE_NAME":
                (value,) = self._take(1)
                gone = value and (self._is_attribute or not self._is_named(step))
            case "STORE_ATTR":
                value, owner = self._take(2)
                is_back = self._is_attribute and self._is_named(step)
                gone = value and not (owner or is_back)
            case "STORE_SUBSCR":
                value, owner, key = self._take(3)
                gone = (value or key) and not owner
            case "DELETE_SUBSCR":
                owner, key = self._take(2)
                gone = key and not owner
            case _:
                gone = True
        if gone:
            raise _UsedError
