"""`persistent`, `enable_cache`, `cache_report`: what users call."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args, overload

import jax
import numpy as np

from .._advice import hide_frames
from .._autojit import Calls
from .._autojit._keeping import keep_everything
from .._autojit._messages import refuse_uncompilable
from .._autojit._wrapper import wrap
from .._autojit.kinds._functions import (
    AutojitMark,
    is_autojitted,
    is_wrapper,
    mark_wrapper,
)
from .._errors import AutoJitError, LocalFallbackWarning
from .._jax_internals import use_jax_cache
from .._shown import ToolFacts, shown
from .._values import Warner, function_name, is_key
from ._handles import stored
from ._keepers import Mode, ModeKeeper, StoreKeeper, folder_in_use
from ._places import LEDGER
from ._remote import choose_server, client_of, server_at, server_in_use
from ._report import CacheReport
from ._store import Store, default_folder, is_for_jax


P = ParamSpec("P")
R = TypeVar("R")


@overload
def persistent(
    fn: Callable[P, R],
    /,
    *,
    mode: Mode = "auto",
    timeout: float | None = None,
    returns: Literal["jax", "numpy"] = "jax",
    server: str | None = None,
    fallback: bool = True,
) -> Callable[P, R]: ...
@overload
def persistent(
    *,
    mode: Mode = "auto",
    timeout: float | None = None,
    returns: Literal["jax", "numpy"] = "jax",
    server: str | None = None,
    fallback: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def persistent(
    fn: Any = None,
    /,
    *,
    mode: Mode = "auto",
    timeout: float | None = None,
    returns: Literal["jax", "numpy"] = "jax",
    server: str | None = None,
    fallback: bool = True,
) -> Any:
    """Compile a function once, for this script and for its next runs.

    It is compiled as by `autojit`, with the same rules of what is data and what is a
    setting. What was compiled is kept, on disk and in the server if one runs
    (`jfi-server start`), under all that the function does: after a change of its code,
    of a helper, of a global or of anything else that it uses, it is compiled again.

    >>> import jfi as jnp
    >>> @jnp.persistent
    ... def plan(x, steps):
    ...     for _ in range(steps):
    ...         x = x - 0.1 * jnp.sin(x)
    ...     return x
    >>> plan(jnp.ones(2), 2)
    Array([0.836..., 0.836...], dtype=float32)

    Args:
        fn: A function, method, partial or callable object.
        mode: Where it runs. "auto": in the server if one runs and as long as this
            process has not loaded the program; else here, from the store on disk.
            "server": in the server, which is started if none runs; the process that
            compiles a program runs it itself. "disk": here, from the store. "off": as
            `autojit(fn)`.
        timeout: Seconds to wait for the server before a call runs here; None: as long
            as the server lives.
        returns: "numpy" for NumPy arrays in the result.
        server: A server on another machine, such as "ssh://host": see `use_server`.
        fallback: Whether what such a server can't do, or has not done when it ended,
            runs in this process. False: a `RemoteError` says why it can't.

    Returns:
        A function with the same signature. Where it can't be kept, or the server can't
        run it, it runs in this process; a `LocalFallbackWarning` says why, once.

    Raises:
        AutoJitError: `fn` can't be compiled (a class, a generator function ...).
        TypeError: `fn` is not callable.
        ValueError: An option is none of those above.
    """
    _check_options(mode, timeout, returns)
    remote = None if server is None else server_at(server)
    options: dict[str, Any] = {"mode": mode, "timeout": timeout, "returns": returns}
    decorate: Any = functools.partial(
        persistent, **options, server=server, fallback=fallback
    )
    if fn is None:
        return decorate
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(decorate(fn.__func__))
    if is_wrapper(fn):
        return fn
    if not callable(fn):
        raise TypeError(
            f"persistent() got {fn!r}, which is not a function. "
            "Write @jfi.persistent above a function, or persistent(fn)."
        )
    refuse_uncompilable(fn)
    inside, given = _without_autojit(fn)
    calls = Calls(inside, given, keeper=ModeKeeper(mode, timeout, remote, fallback))
    return _wrapped(fn, wrap(calls), returns)


persistent_call = persistent
_OF_ARGUMENTS = {"static", "traced", "frozen", "unused", "warn_after", "max_traces"}


def _without_autojit(fn: Any) -> tuple[Any, dict[str, Any]]:
    """The function that `autojit` compiles, and its options, to be compiled once.

    With options about devices or memory it is left as it is.
    """
    if not is_autojitted(fn):
        return fn, {}
    given: dict[str, Any] = fn.__dict__[AutojitMark.ATTRIBUTE].fill.options
    return (fn.__wrapped__, given) if given.keys() <= _OF_ARGUMENTS else (fn, {})


def _wrapped(
    fn: Callable[..., Any], compiled: Callable[..., Any], returns: str
) -> Callable[..., Any]:
    warner = Warner(LocalFallbackWarning)

    @functools.wraps(compiled)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                out = compiled(*args, **kwargs)
            except AutoJitError as error:
                # What autojit refuses, before anything has run, is no error of `fn`.
                why = str(error).partition("\n")[0]
                warner.warn(f"{function_name(fn)}() runs uncompiled: {why}")
                out = fn(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise
        return out if returns == "jax" else jax.tree.map(_as_numpy, out)

    info: Any = compiled.__dict__["cache_info"]

    def describe() -> ToolFacts:
        n, signatures = info()
        programs = f"{n} program{'s' * (n != 1)}"
        if n == 0:  # what was called has found its programs
            programs = "nothing compiled here" if signatures else "no program yet"
        return ToolFacts("persistent", fn, programs)

    return shown(mark_wrapper(run), describe)


def _as_numpy(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, jax.Array) and not is_key(x) else x


def _check_options(mode: object, timeout: object, returns: object) -> None:
    if mode not in get_args(Mode):
        raise ValueError(
            f'persistent() got mode={mode!r}. Write mode="auto", "server", "disk" or '
            '"off".'
        )
    if returns not in ("jax", "numpy"):
        raise ValueError(
            f'persistent() got returns={returns!r}. Write returns="jax" or "numpy".'
        )
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if timeout is not None and not (number and cast("float", timeout) > 0):
        raise ValueError(
            f"persistent() got timeout={timeout!r}. Write a number of seconds: "
            "timeout=30."
        )


def use_server(
    address: str | None, *, tls: str | os.PathLike[str] | None = None
) -> None:
    """Run persistent functions on another machine.

    Call it once, before persistent functions are called. They are traced here. Their
    programs go to the server once, which compiles them for its devices, keeps them, and
    runs them; of a call the arrays travel. `JFI_SERVER=ssh://...` does the same.

    >>> import jfi as jnp
    >>> jnp.use_server("ssh://gpu-box")  # ssh starts the server there
    >>> jnp.use_server(None)             # without a server again

    Args:
        address: "ssh://host", or "ssh://host/folder" with that of the environment of
            Python there; "tls://host:port"; "rpyc://127.0.0.1:port" for a server, or
            the end of a tunnel, on this machine; None: none.
        tls: The folder with `cert.pem` and `key.pem` of this client, and `ca.pem` of
            who signed the server's; None: `$JFI_SERVER_TLS`, else `~/.config/jfi/tls`.

    Raises:
        ValueError: `address` is no address.
    """
    choose_server(None if address is None else server_at(address, tls))


T = TypeVar("T")


def on_server(tree: T, *, server: str | None = None) -> T:
    """Put arrays on the server, where persistent functions run, and leave them there.

    A persistent function that gets one runs without sending it. The arrays that such a
    call returns stay there, too; its numbers (arrays of shape `()`) come back. For all
    else these are arrays: `np.asarray(x)`, or a function that runs here, fetches the
    values.

    >>> import jfi as jnp
    >>> params = jnp.on_server({"w": jnp.ones(3)}, server="rpyc://127.0.0.1:9")
    Traceback (most recent call last):
        ...
    jfi.RemoteError: ... no server runs at rpyc://127.0.0.1:9.

    Args:
        tree: An array, or a pytree with arrays of any shapes and dtypes.
        server: Where; None: the server of `use_server`.

    Returns:
        The same tree, with a handle in the place of each array: it has its shape and
        dtype. The array goes from the server when no handle of it is left, and some
        ten seconds after this process has ended.

    Raises:
        RemoteError: The server can't be reached, or takes no more. It is raised as
            well by whatever needs the values of a handle whose server has ended.
        TypeError: There is no array in `tree`.
        ValueError: No server is named, or its address is none.
    """
    where = server_in_use() if server is None else server_at(server)
    if where is None:
        raise ValueError(
            'on_server() has no server. Write, before: jfi.use_server("ssh://gpu-box").'
        )
    return cast("T", stored(tree, client_of(where)))


def enable_cache(dir: str | os.PathLike[str] | None = None) -> None:
    """Keep all that is compiled on disk, so that the next run compiles nothing.

    Call it once, before anything is compiled. What jfi compiles (`autojit`, batches,
    eager loops, `scan_while`) is kept with all that it takes to neither trace nor
    compile it again; JAX's own cache keeps the rest, with the settings that let it keep
    small programs, too.

    >>> import jfi as jnp, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:  # most scripts: enable_cache()
    ...     jnp.enable_cache(folder)

    Args:
        dir: The folder; None: `$JFI_CACHE_DIR`, else `~/.cache/jfi`. Whoever can write
            to it could run code as this user: one that others can write, or replace,
            is not used.

    Raises:
        TypeError: `dir` is no path.
    """
    folder = default_folder() if dir is None else Path(dir).expanduser().absolute()
    if is_for_jax(folder / "jax"):
        use_jax_cache(os.fspath(folder / "jax"))
    keep_everything(StoreKeeper(folder / "programs"))


def cache_report() -> CacheReport:
    """What the store of compiled programs did in this process.

    >>> import jfi as jnp
    >>> report = jnp.cache_report()
    >>> report.hits >= 0 and report.misses >= 0
    True

    Returns:
        A `CacheReport` with hits, misses, seconds saved, sizes, and why programs of
        some functions could not be kept; it prints as a text.
    """
    folder = folder_in_use()
    sizes = [info.st_size for _, info in Store(folder).entries()]
    return CacheReport(
        str(folder), LEDGER.hits, LEDGER.misses, LEDGER.saved, LEDGER.compiling,
        sum(sizes), len(sizes), dict(LEDGER.why_not),
    )  # fmt: skip
