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
    package: str, otherwise: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """Make the last `__getattr__` of a module: its errors say what to write.

    Args:
        package: The `__name__` of the module.
        otherwise: Gives names that the module has on demand, or raises AttributeError.
    """

    def get(name: str) -> Any:
        if otherwise is None:
            _refuse(package, name)
        try:
            return otherwise(name)
        except AttributeError:
            _refuse(package, name)

    return get


def _refuse(package: str, name: str) -> NoReturn:
    message = f"module {package!r} has no attribute {name!r}"
    if name.startswith("_"):  # which Python asks every module for
        raise AttributeError(message, name=name) from None
    message += _advice(package, name)
    if _is_imported_by_name(package, name):
        raise ImportError(f"cannot import {name!r}: {message}", name=package) from None
    raise AttributeError(message, name=name) from None


@functools.lru_cache(maxsize=256)  # `hasattr` may be called in a loop
def _advice(package: str, name: str) -> str:
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
    if package.startswith("jfi.scipy") and (line := _line_of_scipy(package, name)):
        return line
    import difflib

    known = [known for known in dir(sys.modules[package]) if not known.startswith("_")]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f". Did you mean {near[0]!r}?" if near else ""


def _line_of_scipy(package: str, name: str) -> str:
    """What to write for what SciPy has and jfi does not."""
    from ._scipy_lines import ELSEWHERE

    there = f"{package.removeprefix('jfi.')}.{name}"
    value = _found_in_scipy(there)
    if value is None:
        return ""
    line = ELSEWHERE.get(there.removeprefix("scipy."))
    if line:
        return f". Write: {line}"
    if name in ("rvs", "random_state"):
        return ". jfi has random numbers of its own: see dir(jnp.random)"
    if inspect.ismodule(value):
        return (
            f". SciPy's module is {there}; its functions run on the CPU. Write: "
            f"jnp.from_numpy({there}.function)"
        )
    if package == "jfi.scipy.fft" and hasattr(sys.modules["jfi"].fft, name):
        return f". Write: jnp.fft.{name}"
    if isinstance(value, type) and package == "jfi.scipy.sparse":
        return f". Write: jnp.jaxify({there}(...)), which is a matrix of JAX"
    if isinstance(value, type):
        return (
            f". SciPy's class is {there}. Wrap the function that makes and uses one: "
            "jnp.from_numpy(function)"
        )
    if not callable(value):
        return ""
    if hasattr(value, "pdf") or hasattr(value, "pmf"):
        there += ".pdf" if hasattr(value, "pdf") else ".pmf"
    if _takes_function(value):
        return (
            ". SciPy's own calls the function with NumPy's arrays, on the CPU. Outside "
            f"of compiled code write: {there}(jnp.jit(func), ...)"
        )
    return f". SciPy's own runs on the CPU; write: jnp.from_numpy({there})"


def _takes_function(function: Callable[..., Any]) -> bool:
    """Whether the first argument of a function of SciPy's is a function."""
    try:
        first = next(iter(inspect.signature(function).parameters), "")
    except (TypeError, ValueError):  # some of C have no signature
        return False
    return first in ("f", "fun", "func")


def _found_in_scipy(name: str) -> Any:
    """What SciPy has by a name such as "scipy.stats.norm.rvs"; None if nothing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        home, _, own = name.rpartition(".")
        return getattr(_found_in_scipy(home), own, None) if home else None


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
