"""Values that can't be opened: they change when they are read, or unseen."""

import concurrent.futures
import io
import itertools
import queue
import random
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
from jax.core import Tracer
from jax.errors import TracerArrayConversionError

from ..._values import is_writable
from ._base import ReaderError, RefusedError
from ._objects import new


_OF_THREADS = (
    threading.Barrier, threading.Condition, threading.Event, threading.Semaphore,
    threading.Thread, queue.Queue, concurrent.futures.Executor,
    concurrent.futures.Future,
)  # fmt: skip


def refuse_readers(x: Any, cls: type) -> None:
    """Refuse what changes when it is read, or in memory of C that nobody can watch.

    Iterators, files, random generators; numbers and structs of ctypes.
    """
    if isinstance(x, io.IOBase):
        raise ReaderError(
            f"the file {{path}} (a {cls.__name__}), which would be read or written "
            "once, and not at each call.\n"
            "Read it before the call and pass what it holds; write into it after the "
            "call, or in a function for jax.debug.callback."
        )
    if cls in weakref.ProxyTypes:
        raise RefusedError(
            "a weak proxy for {path}, which can't be copied.\n"
            "Pass the object itself instead, or weakref.ref(...) of it."
        )
    if isinstance(x, Iterator) and not _is_iterator_in_python(cls):
        what = "generator" if isinstance(x, types.GeneratorType) else cls.__name__
        next_ = "at each call, what comes next: next({path})"
        if isinstance(x, (itertools.count, itertools.cycle, itertools.repeat)):
            advice = f"Pass, {next_}"  # a list of it may have no end
        else:
            listed = "Pass a list or an array instead: {path} = list({path})"
            advice = f"{listed}; or, {next_}"
        raise ReaderError(
            f"an iterator for {{path}} (a {what}), which can be read only once.\n"
            + advice
        )
    if isinstance(x, (types.CoroutineType, types.AsyncGeneratorType)):
        raise ReaderError(
            "a coroutine for {path}, which must be awaited first.\n"
            "Pass its result instead: {path} = await {path}"
        )
    generators = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    if isinstance(x, (*generators, random.Random)):
        raise ReaderError(
            f"the random generator {{path}} (a {cls.__name__}), whose draws would be "
            "constants of the compiled function.\n"
            "Draw outside and pass the numbers, or draw inside with jnp.randn(...)."
        )
    if isinstance(x, _OF_THREADS):
        raise RefusedError(
            f"the {cls.__name__} {{path}}, which other threads use meanwhile: compiled "
            "code would see a copy.\n"
            "Read it before the call and pass what it holds; use it after the call, or "
            "in a function for jax.debug.callback."
        )
    if any(base.__module__ == "_ctypes" for base in cls.__mro__):
        raise contents_change(cls)


def _is_iterator_in_python(cls: type) -> bool:
    """Whether what an iterator reads next is in its attributes, as for any object.

    A sequence of random keys is one (haiku's `PRNGSequence`). What a generator or a
    `zip` reads next, only Python knows.
    """
    found = [vars(base)["__next__"] for base in cls.__mro__ if "__next__" in vars(base)]
    return all(isinstance(method, types.FunctionType) for method in found)


def contents_change(cls: type) -> RefusedError:
    """What is raised for an object of a library that can be written unseen."""
    remedy = "Pass the arrays and settings that you need of it instead."
    if any(hasattr(cls, name) for name in ("__array__", "__dlpack__", "__setitem__")):
        remedy = "Pass an array instead: {path} = jnp.asarray({path})"
    return RefusedError(
        f"a {cls.__module__.partition('.')[0]} {cls.__name__} for {{path}}, "
        f"whose contents can change unseen.\n{remedy}"
    )


def holds_objects(x: np.ndarray[Any, Any]) -> Exception:
    """What is raised for a NumPy array of Python objects."""
    for item in x.flat:
        # NumPy makes such an array of numbers that pass for floats, `np.array([dt])`,
        # and plain Python one of numbers: their values are needed.
        if isinstance(item, Tracer):
            return TracerArrayConversionError(item)
    return RefusedError(
        "a NumPy array of Python objects for {path}, which JAX can't compute "
        "with.\nPass an array of numbers, or a list: {path} = {path}.tolist()"
    )


def is_of_c(cls: type) -> bool:
    """Whether empty instances can be made, and not filled."""
    try:
        return not is_writable(new(cls))
    except TypeError:
        return False
