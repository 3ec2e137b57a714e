"""The rows of the benchmark of `autojit`: measured, checked and printed."""

import contextlib
import logging
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Case, keep, line_of, ratios
from rich.console import Console
from rich.table import Table


Way = Callable[[], Any]
EQUINOX, NNX = "equinox.filter_jit", "nnx.jit"
FACTOR, FASTER = "equinox / jfi", 2.5


class Traces(logging.Handler):
    """Counts the runs of bodies, which log them: variables are written at each call."""

    n = 0

    def emit(self, record: logging.LogRecord) -> None:
        Traces.n += 1


LOG = logging.Logger("traces")
LOG.addHandler(Traces())


@dataclass
class Row(Case):
    calls: int = 300  # in a row, in each of the rounds
    compared: int = 3  # results of each way, before the timing: there it compiles
    once: bool = False  # the body of jfi's way counts, and must run once in all
    value: Callable[[Any], Any] = lambda result: result  # what of it is compared
    asks_more: bool = True  # where equinox takes FASTER times as long, jfi must not


def differences(row: Row) -> str:
    """What is wrong with the results; nothing if they equal the base's."""
    for way in (row.base, row.ours, *row.others.values()):
        for _ in range(row.compared):  # each way has its programs side by side
            with contextlib.suppress(Exception):
                way()
    for _ in range(row.compared):
        expected = row.value(row.base())
        for name, way in {"jfi": row.ours, **row.others}.items():
            try:
                value = row.value(way())
            except Exception as error:
                return f"{name}: {type(error).__name__}: {error}"
            if value.dtype != expected.dtype or not np.array_equal(value, expected):
                return f"{name} gives {value}, not {expected}"
    return ""


def measure(row: Row) -> dict[str, float]:
    """The ratios to the base; none if the case fails, which is printed."""
    Traces.n = 0
    wrong = differences(row)
    found = {} if wrong else ratios(row, rounds=101, calls=row.calls)
    if row.once and not wrong and Traces.n != 1:
        wrong = f"traced {Traces.n} times instead of once"
    if wrong:
        print(f"{row.name}:\n    {wrong}")
    return {} if wrong else found


def cell(ratio: float, missed: bool | None = None) -> str:
    """A ratio; red or green if something is asked of it."""
    text = f"{ratio:.2f}" if math.isfinite(ratio) else "-"
    return text if missed is None else f"[{'red' if missed else 'green'}]{text}[/]"


def report(results: Iterable[tuple[Row, dict[str, float]]]) -> None:
    """Print the table and exit with 1 if a limit is missed or a case fails."""
    results = list(results)
    title = "autojit (medians of interleaved ratios)"
    keep(title, [line_of(row, found) for row, found in results if found])
    columns = ("jfi / base", "limit", f"{EQUINOX} / base", f"{NNX} / base", FACTOR)
    table = Table("case", *columns, title=title)
    failed = False
    for row, found in results:
        ours, theirs, of_nnx = (found.get(k, math.nan) for k in ("jfi", EQUINOX, NNX))
        limit = math.inf if row.limit is None else row.limit
        slow = row.asks_more and theirs >= FASTER
        behind = theirs / ours < FASTER if slow else None
        failed |= ours > limit or bool(behind) or not found
        cells = cell(ours, ours > limit), cell(limit), cell(theirs), cell(of_nnx)
        table.add_row(row.name, *cells, cell(theirs / ours, behind))
    Console().print(table)
    sys.exit(1 if failed else 0)
