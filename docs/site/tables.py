"""Tables of names: each page of functions begins with its own, api/index.md has all.

mkdocs.yml names this file as a hook.
"""

import inspect
import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import jfi


TITLE = re.compile(r"^# (.*)\n", re.MULTILINE)
NAME = re.compile(r"^::: jfi\.(\S+)$", re.MULTILINE)
CODE = re.compile(r"``(.+?)``")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Add the table of a page's names above its first section."""
    folder = Path(page.file.abs_src_path).parent
    if folder.name != "api":
        return markdown
    if page.file.name != "index":
        intro, section, rest = markdown.partition("\n## ")
        return f"{intro}\n{table(markdown)}\n{section}{rest}"
    parts = [markdown]
    for name in topics(config.nav):
        text = (folder / name).read_text()
        title = TITLE.findall(text)[0]
        parts.append(f"## [{title}]({name})\n\n{table(text)}")
    return "\n\n".join(parts)


def topics(nav: Any) -> list[str]:
    """The other pages in the folder, in the order of the navigation."""
    pages = re.findall(r"'api/(\w+\.md)'", str(nav))
    return [page for page in pages if page != "index.md"]


def table(markdown: str) -> str:
    """The names that a page documents, each with its first sentence."""
    names = NAME.findall(markdown)
    rows = [f"| [`{name}`][jfi.{name}] | {sentence(name)} |" for name in names]
    lines = ["| | |", "| --- | --- |", *rows]
    return "\n".join(['<div class="names" markdown>', "", *lines, "", "</div>"])


def sentence(name: str) -> str:
    """The first sentence of the docstring of a name of jfi."""
    text = inspect.getdoc(attrgetter(name)(jfi)) or ""
    first = " ".join(text.partition("\n\n")[0].split()).partition(". ")[0].rstrip(":.")
    return CODE.sub(r"`\1`", first).replace("|", r"\|")
