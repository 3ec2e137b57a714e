"""optimistix, lineax and diffrax under jfi's tools: values, gradients, one trace."""

import diffrax
import jax
import lineax
import numpy as np
import optimistix as optx
import pytest

import jfi as jnp


A, X = np.float32([[2.0, 1.0], [0.0, 3.0]]), np.float32([2.0, 3.0])
Y = np.float32([2.5, 3.5])


def root(x):
    solver = optx.Newton(rtol=1e-6, atol=1e-6)
    return optx.root_find(lambda y, args: y**2 - args, solver, X, x).value


def minimum(x):
    solver = optx.BFGS(rtol=1e-5, atol=1e-5)
    return optx.minimise(lambda y, args: ((y - args) ** 2).sum(), solver, X, x).value


def least_squares(x):
    solver = optx.LevenbergMarquardt(rtol=1e-5, atol=1e-5)
    return optx.least_squares(lambda y, args: y**3 - args, solver, X, x).value


def linear(x):
    return lineax.linear_solve(lineax.MatrixLinearOperator(jnp.asarray(A)), x).value


def flow(solver):
    def solve(x):
        term = diffrax.ODETerm(lambda t, y, args: -args * y)
        control = diffrax.PIDController(rtol=1e-4, atol=1e-6)
        return diffrax.diffeqsolve(
            term, solver, 0.0, 1.0, 0.1, x, 0.5, stepsize_controller=control
        ).ys[-1]

    return solve


SOLVERS = {
    "root": root,
    "minimum": minimum,
    "least squares": least_squares,
    "linear": linear,
    "explicit": flow(diffrax.Tsit5()),
    "implicit": flow(diffrax.Kvaerno3()),
}


@pytest.mark.filterwarnings("ignore::jfi.LocalFallbackWarning")  # they call back
@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_solvers_under_all_tools(solve):
    loss = lambda x: (solve(x) ** 2).sum()
    plain, slope = jax.jit(solve)(Y), jax.jit(jax.grad(loss))(Y)
    tools = {
        "autojit": jnp.autojit(solve),
        "jit": jnp.jit(solve),
        "persistent": jnp.persistent(solve),
        "scan": lambda x: jnp.scan(lambda c, _: (c, solve(x)), 0.0, length=2)[1][1],
        "batch": lambda x: jnp.vmap_automatically(solve, jnp.stack([x, x, x]))[1],
    }
    for tool in tools.values():
        np.testing.assert_allclose(tool(Y), plain, rtol=1e-5)
    for tool in (jnp.autojit, jnp.jit):
        np.testing.assert_allclose(tool(jnp.grad(loss))(Y), slope, rtol=1e-4)
    fast = tools["autojit"]
    fast(Y + 1)
    assert fast.cache_info().traces == 1
    assert jnp.inspect(solve)(Y).flops > 0
