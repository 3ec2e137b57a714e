"""Rules for NumPy: arrays, functions, polynomials; and for what is JAX's already."""

import functools
import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import JaxifyError
from ._registry import jaxify, object_label


@jaxify.register(jax.Array)
def _itself(x: Any) -> Any:
    return x


@jaxify.register(np.ndarray)
@jaxify.register(np.generic)
def _array(x: Any) -> jax.Array:
    return jnp.asarray(x)


@jaxify.register(np.ufunc)
def _ufunc(function: np.ufunc, **options: Any) -> Callable[..., Any]:
    name = function.__name__
    if getattr(np, name, None) is function:
        return getattr(jnp, name, None) or _on_host(function, options)
    special = importlib.import_module("scipy.special")
    if getattr(special, name, None) is function:
        found = getattr(jax.scipy.special, name, None)
        return found or _on_host(function, options)
    return _on_host(function, options)


@jaxify.register(types.FunctionType)
@jaxify.register(types.BuiltinFunctionType)
@jaxify.register(type(np.sum))
def _function(function: Any, **options: Any) -> Any:
    module: str = getattr(function, "__module__", None) or ""
    root = module.partition(".")[0]
    if root in ("jax", "jaxlib", "jfi"):
        return function
    if root == "numpy":
        return _namesake(function, "numpy", jnp) or _on_host(function, options)
    if root == "scipy":
        of_jfi = importlib.import_module("jfi.scipy")
        return _namesake(function, "scipy", of_jfi) or _on_host(function, options)
    if root == "torch":
        return _of_torch(function)
    message = (
        f"jaxify() got {object_label(function)}, which may compute with anything.\n"
        "Write jnp.from_numpy(f) if it computes with NumPy, jnp.from_torch(f) if with "
        "torch; if with jax.numpy it needs no conversion."
    )
    raise JaxifyError(message)


def _of_torch(function: Any) -> Callable[..., Any]:
    from ..torch import from_torch

    found: Callable[..., Any] = from_torch(function)
    return found


def _on_host(function: Any, options: dict[str, Any]) -> Callable[..., Any]:
    from ..numpy_functions import from_numpy

    return from_numpy(function, **options)


def _namesake(function: Any, root: str, mine: Any) -> Any:
    """The function of JAX under the public name of one of NumPy or SciPy."""
    name: str = function.__name__
    for path in _public_modules(root):
        if getattr(sys.modules.get(path), name, None) is function:
            inner: Any = mine
            for part in path.split(".")[1:]:
                inner = getattr(inner, part, None)
            found = getattr(inner, name, None)
            if callable(found):
                return found
    return None


@functools.cache
def _public_modules(root: str) -> tuple[str, ...]:
    inner = {
        "numpy": ("", ".linalg", ".fft"),
        "scipy": (
            ".linalg", ".special", ".fft", ".signal", ".optimize", ".integrate",
            ".ndimage", ".interpolate", ".sparse.linalg", ".cluster.vq",
        ),
    }  # fmt: skip
    return tuple(root + name for name in inner[root])


@jaxify.register(functools.partial)
def _partial(given: Any, **options: Any) -> Any:
    function = jaxify(given.func, **options)
    return functools.partial(function, *given.args, **given.keywords)


@jaxify.register(types.MethodType)
def _method(method: Any, **options: Any) -> Any:
    owner = jaxify(method.__self__, **options)
    found = getattr(owner, method.__name__, None)
    if found is None:
        raise NotImplementedError(
            f"what jaxify makes of its owner, a {type(owner).__name__}, has no "
            f"{method.__name__}"
        )
    return found


@jaxify.register(np.poly1d)
def _poly1d(polynomial: Any) -> Any:
    return jax.tree_util.Partial(jnp.polyval, jnp.asarray(polynomial.coeffs))


@jaxify.register(np.polynomial.Polynomial)
def _power_series(polynomial: Any) -> Any:
    return jax.tree_util.Partial(_powers_at, *_series(polynomial))


@jaxify.register(np.polynomial.Chebyshev)
def _chebyshev_series(polynomial: Any) -> Any:
    return jax.tree_util.Partial(_chebyshev_at, *_series(polynomial))


def _series(polynomial: Any) -> list[jax.Array]:
    """Coefficients, and the map of the domain to the window."""
    offset, scale = polynomial.mapparms()
    return [jnp.asarray(value) for value in (polynomial.coef, offset, scale)]


def _powers_at(c: jax.Array, offset: jax.Array, scale: jax.Array, x: Any) -> jax.Array:
    return jnp.polyval(c[::-1], offset + scale * jnp.asarray(x))


def _chebyshev_at(
    c: jax.Array, offset: jax.Array, scale: jax.Array, x: Any
) -> jax.Array:
    """Clenshaw's recurrence."""
    place = offset + scale * jnp.asarray(x)
    last = before = jnp.zeros_like(place)
    for coefficient in c[:0:-1]:
        last, before = coefficient + 2 * place * last - before, last
    return c[0] + place * last - before
