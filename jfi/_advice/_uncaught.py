"""`explain_errors`: advice in errors that no tool of jfi has seen.

Plain code on arrays, such as `x.detach()`, calls Python and JAX alone: jfi meets its
errors where nobody has caught them, and they are about to be printed.
"""

import builtins
import contextlib
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ._attaching import attach_advice


def explain_errors(on: bool = True) -> None:
    """Let errors of plain code say what to write, as errors in jfi's tools do.

    The errors that nobody catches get the advice when Python, one of its threads, or
    IPython prints them: of arrays that are used as PyTorch's (`x.detach()`), of shapes
    that don't fit, of 64-bit numbers in the 32-bit world, and of code under `jax.jit`.
    Nothing of the error changes beside its text and its notes.

    >>> import jfi as jnp
    >>> jnp.explain_errors()       # at the start of a script or a notebook
    >>> jnp.explain_errors(False)  # off again

    Args:
        on: Whether to explain them.
    """
    sys.excepthook = _unwrapped(sys.excepthook)
    threading.excepthook = _unwrapped(threading.excepthook)
    shell = getattr(builtins, "get_ipython", lambda: None)()
    if on:
        sys.excepthook = _Explaining(sys.excepthook)
        threading.excepthook = _Explaining(threading.excepthook)
    if shell is not None:
        shell.set_custom_exc((Exception,) if on else (), _show_in_ipython)


def _explain(error: BaseException | None) -> None:
    if error is not None:
        # The error must come, whatever its text and the source around it are.
        with contextlib.suppress(Exception):
            attach_advice(error)


class _Explaining:
    """A hook that adds the advice before another one prints the error."""

    def __init__(self, printing: Callable[..., Any]) -> None:
        self.printing = printing

    def __call__(self, *args: Any) -> None:
        # `sys.excepthook` gets three values, `threading.excepthook` an object of them.
        _explain(args[0].exc_value if len(args) == 1 else args[1])
        self.printing(*args)


def _unwrapped(hook: Any) -> Any:
    """Without what a call of `explain_errors` before has put around it."""
    return hook.printing if isinstance(hook, _Explaining) else hook


def _show_in_ipython(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    """Print an error as IPython does: it calls this in place of its own."""
    _explain(error)
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
