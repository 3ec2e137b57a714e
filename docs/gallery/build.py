"""Write the pages of the gallery: run each script, measure it beside its twin.

    python docs/gallery/build.py            # all pages, in some five minutes
    python docs/gallery/build.py vae ppo    # these pages
    python docs/gallery/build.py --text     # of the scripts as they are, nothing is run

Each page has the script, what it prints, its picture, and the same in plain JAX. Commit
what this writes; `tests/programs/test_gallery.py` sees a page that is older than its scripts.
"""

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRIPTS = ROOT / "examples" / "gallery"
FIGURES = HERE / "figures.json"
AGAIN = 3  # how often a compiled run is measured

# Runs a script without its drawing, measures that, and draws then.
MEASURING = """
import json, statistics, sys, time
import build, jax

name = sys.argv[1]
source = build.read(name)
names = {"__name__": "__main__"}
path = str(build.SCRIPTS / f"{name}.py")
sys.argv = [path]
exec(compile(build.without_drawing(source), path, "exec"), names)
seconds = [time.process_time()]
for _ in range(build.AGAIN):
    start = time.process_time()
    jax.block_until_ready(jax.tree.leaves(names["run"]()))
    seconds.append(time.process_time() - start)
build.draw(source, names, f"{name}.png")
print(build.MARK + json.dumps([seconds[0], statistics.median(seconds[1:])]))
"""
MARK = "seconds: "

TITLES = {
    "vae": "A VAE in plain classes",
    "ppo": "PPO on a cart-pole",
    "mpc": "Model-predictive control",
    "gaussian_process": "A Gaussian process",
    "neural_ode": "A neural ODE",
    "mcmc": "Many MCMC chains",
    "registration": "Point clouds",
    "torch_loss": "A PyTorch loss",
}

# What to look at, and where the twin does less or more.
NOTES = {
    "vae": "`@jnp.pytree` makes the classes trees: `value_and_grad` and optax take a "
    "model. `epoch` reads and writes `self`, and draws without a key.",
    "ppo": "Nets, optimizer and environments are attributes that the compiled method "
    "reads and writes. Actions, restarts and orders are drawn in a loop in a batch.",
    "mpc": "`vmap_automatically` batches the starts and goals of the dict and shares the "
    "rest: arrays, numbers, a function, two ints. `jnp.scan_while` stops each robot's "
    "steps by themselves, and counts them.",
    "gaussian_process": "The method is compiled with its data as `self`. "
    "`jnp.scan_while` keeps the history of the losses.",
    "neural_ode": "The object with the weights is called by diffrax as the right-hand "
    "side. The number of steps is a setting, and nobody says so.",
    "mcmc": "No key enters a chain, a step or a tree of momenta: under `jnp.vmap` each "
    "chain draws its own numbers.",
    "registration": "The tree is data of the problem; its distances have derivatives. In "
    "the twin the tree is a setting, and a new one compiles again, which the second run "
    "shows.",
    "torch_loss": "`from_torch` finds shapes and derivatives. The twin has a rule for one "
    "argument in reverse mode, which is all that this training needs.",
}


def without_drawing(source: str) -> ast.Module:
    """The code of a script that computes and prints, and does not draw."""
    tree = ast.parse(source)
    tree.body = [x for x in tree.body if getattr(x, "name", None) != "draw"]
    main: Any = tree.body[-1]
    main.body = [x for x in main.body if not ast.unparse(x).startswith("draw(")]
    return tree


def draw(source: str, names: dict[str, Any], path: str) -> None:
    """Draw what a script has found, if it has a function for that."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == "draw":
            exec(compile(ast.Module([node], []), path, "exec"), names)
            names["draw"](names["result"], path)
            shrink(Path(path), HERE / path)


def shrink(source: Path, target: Path) -> None:
    """Store a picture with 64 colors, which takes a third of the room."""
    from PIL import Image

    Image.open(source).convert("RGB").quantize(64).save(target, optimize=True)


def count_lines(source: str) -> int:
    """Lines with code: no blanks, comments or docstrings, and not the drawing."""
    tree, lines = without_drawing(source), set[int]()
    for node in ast.walk(tree):
        body: Any = getattr(node, "body", None)
        if isinstance(body, list) and is_text(body[0]):
            del body[0]
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            place: Any = node
            lines |= {place.lineno, place.end_lineno}
    return len(lines)


def is_text(node: ast.AST) -> bool:
    """Whether this is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def run_both(name: str) -> dict[str, Any]:
    """What a script and its twin print, and their seconds; they run side by side."""
    paths = os.pathsep.join([str(ROOT), str(HERE)])
    variables = {**os.environ, "PYTHONPATH": paths, "MPLBACKEND": "Agg"}
    with tempfile.TemporaryDirectory() as folder:
        started = [
            subprocess.Popen(
                [sys.executable, "-c", MEASURING, script],
                cwd=folder,
                env={**variables, "COLUMNS": "88"},
                stdout=subprocess.PIPE,
                text=True,
            )
            for script in (name, f"{name}_plain")
        ]
        texts = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"{name} failed")
    found = [text.rpartition(MARK) for text in texts]
    return {
        "output": [text.strip() for text, _, _ in found],
        "seconds": [json.loads(seconds) for _, _, seconds in found],
    }


