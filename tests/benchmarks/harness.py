"""Ratios measured interleaved in one process, a table of them, and an exit code.

JFI_TABLES names a file that gets each table as a line of JSON: `write_costs.py` makes
the page of costs from it.

A ratio is the median over the rounds of the ratios within a round: see
`jfi._inspect._rounds`. The column `BY_HAND` is code written for the case. Where that
misses the limit, too, the machine or JAX is the reason: jfi's way has to be no slower
than it then, and the row is listed by itself.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table

from jfi._inspect._rounds import Clock, one_round, wall_clock


BY_HAND = "by hand"
NOISE = 1.1  # two equal ways differ by so much from run to run


@dataclass
class Case:
    """One row of the table: jfi's way, the way to compare with, and others to show.

    Attributes:
        name: What is measured.
        ours: jfi's way; called without arguments.
        base: The way whose time is 1.
        limit: The largest allowed ratio of ours to base; None only shows it.
        others: More ways, shown beside. That called `BY_HAND` does the same as ours.
    """

    name: str
    ours: Callable[[], object]
    base: Callable[[], object]
    limit: float | None
    others: dict[str, Callable[[], object]] = field(default_factory=dict)


def ratios(
    case: Case,
    *,
    rounds: int,
    calls: int = 1,
    measure: Clock = wall_clock,
) -> dict[str, float]:
    """The median ratio to the base of each way of a case."""
    ways = {"jfi": case.ours, "base": case.base, **case.others}
    seen: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        times = one_round(ways, calls, measure)
        for name in ways:
            seen[name].append(times[name] / times["base"])
    return {name: statistics.median(values) for name, values in seen.items()}


PROCESSES = 5
OF_PROCESSES = f"(medians of {PROCESSES} processes)"
_MEASURES = "JFI_MEASURES"  # set in the processes of `medians`


def medians(script: str) -> dict[str, dict[str, float]]:
    """The medians of what several processes measure, one after the other.

    Where Python's objects come to lie differs from process to process, and with it the
    time of a short call, by 1 % and more.

    Args:
        script: The file that calls this, and before it `measure_for_medians`.
    """
    found = []
    for _ in range(PROCESSES):
        command = [sys.executable, script]
        printed = subprocess.check_output(command, env={**os.environ, _MEASURES: "1"})
        found.append(json.loads(printed.splitlines()[-1]))
    return {
        name: {way: statistics.median(one[name][way] for one in found) for way in ways}
        for name, ways in found[0].items()
    }


def measure_for_medians(measured: Callable[[], dict[str, dict[str, float]]]) -> None:
    """Measure, and end, in a process that `medians` has started."""
    if _MEASURES in os.environ:
        print(json.dumps(measured()))
        sys.exit()


@dataclass
class Line:
    """One line of a table as it is published.

    Attributes:
        name: What was measured.
        ratio: jfi's time to that of the base.
        limit: The largest allowed ratio, None for none.
        others: The ratios of other ways to the base.
    """

    name: str
    ratio: float
    limit: float | None
    others: dict[str, float]


def keep(title: str, lines: Sequence[Line]) -> None:
    """Write a table for the page of costs, if one is being made."""
    if path := os.environ.get("JFI_TABLES"):
        table = {"title": title, "lines": [asdict(line) for line in lines]}
        with open(path, "a") as file:
            file.write(json.dumps(table) + "\n")


def line_of(case: Case, found: dict[str, float]) -> Line:
    """What is published of a case."""
    others = {name: found[name] for name in case.others if name in found}
    return Line(case.name, found["jfi"], case.limit, others)


def report(title: str, results: list[tuple[Case, dict[str, float]]]) -> None:
    """Print the table, keep it, and exit with 1 if a limit is missed."""
    keep(title, [line_of(case, found) for case, found in results])
    others = list(dict.fromkeys(name for case, _ in results for name in case.others))
    table = Table("case", "jfi / base", "limit", *others, title=title)
    missed, as_by_hand = [], []
    for case, found in results:
        over = case.limit is not None and found["jfi"] > case.limit
        if over:
            hand = found.get(BY_HAND, 0.0)
            beside = f", by hand {hand:.2f}" if hand else ""
            text = f"{case.name}: {found['jfi']:.2f} (limit {case.limit}{beside})"
            (as_by_hand if found["jfi"] <= NOISE * hand else missed).append(text)
        style = "red" if over else "green"
        table.add_row(
            case.name,
            f"[{style}]{found['jfi']:.2f}[/]",
            "-" if case.limit is None else f"{case.limit:.2f}",
            *(f"{found[name]:.2f}" if name in found else "-" for name in others),
        )
    # In a file the names of the cases stay in one line.
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    if as_by_hand:
        print("Over the limit, as code by hand is:\n  " + "\n  ".join(as_by_hand))
    sys.exit("Over the limit:\n  " + "\n  ".join(missed) if missed else 0)
