"""Tables that a person likes to read: by rich in a terminal, else in plain text."""

import sys
import time
from collections.abc import Sequence


def show(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; columns named with a `>` in front are numbers."""
    if sys.stdout.isatty() and _with_rich(columns, rows):
        return
    print(as_text(columns, rows), flush=True)  # noqa: T201


def as_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Set a table in plain text.

    >>> print(as_text(["name", ">calls"], [["plan", "12"], ["step", "7"]]))
    name  calls
    plan     12
    step      7
    """
    heads = [column.removeprefix(">") for column in columns]
    cells = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [column.startswith(">") for column in columns]
    lines = [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in cells
    ]
    return "\n".join(lines)


def size(number: float) -> str:
    """A number of bytes, as a person says it.

    >>> size(1234567)
    '1.2 MB'
    """
    units = iter(("B", "KB", "MB", "GB", "TB"))
    unit = next(units)
    while number >= 1000 and unit != "TB":
        number, unit = number / 1000, next(units)
    digits = 0 if number >= 10 or unit == "B" else 1
    return f"{number:.{digits}f} {unit}"


def span(seconds: float) -> str:
    """A time, as a person says it.

    >>> span(4000)
    '1.1 h'
    """
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def ago(moment: float) -> str:
    """How long ago a moment was."""
    return f"{span(max(time.time() - moment, 0))} ago"


def _with_rich(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table()
    for column in columns:
        right = column.startswith(">")
        table.add_column(column.removeprefix(">"), justify="right" if right else "left")
    for row in rows:
        table.add_row(*map(Text, row))  # Text: brackets in a name are no markup
    Console().print(table)
    return True
