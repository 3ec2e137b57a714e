"""Run the Python of a page of documentation: blocks in order, and tables of habits."""

import doctest
import linecache
import re
from pathlib import Path


ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HABITS = re.compile(r"^\| you write \| here \| to unlearn \|$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def run_page(text, name):
    """Run the blocks one after the other; they share their names."""
    names = {"__name__": "__main__"}
    linecache.cache[name] = len(text), None, code_of(text), name
    for match in BLOCK.finditer(text):
        block = match.group(1)
        line = text[: match.start(1)].count("\n")
        if block.lstrip().startswith(">>>"):
            run_doctest(block, names, name, line)
        else:
            # Blank lines before the code: a traceback shows the line of the page.
            exec(compile("\n" * line + block, name, "exec"), names)
    return names


def code_of(text):
    """The lines of a page, empty where they are not code: errors show their source."""
    lines = [""] * text.count("\n")
    for match in BLOCK.finditer(text):
        if not match.group(1).lstrip().startswith(">>>"):
            begin = text[: match.start(1)].count("\n")
            block = match.group(1).splitlines()
            lines[begin : begin + len(block)] = block
    return [line + "\n" for line in lines]


def run_doctest(block, names, name, line):
    test = doctest.DocTestParser().get_doctest(block, names, name, name, line)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    report = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not runner.failures, "".join(report)


# What lines of another library in a table of habits find; without it they don't run.
THEIRS = {
    "coming_from_numpy": """
import pickle, timeit, numpy as np, scipy.spatial
x, rows, f = np.array(x), np.ones((4, 3)), np.tanh""",
    "coming_from_pytorch": """
import torch, torch.nn.functional as F
x, w = torch.ones(8, 3), torch.tensor([1.0, 2.0])""",
    "coming_from_jax": "key = jax.random.key(0)",
}


def run_habits(text, names, theirs):
    """Run the rows of tables of habits: their line, and the one to write here."""
    other = dict(names)
    if theirs is not None:
        exec(theirs, other)
    for line in text.splitlines():
        cells = line.split("|")[1:-1]
        if len(cells) != 3 or not HABITS.search(text[: text.index(line)]):
            continue
        for code in CODE.findall(cells[1]):
            exec(compile(code, line, "exec"), names)
        for code in CODE.findall(cells[0]) if theirs is not None else ():
            exec(compile(code, line, "exec"), other)


def run_all(page):
    """Run the blocks of a page, and then its tables of habits."""
    text = page.read_text()
    if BLOCK.search(text):
        names = run_page(text, str(page))
        run_habits(text, names, THEIRS.get(page.stem))


def packages_of(page):
    """What a page needs, of what is not installed everywhere."""
    known = page.read_text() + THEIRS.get(page.stem, "")
    for package in ("torch", "distributed", "einops", "beartype"):
        if re.search(f"^(>>> )?(import|from) {package}", known, re.MULTILINE):
            yield package
