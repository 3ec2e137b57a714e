"""Calls of a batched function: compiled, unless Python code in it needs values."""

import functools
import threading
from collections.abc import Callable, Hashable
from typing import Any

import jax

from ..._autojit import (
    WritesOnceError,
    assigns_alike,
    autojit,
    errors_caught,
    reaches_outside,
    refusing_writes,
    undoing_writes,
)
from ..._autojit._loops_and_batches import (
    OPTIONS,
    Reasons,
    generators_in,
    with_variables,
)
from ..._autojit.kinds._classify import HASHABLE, register_kind
from ..._errors import AutoJitError, BatchError, JfiError
from ..._jax_internals import at_top_level, is_staged
from ..._random.traced import FoundDraws, tracing
from ..._values import one_draw, recording
from ._devices import Spread
from ._mapping import Args, Function, Kwargs


class BatchCalls:
    """Calls of functions that map rows in one way.

    Args:
        mapping: Its `run` computes the rows.
        name: The name of the function, for messages.
        spread: The devices to use, if they were chosen.
        jit: What compiles it.
    """

    def __init__(
        self,
        mapping: Any,
        name: str,
        spread: Spread | None = None,
        jit: Callable[..., Callable[..., Any]] = autojit,
    ) -> None:
        self._name, self._spread, self._mapping = name, spread, mapping
        self._forms: set[Hashable] = set()  # of calls that can't be compiled
        self._compiles = True
        self._reasons = Reasons(name)
        body = with_variables(_mapped, name, often="rows", mapping=self._mapping)
        self._compiled: Callable[..., Any] = jit(body, **OPTIONS)
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        """What it is in another process, for programs that `persistent` keeps."""
        return BatchCalls, (self._mapping, self._name, self._spread)

    def run(self, fn: Function, args: Args, kwargs: Kwargs) -> Any:
        """Run a call."""
        if self._spread is not None:
            args, kwargs = self._spread.placed((args, kwargs))
        known = self._forms and _form(args, kwargs) in self._forms
        inside = not at_top_level()
        if known or not self._compiles or (inside and is_staged()):
            return self._uncompiled(fn, args, kwargs)
        try:
            if not inside:
                return self._compiled(fn, args, kwargs)
            # Under `grad` and the like, which compute as they go.
            with tracing(refuses=True):
                return self._compiled(fn, args, kwargs)
        except FoundDraws:  # compiled, it would not draw there what eager code draws
            return self._uncompiled(fn, args, kwargs)
        except Exception as error:
            failure = error
        self._check(failure)
        failure.__traceback__ = None  # it holds the arguments
        return self._without_compiling(fn, args, kwargs, failure)

    def _check(self, error: Exception) -> None:
        """Raise an error, unless the call may succeed without compiling."""
        if isinstance(error, BatchError):
            # Without the way through JAX, and without JAX's note about that.
            raise type(error)(*error.args) from error.__cause__
        refused = isinstance(error, AutoJitError)
        if isinstance(error, (JfiError, Warning, _RAN)) and not refused:
            raise error

    def _uncompiled(self, fn: Function, args: Args, kwargs: Kwargs) -> Any:
        """Run it once for all rows, whatever it reads outside.

        Raises:
            BatchError: It writes there what is not so for all rows.
        """
        if is_staged():  # in a body that is traced, which writes at each call
            with refusing_writes("rows"):
                return self._mapping.run(fn, args, kwargs)
        # What calls back may write for each row, then.
        often = "" if self._compiles else "rows"
        try:
            with undoing_writes((fn,), (self._name, "function"), often):
                return self._mapping.run(fn, args, kwargs)
        except WritesOnceError as error:
            raise BatchError(str(error)) from None

    def _without_compiling(
        self, fn: Function, args: Args, kwargs: Kwargs, why: Exception
    ) -> Any:
        """Python code in it asks for a value, or for what autojit refuses."""
        if isinstance(why, WritesOnceError):
            run = functools.partial(self._mapping.run, fn, args, kwargs)
            if assigns_alike(run, (fn,), (self._name, "function")):
                return run()  # the next call has nothing to write, and is compiled
            raise BatchError(str(why))
        for name in generators_in(why, (fn,)):
            raise BatchError(one_draw(self._name, name, "rows"))
        if reaches_outside(why):
            self._compiles = False
        with recording(ends_at_world=False) as record:
            out = self._uncompiled(fn, args, kwargs)
        for error, _ in errors_caught(record):  # rows have no values here, either
            raise error
        self._reasons.warn(why)
        with self._lock:
            if len(self._forms) >= MAX_FORMS:
                self._forms.clear()
            self._forms.add(_form(args, kwargs))
        return out


# It holds no data: functions and arguments come with each call.
register_kind(BatchCalls, HASHABLE)

MAX_FORMS = 64
_RAN = jax.errors.JaxRuntimeError  # of compiled code; all other errors come before

# What `BatchCalls` gives its own copy of the function below.
mapping: Any = None


def _mapped(fn: Function, args: Args, kwargs: Kwargs) -> Any:
    # Under jax.disable_jit() nothing is compiled.
    return mapping.run(fn, args, kwargs, compiling=not at_top_level())


def _form(args: Args, kwargs: Kwargs) -> Hashable:
    """What calls have in common that run in the same way."""
    structure = jax.tree.structure((args, kwargs))
    try:
        hash(structure)
    except TypeError:
        return str(structure)
    return structure
