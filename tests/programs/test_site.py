"""The site as readers have it: built strictly, looked at in a browser if one is here.

It is served below /jfi/, as a page of a project is. JFI_SITE names a site that is built
already; without it this file builds one.
"""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from browsing import CHROMIUM, Browser


ROOT = Path(__file__).parents[2]
BASE = "/jfi/"
OUTSIDE = re.compile(r"^(https?:)?//")
OF_STYLES = re.compile(r"""(?:url\(|@import )["']?([^"')]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    if folder := os.environ.get("JFI_SITE"):
        return Path(folder)
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, *"-m mkdocs build --strict --site-dir".split(), folder]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """What each page has, by its address."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":  # its links are absolute, for any folder
            continue
        name = str(path.relative_to(site)).removesuffix("index.html")
        found[BASE + name] = Page(path.read_text())
    return found


class Page(HTMLParser):
    """The ids, the links and the sources of one page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.ids.add(known.get("id"))
        if tag == "a":
            self.ids.add(known.get("name"))
            self.links.append(known.get("href") or "")
        elif tag == "link" and known.get("rel") not in ("prev", "next", "canonical"):
            self.sources.append(known["href"])
        elif tag != "link" and known.get("src"):
            self.sources.append(known["src"])


def broken(pages, exists):
    """The links of pages, as (page, link), to what is not there."""
    for here, page in pages.items():
        for link in page.links:
            target = urlsplit(urljoin(here, link))
            if target.scheme or target.netloc:
                continue
            name, anchor = unquote(target.path), unquote(target.fragment)
            if name not in pages:
                if not exists(name):
                    yield here, link
            elif anchor and anchor not in pages[name].ids:
                yield here, link


def test_each_link_leads_somewhere(site, pages):
    assert len(pages) > 30
    file_exists = lambda name: (site / name.removeprefix(BASE)).is_file()
    assert list(broken(pages, file_exists)) == []


def test_a_broken_link_is_seen():
    page = Page('<p id="a"></p><a href="#a"></a><a href="#b"></a><a href="../c/"></a>')
    found = broken({"/jfi/x/": page}, lambda name: False)
    assert list(found) == [("/jfi/x/", "#b"), ("/jfi/x/", "../c/")]


def test_nothing_comes_from_elsewhere(site, pages):
    sources = {source for page in pages.values() for source in page.sources}
    for style in site.rglob("*.css"):
        sources.update(OF_STYLES.findall(style.read_text()))
    assert len(sources) > 5
    assert not [source for source in sources if OUTSIDE.match(source)]


def test_examples_of_docstrings_are_code(site):
    text = (site / "api" / "random" / "index.html").read_text()
    assert "<blockquote>" not in text
    assert "```" not in text
    assert text.count("language-pycon") > 15


def test_functions_are_referred_to_and_refer_to_each_other(pages):
    guide, functions = pages[BASE + "batching/"], pages[BASE + "api/compiling/"]
    assert "../api/compiling/#jfi.vmap_automatically" in guide.links
    assert "#jfi.vmap_automatically" in functions.links
    assert "jfi.vmap_automatically" in functions.ids


# ------------------------------------------------------------------ in a browser


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that keeps no log."""

    def log_message(self, *_):
        """Write nothing."""


@pytest.fixture(scope="module")
def address(site, tmp_path_factory):
    """Where the site is served."""
    root = tmp_path_factory.mktemp("served")
    (root / BASE.strip("/")).symlink_to(site)
    handler = functools.partial(Quiet, directory=root)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed, so that no page is looked at")
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_every_page_opens_without_an_error(browser, address, pages):
    for page in pages:
        browser.open(address + page)
        assert browser.faults == [], page
    known = (address + BASE, "data:")
    outside = [url for url in browser.requests if not url.startswith(known)]
    assert outside == []


def test_a_fault_is_seen(browser, address):
    browser.open(address + BASE + "nowhere/")
    browser.value("setTimeout(() => { throw new Error('seen') })")
    browser.wait_for("true")
    faults = str(browser.faults)
    browser.faults.clear()
    assert "404" in faults
    assert "seen" in faults


def test_the_search_finds_a_function(browser, address):
    browser.open(f"{address}{BASE}?q=vmap_automatically")
    links = "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
    browser.wait_for(f"{links}.length > 2")
    paths = [urlsplit(link) for link in browser.value(links)]
    found = {(path.path, path.fragment) for path in paths}
    assert (BASE + "api/compiling/", "jfi.vmap_automatically") in found
    assert BASE + "batching/" in {path for path, _ in found}


def test_the_search_finds_a_part_of_a_name(browser, address):
    browser.open(f"{address}{BASE}?q=automatically")
    text = "document.querySelector('.md-search-result__list').innerText"
    assert "vmap_automatically" in browser.wait_for(text)


def test_prompts_and_results_are_not_copied(browser, address):
    browser.open(f"{address}{BASE}")
    block = "document.querySelector('.language-pycon code')"
    assert browser.value(f"{block}.innerText").startswith(">>> model = Model()")
    browser.value(f"{block}.setAttribute('data-md-copying', '')")
    copied = browser.value(f"{block}.innerText").strip()
    assert copied.startswith("model = Model()\nfor _ in range(200):\n    loss =")
    assert "Array" not in copied


def test_there_is_a_dark_side(browser, address):
    browser.open(f"{address}{BASE}")
    color = "getComputedStyle(document.body).backgroundColor"
    before = browser.value(color)
    browser.value(
        "document.querySelector('.md-header__button[for^=__palette]').click()"
    )
    assert browser.wait_for(f"{color} != '{before}' && {color}") != before
