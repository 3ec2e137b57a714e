"""SciPy's solvers for JAX functions, against SciPy's own: rows of `bench_foreign`.

SciPy is called as a careful user would, with functions and gradients in NumPy.
optimistix and diffrax, whose solvers are compiled with the function, are shown where
they are installed: other methods, or other steps, to about the same tolerance.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.sparse.linalg
from harness import Case

import jfi


SPAN, START = (0.0, 10.0), np.array([1.0, 0.0], np.float32)
Ways = dict[str, Callable[[], Any]]


def rows() -> Iterator[tuple[Case, int]]:
    """Each case, and how many calls make one measurement."""
    yield from _both("minimize, 10 numbers", *_minimize(), calls=1)
    yield from _both("brentq", *_brentq(), calls=3)
    yield from _both("solve_ivp, RK45", *_solve_ivp(), calls=2)
    yield from _both("spsolve, 1,000 rows", *_spsolve(), calls=5)


def _both(
    name: str, run: Callable[..., Any], x: Any, base: Callable[[], Any], others: Ways,
    *, calls: int,
) -> Iterator[tuple[Case, int]]:  # fmt: skip
    """A row for eager calls and one for compiled ones, once their results are equal."""
    compiled, x = jax.jit(run), jnp.asarray(x)
    for way in (lambda: run(x), lambda: compiled(x), *others.values()):
        np.testing.assert_allclose(way(), base(), rtol=1e-2, atol=1e-2)
    ready = lambda way: lambda: jax.block_until_ready(way(x))
    yield Case(f"{name}: eager", ready(run), base, None, others), calls
    yield Case(f"{name}: jit", ready(compiled), base, None, others), calls


def _library(name: str) -> Any:
    if importlib.util.find_spec(name):
        return importlib.import_module(name)
    print(f"{name} is not installed: its column is left out.")
    return None


def _minimize() -> tuple[Callable[..., Any], Any, Callable[[], Any], Ways]:
    start = np.zeros(10, np.float32)

    def rosen(x: Any, *_: Any) -> Any:
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def ours(x: Any) -> Any:
        return jfi.scipy.optimize.minimize(rosen, x, method="L-BFGS-B").x

    def base() -> Any:
        found: Any = scipy.optimize.minimize(
            scipy.optimize.rosen, start, jac=scipy.optimize.rosen_der, method="L-BFGS-B"
        )
        return found.x

    others: Ways = {}
    if optimistix := _library("optimistix"):
        solver = optimistix.BFGS(rtol=1e-5, atol=1e-5)
        run = jax.jit(lambda x: optimistix.minimise(rosen, solver, x).value)
        others["optimistix"] = lambda: jax.block_until_ready(run(start))
    return ours, start, base, others


def _brentq() -> tuple[Callable[..., Any], Any, Callable[[], Any], Ways]:
    ours = lambda a: jfi.scipy.optimize.brentq(lambda x: x**3 - a, 0.0, 4.0, xtol=1e-6)
    base = lambda: scipy.optimize.brentq(lambda x: x**3 - 2.0, 0.0, 4.0, xtol=1e-6)
    others: Ways = {}
    if optimistix := _library("optimistix"):
        solver = optimistix.Bisection(rtol=1e-6, atol=1e-6)

        def find(a: Any) -> Any:
            bounds = {"lower": 0.0, "upper": 4.0}
            residual = lambda x, a: x**3 - a
            return optimistix.root_find(
                residual, solver, jnp.float32(2), args=a, options=bounds
            ).value

        run = jax.jit(find)
        others["optimistix"] = lambda: jax.block_until_ready(run(2.0))
    return ours, np.float32(2.0), base, others


def _solve_ivp() -> tuple[Callable[..., Any], Any, Callable[[], Any], Ways]:
    def pendulum(t: Any, y: Any, *_: Any) -> Any:
        return jnp.stack([y[1], -jnp.sin(y[0])])

    def in_numpy(t: float, y: Any) -> Any:
        return np.array([y[1], -np.sin(y[0])])

    times, precision = np.linspace(*SPAN, 5), {"rtol": 1e-5, "atol": 1e-6}
    given: Any = {"t_eval": times, **precision}
    ours = lambda y: jfi.scipy.integrate.solve_ivp(pendulum, SPAN, y, **given).y.T
    base = lambda: scipy.integrate.solve_ivp(in_numpy, SPAN, START, **given).y.T
    others: Ways = {}
    if diffrax := _library("diffrax"):
        fixed = (diffrax.ODETerm(pendulum), diffrax.Dopri5(), *SPAN, None)
        options = {
            "stepsize_controller": diffrax.PIDController(**precision),
            "saveat": diffrax.SaveAt(ts=times),
        }
        run = jax.jit(lambda y: diffrax.diffeqsolve(*fixed, y, **options).ys)
        others["diffrax"] = lambda: jax.block_until_ready(run(START))
    return ours, START, base, others


def _spsolve() -> tuple[Callable[..., Any], Any, Callable[[], Any], Ways]:
    """A new right-hand side each time; SciPy factors the matrix again, jfi finds it."""
    n = 1_000
    diagonals: Any = scipy.sparse.diags_array
    matrix = diagonals(
        [-np.ones(n - 1), np.full(n, 4.0), -np.ones(n - 1)], offsets=[-1, 0, 1]
    ).tocsc()
    b = np.linspace(0, 1, n).astype(np.float32)
    ours = lambda b: jfi.scipy.sparse.linalg.spsolve(matrix, b)
    factored = scipy.sparse.linalg.splu(matrix)
    base = lambda: scipy.sparse.linalg.spsolve(matrix, b)
    return ours, b, base, {"SciPy, factored": lambda: factored.solve(b)}
