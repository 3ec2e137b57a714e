"""NumPy's functions, called with custom arrays: jfi's of the same name answer."""

from typing import Any

import numpy as np

from ._names import PLACES, functions_of, qualified
from ._namespace import wrapped


#: What NumPy's `ufunc.reduce` is as a function.
_REDUCTIONS = {
    "add": "sum",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}


def answer_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """The answer of `__array_ufunc__`."""
    if "out" in named:
        return _written(ufunc, method, inputs, named)
    name: str | None = ufunc.__name__
    if method == "reduce":
        name = _REDUCTIONS.get(ufunc.__name__)
        named = {"axis": 0, **named}
    elif method != "__call__":
        return NotImplemented
    for place in ("", "scipy.special"):
        if name in functions_of(place):
            return wrapped(qualified(place, name))(*inputs, **named)
    return NotImplemented


def _written(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """The answer where it is to be written into an array: `m += x` of NumPy's `m`."""
    (out, *more) = named["out"]
    rest = {name: value for name, value in named.items() if name != "out"}
    if more or not isinstance(out, np.ndarray):
        return NotImplemented
    answer = answer_ufunc(ufunc, method, inputs, rest)
    if answer is not NotImplemented:
        np.copyto(out, np.asarray(answer), casting="same_kind")
        return out
    return NotImplemented


def answer_function(func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The answer of `__array_function__`."""
    place = str(func.__module__).removeprefix("numpy").removeprefix(".")
    name = str(func.__name__)
    if place not in PLACES or name not in functions_of(place):
        return NotImplemented
    if named.pop("out", None) is not None:
        return NotImplemented
    return wrapped(qualified(place, name))(*args, **named)
