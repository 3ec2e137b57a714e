"""The parameters of a function, which a call has one value for each of."""

import functools
import inspect
import types
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np


Parameter = inspect.Parameter


def parameters_of(
    fn: Callable[..., Any], said: Collection[str | int] = ()
) -> list[Parameter]:
    """The parameters of a function; some builtins have no signature.

    Those of the function itself: what it hands on to a function that it wraps may be
    called in another way. Unless an option names a parameter that only that one has.

    Args:
        fn: The function.
        said: Names and positions of parameters, in options.
    """
    names = {name for name in said if isinstance(name, str)}
    is_partial = isinstance(fn, functools.partial) and not inspect.isfunction(fn)
    if is_partial and not said:
        return ANY_PARAMETERS  # the arguments it has already may be changed
    if isinstance(fn, np.ufunc):
        return ANY_PARAMETERS  # `dtype` and `signature` exclude each other
    try:
        own = _own(fn)
        if names <= {p.name for p in own}:
            return own
        wrapped = list(inspect.signature(fn).parameters.values())
        return wrapped if names <= {p.name for p in wrapped} else own
    except (TypeError, ValueError):
        return ANY_PARAMETERS


def _own(fn: Callable[..., Any]) -> list[Parameter]:
    """The parameters of a function itself.

    Libraries write the signature of a function that they wrap into `__signature__`.
    Its defaults are copies: what the wrapped function uses may be another default by
    now, and the caller has passed none. Then the code says what can be passed.
    """
    found = list(inspect.signature(fn, follow_wrapped=False).parameters.values())
    own = getattr(fn, "__func__", fn)  # of a bound method
    is_plain = isinstance(own, types.FunctionType) and "__signature__" in own.__dict__
    if not is_plain or all(p.default is Parameter.empty for p in found):
        return found
    same: Any = types.FunctionType(
        own.__code__, own.__globals__, None, own.__defaults__, own.__closure__
    )
    same.__kwdefaults__ = own.__kwdefaults__
    if own is not fn:
        same = types.MethodType(same, fn)  # without its first parameter
    return list(inspect.signature(same).parameters.values())


ANY_PARAMETERS = [
    Parameter("args", Parameter.VAR_POSITIONAL),
    Parameter("kwargs", Parameter.VAR_KEYWORD),
]


def call_with(
    fn: Callable[..., Any], parameters: Sequence[Parameter], values: Sequence[Any]
) -> Any:
    """Call a function with one value for each parameter."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter, value in zip(parameters, values, strict=True):
        if parameter.kind is Parameter.VAR_POSITIONAL:
            args.extend(value)
        elif parameter.kind is Parameter.VAR_KEYWORD:
            kwargs.update(value)
        elif parameter.kind is Parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return fn(*args, **kwargs)
