"""What the error of a missing name says, where SciPy has that name."""

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from ._scipy_lines import ELSEWHERE


def line_of_scipy(package: str, name: str) -> str:
    """What to write for what SciPy has and jfi does not; "" if SciPy has it not.

    Args:
        package: The module of jfi, such as "jfi.scipy.optimize".
        name: The name that it does not have.
    """
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
