"""Blocks that begin with `>>>` are sessions: prompts and results have own colours.

mkdocs.yml names this file as a hook. The copy button leaves prompts and results out
(docs/assets/site.css).
"""

import re
from typing import Any


SESSION = re.compile(r"^```python\n(?=>>> )", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Name the language of sessions; the tests run them as Python."""
    return SESSION.sub("```pycon\n", markdown)
