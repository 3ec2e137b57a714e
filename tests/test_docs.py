"""Every Python block of the documentation runs, in order, page by page."""

import doctest
import re
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def run_page(text, name):
    """Run the blocks one after the other; they share their names."""
    names = {"__name__": "__main__"}
    for match in BLOCK.finditer(text):
        block = match.group(1)
        line = text[: match.start(1)].count("\n")
        if block.lstrip().startswith(">>>"):
            run_doctest(block, names, name, line)
        else:
            # Blank lines before the code: a traceback shows the line of the page.
            exec(compile("\n" * line + block, name, "exec"), names)


def run_doctest(block, names, name, line):
    test = doctest.DocTestParser().get_doctest(block, names, name, name, line)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    report = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    if "import torch" in text:
        pytest.importorskip("torch")
    if BLOCK.search(text):
        run_page(text, str(page))


def test_a_wrong_result_is_seen():
    with pytest.raises(AssertionError, match="Expected"):
        run_page("```python\n>>> 1 + 1\n3\n```\n", "page")


def test_a_failing_block_is_seen():
    with pytest.raises(ZeroDivisionError):
        run_page("```python\n1 / 0\n```\n", "page")
