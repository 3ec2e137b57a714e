"""Python functions that run on another machine, where its owner allows it: `remote`."""

import functools
import hashlib
import importlib
import pickle
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from .._errors import FingerprintError, RemoteError
from .._values import function_name
from ._remote import client_of, server_at, server_in_use
from ._store import server_module
from .fingerprint import fingerprint


P = ParamSpec("P")
R = TypeVar("R")


def remote(
    server: str | None = None, *, pure: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Run Python functions on another machine: torch, SciPy, a simulator that is there.

    The function goes there by cloudpickle, once, and its arguments at each call. Where
    it runs in JAX alone, `persistent(server=...)` is quicker, and needs less trust.
    The owner of the server must allow it: `jfi-server start --allow-code`. Whoever may
    call it can do there what that user can do; and results are unpickled here.

    >>> import jfi as jnp
    >>> simulate = jnp.remote("rpyc://127.0.0.1:9")(lambda n: sum(range(n)))
    >>> simulate(10)
    Traceback (most recent call last):
        ...
    jfi.RemoteError: <lambda>() gave no result: no server runs at rpyc://127.0.0.1:9.

    Args:
        server: Where, such as "ssh://gpu-box"; None: the server of `use_server`.
        pure: Whether a call may be repeated that was cut off.

    Returns:
        What makes of a function one that runs there: it takes the same arguments,
        returns the same results, and raises the same errors.

    Raises:
        RemoteError: By a call: there is no server, it refuses, or the call was cut off.
        ValueError: `server` is no address.
    """
    where = None if server is None else server_at(server)

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(fn)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            chosen = where or server_in_use()
            if chosen is None:
                raise RemoteError(
                    f"{function_name(fn)}() has no server. Write "
                    'jfi.remote("ssh://gpu-box").'
                )
            result: R = _call(client_of(chosen), fn, (args, kwargs), pure)
            return result

        return run

    return decorate


def _call(client: Any, fn: Callable[..., Any], arguments: Any, pure: bool) -> Any:
    # Here: `import jfi` does without it.
    cloudpickle: Any = importlib.import_module("cloudpickle")
    data, code = cloudpickle.dumps(arguments), b""
    name = _name(fn, cloudpickle)
    try:
        reply, body = client.call(name, code, data, pure)
        if reply.get("is") == "unknown":
            code = cloudpickle.dumps(fn)
            reply, body = client.call(name, code, data, pure)
    except server_module("errors").ServerLost as error:
        why = str(error).rstrip(".")
        raise RemoteError(f"{function_name(fn)}() gave no result: {why}.") from None
    if reply.get("is") != "called":
        why = reply.get("reason", reply)
        raise RemoteError(f"{function_name(fn)}() gave no result: {why}.")
    result: Any = pickle.loads(body)
    if not reply.get("raised"):
        return result
    raised, lines = result
    raised.add_note(f"In the server at {client.address}:\n{lines}")
    raise raised


def _name(fn: Callable[..., Any], cloudpickle: Any) -> str:
    """What tells a function from others, in each process."""
    try:
        return hashlib.sha256(fingerprint(fn).encode()).hexdigest()
    except FingerprintError:  # pickled twice it may be sent twice
        return hashlib.sha256(cloudpickle.dumps(fn)).hexdigest()
