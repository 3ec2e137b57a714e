"""What `autojit` returns, in modules that are read again while a session goes on.

Editors such as IPython's `%autoreload` give the functions that live on the code and the
attributes of the new ones. A name in the code, the token, says whose it is: the global
variable of this name holds the calls, and is not there in another function.
"""

import types
import weakref
from collections.abc import Callable
from typing import Any


_wrappers: weakref.WeakValueDictionary[str, types.FunctionType] = (
    weakref.WeakValueDictionary()
)


def connect(wrapper: types.FunctionType, token: str) -> Any:
    """Let a wrapper run the calls that its attributes know of, and return them."""
    variables, calls = wrapper.__globals__, _calls_in(wrapper)
    variables[token] = calls
    start, _, _ = token.rpartition("_")
    for name in tuple(variables):  # of the code that it had before
        if name.startswith(start) and name != token:
            variables.pop(name, None)
    _wrappers.setdefault(token, wrapper)
    return calls


def _calls_in(wrapper: types.FunctionType) -> Any:
    return wrapper.__dict__["cache_info"].calls


def reconnect(token: str, find_wrapper: Callable[[], types.FunctionType]) -> Any:
    """The calls that code is about, in a function that got it from another one.

    Args:
        token: The token in the code.
        find_wrapper: Looks for the function.
    """
    try:
        wrapper = find_wrapper()
    except NameError:
        # It had no decorator: its global variables are those of its module, where
        # nothing of the wrapper is.
        known = _wrappers.get(token)
        if known is None:
            raise NameError("this function was edited again: import it again") from None
        return _calls_in(known)
    return connect(wrapper, token)
