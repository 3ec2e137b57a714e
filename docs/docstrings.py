"""How the site reads the docstrings of jfi; mkdocs.yml names this file."""

import re
from typing import Any

import griffe


# From `>>>` to the next empty line, as doctest reads it.
EXAMPLE = re.compile(r"^( *)>>> .*(?:\n.*\S.*)*", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Examples are code, and a function with overloads has their parameters."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Without a fence, Markdown makes three quotations of `>>>`."""
        if obj.docstring:
            fenced = r"\1```pycon\n\g<0>\n\1```"
            obj.docstring.value = EXAMPLE.sub(fenced, obj.docstring.value)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """The body behind overloads often takes `**options`, which has no types."""
        if func.overloads:
            func.parameters = func.overloads[0].parameters
