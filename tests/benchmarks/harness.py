"""Ratios measured interleaved in one process, a table of them, and an exit code.

A ratio is the median over the rounds of the ratios within a round: see
`jfi._timing._rounds`.
"""

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from jfi._timing._rounds import Clock, one_round, wall_clock


@dataclass
class Case:
    """One row of the table: jfi's way, the way to compare with, and others to show.

    Attributes:
        name: What is measured.
        ours: jfi's way; called without arguments.
        base: The way whose time is 1.
        limit: The largest allowed ratio of ours to base; None only shows it.
        others: More ways, shown beside.
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


def report(title: str, results: list[tuple[Case, dict[str, float]]]) -> None:
    """Print the table and exit with 1 if a limit is missed."""
    others = list(dict.fromkeys(name for case, _ in results for name in case.others))
    table = Table("case", "jfi / base", "limit", *others, title=title)
    missed = False
    for case, found in results:
        over = case.limit is not None and found["jfi"] > case.limit
        missed |= over
        style = "red" if over else "green"
        table.add_row(
            case.name,
            f"[{style}]{found['jfi']:.2f}[/]",
            "-" if case.limit is None else f"{case.limit:.2f}",
            *(f"{found[name]:.2f}" if name in found else "-" for name in others),
        )
    Console().print(table)
    sys.exit(1 if missed else 0)
