"""NumPy's functions with custom arrays: those of jfi, or NumPy's with plain arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._materialising import densified
from ._names import PLACES, functions_of, qualified
from ._namespace import wrapped


def answer_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """The answer of `__array_ufunc__`."""
    if "out" in named:
        (out, *more) = named["out"]
        if more or not isinstance(out, np.ndarray):
            return NotImplemented
        answer = answer_ufunc(ufunc, method, inputs, _without_out(named))
        return _written(out, answer)
    name = ufunc.__name__
    if method == "__call__":
        for place in ("", "scipy.special"):
            if name in functions_of(place):
                return wrapped(qualified(place, name))(*inputs, **named)
    # `at` writes into its array, which JAX's does not do.
    elif method != "at" and name in functions_of("") and hasattr(wrapped(name), method):
        return getattr(wrapped(name), method)(*inputs, **named)
    inputs, named = densified(name, inputs, named)
    return getattr(ufunc, method)(*inputs, **named)


def answer_function(func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The answer of `__array_function__`."""
    out = named.get("out")
    if out is not None:
        if not isinstance(out, np.ndarray):
            return NotImplemented
        return _written(out, answer_function(func, args, _without_out(named)))
    place = str(func.__module__).removeprefix("numpy").removeprefix(".")
    name = str(func.__name__)
    if place in PLACES and name in functions_of(place):
        return wrapped(qualified(place, name))(*args, **_without_out(named))
    args, named = densified(name, args, named)
    return func(*args, **named)


def _without_out(named: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if name != "out"}


def _written(out: np.ndarray[Any, Any], answer: Any) -> Any:
    """An answer written where the caller wants it, as in `m += x` of NumPy's `m`."""
    if answer is NotImplemented:
        return answer
    np.copyto(out, np.asarray(answer), casting="same_kind")
    return out
