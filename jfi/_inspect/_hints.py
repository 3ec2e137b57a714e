"""What of a report is worth a look, in a line each."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._values import listed
from ._amounts import of_bytes, of_lines, of_number
from ._rows import WIDE, Constant, Input


if TYPE_CHECKING:
    from ._report import Inspection

# A line whose loop is worth a word. Functions of libraries make many operations, too,
# but not the same ones again and again.
MANY_OPERATIONS, NEARLY_ALL = 50, 0.8
WORTH_SPARING = 1000  # flops
LARGE_CONSTANT = 2**20  # bytes


def hints(report: "Inspection", default_dtype: Any) -> Iterator[str]:
    """Python loops, constants, unused inputs, 64-bit floats, callbacks in loops ...

    Args:
        report: The report.
        default_dtype: The dtype of floats that are created.
    """
    yield from _python_loops(report)
    yield from _wide_floats(report, default_dtype)
    if report.unused:
        verb = "is" if len(report.unused) == 1 else "are"
        unused = listed(report.unused, most=4)
        yield f"No result depends on {unused}, which {verb} passed."
    for constant in report.constants:
        if constant.nbytes >= LARGE_CONSTANT:
            name = constant.path or "An array made by NumPy"
            yield (
                f"{name} ({of_bytes(constant.nbytes)}) is no argument: jax.jit copies "
                "it into each program. Pass it as an argument."
            )
    for event in report.callbacks:
        if event.times > 1:
            yield (
                f"{event.name}() is called back {of_number(event.times)} times from "
                f"{event.line}: each call leaves the device."
            )
    spared = sum(repeat.flops for repeat in report.repeated)
    total = report.flops + report.transcendentals
    if spared > max(0.1 * total, WORTH_SPARING):
        dearest = report.repeated[0]
        where = of_lines(dearest.lines) or "lines that are not known"
        yield (
            f"{dearest.name} computes the same {dearest.times} times ({where}). XLA "
            "removes the copies that it finds; to be sure, keep the result in a "
            "variable."
        )


def _python_loops(report: "Inspection") -> Iterator[str]:
    found = [
        row
        for row in report.lines
        if row.line
        and row.operations >= MANY_OPERATIONS
        and row.recurring >= NEARLY_ALL * row.operations
    ]
    if not found:
        return
    first, *others = found
    more = ""
    if others:
        total = sum(row.operations for row in others)
        lines = of_lines(row.line for row in others)
        more = f" and {total} from {lines}"
    yield (
        f"{first.operations} operations come from {first.line} ({first.most} "
        f"{first.times} times){more}: a Python loop? scan or fori_loop traces and "
        "compiles it once."
    )


def _wide_floats(report: "Inspection", default_dtype: Any) -> Iterator[str]:
    if np.dtype(default_dtype).itemsize == 8:
        return
    arrays: list[Input | Constant] = [*report.inputs, *report.constants]
    wide = [x.path or "a constant" for x in arrays if x.dtype in WIDE]
    if wide:
        names = listed(wide, most=4)
        yield f"{names} has 64-bit floats, and floats here are 32-bit."
    by_line = {conversion.line: conversion for conversion in report.widened}
    for conversion in list(by_line.values())[:3]:
        yield (
            f"{conversion.after} comes in at {conversion.line} ({conversion.name}). "
            "Write dtype=jnp.float32, or a Python number, which has no dtype."
        )
