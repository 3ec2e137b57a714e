"""The parameters of a function, which a call has one value for each of."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np


Parameter = inspect.Parameter


def parameters_of(
    fn: Callable[..., Any], names: set[str] | frozenset[str] = frozenset()
) -> list[Parameter]:
    """The parameters of a function; some builtins have no signature.

    Those of the function itself: what it hands on to a function that it wraps may be
    called in another way. Unless an option names a parameter that only that one has.
    """
    is_partial = isinstance(fn, functools.partial) and not inspect.isfunction(fn)
    if is_partial and not names:
        return ANY_PARAMETERS  # the arguments it has already may be changed
    if isinstance(fn, np.ufunc):
        return ANY_PARAMETERS  # `dtype` and `signature` exclude each other
    try:
        own = list(inspect.signature(fn, follow_wrapped=False).parameters.values())
        if names <= {p.name for p in own}:
            return own
        wrapped = list(inspect.signature(fn).parameters.values())
        return wrapped if names <= {p.name for p in wrapped} else own
    except (TypeError, ValueError):
        return ANY_PARAMETERS


ANY_PARAMETERS = [
    Parameter("args", Parameter.VAR_POSITIONAL),
    Parameter("kwargs", Parameter.VAR_KEYWORD),
]
