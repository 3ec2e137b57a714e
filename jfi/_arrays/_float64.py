"""An optional check of compiled code: where float32 becomes float64.

Where 64-bit types are allowed and float32 is created, one float64 number of NumPy's or
of another library's is enough to make everything float64 that comes after it.
"""

import warnings
from collections.abc import Callable
from typing import Any

from .._errors import DefaultsError, Float64Warning
from .._jax_internals import origin_of_float64
from .._values import source_line, user_level
from ._config import float64_check


def watching_float64(jitted: Callable[..., Any]) -> Any:
    """A jitted function that is looked at before it runs, if that is wanted."""
    return jitted if float64_check() == "allow" else _Checked(jitted)


class _Checked:
    """A jitted function, and what of it was looked at."""

    def __init__(self, jitted: Any) -> None:
        self._jitted = jitted
        self._seen: list[Any] = []  # keeps the programs: their ids stay their own

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        jaxpr = self._jitted.trace(*args, **kwargs).jaxpr  # a call finds this
        if not any(jaxpr is seen for seen in self._seen):
            _look_at(jaxpr)
            self._seen.append(jaxpr)
        return self._jitted(*args, **kwargs)

    @property
    def run(self) -> "_Checked":
        """What runs it: each call may be one with other dtypes."""
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jitted, name)


def _look_at(closed_jaxpr: Any) -> None:
    found, where = origin_of_float64(closed_jaxpr)
    if not found:
        return
    line = source_line(*where) if where else ""
    place = f"{where[0]}:{where[1]}: " if where else ""
    message = (
        f"{place}float32 becomes float64 here{f': {line}' if line else '.'}\n"
        "Something in it is float64, such as a number or an array of NumPy's. Write "
        "float(x) for the number, jnp.to(x, 'float32') for the array, or "
        'jnp.set_default_dtype("float64") if this is meant.'
    )
    if float64_check() == "refuse":
        raise DefaultsError(message)
    warnings.warn(message, Float64Warning, stacklevel=user_level())
