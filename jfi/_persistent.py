"""Functions that stay compiled, in a server, when the script that calls them ends."""

import functools
import importlib
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from ._errors import FingerprintError, LocalFallbackWarning
from ._jax_internals import at_top_level
from ._jit._function import jit
from ._values import copied_if_numpy, is_tracer


if TYPE_CHECKING:
    from jfi_server.call_parts import Split
    from jfi_server.fingerprint import Identity


P = ParamSpec("P")
R = TypeVar("R")

_MOST_PROGRAMS = 128  # compiled in this process, for each function


def persistent(fn: Callable[P, R]) -> Callable[P, R]:
    """Keep a function compiled between runs of a script, in the compilation server.

    Start the server once, in a shell: `jfi-server start`. The first call of the
    function sends it there and compiles it, as `jax.jit` would; from then on, in this
    script and in all that follow, a call neither traces nor compiles. The server knows
    the function by what it does: after a change of its code, of a helper, of a global
    or of anything else that it uses, it is compiled again.

    >>> import jfi as jnp, warnings
    >>> warnings.simplefilter("ignore", jnp.LocalFallbackWarning)  # no server runs here
    >>> @jnp.persistent
    ... def plan(x, steps):
    ...     for _ in range(steps):
    ...         x = x - 0.1 * jnp.sin(x)
    ...     return x
    >>> plan(jnp.ones(2), 2)
    Array([0.836..., 0.836...], dtype=float32)

    Args:
        fn: A pure function. Arrays and floats among its arguments are traced; strings,
            bools, integers, None and other objects are settings, for each value of
            which the function is compiled once. It returns arrays, in any pytree.

    Returns:
        A function with the same signature. Under `jit`, `grad` and `vmap` it is `fn`.

        Without a server, and for whatever the server can't do right, it is compiled in
        this process; a `LocalFallbackWarning` tells why, once for each reason.

    Raises:
        TypeError: `fn` is not callable.
    """
    if isinstance(fn, PersistentFunction):
        return cast("Callable[P, R]", fn)
    if not callable(fn):
        raise TypeError(
            f"persistent() got {fn!r}, which is not a function. "
            "Write @jfi.persistent above a function, or persistent(fn)."
        )
    return PersistentFunction(fn)


persistent_call = persistent


class PersistentFunction(Generic[P, R]):
    """A function that the compilation server runs; made by `persistent`."""

    __wrapped__: Callable[P, R]

    def __init__(self, fn: Callable[P, R]) -> None:
        functools.update_wrapper(self, fn)
        self._fn = fn
        self._lock = threading.Lock()
        self._local: OrderedDict[str, _LocalProgram] = OrderedDict()
        self._refused: dict[str, str] = {}
        self._told: set[str] = set()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        parts: Split = _server("call_parts").split(args, kwargs)
        if not at_top_level() or any(map(is_tracer, parts.traced)):
            return self._fn(*args, **kwargs)
        program = (self._fn, parts.structure, parts.settings)
        try:
            identity = _server("fingerprint").identify(program)
        except FingerprintError as error:
            local = _identity_here(program)
            how = "not compiled" if local is None else "compiled here at each start"
            self._tell(f"{error} Until then {self._name()} is {how}.")
            if local is None:
                return self._fn(*args, **kwargs)
            return cast("R", self._compiled(local, program, parts))
        try:
            return cast("R", self._served(identity, program, parts))
        except _server("protocol").NotServed as why:
            reason = str(why).rstrip(".")
        self._tell(f"{self._name()} runs in this process: {reason}.")
        return cast("R", self._compiled(identity, program, parts))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind to an instance, as functions do: the instance is the first argument."""
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        """Travel as the function, and the attributes that were set on this object."""
        own = getattr(self._fn, "__dict__", {})
        attributes = {
            name: value
            for name, value in vars(self).items()
            if not name.startswith("_") and own.get(name, self) is not value
        }
        return persistent, (self._fn,), attributes or None

    def __repr__(self) -> str:
        return f"<persistent {self._fn!r}>"

    def _served(self, identity: "Identity", program: object, parts: "Split") -> Any:
        client = _server("client")
        not_served = _server("protocol").NotServed
        if identity.digest in self._refused:
            raise not_served(self._refused[identity.digest])
        try:
            return client.call(
                self._fn,
                parts.tree,
                identity,
                parts.traced,
                lambda: (
                    _server("fingerprint").identify(program).digest == identity.digest
                ),
            )
        except not_served as why:
            if why.for_ever:
                if len(self._refused) >= _MOST_PROGRAMS:
                    self._refused.clear()
                self._refused[identity.digest] = str(why)
            raise

    def _compiled(self, identity: "Identity", program: Any, parts: "Split") -> Any:
        """Call the function as compiled in this process, once for each identity."""
        digest = identity.digest
        with self._lock:
            found = self._local.get(digest) or _LocalProgram(self._fn, program)
            self._local[digest] = found
            self._local.move_to_end(digest)
            if len(self._local) > _MOST_PROGRAMS:
                self._local.popitem(last=False)
        return found(parts)

    def _tell(self, message: str) -> None:
        with self._lock:
            if message in self._told:
                return
            self._told.add(message)
        warnings.warn(message, LocalFallbackWarning, stacklevel=3)

    def _name(self) -> str:
        return f"{getattr(self._fn, '__name__', type(self._fn).__name__)}()"


class _LocalProgram:
    """A function compiled in this process, for settings of one identity."""

    def __init__(self, fn: Callable[..., Any], program: object) -> None:
        self._program = program  # kept: its digest may hold the id of a lock in it
        self._call = threading.local()

        def run(traced: list[Any]) -> Any:
            # The settings of this call: those of an earlier one, which were equal
            # then, may have been changed since.
            parts: Split = self._call.parts
            return _server("call_parts").bind(fn, parts.structure, parts.leaves)(traced)

        self._jitted: Any = jit(_server("call_parts").named_as(run, fn), {})

    def __call__(self, parts: "Split") -> Any:
        before = getattr(self._call, "parts", None)  # it may call itself uncompiled
        self._call.parts = parts
        try:
            return self._jitted(list(map(copied_if_numpy, parts.traced)))
        finally:
            self._call.parts = before


def _identity_here(program: object) -> "Identity | None":
    """What holds in this process; None for what differs at each call."""
    try:
        return cast(
            "Identity", _server("fingerprint").identify(program, in_process=True)
        )
    except FingerprintError:
        return None


@functools.cache
def _server(module: str) -> Any:
    """A module of the server's package, imported at the first call that needs it."""
    return importlib.import_module(f"jfi_server.{module}")
