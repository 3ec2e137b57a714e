"""From the start of a script to its first result, in CPU seconds.

python tests/benchmarks/bench_restart.py [FUNCTION ...]

Functions are unrolled, control and network (see restart_functions.py). CPU seconds are
those of the script; of a served call, those that the server spends on it, too. A new
server has loaded what the last one had when the script starts. Each round starts one
process for each way; compiling without a cache is measured three times.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from harness import Line, keep
from rich.console import Console
from rich.table import Table


SCRIPT = Path(__file__).with_name("restart_functions.py")
ROUNDS, COLD_ROUNDS = 5, 3
LIMITS = {  # a ratio, and the largest that it may be
    ("served", "cold"): 1 / 8,
    ("served", "import"): 1.15,
    ("disk", "cold"): 1 / 4,
    ("disk", "jax cache"): 1.0,
    ("new server", "cold"): 1 / 8,
}
WAYS = ("cold", "jax cache", "disk", "served", "new server", "import")


def server(command: str) -> None:
    """Start, stop or restart the server."""
    subprocess.run(
        [sys.executable, "-m", "jfi_server", command], check=True, capture_output=True
    )


def status() -> dict[str, int]:
    """What the server says of itself."""
    said = subprocess.run(
        [sys.executable, "-m", "jfi_server", "status", "--json"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    (found,) = json.loads(said.stdout)
    return found


def restart() -> None:
    """A new server, which has loaded what the last one had."""
    programs = status()["programs"]
    server("restart")
    while status()["programs"] < programs:
        time.sleep(0.2)


def servers_seconds() -> float:
    """CPU seconds that the server has spent so far."""
    times = psutil.Process(status()["pid"]).cpu_times()
    return times.user + times.system


def seconds(name: str, way: str) -> float:
    """CPU seconds of one start."""
    if way == "new server":
        restart()
    modes = {"cold": "jax", "served": "auto", "new server": "auto"}
    served = way in ("served", "new server")
    before = servers_seconds() if served else 0.0
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, SCRIPT, name, modes.get(way, way)],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    return spent + (servers_seconds() - before if served else 0.0)


def measure(name: str) -> dict[str, float]:
    """The median for each way."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    server("start")
    try:
        for way in ("jax cache", "served"):
            seconds(name, way)  # compiles, and keeps
        for number in range(ROUNDS):
            for way in WAYS:
                if way != "cold" or number < COLD_ROUNDS:
                    found[way].append(seconds(name, way))
    finally:
        server("stop")
    return {way: statistics.median(values) for way, values in found.items()}


def main(names: list[str]) -> int:
    """Measure, print the table, and tell whether a limit is missed."""
    ratios = [f"{a} / {b}" for a, b in LIMITS]
    table = Table("function", *WAYS, *ratios, title="CPU seconds (medians) and ratios")
    table.add_row("limit", *[""] * len(WAYS), *(f"{x:.3f}" for x in LIMITS.values()))
    missed, lines = False, []
    for name in names:
        found = measure(name)
        row = [f"{found[way]:.2f}" for way in WAYS]
        for (a, b), limit in LIMITS.items():
            ratio = found[a] / found[b]
            missed |= ratio > limit
            lines.append(Line(f"{name}: {a} / {b}", ratio, limit, {}))
            row.append(f"[{'red' if ratio > limit else 'green'}]{ratio:.3f}[/]")
        table.add_row(name, *row)
    keep("From the start of a script to its first result", lines)
    Console(width=140).print(table)
    return int(missed)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as folder:
        # Where it is set, jfi is compiled to bytecode at each start, and JAX is not.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ.update(
            JFI_CACHE_DIR=f"{folder}/store",
            JFI_SERVER_DIR=f"{folder}/server",
            JAX_FOLDER=f"{folder}/jax",
        )
        sys.exit(main(sys.argv[1:] or ["unrolled", "control", "network"]))
