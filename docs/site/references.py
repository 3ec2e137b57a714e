"""The first mention of a function on a page of the guide leads to its reference.

mkdocs.yml names this file as a hook.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any


DOCUMENTED = re.compile(r"^::: jfi\.(\S+)$", re.MULTILINE)
# Code, tables and headings stay as they are, and so do the texts of links.
APART = re.compile(
    r"^ *```.*?^ *```$|^\|[^\n]*$|^#[^\n]*$|^ {4}[^\n]*$|\[[^\]]*\]\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)
MENTION = re.compile(r"(?<!`)`(?:(jnp|jfi)\.)?([\w.]+)(\([^`]*\))?`(?!`)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Make references of first mentions."""
    if page.file.src_uri.startswith("api/"):
        return markdown
    names, seen = documented(config.docs_dir), set[str]()

    def refer(match: re.Match[str]) -> str:
        module, name, _call = match.groups()
        if name not in names or name in seen or not (module or telling(name)):
            return match.group()
        seen.add(name)
        return f"[{match.group()}][jfi.{name}]"

    parts, end = [], 0
    for apart in APART.finditer(markdown):
        parts += [MENTION.sub(refer, markdown[end : apart.start()]), apart.group()]
        end = apart.end()
    return "".join([*parts, MENTION.sub(refer, markdown[end:])])


@cache
def documented(folder: str) -> frozenset[str]:
    """The names that have a place among the functions."""
    pages = Path(folder, "api").glob("*.md")
    return frozenset(x for page in pages for x in DOCUMENTED.findall(page.read_text()))


def telling(name: str) -> bool:
    """Whether it can't be the name of a parameter, or of a function of JAX."""
    return "_" in name or not name.islower() or name in ("autojit", "jaxify")
