"""A report as text: plain, and for rich."""

import importlib.util
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._optional._packages import require
from .._shown import aligned_lines
from .._values import array_label
from ._amounts import of_bytes, of_lines, of_number
from ._rows import Event


if TYPE_CHECKING:
    from ._report import Inspection


class Table(NamedTuple):
    """A part of a report.

    Attributes:
        title: What it is about.
        columns: The heads of its columns; the first one is words, others are numbers.
        rows: Its rows.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


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
        yield (
            "loop",
            (f"{loop.name} at {loop.line} runs {loop.operations} operations {turns}"),
        )
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


def _compiled(compiled: Any) -> Iterator[tuple[str, str]]:
    yield (
        "compiled",
        (
            f"in {compiled.seconds:.2f} s, "
            f"lowered in {compiled.seconds_lowering:.2f} s, "
            f"{of_number(compiled.instructions)} instructions"
        ),
    )
    yield (
        "planned",
        (
            f"{of_bytes(compiled.peak_bytes)}: "
            f"arguments {of_bytes(compiled.argument_bytes)}, "
            f"results {of_bytes(compiled.output_bytes)}, "
            f"temporaries {of_bytes(compiled.temp_bytes)}"
        ),
    )


def _counted(counts: "Counter[str]", most: int = 8) -> str:
    shown = ", ".join(f"{name} {of_number(n)}" for name, n in counts.most_common(most))
    return shown + (" ..." if len(counts) > most else "")


def _places(events: Sequence[Event]) -> str:
    return of_lines(event.line for event in events) or "lines that are not known"


def tables(report: "Inspection") -> Iterator[Table]:
    """Its parts with many rows."""
    rows = [
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
    if rows:
        columns = "line", "operations", "executed", "flops", "traffic", "code"
        yield Table("by line", columns, rows)


def plain(report: "Inspection") -> str:
    """The report in words, for any terminal."""
    lines = [headline(report)]
    lines += [f"  {word:<12} {text}" for word, text in facts(report)]
    for table in tables(report):
        lines += [
            "",
            *(f"  {line}" for line in aligned_lines([table.columns, *table.rows])),
        ]
    if report.hints:
        lines += ["", *(f"  * {hint}" for hint in report.hints)]
    return "\n".join(lines)


def rich(report: "Inspection") -> Any:
    """The report for a console of rich."""
    group: Any = require("rich.console", extra="inspect", needed_by="show()").Group
    text: Any = require("rich.text", extra="inspect", needed_by="show()").Text
    table: Any = require("rich.table", extra="inspect", needed_by="show()").Table
    grid = table.grid(padding=(0, 2))
    for word, line in facts(report):
        grid.add_row(text(word, style="cyan"), text(line))
    parts: list[Any] = [text(headline(report), style="bold"), grid]
    for part in tables(report):
        shown = table(box=None, padding=(0, 2, 0, 0), header_style="cyan")
        cells = zip(*part.rows, strict=True)
        for k, (column, found) in enumerate(zip(part.columns, cells, strict=True)):
            is_last = k == len(part.columns) - 1  # the code, which may be cut
            shown.add_column(
                column,
                justify="left" if is_last or k == 0 else "right",
                min_width=None if is_last else max(map(len, (column, *found))),
                no_wrap=True,
            )
        for row in part.rows:
            shown.add_row(*map(text, row))
        parts += [text(""), shown]
    parts += [text(f"* {hint}", style="yellow") for hint in report.hints]
    return group(*parts)


def show(report: "Inspection") -> None:
    """Print a report, in colors if rich is installed."""
    if importlib.util.find_spec("rich") is None:
        print(plain(report))  # noqa: T201 - what it is for
        return
    console: Any = require("rich.console", extra="inspect", needed_by="show()")
    console.Console().print(rich(report))
