"""Names of functions and of what libraries have, for keys and messages."""

from typing import Any


def full_name(value: Any, *attributes: str) -> str:
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
