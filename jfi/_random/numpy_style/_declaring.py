"""How a distribution is declared.

This is the whole of one, but for the docstring:

    @key_first(jax.random.gumbel)
    @draws_floats(located(jax.random.gumbel), scale=NON_NEGATIVE)
    def gumbel(
        loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, *,
        key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | ...
    ) -> jax.Array:
        return drawn(gumbel, (loc, scale), size, key, dtype, device)

`key_first` names the function of `jax.random` that a call with a key in front means;
where there is none write `key_by_name`. `draws_floats`, or `draws_integers`, names the
sampler and the bounds of parameters; one without a bound may be any number. The
docstring has a sentence, an example and the parameters; the decorator adds what all
functions share.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from ..._docstrings import Function
from .._distributions import for_dtype
from .._documented import complete
from .._drawing import (
    Key,
    Size,
    check_bounds,
    draw,
    drawn_shape,
    float_for,
    integer_for,
)
from ..torch_style import numbers
from ._samplers import Sampler


_INTEGER = (
    "An integer dtype; int64 if not given, int32 without 64-bit types. Numbers beyond "
    "it become its last one."
)


class ParameterBound(NamedTuple):
    """Which values a parameter may have, and the words for that."""

    allowed: Callable[[Any], Any]
    words: str


ANY = ParameterBound(lambda x: ~np.isnan(x), "a number")
NON_NEGATIVE = ParameterBound(lambda x: x >= 0, "0 or more")
RATE = ParameterBound(lambda x: (x >= 0) & (x < np.inf), "0 or more and finite")
POSITIVE = ParameterBound(lambda x: x > 0, "above 0")
PROBABILITY = ParameterBound(lambda x: (x >= 0) & (x <= 1), "between 0 and 1")
CHANCE = ParameterBound(lambda x: (x > 0) & (x <= 1), "above 0 and at most 1")
COUNT = ParameterBound(
    lambda x: (x >= 0) & (np.mod(x, 1) == 0), "a whole number, 0 or more"
)


_DECLARED = "distribution"  # the attribute of a function that holds what it declares


class _Distribution(NamedTuple):
    """What the decorators of a function say of it."""

    caller: str
    sampler: Sampler
    kind_of: Callable[..., np.dtype[Any]]
    bounds: tuple[tuple[str, ParameterBound], ...]  # in the order of the parameters


def draws_floats(
    sampler: Sampler, **bounds: ParameterBound
) -> Callable[[Function], Function]:
    """Declare a distribution of numbers in a float dtype.

    Args:
        sampler: Draws, given a key, a shape, a dtype and the parameters in their order.
        bounds: Those of parameters that can't be just any number.
    """

    def decorate(ours: Function) -> Function:
        complete(ours)
        return _declare(ours, sampler, float_for, bounds)

    return decorate


def draws_integers(
    sampler: Sampler, **bounds: ParameterBound
) -> Callable[[Function], Function]:
    """Declare a distribution of integers; see `draws_floats`."""

    def decorate(ours: Function) -> Function:
        complete(ours, dtype=_INTEGER)
        return _declare(ours, sampler, _integer_for, bounds)

    return decorate


def _declare(
    ours: Function,
    sampler: Sampler,
    kind_of: Callable[..., Any],
    bounds: dict[str, ParameterBound],
) -> Function:
    names = list(inspect.signature(ours).parameters)
    own = names[: names.index("size")]
    unknown = ", ".join(set(bounds) - set(own))
    assert not unknown, f"{ours.__name__} has no parameter {unknown}"
    ordered = tuple((name, bounds.get(name, ANY)) for name in own)
    caller = f"random.{ours.__name__}"
    ours.__dict__[_DECLARED] = _Distribution(caller, sampler, kind_of, ordered)
    return ours


def drawn(
    function: Callable[..., jax.Array],
    parameters: tuple[Any, ...],
    size: Size,
    key: Key | None,
    dtype: DTypeLike,
    device: DeviceLike | None,
) -> jax.Array:
    """Draw from the distribution that a function is declared to have."""
    declared: _Distribution = function.__dict__[_DECLARED]
    caller, sampler, kind_of, bounds = declared
    values = tuple(
        [
            given(caller, name, value, bound)
            for (name, bound), value in zip(bounds, parameters, strict=True)
        ]
    )
    kind = kind_of(dtype, caller, *values)
    shape = drawn_shape(caller, size, *values)
    if kind_of is float_for:
        sampler = for_dtype(sampler, kind)
    return draw(caller, sampler, (shape, kind), values, key, device)


def given(caller: str, name: str, value: Any, bound: ParameterBound) -> Any:
    """A parameter as a number or an array, if it is within its bound."""
    known = numbers(caller, name, value)
    if not np.iscomplexobj(known):  # which is refused with its own words
        check_bounds(known, bound.allowed, caller, name, bound.words)
    return known


def _integer_for(dtype: DTypeLike, caller: str, *parameters: Any) -> np.dtype[Any]:
    float_for(None, caller, *parameters)  # refuses complex numbers
    return integer_for(dtype, caller)
