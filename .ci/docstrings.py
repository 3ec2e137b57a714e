"""What the docs site shows of random functions: their docstrings as `help` has them."""

import importlib
from typing import Any

import griffe


class Completed(griffe.Extension):
    """The site is made of source text, where `jfi._random._documented` has not been."""

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Replace the docstring of one function."""
        module = func.path.rpartition(".")[0]
        if not module.startswith("jfi._random.") or func.docstring is None:
            return
        function = getattr(importlib.import_module(module), func.name, None)
        if function is not None and function.__doc__:
            func.docstring.value = function.__doc__
