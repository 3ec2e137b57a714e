"""What `autojit` returns, in modules that are read again while a session goes on.

Editors such as IPython's `%autoreload` give the functions that live on the code and the
attributes of the new ones. A number in the code, the token, says whose it is.
"""

import types
import weakref
from typing import Any


_wrappers: weakref.WeakValueDictionary[int, types.FunctionType] = (
    weakref.WeakValueDictionary()
)


def connect(wrapper: types.FunctionType, token: int) -> None:
    """Let a wrapper run the calls that its attributes know of."""
    wrapper.__globals__.update(__jfi_calls=calls_in(wrapper), __jfi_token=token)
    _wrappers.setdefault(token, wrapper)


def calls_in(wrapper: types.FunctionType) -> Any:
    """The calls that the attributes of a wrapper know of."""
    return wrapper.__dict__["cache_info"].calls


def calls_of(token: int) -> Any:
    """The calls of a wrapper, for a function that had no decorator and got its code.

    The global variables of such a function are those of its module, where nothing of
    the wrapper is.
    """
    wrapper = _wrappers.get(token)
    if wrapper is None:
        raise NameError("this function was edited again: import it again")
    return calls_in(wrapper)
