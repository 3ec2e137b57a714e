"""How a report is shown: as text, as HTML for notebooks, and what is worth a look."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .._shown import aligned_lines, html_facts, html_table
from .._values import array_label, listed
from ._flow import Line
from ._rows import WIDE, Compilation, Constant, Event, Input


if TYPE_CHECKING:
    from ._report import Inspection


def plain(report: "Inspection") -> str:
    """The report in words, for any terminal."""
    lines = [headline(report)]
    lines += [f"  {word:<12} {text}" for word, text in facts(report)]
    if rows := _line_rows(report):
        lines += ["", *(f"  {line}" for line in aligned_lines([_COLUMNS, *rows]))]
    if report.hints:
        lines += ["", *(f"  * {hint}" for hint in report.hints)]
    return "\n".join(lines)


def html(report: "Inspection") -> str:
    """The report as tables."""
    parts = [html_facts(headline(report), facts(report))]
    if rows := _line_rows(report):
        parts.append(html_table(_COLUMNS, rows))
    if report.hints:
        items = "".join(f"<li>{escape(hint)}</li>" for hint in report.hints)
        parts.append(f"<ul>{items}</ul>")
    return f"<div>{''.join(parts)}</div>"


def headline(report: "Inspection") -> str:
    """The function, and how large it is."""
    distinct = len(report.operations) - sum(r.times - 1 for r in report.repeated)
    again = f" ({distinct} distinct)" if distinct < len(report.operations) else ""
    return f"{report.name}: {len(report.operations)} operations{again}"


def facts(report: "Inspection") -> Iterator[tuple[str, str]]:
    """What there is to say in a line: a word, and the line."""
    yield "operations", _counted(report.counts)
    yield "flops", _flops(report)
    if report.flops_by_operation:
        yield "most flops", _counted(report.flops_by_operation, 4)
    reads = of_bytes(report.bytes)
    yield "traffic", f"{reads} read and written, if nothing is fused"
    largest = report.largest
    if largest is not None:
        made = largest.path or largest.made_by
        where = f" at {largest.line}" if largest.line else ""
        shape = array_label(largest.shape, largest.dtype)
        yield "largest", f"{of_bytes(largest.nbytes)}: {shape} of {made}{where}"
    peak = of_bytes(report.peak_bytes)
    yield "peak memory", f"{peak}, estimated operation by operation"
    yield "dtypes", _counted(report.dtypes)
    yield from _uses(report)
    for loop in report.loops:
        turns = "unknown times" if loop.times is None else f"{loop.times} times"
        runs = f"runs {loop.operations} operations {turns}"
        yield "loop", f"{loop.name} at {loop.line} {runs}"
    for branches in report.branches:
        each = ", ".join(
            f"{of_number(flops)}{' (counted)' if k == branches.counted else ''}"
            for k, flops in enumerate(branches.flops)
        )
        yield "branches", f"at {branches.line}: flops {each}"
    if report.compiled is not None:
        yield from _compiled(report.compiled)


def _flops(report: "Inspection") -> str:
    text = of_number(report.flops)
    if report.transcendentals:
        text += f", and {of_number(report.transcendentals)} of exp, sqrt ..."
    if report.unbounded:
        text += "; a loop of unknown length counts once"
    if report.uncounted:
        text += f"; without {', '.join(report.uncounted)}"
    return text


def _uses(report: "Inspection") -> Iterator[tuple[str, str]]:
    """Inputs, constants, repetitions, draws and callbacks."""
    if report.inputs:
        total = of_bytes(sum(x.nbytes for x in report.inputs))
        yield "inputs", f"{len(report.inputs)} arrays and numbers, {total}"
    if report.unused:
        yield "unused", ", ".join(report.unused)
    if report.constants:
        names = (
            f"{c.path or 'unnamed'} {of_bytes(c.nbytes)}" for c in report.constants[:6]
        )
        more = len(report.constants) - 6
        rest = f" and {more} more" if more > 0 else ""
        yield "captured", ", ".join(names) + rest
    if report.repeated:
        spared = sum(repeat.times - 1 for repeat in report.repeated)
        which = Counter[str]()
        for repeat in report.repeated:
            which[repeat.name] += repeat.times - 1
        again = _counted(which, 4)
        yield "repeated", f"{spared} operations compute what is there: {again}"
    if report.unneeded:
        yield "unneeded", f"no result depends on {_counted(report.unneeded, 4)}"
    if report.draws:
        draws = sum(draw.times for draw in report.draws)
        yield "draws", f"{of_number(draws)} at {_places(report.draws)}"
    if report.callbacks:
        called = ", ".join(dict.fromkeys(event.name for event in report.callbacks))
        yield "callbacks", f"{called} at {_places(report.callbacks)}"
    if report.widened:
        lines = of_lines(conversion.line for conversion in report.widened)
        yield "64-bit", f"floats come in at {lines}"


def _compiled(compiled: Compilation) -> Iterator[tuple[str, str]]:
    times = f"in {compiled.seconds:.2f} s, lowered in {compiled.seconds_lowering:.2f} s"
    yield "compiled", f"{times}, {of_number(compiled.instructions)} instructions"
    parts = (
        f"arguments {of_bytes(compiled.argument_bytes)}, "
        f"results {of_bytes(compiled.output_bytes)}, "
        f"temporaries {of_bytes(compiled.temp_bytes)}"
    )
    yield "planned", f"{of_bytes(compiled.peak_bytes)}: {parts}"


def _counted(counts: "Counter[str]", most: int = 8) -> str:
    shown = ", ".join(f"{name} {of_number(n)}" for name, n in counts.most_common(most))
    return shown + (" ..." if len(counts) > most else "")


def _places(events: Sequence[Event]) -> str:
    return of_lines(event.line for event in events) or "lines that are not known"


_COLUMNS = "line", "operations", "executed", "flops", "traffic", "code"


def _line_rows(report: "Inspection") -> list[tuple[str, ...]]:
    return [
        (
            str(row.line) if row.line else "elsewhere",
            of_number(row.operations),
            of_number(row.executed),
            of_number(row.flops),
            of_bytes(row.bytes),
            row.line.text[:48] if row.line else "",
        )
        for row in report.lines[:8]
    ]


# ------------------------------------------------------------ hints

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
    loops = [
        row
        for row in report.lines
        if row.line
        and row.operations >= MANY_OPERATIONS
        and row.recurring >= NEARLY_ALL * row.operations
    ]
    if not loops:
        return
    first, *others = loops
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


# ------------------------------------------------------------ amounts


def of_bytes(n: float | None) -> str:
    """An amount of memory.

    >>> of_bytes(40), of_bytes(1_500_000)
    ('40 B', '1.5 MB')
    """
    if n is None:
        return "unknown"
    return f"{of_number(n)}B" if n >= 1000 else f"{n:.0f} B"


def of_number(n: float | None) -> str:
    """A number with three digits.

    >>> of_number(12), of_number(45_300), of_number(2.5e9)
    ('12', '45.3 k', '2.5 G')
    """
    if n is None:
        return "unknown"
    for unit in ("", "k", "M", "G", "T"):
        if abs(n) < 999.5:
            return f"{n:.3g} {unit}".strip()
        n /= 1000
    return f"{n:.3g} P"


def of_lines(lines: Iterable[Line | None], most: int = 4) -> str:
    """Some lines, each once, with their files.

    >>> of_lines([Line("a/b.py", 3), Line("a/b.py", 5), Line("c.py", 1), None])
    'b.py, line 3, 5; c.py, line 1'
    """
    by_file: dict[str, list[str]] = {}
    distinct = [line for line in dict.fromkeys(lines) if line is not None]
    for line in distinct[:most]:
        by_file.setdefault(str(line).rpartition(" ")[0], []).append(str(line.number))
    named = "; ".join(f"{file} {', '.join(n)}" for file, n in by_file.items())
    more = len(distinct) - most
    return f"{named} and {more} more" if more > 0 else named
