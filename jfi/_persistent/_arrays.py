"""Arrays on their way to the server and back: values, weak types, random keys."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from .._arrays._weak_types import weakly_typed
from .._values import is_key
from ._asked_for import AskedFor
from ._records import Record, Result


def arrays_for_server(
    arrays: Sequence[Any], asked: AskedFor
) -> list[np.ndarray[Any, Any]]:
    """What the server gets for the arrays and numbers of a call."""
    return [
        np.asarray(jax.random.key_data(x))
        if kind is not None
        else np.asarray(x, type_.dtype)
        for x, type_, kind in zip(arrays, asked.types, asked.keys, strict=True)
    ]


def arrays_from_server(
    arrays: Sequence[np.ndarray[Any, Any]], record: Record, asked: AskedFor
) -> list[jax.Array]:
    """The results of a program, as they come from it in this process."""
    place = asked.device if any(asked.committed) else None
    placed: list[jax.Array] = jax.device_put(list(arrays), place)
    return [
        _array(x, result, place)
        for x, result in zip(placed, record.results, strict=True)
    ]


def _array(array: jax.Array, result: Result, place: Any) -> jax.Array:
    if result.key is not None:
        array = jax.random.wrap_key_data(array, impl=result.key)
    elif result.weak:
        array = weakly_typed(array, place)
    return array


def are_results(arrays: Sequence[np.ndarray[Any, Any]], record: Record) -> bool:
    """Whether arrays are of the types and shapes that a program returns."""
    if len(arrays) != len(record.results):
        return False
    return all(r.fits(x) for r, x in zip(record.results, arrays, strict=True))


def run_on_numpy(
    run: Any, record: Record, arrays: Sequence[np.ndarray[Any, Any]]
) -> list[np.ndarray[Any, Any]]:
    """Run a program in the server: with arrays as they came, and as they go."""
    # Programs of both worlds run here: JAX would cut 64 bits off on the way in.
    with jax.enable_x64(True):
        given = [
            x
            if kind is None
            else jax.random.wrap_key_data(jax.numpy.asarray(x), impl=kind)
            for x, kind in zip(arrays, record.arguments, strict=True)
        ]
        return [
            np.asarray(jax.random.key_data(x) if is_key(x) else x) for x in run(*given)
        ]
