"""The README's Python runs, and what the documentation says of names and errors holds.

The other pages run in programs/test_pages.py.
"""

import ast
import builtins
import re

import jax
import pytest
from documented import ROOT, run_all, run_habits, run_page

import jfi
from jfi import _errors


def test_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_all(ROOT / "README.md")


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
        if "._" in module:
            continue
        for block in OF_PRIVATE.findall(path.read_text()):
            yield from (f"{module}.{name}" for name in AGAIN.findall(block))


OF_PRIVATE = re.compile(r"^ *from \.\S*_\S+ import (\([^)]*|.*)", re.MULTILINE)
AGAIN = re.compile(r"(\w+) as \1\b")


def test_each_name_has_its_place_among_the_functions():
    text = "".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))
    documented = re.findall(r"^::: jfi\.(?:linalg\.)?(\S+)$", text, re.MULTILINE)
    in_words = re.findall(r"`(\w+)`", text)
    names = {*own_names()}
    assert len(names) > 150
    missing = names - {*documented, *in_words}
    assert not missing, "write `::: jfi.NAME` in the page of its topic in docs/api"
