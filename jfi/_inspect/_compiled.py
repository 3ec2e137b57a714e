"""What XLA makes of a program, and how long that takes."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .._jax_internals import compiled_anew


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
