"""The CPU time of `import jfi`, to that of `import jax.numpy`.

python tests/benchmarks/bench_import.py
"""

import resource
import subprocess
import sys
from collections.abc import Callable

from harness import Case, ratios, report


def importing(module: str) -> Callable[[], object]:
    """Import a module in a fresh process."""
    command = [sys.executable, "-c", f"import {module}"]
    return lambda: subprocess.run(command, check=True)


def cpu_time(run: Callable[[], object], calls: int) -> float:
    """CPU seconds, user and system, of the processes that a call starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(calls):
        run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    case = Case(
        "import jfi / import jax.numpy",
        importing("jfi"),
        importing("jax.numpy"),
        limit=1.10,
        others={"import torch": importing("torch")},
    )
    importing("jfi")()  # writes the compiled files
    found = ratios(case, rounds=25, measure=cpu_time)
    report(
        "CPU time of an import (medians of 25 interleaved processes)", [(case, found)]
    )
