"""SciPy's integrals of JAX functions: SciPy's answers, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jfi
from jfi import SolverError
from jfi.scipy import integrate

from .differences import check, close


TIMES = np.linspace(0.0, 1.5, 4)
only_x64 = pytest.mark.parametrize("x64", [True], ids=["x64"], indirect=True)


# ---------------------------------------------------------------------- integrals


INTEGRANDS = {
    "wave": lambda np, x, a: np.sin(a * x) * np.exp(-x),
    "bell": lambda np, x, a: np.exp(-a * x * x),
    "singular": lambda np, x, a: np.log(x) * a,
    "kink": lambda np, x, a: np.abs(x - 0.3) * a,
}
INTEGRALS = [
    ("wave", 0.0, 2.0),
    ("wave", 2.0, 0.5),
    ("wave", 0.0, np.inf),
    ("wave", 1.0, 1.0),
    ("bell", -np.inf, np.inf),
    ("singular", 0.0, 1.0),
    ("kink", 0.0, 1.0),
]


@pytest.mark.parametrize(("integrand", "a", "b"), INTEGRALS)
def test_integrals_are_scipys(integrand, a, b, x64):
    function = INTEGRANDS[integrand]
    expected = scipy.integrate.quad(lambda x: function(np, x, 2.0), a, b)
    found = integrate.quad(lambda x, p: function(jnp, x, p), a, b, (2.0,))
    np.testing.assert_allclose(found[0], expected[0], **close(x64))
    if x64:
        np.testing.assert_allclose(found.error, expected[1], rtol=0.1, atol=1e-11)


@only_x64
def test_integrals_have_derivatives_under_every_transformation(x64):
    def integral(a, b, p):
        function = lambda x: p[0] * jnp.sin(p[1] * x) * x
        return integrate.quad(function, a, b).integral

    check(integral, jnp.asarray(0.5), jnp.asarray(2.0), jnp.array([1.5, 2.5]), x64=x64)


def test_integrals_have_second_derivatives():
    def integral(b, p):
        return integrate.quad(lambda x: jnp.exp(p * x), 0.0, b).integral

    found = jax.jit(jax.hessian(integral, (0, 1)))(1.0, 1.0)
    np.testing.assert_allclose(found[0][0], np.e, rtol=1e-4)
    np.testing.assert_allclose(found[0][1], np.e, rtol=1e-4)
    expected = scipy.integrate.quad(lambda x: x * x * np.exp(x), 0, 1)[0]
    np.testing.assert_allclose(found[1][1], expected, rtol=1e-4)


def test_an_infinite_limit_has_no_derivative():
    bell = lambda b: integrate.quad(lambda x: jnp.exp(-x * x), 0.0, b).integral
    assert jax.grad(bell)(jnp.inf) == 0.0
    np.testing.assert_allclose(jax.grad(bell)(1.0), np.exp(-1.0), rtol=1e-5)


def test_scipy_warns_of_doubtful_integrals():
    with pytest.warns(scipy.integrate.IntegrationWarning):
        integrate.quad(lambda x: 1 / x, 1e-9, 1.0, epsabs=1e-12, epsrel=1e-12, limit=2)


# ----------------------------------------------------------- differential equations


def pendulum(t, state, damping):
    angle, speed = state
    return jnp.stack([speed, -jnp.sin(angle) - damping * speed + 0.1 * t])


def pendulum_of_scipy(t, state):
    angle, speed = state
    return [speed, -np.sin(angle) - 0.3 * speed + 0.1 * t]


METHODS = ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"]


@pytest.mark.parametrize("method", METHODS)
def test_paths_are_scipys(method, x64):
    options = {"method": method, "t_eval": TIMES, "rtol": 1e-4, "max_step": 0.5}
    start = np.array([1.0, 0.0])
    found = integrate.solve_ivp(pendulum, (0.0, 1.5), start, args=(0.3,), **options)
    expected = scipy.integrate.solve_ivp(pendulum_of_scipy, (0, 1.5), start, **options)
    tolerance = 1e-6 if x64 else 1e-3
    np.testing.assert_allclose(found.y, expected.y, rtol=tolerance, atol=tolerance)
    assert found.success
    assert found.y.shape == (2, 4)


@only_x64
@pytest.mark.parametrize("method", ["LSODA"])
def test_paths_have_derivatives_under_every_transformation(method, x64):
    def path(state, damping, start, end):
        times = jnp.stack([start, 1.0, end])
        return integrate.solve_ivp(
            pendulum, (start, 2.0), state, method, times, args=damping,
            rtol=1e-9, atol=1e-10,
        ).y  # fmt: skip

    arguments = map(jnp.asarray, ([1.0, 0.2], 0.3, 0.1, 1.5))
    check(path, *arguments, x64=x64)


def test_a_path_has_second_derivatives():
    def end(rate):
        return integrate.solve_ivp(
            lambda t, y: -rate * y, (0.0, 1.0), jnp.ones(1), t_eval=[1.0], rtol=1e-6
        ).y[0, 0]

    second = jax.jit(jax.grad(jax.grad(end)))(0.5)
    np.testing.assert_allclose(second, np.exp(-0.5), rtol=1e-4)


def test_a_state_keeps_its_shape():
    start = jnp.arange(6.0).reshape(2, 3)
    found = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), start, t_eval=[0.0, 1.0])
    assert found.y.shape == (2, 3, 2)
    np.testing.assert_allclose(found.y[..., 1], start * np.exp(-1), rtol=1e-3)


def test_a_path_that_explodes_is_no_success():
    explode = lambda: integrate.solve_ivp(
        lambda t, y: y**2, (0.0, 2.0), jnp.ones(1), t_eval=[0.5, 2.0]
    )
    for found in (explode(), jax.jit(explode)()):
        assert not found.success
        np.testing.assert_allclose(found.y[0], [2.0, np.nan], rtol=1e-2)


def test_autojit_sees_what_an_equation_captures():
    rate = 1.0

    @jfi.autojit
    def end(state):
        slope = lambda t, y: -rate * y
        return integrate.solve_ivp(slope, (0.0, 1.0), state, t_eval=[1.0], rtol=1e-5).y

    np.testing.assert_allclose(end(jnp.ones(1)), [[np.exp(-1)]], rtol=1e-3)
    rate = 2.0
    np.testing.assert_allclose(end(jnp.ones(1)), [[np.exp(-2)]], rtol=1e-3)


def test_what_is_refused_says_what_to_write():
    decay = lambda t, y: -y
    with pytest.raises(SolverError, match=r"t_eval=jnp\.linspace"):
        integrate.solve_ivp(decay, (0, 1), jnp.ones(1))
    with pytest.raises(SolverError, match="derivative of each number in it"):
        integrate.solve_ivp(lambda t, y: y[:1], (0, 1), jnp.ones(2), t_eval=[1.0])
    with pytest.raises(SolverError, match="has the methods"):
        integrate.solve_ivp(decay, (0, 1), jnp.ones(1), "Euler", [1.0])
    with pytest.raises(ValueError, match="not within `t_span`"):
        integrate.solve_ivp(decay, (0, 1), jnp.ones(1), t_eval=[2.0])
    with pytest.raises(SolverError, match="one by one"):
        integrate.quad(lambda x: jnp.stack([x, x]), 0.0, 1.0)
    with pytest.raises(SolverError, match="complex64"):
        integrate.quad(lambda x: 1j * x, 0.0, 1.0)


@only_x64
def test_the_point_of_a_derivative_may_be_a_number_of_python(x64):
    integral = lambda a: integrate.quad(lambda x, a: jnp.exp(-a * x), 0.0, a, (a,))[0]
    slope = jax.grad(integral)(2.0)  # of (1 - exp(-a * a)) / a
    expected = 2 * np.exp(-4.0) - (1 - np.exp(-4.0)) / 4
    np.testing.assert_allclose(slope, expected, rtol=1e-8)


def test_gauss_rule_is_scipys_with_derivatives_of_limits(x64):
    func = lambda x, a: jnp.stack([jnp.exp(a * x), jnp.cos(x)])
    found = integrate.fixed_quad(func, 0.5, 2.0, (0.3,), n=4)
    theirs = scipy.integrate.fixed_quad(
        lambda x, a: np.stack([np.exp(a * x), np.cos(x)]), 0.5, 2.0, (0.3,), n=4
    )
    rtol = 1e-12 if x64 else 1e-5
    np.testing.assert_allclose(found[0], theirs[0], rtol=rtol)
    assert found[1] is None
    total = lambda b, a: integrate.fixed_quad(func, 0.5, b, (a,), n=8)[0]
    slope = jax.jit(jax.vmap(jax.jacobian(total), (0, None)))(jnp.array([2.0]), 0.3)
    np.testing.assert_allclose(slope[0], func(2.0, 0.3), rtol=10 * rtol)
    with pytest.raises(ValueError, match="only available for finite limits"):
        integrate.fixed_quad(func, 0.5, np.inf, (0.3,))
    with pytest.raises(SolverError, match="n=0"):
        integrate.fixed_quad(func, 0.5, 1.0, (0.3,), n=0)
