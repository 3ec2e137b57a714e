"""How the site reads the docstrings of jfi; mkdocs.yml names this file."""

import importlib
import inspect
import re
from typing import Any

import griffe


# From `>>>` to the next empty line, as doctest reads it.
EXAMPLE = re.compile(r"^( *)>>> .*(?:\n.*\S.*)*", re.MULTILINE)
# Objects that are called: source text has their help at their classes.
CALLED = "jfi.bridges.jaxify._registry.jaxify"
COMPLETED = (
    "jfi._arrays.",
    "jfi._derivatives.",
    "jfi._random.",
    "jfi.scipy.",
    CALLED,
)


class Docstrings(griffe.Extension):
    """Docstrings are those of `help`, with examples as code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Complete and fence a docstring."""
        module, _dot, name = obj.path.rpartition(".")
        if obj.path == CALLED:
            obj.docstring = griffe.Docstring("", parent=obj)
        if obj.docstring is None:
            return
        of_module = obj.parent is not None and obj.parent.is_module
        if not obj.is_class and of_module and obj.path.startswith(COMPLETED):
            # The site is made of source text, where decorators have added nothing yet.
            value = getattr(importlib.import_module(module), name, None)
            # Python 3.11 keeps the indentation, which makes code of prose.
            obj.docstring.value = inspect.getdoc(value) or obj.docstring.value
        # Without a fence, Markdown makes three quotations of `>>>`.
        fenced = r"\1```pycon\n\g<0>\n\1```"
        obj.docstring.value = EXAMPLE.sub(fenced, obj.docstring.value)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """The body behind overloads often takes `**options`, which has no types."""
        if func.overloads:
            first = func.overloads[0]
            func.parameters, func.returns = first.parameters, first.returns
