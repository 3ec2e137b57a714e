"""Every Python block of the documentation runs, in order, page by page.

The README's run with the other tests, in tests/test_docs.py.
"""

import pytest
from documented import ROOT, packages_of, run_all
from subprocesses import run_python


PAGES = sorted((ROOT / "docs").glob("**/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for package in packages_of(page):
        pytest.importorskip(package)
    run_all(page)


@pytest.mark.parametrize("world", ["JFI_DTYPE=float64", "JAX_ENABLE_X64=1"])
def test_page_of_the_tutorial_runs_in_other_worlds_of_dtypes(world, tmp_path):
    pytest.importorskip("torch")
    name, value = world.split("=")
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tests")!r})
from documented import run_all
run_all(Path({str(ROOT / "docs" / "coming_from_tutorial.md")!r}))
import jfi
print(jfi.arange(2).dtype)
"""
    assert run_python(code, env={name: value}).stdout.split()[-1] == "int64"
