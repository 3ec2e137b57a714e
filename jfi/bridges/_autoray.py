"""jfi as a backend of autoray: `do("exp", x, like="jfi")`.

autoray finds most functions by itself, since it looks for a module of the backend's
name. Here is the rest: what is elsewhere, and conventions of autoray for all backends.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax

from .._arrays._config import get_default_dtype
from .._arrays._conversion import asarray, to
from .._optional._packages import require


def register_autoray() -> None:
    """Make jfi a complete backend of autoray.

    It is done by itself if autoray is imported before jfi. Write this line where jfi
    comes first.

    >>> import jfi as jnp
    >>> jnp.register_autoray()
    >>> from autoray import do
    >>> do("linalg.expm", jnp.zeros((1, 1)), like="jfi")
    Array([[1.]], dtype=float32)

    As for autoray's other backends `linalg.svd` has `full_matrices=False` then, and
    `linalg.qr` of a wide matrix has a gradient. Random numbers come from jfi's stream:
    no key is needed, also in compiled code. `do("exp", x)` of a `CustomArray` asks its
    rules.

    Returns:
        None. It may be called again.

    Raises:
        MissingDependencyError: autoray is not installed.
    """
    autoray: Any = require("autoray", extra="autoray", needed_by="register_autoray()")
    register = autoray.register_function
    register("jfi", "linalg.svd", wrapper=_economic)
    register("jfi", "linalg.qr", autoray.get_lib_fn("jax", "linalg.qr"))
    register("jfi", "complex", jax.lax.complex)  # no name of jfi: it is Python's
    register("jfi", "from_numpy", _from_numpy)
    register("jfi", "to_device", _to_device)
    drawn = autoray.get_lib_fn("jfi", "random.array")
    register("jfi", "random.array", _in_default_dtype(drawn))
    # Classes that are made later do it themselves, and without their module is none.
    made: Any = sys.modules.get("jfi._dispatch._custom_array")
    for cls in _subclasses(made.CustomArray) if made else ():
        autoray.register_backend(cls, "jfi")


def register_if_possible() -> None:
    """Do so, if autoray is not too old: no reason for `import jfi` to fail."""
    with contextlib.suppress(AttributeError, ImportError):
        register_autoray()


def _subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for derived in cls.__subclasses__():
        yield derived
        yield from _subclasses(derived)


def _economic(svd: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(svd)
    def decomposed(*args: Any, **options: Any) -> Any:
        if len(args) < 2:
            options.setdefault("full_matrices", False)
        return svd(*args, **options)

    return decomposed


def _from_numpy(x: Any, dtype: Any = None, device: Any = None, **_: Any) -> jax.Array:
    return asarray(x, dtype=dtype, device=device)


def _to_device(x: Any, device: Any) -> Any:
    return x if device is None else to(x, device=device)


def _in_default_dtype(drawn: Any) -> Any:
    """Random arrays of jfi's default dtype, where autoray would take float64."""

    def array(shape: Any, *args: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype is None:
            dtype = str(get_default_dtype())
        return drawn(shape, *args, dtype=dtype, **options)

    return array
