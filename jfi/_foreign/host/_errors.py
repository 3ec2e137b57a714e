"""Exceptions of host functions, which XLA turns into errors of its own.

XLA raises `jax.errors.JaxRuntimeError`, whose text is that of the exception and its
traceback, and forgets the exception. Here it is kept under a number that the text has.
"""

import collections
import itertools
import re
import threading
from typing import Any

import jax


KEPT = 64  # exceptions at a time: each lives until XLA's error is raised in some thread

_numbers = itertools.count(1)
_kept: collections.OrderedDict[int, BaseException] = collections.OrderedDict()
_lock = threading.Lock()
_MARK = re.compile(r"jfi host call error (\d+)")


class HostCallError(Exception):
    """What XLA sees of an exception: its number, and in its text the cause."""


def recorded(error: BaseException) -> HostCallError:
    """Keep an exception, and make the one to raise for XLA in its place."""
    number = next(_numbers)
    with _lock:
        _kept[number] = error
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    text = f"{type(error).__name__}: {error} [jfi host call error {number}]"
    return HostCallError(text)


def original(error: BaseException) -> BaseException | None:
    """The exception of a host function for which XLA raised this error; or None."""
    if not isinstance(error, (jax.errors.JaxRuntimeError, ValueError)):
        return None
    found: Any = _MARK.findall(str(error))
    if not found:
        return None
    with _lock:
        return _kept.pop(int(found[-1]), None)
