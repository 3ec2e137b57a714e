"""What eager loops and batches are compiled by: autojit, where nobody asked for it.

Who writes `scan` or `vmap_automatically` has not asked for autojit. So what it can't do
is no error there: that runs as JAX alone would run it, and a warning says why, once.
"""

import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from .._errors import AutoJitError, RandomError, UncompiledWarning
from .._optional._progress import ProgressBar
from .._random.traced import FoundDraws
from .._values import NEEDS_VALUE, Warner, generators_read
from ._watching import (
    RUNS_OFTEN,
    UnseenCallError,
    reaches_outside,
    uncompiled_because,
)


# JAX does not warn of how often it compiles a loop.
OPTIONS: dict[str, Any] = {"warn_after": sys.maxsize, "uncompiled": False}


def with_variables(
    function: Callable[..., Any], name: str, often: str = "", **variables: Any
) -> Callable[..., Any]:
    """A copy of a function of a module, with a name and some global variables.

    Global variables in place of captured ones: autojit looks at those at every call.

    Args:
        function: The function.
        name: The name.
        often: What the functions among its arguments run for, each: "steps".
        variables: The variables.
    """
    plain: Any = function
    module = {**plain.__globals__, **variables}
    made = types.FunctionType(plain.__code__, module, name)
    made.__dict__[RUNS_OFTEN] = often
    return made


class Reasons:
    """Why something runs uncompiled; each reason is a warning once.

    Args:
        function: What the user called, for messages.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._warner = Warner(UncompiledWarning)

    def warn(self, error: Exception, *, by_step: bool = False) -> None:
        """Warn that it runs uncompiled, if this is not known yet.

        Args:
            error: Why it does.
            by_step: Whether Python runs each step, and reads the world in each.
        """
        # How jfi finds draws and bars, which are right; a warning made an error.
        if isinstance(error, (FoundDraws, RandomError, MovesBarError, Warning)):
            return
        once = reaches_outside(error) and not by_step
        told = " Until then all steps or rows get what is read once." if once else ""
        self._warner.warn(self._message(error) + told)

    def _message(self, error: Exception) -> str:
        if isinstance(error, AutoJitError):
            return uncompiled_because(str(error))
        if isinstance(error, NEEDS_VALUE):
            why = "has Python code that asks for the value of an array"
        else:
            seen = f"{type(error).__name__}: {error}".partition("\n")[0]
            why = f"can't be compiled once for all calls ({seen:.100})"
        return uncompiled_because(
            f"{self._function}() {why}.\nIf that is meant, write "
            "warnings.simplefilter('ignore', jfi.UncompiledWarning)."
        )


def generators_in(why: Exception, functions: Iterable[Any]) -> Iterator[str]:
    """The generators of NumPy, Python or SciPy by which functions draw.

    Args:
        why: Why they were not compiled.
        functions: The functions.
    """
    if isinstance(why, UnseenCallError) and why.call.draws:
        yield why.call.name
    for function in functions:  # that were refused before they could run
        yield from generators_read(function)


class MovesBarError(Exception):
    """What is being compiled calls back to move a progress bar of jfi's."""


def refusing_bars(block: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays, for autojit, that refuses to move a progress bar.

    Raises:
        MovesBarError: At its call: it does, and each call is to show a bar of its own.
    """
    jitted = jax.jit(block, inline=True)

    def refusing(*args: Any) -> Any:
        bars = ProgressBar.traced
        jitted.trace(*args)  # the call finds this trace
        if ProgressBar.traced > bars:
            raise MovesBarError
        return jitted(*args)

    return refusing
