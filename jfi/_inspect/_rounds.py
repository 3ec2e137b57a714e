"""Measuring several ways side by side.

Machines are noisy: each round times every way once, in random order, so that what slows
the machine down for a while slows them all. Ratios are taken within a round.
"""

import random
import time
from collections.abc import Callable, Mapping
from typing import TypeAlias


# Runs a way so many times, and returns the seconds for one.
Clock: TypeAlias = Callable[[Callable[[], object], int], float]
_ORDER = random.Random(0)  # of its own: measuring changes no numbers of the user's


def wall_clock(run: Callable[[], object], calls: int) -> float:
    """Seconds of one call, averaged over some calls."""
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def one_round(
    ways: Mapping[str, Callable[[], object]], calls: int, clock: Clock = wall_clock
) -> dict[str, float]:
    """The seconds of each way in one round."""
    order = list(ways)
    _ORDER.shuffle(order)
    return {name: clock(ways[name], calls) for name in order}
