"""Run benchmarks, and write their tables into docs/costs.md.

python tests/benchmarks/write_costs.py [NAME ...]

A name is that of a file here, such as bench_grad; without names all are run, which
takes long. Only the tables that were measured change; each says where and with what.
"""

import ast
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "costs.md"
# In the order of the page.
NAMES = (
    "bench_names",
    "bench_autojit",
    "bench_random",
    "bench_grad",
    "bench_batching",
    "bench_loops",
    "bench_foreign",
    "bench_restart",
    "bench_transport",
    "bench_import",
)
LIBRARIES = ("jax", "numpy", "torch", "equinox", "flax", "diffrax")
SECTION = re.compile(r"<!-- (\w+) -->\n(.*?)(?=<!-- |\Z)", re.DOTALL)
HEAD = """\
# What it costs

jfi's time for one call, divided by that of the base: 1.00 is the same time, 0.50 half
of it. A case names both, `jfi's way / the base`; most bases are JAX written by hand,
as a careful user would write it. The limit is the one that the benchmark checks;
where it was missed, the ratio is **bold**. The other columns are other libraries'
times to this base; "by hand" is code written for this case alone, and where that misses
the limit, too, the benchmark asks for no more.

All ways take turns in one process, in random order, and each number is the median of
the ratios within a round: what slows the machine down slows all of them. The tables
come from `tests/benchmarks`; `python tests/benchmarks/write_costs.py` measures them
on your machine.

"""


def measured(name: str) -> list[dict[str, Any]]:
    """The tables that a benchmark keeps."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tables")
        # Its exit code says whether a limit was missed; the table shows that, too.
        done = subprocess.run(
            [sys.executable, HERE / f"{name}.py"],
            env={**os.environ, "JFI_TABLES": str(path)},
            check=False,
        )
        print(f"{name}: exit code {done.returncode}")
        if not path.exists():
            sys.exit(f"{name} has measured nothing.")
        return [json.loads(line) for line in path.read_text().splitlines()]


def conditions() -> str:
    """The kind of machine, and the versions."""
    parts = [f"Python {platform.python_version()}"]
    for library in LIBRARIES:
        try:
            parts.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            continue
    machine = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    return f"{machine}; {', '.join(parts)}."


def number(ratio: float) -> str:
    """Two digits that say something."""
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.2g}"


def cells(line: dict[str, Any], others: list[str]) -> list[str]:
    """One row of a table."""
    ratio, limit = line["ratio"], line["limit"]
    ours = number(ratio)
    if limit is not None and ratio > limit:
        ours = f"**{ours}**"
    return [
        line["name"].replace("|", r"\|"),
        ours,
        "" if limit is None else number(limit),
        *(number(line["others"][x]) if x in line["others"] else "" for x in others),
    ]


def table(lines: list[dict[str, Any]]) -> str:
    """A table in Markdown."""
    others = list(dict.fromkeys(name for line in lines for name in line["others"]))
    rows = [["case", "jfi", "limit", *others], ["---", *["--:"] * (2 + len(others))]]
    rows += [cells(line, others) for line in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def section(name: str, tables: list[dict[str, Any]]) -> str:
    """What the page says of one benchmark."""
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or ""
    title = re.split(" \\(|, ", tables[0]["title"])[0]
    title = title if title.startswith("autojit") else title[0].upper() + title[1:]
    parts = [f"## {title}", text.partition("\n\n")[0]]
    parts += [table(each["lines"]) for each in tables]
    parts.append(f"<small>{conditions()}</small>")
    return "\n\n".join(parts) + "\n\n"


def main(names: list[str]) -> None:
    """Measure, and write after each benchmark."""
    if unknown := set(names) - {*NAMES}:
        sys.exit(
            f"There is no {', '.join(sorted(unknown))}; there is {' '.join(NAMES)}."
        )
    for name in names or NAMES:
        start = time.perf_counter()
        tables = measured(name)
        found = {**dict(SECTION.findall(PAGE.read_text())), name: section(name, tables)}
        ordered = (f"<!-- {each} -->\n{found[each]}" for each in NAMES if each in found)
        PAGE.write_text((HEAD + "".join(ordered)).rstrip() + "\n")
        print(f"{name}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
