"""How NumPy-style functions check what they are given, and draw."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .._drawing import check, draw, float_for, integer_for, shape_of
from ..torch_style import numbers
from ._samplers import Sampler


class Options(NamedTuple):
    """What every draw takes besides its parameters."""

    size: Any
    dtype: DTypeLike
    key: jax.Array | None
    device: DeviceLike | None


class Bound(NamedTuple):
    """Which values a parameter may have, and how that is told."""

    allowed: Callable[[Any], Any]
    words: str


ANY = Bound(lambda x: ~np.isnan(x), "a number")
NON_NEGATIVE = Bound(lambda x: x >= 0, "0 or more")
RATE = Bound(lambda x: (x >= 0) & (x < np.inf), "0 or more and finite")
POSITIVE = Bound(lambda x: x > 0, "above 0")
PROBABILITY = Bound(lambda x: (x >= 0) & (x <= 1), "between 0 and 1")
CHANCE = Bound(lambda x: (x > 0) & (x <= 1), "above 0 and at most 1")
COUNT = Bound(lambda x: (x >= 0) & (np.mod(x, 1) == 0), "a whole number, 0 or more")


def draw_floats(
    name: str, sampler: Sampler, options: Options, **parameters: tuple[Any, Bound]
) -> jax.Array:
    """Draw numbers in a float dtype; the parameters are in the sampler's order."""
    caller = f"random.{name}"
    values = [given(caller, x, value) for x, value in parameters.items()]
    kind = float_for(options.dtype, caller, *values)
    shape = shape_of(caller, options.size, *values)
    return draw(
        caller, sampler, (shape, kind), tuple(values), options.key, options.device
    )


def draw_integers(
    name: str, sampler: Sampler, options: Options, **parameters: tuple[Any, Bound]
) -> jax.Array:
    """Draw numbers in an integer dtype; the parameters are in the sampler's order."""
    caller = f"random.{name}"
    values = [given(caller, x, value) for x, value in parameters.items()]
    float_for(None, caller, *values)  # refuses complex numbers
    kind = integer_for(options.dtype, caller)
    shape = shape_of(caller, options.size, *values)
    return draw(
        caller, sampler, (shape, kind), tuple(values), options.key, options.device
    )


def given(caller: str, name: str, value: tuple[Any, Bound]) -> Any:
    """A parameter as a number or an array, if it is within its bound."""
    raw, bound = value
    known = numbers(caller, name, raw)
    if not np.iscomplexobj(known):  # which is refused with its own words
        check(known, bound.allowed, caller, name, bound.words)
    return known
