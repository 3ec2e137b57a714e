"""What a report holds of each input, line, callback ...: plain data."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .._jax_internals import compiled_anew
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


class Compilation(NamedTuple):
    """A compiled program. What XLA does not say is None.

    Attributes:
        seconds_lowering: How long JAX took to write the program down for XLA.
        seconds: How long XLA took to compile it.
        instructions: How many instructions are left in the compiled program.
        argument_bytes: Memory of the arguments.
        output_bytes: Memory of the results.
        temp_bytes: Memory of what lives in between.
        alias_bytes: Memory of arguments that results are written to.
        code_bytes: The size of the code.
        flops: XLA's own count: it counts the body of a loop once, and calls of
            libraries, such as factorizations, as almost nothing.
        bytes_accessed: XLA's own count of what is read and written.
    """

    seconds_lowering: float
    seconds: float
    instructions: int | None
    argument_bytes: int | None
    output_bytes: int | None
    temp_bytes: int | None
    alias_bytes: int | None
    code_bytes: int | None
    flops: float | None
    bytes_accessed: float | None

    @property
    def peak_bytes(self) -> int | None:
        """Arguments, results and temporaries together."""
        if self.argument_bytes is None:
            return None
        parts = self.argument_bytes, self.output_bytes, self.temp_bytes
        return sum(part or 0 for part in parts) - (self.alias_bytes or 0)


def compilation(lower: Callable[[], Any]) -> Compilation:
    """Compile a program, past JAX's cache, and note what XLA says of it."""
    start = time.perf_counter()
    lowered = lower()
    middle = time.perf_counter()
    compiled = compiled_anew(lowered)
    end = time.perf_counter()
    memory = _asked(compiled.memory_analysis)
    costs = _asked(compiled.cost_analysis) or {}
    if isinstance(costs, list):
        costs = costs[0] if costs else {}
    text = _asked(compiled.as_text)
    return Compilation(
        seconds_lowering=middle - start,
        seconds=end - middle,
        instructions=text.count(" = ") if text else None,
        argument_bytes=getattr(memory, "argument_size_in_bytes", None),
        output_bytes=getattr(memory, "output_size_in_bytes", None),
        temp_bytes=getattr(memory, "temp_size_in_bytes", None),
        alias_bytes=getattr(memory, "alias_size_in_bytes", None),
        code_bytes=getattr(memory, "generated_code_size_in_bytes", None),
        flops=costs.get("flops"),
        bytes_accessed=costs.get("bytes accessed"),
    )


def _asked(question: Callable[[], Any]) -> Any:
    """An answer that not every backend has."""
    try:
        return question()
    except (NotImplementedError, RuntimeError):
        return None
