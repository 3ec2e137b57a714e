"""`python -m fuzzing tool [first seed] [count]`: run many scripts, show what differs.

    cd tests; PYTHONPATH=.. python -m fuzzing autojit 0 1000

The tools are autojit, loops, writes, "writes in loops", threads, floats; or "each
autojit", "each map" ..., where the seed is the number of one change of one source. Each
failure is made small and shown; the last line says how many there were. PYTHONPATH
chooses the jfi that is tried.
"""

import argparse
import collections
import sys
import time

import jfi

from .making import case
from .running import report, shrunk, verdict, workable


def main(tool: str, first: int, count: int) -> int:
    """Run `count` scripts from a seed on; the number of those that differ."""
    print("jfi from", jfi.__file__)
    kinds: collections.Counter[str] = collections.Counter()
    begin = time.perf_counter()
    for seed in range(first, first + count):
        one = workable(case(seed, tool))
        found = verdict(one)
        kinds[found.kind] += 1
        if found.kind in ("different", "broken"):
            print(report(*shrunk(one, found)), flush=True)
        elif found.kind == "refused":
            print(
                f"---- refused, seed {seed}: {one.label()}\n{found.reason}", flush=True
            )
    seconds = time.perf_counter() - begin
    print(f"{dict(kinds)} in {seconds:.0f} s, {count / seconds:.1f} scripts/s")
    return kinds["different"] + kinds["broken"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m fuzzing", description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    sys.exit(min(main(**vars(parser.parse_args())), 1))
