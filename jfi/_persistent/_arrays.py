"""Arrays on their way to the server and back: values, weak types, random keys."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from .._arrays._weak_types import weakly_typed
from .._values import is_key
from ._asked_for import AskedFor
from ._handles import ServerArray
from ._records import Record, Result


def arrays_for_server(
    arrays: Sequence[Any], asked: AskedFor, client: Any = None
) -> list[np.ndarray[Any, Any] | int]:
    """What the server gets for the arrays and numbers of a call.

    Args:
        arrays: What the program takes.
        asked: Their types.
        client: That of a server on another machine: what it has there is an int.
    """
    return [
        _for_server(x, type_, kind, client)
        for x, type_, kind in zip(arrays, asked.types, asked.keys, strict=True)
    ]


def _for_server(
    x: Any, type_: Any, kind: str | None, client: Any
) -> np.ndarray[Any, Any] | int:
    if kind is not None:
        return np.asarray(jax.random.key_data(x))
    number = x.number_at(client) if isinstance(x, ServerArray) else None
    return np.asarray(x, type_.dtype) if number is None else number


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


def run_in_server(run: Any, record: Record, arrays: Sequence[Any]) -> list[Any]:
    """Run a program in the server, to its end; random keys are their numbers."""
    # Programs of both worlds run here: JAX would cut 64 bits off on the way in.
    with jax.enable_x64(True):
        given = [
            x
            if kind is None
            else jax.random.wrap_key_data(jax.numpy.asarray(x), impl=kind)
            for x, kind in zip(arrays, record.arguments, strict=True)
        ]
        results = [jax.random.key_data(x) if is_key(x) else x for x in run(*given)]
        ended: list[Any] = jax.block_until_ready(results)
        return ended


def devices() -> list[dict[str, Any]]:
    """What there is to say of the devices of this process, for `jfi-server status`."""
    return [
        {
            "device": f"{device.platform}:{device.id}",
            "kind": device.device_kind,
            "used": statistics.get("bytes_in_use", 0),
            "of": statistics.get("bytes_limit", 0),
        }
        for device in jax.local_devices()
        for statistics in (device.memory_stats() or {},)
    ]


def placed(arrays: Sequence[np.ndarray[Any, Any]]) -> list[jax.Array]:
    """Arrays that stay in the server, where its programs run."""
    with jax.enable_x64(True):
        there: list[jax.Array] = jax.block_until_ready(jax.device_put(list(arrays)))
        return there
