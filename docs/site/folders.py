"""A folder in the navigation stands for its pages, index.md first.

mkdocs.yml names this file as a hook.
"""

from pathlib import Path
from typing import Any


def on_config(config: Any) -> None:
    """Put pages in the place of folders; an empty one has no entry."""
    entries = expanded(config.nav, Path(config.docs_dir))
    config.nav = [entry for entry in entries if entry]


def expanded(nav: Any, docs: Path) -> Any:
    """A part of the navigation, with pages in the place of folders."""
    if isinstance(nav, list):
        return [expanded(entry, docs) for entry in nav]
    if isinstance(nav, dict):
        parts = {title: expanded(part, docs) for title, part in nav.items()}
        return {title: part for title, part in parts.items() if part}
    if not nav.endswith("/"):
        return nav
    pages = sorted((docs / nav).glob("*.md"), key=lambda p: (p.stem != "index", p.stem))
    return [str(page.relative_to(docs)) for page in pages]