def page(name: str, figures: dict[str, Any]) -> str:
    """The page of an example."""
    ours, plain = (read(n) for n in (name, f"{name}_plain"))
    intro = str(ast.get_docstring(ast.parse(ours))).partition(".py\n")[2].strip()
    headline = str(ast.get_docstring(ast.parse(ours))).partition("\n")[0]
    counts = f"| lines of code | {count_lines(ours)} | {count_lines(plain)} |"
    whole, again = zip(*figures["seconds"], strict=True)
    indented = "\n".join(f"    {line}".rstrip() for line in plain.strip().splitlines())
    return f"""# {TITLES[name]}

{headline}
{intro}

![what the script draws]({name}.png)

```text
{figures["output"][0]}
```

{NOTES[name]}

| | jfi | plain JAX |
| --- | --- | --- |
{counts}
| CPU time, start to end | {whole[0]:.1f} s | {whole[1]:.1f} s |
| CPU time, a second run | {again[0]:.2f} s | {again[1]:.2f} s |

[How this is measured](index.md#how-it-is-measured).

## The script

`python examples/gallery/{name}.py`

```py
{ours.strip()}
```

??? note "The same in plain JAX"

    It prints:

    ```text
{indent(figures["output"][1])}
    ```

    ```py
{indented}
    ```
"""


def indent(text: str) -> str:
    """As the body of a note."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def read(name: str) -> str:
    """The source of a script."""
    return (SCRIPTS / f"{name}.py").read_text()


def overview(figures: dict[str, Any]) -> str:
    """The first page: all examples, and one table."""
    rows, cards = list[str](), list[str]()
    for name, title in TITLES.items():
        counts = [count_lines(read(n)) for n in (name, f"{name}_plain")]
        whole, again = zip(*figures[name]["seconds"], strict=True)
        rows.append(
            f"| [{title}]({name}.md) | {counts[0]} / {counts[1]} "
            f"| {whole[0]:.1f} / {whole[1]:.1f} | {again[0]:.2f} / {again[1]:.2f} |"
        )
        cards.append(f"## [{title}]({name}.md)\n\n[![{title}]({name}.png)]({name}.md)")
    newline, gap = "\n", "\n\n"
    return f"""# Gallery

Eight programs as a researcher writes them, each beside its twin in plain JAX. The pages
show the scripts of `examples/gallery/`, what they print and what they draw.

| jfi / plain JAX | lines of code | CPU s, start to end | CPU s, a second run |
| --- | --- | --- | --- |
{newline.join(rows)}

{gap.join(cards)}

## How it is measured

Lines are counted without blanks, comments, docstrings and the drawing, which the twins
don't have. "Start to end" is a whole process, with imports and compiling. "A second run" is
the whole computation once more in that process: the median of {AGAIN}. Both scripts run at
the same time, on two cores that others use as well, so these are seconds of processor
time, which other work disturbs less than the clock. Single figures vary by a fifth: read
them as "about the same" or not. `python docs/gallery/build.py` measures anew.
"""


def main() -> None:
    """Build the pages that are asked for."""
    names = [n for n in sys.argv[1:] if not n.startswith("-")] or list(TITLES)
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in names:
        if "--text" not in sys.argv:
            figures[name] = run_both(name)
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
        (HERE / f"{name}.md").write_text(page(name, figures[name]))
    if all(name in figures for name in TITLES):
        (HERE / "index.md").write_text(overview(figures))


if __name__ == "__main__":
    main()
