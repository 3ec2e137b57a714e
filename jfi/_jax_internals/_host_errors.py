"""Exceptions of host functions, which XLA turns into errors of its own.

XLA raises `jax.errors.JaxRuntimeError`, or ValueError for a program that ran in the
background, with a text that has the type and the message of the exception, and forgets
the exception. Here it is kept, under a number that the text has. Exceptions of equinox
are made of the text, as its own `filter_jit` does.

A program that ran in the background raises where its results are read, out of reach for
what called it. So calls of programs with host functions wait for their results.
"""

import collections
import contextlib
import itertools
import logging
import re
import sys
import threading
import traceback
from collections.abc import Generator
from typing import Any

import jax
from jax.core import Tracer


KEPT = 16  # exceptions at a time: under plain `jax.jit` nobody asks for them

XLA_ERRORS = (jax.errors.JaxRuntimeError, ValueError)

_numbers = itertools.count(1)
_kept: collections.OrderedDict[int, BaseException] = collections.OrderedDict()
_lock = threading.Lock()
_MARK = re.compile(r"\[jfi: host call (\d+)\]")


class HostCallError(Exception):
    """What XLA sees of an exception."""


def recorded(error: BaseException) -> HostCallError:
    """Keep an exception, and make the one to raise for XLA in its place."""
    number = next(_numbers)
    with _lock:
        _kept[number] = error
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    text = "".join(traceback.format_exception(error))
    return HostCallError(f"{text}[jfi: host call {number}]")


def original(error: BaseException) -> BaseException | None:
    """The exception of a host function for which XLA raised this error; or None."""
    if type(error) not in XLA_ERRORS:  # a subclass is the user's
        return None
    found = _MARK.findall(str(error))
    if not found:
        return _of_equinox(str(error))
    with _lock:
        return _kept.pop(int(found[-1]), None)


_EQUINOX = re.compile(r"\b_EquinoxRuntimeError: (.*?)\s*\n-{20}\n", re.DOTALL)


def _of_equinox(text: str) -> BaseException | None:
    """What `equinox.error_if` and diffrax raise without compilation; or None."""
    found = _EQUINOX.search(text)
    cls = getattr(sys.modules.get("equinox"), "EquinoxRuntimeError", None)
    return cls(found[1]) if found and cls is not None else None


@contextlib.contextmanager
def without_log_of(kind: type[BaseException]) -> Generator[None]:
    """A block in which JAX writes no log of callbacks that failed by such an error."""

    def is_other(record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], kind)

    log = logging.getLogger("jax._src.debugging")
    log.addFilter(is_other)
    try:
        yield
    finally:
        log.removeFilter(is_other)


_here = threading.local()


@contextlib.contextmanager
def carrying() -> Generator[None]:
    """What is traced here belongs to a program whose caller gets host exceptions."""
    before = carried()
    _here.carried = True
    try:
        yield
    finally:
        _here.carried = before


def carried() -> bool:
    """Whether exceptions of what is traced now reach the caller as they are."""
    return getattr(_here, "carried", False)


_seen = 0


def note_host_call() -> None:
    """A host function was met in a program that is being made."""
    global _seen
    _seen += 1


def host_calls() -> int:
    """A number that changes when a program with host functions is made."""
    return _seen


def wait_for(results: Any) -> None:
    """Wait until arrays in a tree are there, so that their errors are raised here."""
    for leaf in jax.tree.leaves(results):
        if isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer):
            leaf.block_until_ready()


def raise_original(error: BaseException) -> None:
    """Raise the exception of a host function in place of XLA's error, if it is one."""
    found = original(error)
    if found is not None:
        raise found from None


def awaited(run: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a program with host functions, and raise their exceptions as they are."""
    try:
        out = run(*args, **kwargs)
        wait_for(out)
    except XLA_ERRORS as error:
        raise_original(error)
        raise
    return out
