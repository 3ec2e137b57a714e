"""Every Python block of the documentation runs, in order, page by page.

The README's run with the other tests, in tests/test_docs.py.
"""

import pytest
from documented import ROOT, packages_of, run_all


PAGES = sorted((ROOT / "docs").glob("**/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for package in packages_of(page):
        pytest.importorskip(package)
    run_all(page)
