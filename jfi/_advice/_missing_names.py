"""What the error of a missing name says: the nearest name, or a line to write.

Names that exist never come here, and nothing is imported before a name is missing.
"""

import dis
import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable
from typing import Any, NoReturn


def explained(
    package: str,
    otherwise: Callable[[str], Any] | None = None,
    advice: Callable[[str, str], str] = lambda package, name: "",
) -> Callable[[str], Any]:
    """Make the last `__getattr__` of a module: its errors say what to write.

    Args:
        package: The `__name__` of the module.
        otherwise: Gives names that the module has on demand, or raises AttributeError.
        advice: The end of the message for a name of the module, or "".
    """

    def get(name: str) -> Any:
        if otherwise is None:
            _refuse(package, name, advice)
        try:
            return otherwise(name)
        except AttributeError:
            _refuse(package, name, advice)

    return get


def _refuse(package: str, name: str, advice: Callable[[str, str], str]) -> NoReturn:
    message = f"module {package!r} has no attribute {name!r}"
    if name.startswith("_"):  # which Python asks every module for
        raise AttributeError(message, name=name) from None
    message += _advice(package, name, advice)
    if _is_imported_by_name(package, name):
        raise ImportError(f"cannot import {name!r}: {message}", name=package) from None
    raise AttributeError(message, name=name) from None


@functools.lru_cache(maxsize=256)  # `hasattr` may be called in a loop
def _advice(package: str, name: str, advice: Callable[[str, str], str]) -> str:
    """What to write instead, as the end of a message."""
    from . import _numpy_lines, _older_lines, _torch_lines

    for owner, lines in (
        ("PyTorch", _torch_lines.INSTEAD),
        ("NumPy", _numpy_lines.INSTEAD),
        ("older jfi", _older_lines.INSTEAD),
    ):
        if line := lines.get(package, {}).get(name):
            code, _, remark = line.partition("  # ")
            more = f" ({remark})" if remark else ""
            return f". For {owner}'s {name} write: {code}{more}"
    if line := advice(package, name):
        return line
    import difflib

    known = [known for known in dir(sys.modules[package]) if not known.startswith("_")]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f". Did you mean {near[0]!r}?" if near else ""


def _is_imported_by_name(package: str, name: str) -> bool:
    """Whether `from jfi import name` asks.

    Python would drop the message of an AttributeError there, and write its own.
    """
    frame = inspect.currentframe()
    while frame and frame.f_globals.get("__name__", "").startswith("jfi."):
        frame = frame.f_back
    if frame is None:
        return False
    if frame.f_code.co_name == "_handle_fromlist":  # of a package: a module is next
        return not importlib.util.find_spec(f"{package}.{name}")
    at = frame.f_lasti
    return at >= 0 and frame.f_code.co_code[at] == dis.opmap["IMPORT_FROM"]
