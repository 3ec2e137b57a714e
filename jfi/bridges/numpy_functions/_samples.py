"""Failures of runs on sample values, by which the shapes of results are learnt."""

from collections.abc import Callable
from types import TracebackType
from typing import Any

import jax

from ..._errors import CallbackError
from ..._host import mark_failure
from ..._values import attributes_of, captured


def failure(error: Exception, fn: Callable[..., Any], name: str) -> Exception:
    """What to raise for a function that failed on sample values."""
    if _comes_from_jax(error.__traceback__) and _holds_arrays(fn):
        better = CallbackError(
            f"{name} computes with an array of JAX that it has captured "
            f"({type(error).__name__}). A function of the host gets NumPy's arrays. "
            "Make it an argument: from_numpy(lambda x, table: ...)(x, table); or a "
            "NumPy array, outside: np.asarray(table)."
        )
        better.__cause__ = error
        error = better
    else:
        error.add_note(
            f"jfi ran {name} on sample values to learn the shapes of its results. "
            "If it takes special values only, say what it returns: from_numpy(fn, "
            "out=jax.ShapeDtypeStruct(shape, dtype))."
        )
    mark_failure(error, fn)
    return error


def _comes_from_jax(traceback: TracebackType | None) -> bool:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    module = str(traceback.tb_frame.f_globals.get("__name__"))
    return module.partition(".")[0] in ("jax", "jaxlib")


def _holds_arrays(fn: Callable[..., Any]) -> bool:
    """Whether it has captured arrays of JAX: itself, or in an object's attributes."""
    for x in captured(fn):
        if isinstance(x, jax.Array):
            return True
        if isinstance(x, (type, str, bytes)):
            continue
        leaves = jax.tree.leaves(attributes_of(x))
        if any(isinstance(leaf, jax.Array) for leaf in leaves):
            return True
    return False
