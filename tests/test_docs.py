"""Every Python block of the documentation runs, in order, page by page."""

import ast
import builtins
import doctest
import linecache
import re
from pathlib import Path

import jax
import pytest

import jfi
from jfi import _errors


ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    for package in ("torch", "distributed", "einops", "beartype"):
        known = text + THEIRS.get(page.stem, "")
        if re.search(f"^(>>> )?(import|from) {package}", known, re.MULTILINE):
            pytest.importorskip(package)
    if BLOCK.search(text):
        names = run_page(text, str(page))
        run_habits(text, names, THEIRS.get(page.stem))


def test_a_wrong_result_is_seen():
    with pytest.raises(AssertionError, match="Expected"):
        run_page("```python\n>>> 1 + 1\n3\n```\n", "page")


@pytest.mark.parametrize("row", ["| `1` | `1 / 0` | |", "| `1 / 0` | `1` | |"])
def test_a_failing_habit_is_seen(row):
    table = f"| you write | here | to unlearn |\n| --- | --- | --- |\n{row}\n"
    with pytest.raises(ZeroDivisionError):
        run_habits(table, {}, "")


def test_a_failing_block_is_seen():
    with pytest.raises(ZeroDivisionError):
        run_page("```python\n1 / 0\n```\n", "page")


# ------------------------------------------------------------ the page of errors


def table_of_errors(heading):
    """The rows of the first table below a heading."""
    page = (ROOT / "docs" / "errors.md").read_text().partition(heading)[2]
    rows = page[page.index("| ---") :].partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


CLASSES = {name.strip("`"): bases for name, bases, _ in table_of_errors("# Errors")}


def test_each_error_and_warning_has_its_row():
    assert {*CLASSES, "JfiError", "JfiWarning"} == {*_errors.__all__}


@pytest.mark.parametrize("name", CLASSES)
def test_an_error_has_the_builtins_of_its_row(name):
    told = {getattr(builtins, base) for base in re.findall(r"`(\w+)`", CLASSES[name])}
    own = {c for c in vars(builtins).values() if c in getattr(jfi, name).__mro__}
    assert told == {c for c in own if not any(issubclass(d, c) for d in own - {c})}


@pytest.fixture(scope="module")
def texts_of_jfi():
    """The texts in jfi's code, with `...` for what an f-string puts in."""
    return list(_texts_of_jfi())


def _texts_of_jfi():
    for path in (ROOT / "jfi").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (getattr(part, "value", "...") for part in node.values)
                yield "".join(p if isinstance(p, str) else "..." for p in parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.mark.parametrize(
    "text", [row[0] for row in table_of_errors("## `RandomError`")]
)
def test_a_text_of_the_page_is_in_the_code(text, texts_of_jfi):
    pattern = re.compile(".*".join(map(re.escape, text.split("..."))), re.DOTALL)
    assert any(map(pattern.search, texts_of_jfi))


# ------------------------------------------------------------ the pages of functions


def own_names():
    """The names that jfi adds to `jax.numpy`, and those of its own in `jfi.scipy`."""
    for name in jfi.__all__:
        value = getattr(jfi, name)
        own = getattr(value, "__module__", "").startswith("jfi")
        error = isinstance(value, type) and issubclass(value, (Exception, Warning))
        if own and not error and not hasattr(jax.numpy, name):
            yield name
    for path in (ROOT / "jfi" / "scipy").rglob("*.py"):
        module = path.relative_to(ROOT / "jfi").with_suffix("").parts
        module = ".".join(part for part in module if part != "__init__")
        for block in OF_FOREIGN.findall(path.read_text()):
            yield from (f"{module}.{name}" for name in AGAIN.findall(block))


OF_FOREIGN = re.compile(r"^ *from \.+_foreign\S+ import (\([^)]*|.*)", re.MULTILINE)
AGAIN = re.compile(r"(\w+) as \1\b")


def test_each_name_has_its_place_among_the_functions():
    text = "".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))
    documented = re.findall(r"^::: jfi\.(?:linalg\.)?(\S+)$", text, re.MULTILINE)
    in_words = re.findall(r"`(\w+)`", text)
    names = {*own_names()}
    assert len(names) > 150
    missing = names - {*documented, *in_words}
    assert not missing, "write `::: jfi.NAME` in the page of its topic in docs/api"
