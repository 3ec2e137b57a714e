"""Names of functions and of what libraries have, for keys and messages."""

import types
from typing import Any


def differs_by_process(name: str, fn: types.FunctionType) -> bool:
    """Whether a builtin that a function calls differs from process to process."""
    return name in ("hash", "id") and fn.__name__ != "__hash__"  # of dataclasses


def library_name(value: Any, *attributes: str) -> str:
    """The name of a library's object with its module, and attributes of it."""
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    # A builtin class method (`datetime.now`) knows its class, and no module.
    owner = getattr(value, "__self__", None)
    named = owner if isinstance(owner, type) else value
    module = getattr(named, "__module__", None) or type(value).__module__
    return ".".join((str(module), str(name), *attributes))


def call_name(fn: object) -> str:
    """What messages call a function."""
    return f"{getattr(fn, '__name__', type(fn).__name__)}()"
