"""Roots by the names of single methods: `scipy.optimize.brentq`, `newton` and the like.

Each is `root_scalar` with its method, and raises as SciPy's where it does not converge.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..._advice import hiding_frames
from ..._docstrings import explained_as
from ..._errors import SolverError
from .._solving._options import real_array
from ._scalar_roots import found_root


_RTOL = 8.881784197001252e-16  # SciPy's, as is the other
_XTOL = 2e-12


@hiding_frames
def brentq(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL,
    rtol: float = _RTOL, maxiter: int = 100,
) -> jax.Array:  # fmt: skip
    """Find a root between two numbers: `scipy.optimize.brentq` for JAX functions.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def root(a):
        ...     return jnp.scipy.optimize.brentq(lambda x: x**2 - a, 0.0, 10.0)
        >>> root(4.0), float(jax.jit(jax.grad(root))(4.0))
        (Array(2., dtype=float32), 0.25)

    Args:
        f: `f(x, *args)` of a number, returns a number.
        a: One end; `f(a)` and `f(b)` have different signs.
        b: The other end.
        args: More arguments of `f`, of any type that JAX takes.
        xtol: As in SciPy.
        rtol: As in SciPy.
        maxiter: As in SciPy.

    Returns:
        The root, a float without axes.

    Raises:
        RuntimeError: SciPy's: it did not converge. NaN under plain `jax.jit`.
        ValueError: SciPy's: `f` has the same sign at both ends. Under jit an error of
            JAX has its text.
    """
    return _between("brentq", f, a, b, args, xtol, rtol, maxiter)


@explained_as(brentq)
@hiding_frames
def bisect(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL,
    rtol: float = _RTOL, maxiter: int = 100,
) -> jax.Array:  # fmt: skip
    """Find a root by halving an interval: `scipy.optimize.bisect` for JAX functions.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def root(a):
        ...     return jnp.scipy.optimize.bisect(lambda x: x**2 - a, 0.0, 10.0)
        >>> float(root(4.0)), float(jax.grad(root)(4.0))
        (2.0, 0.25)
    """
    return _between("bisect", f, a, b, args, xtol, rtol, maxiter)


@explained_as(brentq)
@hiding_frames
def brenth(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL,
    rtol: float = _RTOL, maxiter: int = 100,
) -> jax.Array:  # fmt: skip
    """Find a root between two numbers: `scipy.optimize.brenth` for JAX functions.

    Example:
        >>> import jfi as jnp
        >>> float(jnp.scipy.optimize.brenth(lambda x: x**2 - 4.0, 0.0, 10.0))
        2.0
    """
    return _between("brenth", f, a, b, args, xtol, rtol, maxiter)


@explained_as(brentq)
@hiding_frames
def ridder(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL,
    rtol: float = _RTOL, maxiter: int = 100,
) -> jax.Array:  # fmt: skip
    """Find a root by Ridder's method: `scipy.optimize.ridder` for JAX functions.

    Example:
        >>> import jfi as jnp
        >>> float(jnp.scipy.optimize.ridder(lambda x: x**2 - 4.0, 0.0, 10.0))
        2.0
    """
    return _between("ridder", f, a, b, args, xtol, rtol, maxiter)


@explained_as(brentq)
@hiding_frames
def toms748(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), k: int = 1,
    xtol: float = _XTOL, rtol: float = _RTOL, maxiter: int = 100,
) -> jax.Array:  # fmt: skip
    """Find a root by algorithm 748: `scipy.optimize.toms748` for JAX functions.

    Example:
        >>> import jfi as jnp
        >>> float(jnp.scipy.optimize.toms748(lambda x: x**2 - 4.0, 0.0, 10.0))
        2.0

    Args:
        k: As in SciPy: the Newton steps of each iteration.
    """
    return _between("toms748", f, a, b, args, xtol, rtol, maxiter, {"k": k})


@hiding_frames
def newton(
    func: Callable[..., Any], x0: Any, *, args: Any = (), tol: float | None = None,
    maxiter: int = 50, x1: Any = None, rtol: float | None = None,
) -> jax.Array:  # fmt: skip
    """Find a root near a guess: `scipy.optimize.newton` for JAX functions.

    JAX computes the derivative of `func`, so there is no `fprime`. With a second guess
    it is the secant method, which needs none.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def root(a):
        ...     return jnp.scipy.optimize.newton(lambda x: x**2 - a, 1.0)
        >>> float(root(4.0)), float(jax.jit(jax.grad(root))(4.0))
        (2.0, 0.25)

    Args:
        func: `func(x, *args)` of a number, returns a number.
        x0: The guess, a number.
        args: More arguments of `func`, of any type that JAX takes.
        tol: As in SciPy. None: 1.48e-8 for float64, 1e-6 for float32.
        maxiter: As in SciPy.
        x1: A second guess, for the secant method.
        rtol: As in SciPy. None: 0 for float64, 1e-6 for float32.

    Returns:
        The root, a float without axes.

    Raises:
        RuntimeError: SciPy's: it did not converge. NaN under plain `jax.jit`.
        SolverError: The guess is an array.
    """
    start = real_array(x0, "x0 of newton()")
    if start.ndim:
        message = (
            f"newton() got x0 of shape {start.shape}, and searches one root. Write: "
            "jnp.vmap(lambda x: jnp.scipy.optimize.newton(func, x))(x0)"
        )
        raise SolverError(message)
    fine = start.dtype == jnp.float64
    settings = (
        ("xtol", (1.48e-8 if fine else 1e-6) if tol is None else tol),
        ("rtol", (0.0 if fine else 1e-6) if rtol is None else rtol),
        ("maxiter", maxiter),
    )
    method = "newton" if x1 is None else "secant"
    found = found_root(
        func, args, method, None, (start, x1), settings, must_converge=True
    )
    return jnp.where(found.converged, found.root, jnp.nan)


def _between(
    method: str, f: Callable[..., Any], a: Any, b: Any, args: Any, xtol: float,
    rtol: float, maxiter: int, options: dict[str, Any] | None = None,
) -> jax.Array:  # fmt: skip
    settings = (("xtol", xtol), ("rtol", rtol), ("maxiter", maxiter))
    found = found_root(
        f, args, method, (a, b), (None, None), settings, options, must_converge=True
    )
    return jnp.where(found.converged, found.root, jnp.nan)
