"""What a report holds of each input, line, callback ...: plain data."""

from typing import Any, NamedTuple

from ._flow import Line


MANY_TIMES = 8  # the same operation on one line, for a loop


class Input(NamedTuple):
    """An input of a function.

    Attributes:
        path: Where it is in the arguments, as the user would write it.
        shape: Its shape.
        dtype: Its dtype.
        nbytes: How large it is.
        used: Whether a result depends on it.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    used: bool


class Constant(NamedTuple):
    """An array that a function uses and does not get as an argument.

    Attributes:
        path: The variable that holds it; "" if that is not known.
        shape: Its shape.
        dtype: Its dtype.
        nbytes: How large it is.
        line: The first line that uses it.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    line: Line | None


class LineRow(NamedTuple):
    """What comes from one line of the user's code.

    Attributes:
        line: The line; None for what has none.
        operations: How many operations it makes in the program.
        most: The operation that it makes most often, with shape and dtype alike.
        times: How often it makes that one.
        recurring: How many of the operations it makes `MANY_TIMES` or more; in a
            Python loop that is nearly all of them. Those of libraries don't count.
        executed: How many operations run, with the turns of loops.
        flops: Those that run, with `transcendentals`.
        bytes: What they read and write.
    """

    line: Line | None
    operations: int
    most: str
    times: int
    recurring: int
    executed: int
    flops: int
    bytes: int


class Array(NamedTuple):
    """An array of a program.

    Attributes:
        nbytes: How large it is.
        shape: Its shape.
        dtype: Its dtype.
        made_by: The operation that makes it, or "input", "constant".
        path: What the user calls an input.
        line: Where it is made.
    """

    nbytes: int
    shape: tuple[int, ...]
    dtype: str
    made_by: str
    path: str
    line: Line | None


class Loop(NamedTuple):
    """A loop.

    Attributes:
        name: "scan" or "while".
        times: How many turns it makes; None if only data decide.
        operations: How many operations are in its body.
        flops: Those of all turns, with `transcendentals`; of one if the number is
            not known.
        line: Where it is.
    """

    name: str
    times: int | None
    operations: int
    flops: int
    line: Line | None


class Repeat(NamedTuple):
    """An operation that computes again what is there already.

    Attributes:
        name: The operation.
        times: How often the same is computed.
        flops: What could be spared.
        lines: Where.
    """

    name: str
    times: int
    flops: int
    lines: tuple[Line, ...]


class Event(NamedTuple):
    """A call of Python, or a random draw.

    Attributes:
        name: What is called, or "draw".
        times: How often; loops of unknown length count once.
        line: Where.
    """

    name: str
    times: int
    line: Line | None


class Conversion(NamedTuple):
    """An operation that makes 64-bit floats out of narrower numbers, or of none.

    Attributes:
        name: The operation.
        before: The dtypes of its inputs.
        after: The dtype that it makes.
        line: Where.
    """

    name: str
    before: tuple[str, ...]
    after: str
    line: Line | None


WIDE = ("float64", "complex128")


def dtype_of(aval: Any) -> str:
    """The name of a dtype; "" for a token."""
    return str(getattr(aval, "dtype", ""))


def shape_of(aval: Any) -> tuple[int, ...]:
    """The shape; empty for a token."""
    return tuple(getattr(aval, "shape", ()))
