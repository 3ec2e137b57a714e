"""Defaults of parameters, as if the caller had given them.

Then a call has one form, whether it names a parameter or leaves it out, and is compiled
once for both.
"""

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..._values import is_fixed


def with_defaults(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The keywords of a call, with the defaults of parameters that it does not name.

    Not those which are or hold an array: given by the caller it may be batched, and as
    a default it is the same for all rows.

    >>> with_defaults(lambda x, scale=2.0, *, mode="sum": x, (1,), {"mode": "max"})
    {'scale': 2.0, 'mode': 'max'}

    Args:
        fn: The function; without Python code of its own, nothing is known of it.
        args: The positional arguments.
        kwargs: The keywords that the caller wrote.
    """
    is_plain = isinstance(fn, types.FunctionType)
    if is_plain and not (fn.__defaults__ or fn.__kwdefaults__):  # most functions
        return dict(kwargs)
    named = {
        name: kwargs.get(name, default)
        for name, default in _defaults(fn, len(args))
        if is_fixed(default)
    }
    # In the order of the parameters, whatever the order in which they are named.
    return {**named, **kwargs}


def _defaults(fn: Any, given: int) -> Iterator[tuple[str, Any]]:
    """The parameters with defaults that can be named, behind those given by place."""
    function = fn
    if not isinstance(fn, types.FunctionType):
        function = getattr(fn, "__func__", None) or type(fn).__call__
        if not isinstance(function, types.FunctionType):
            return
        given += 1  # self
    # Asked for at each call: they can be replaced, as can the code.
    code, defaults = function.__code__, function.__defaults__ or ()
    first = code.co_argcount - len(defaults)
    for k, default in enumerate(defaults, start=first):
        if k >= max(given, code.co_posonlyargcount):
            yield code.co_varnames[k], default
    yield from (function.__kwdefaults__ or {}).items()
