"""Events and dense output of solve_ivp, odeint, and integrals of given values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jfi
from jfi import SolverError
from jfi.scipy import integrate

from .differences import check_direction


TIMES = np.linspace(0.0, 4.0, 9)
FINE = {"rtol": 1e-8, "atol": 1e-9}


def thrown(xp):
    return lambda t, y, g: xp.stack([y[1], -g + 0 * y[0]])


def hit(t, y, g):
    return y[0]


def top(t, y, g):
    return y[1]


hit.terminal, hit.direction = True, -1


@pytest.mark.parametrize("method", ["RK45", "LSODA"])
def test_events_are_scipys(method):
    options = {"events": [hit, top], "dense_output": True, "t_eval": TIMES, **FINE}
    options["method"] = method
    with jax.enable_x64(True):
        ours = integrate.solve_ivp(
            thrown(jnp), (0, 4), [0.0, 10.0], args=(9.81,), **options
        )
        theirs = scipy.integrate.solve_ivp(
            thrown(np), (0, 4), [0.0, 10.0], args=(9.81,), **options
        )
        assert ours.status == theirs.status == 1
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(ours.y[:, :5], theirs.y, **close)
        assert jnp.isnan(ours.y[:, 5:]).all()
        for k in (0, 1):
            np.testing.assert_allclose(
                ours.t_events[k][:1], theirs.t_events[k], **close
            )
            np.testing.assert_allclose(
                ours.y_events[k][:1], theirs.y_events[k], **close
            )
            assert jnp.isnan(ours.t_events[k][1:]).all()
        assert ours.t_events[0].shape == (1,)
        assert ours.t_events[1].shape == (16,)
        anywhere = np.array([[1.7, 0.1], [0.6, 0.6]])  # in no order, and twice
        expected = np.moveaxis([theirs.sol(row) for row in anywhere], 0, 1)
        np.testing.assert_allclose(ours.sol(anywhere), expected, 1e-6, 1e-6)
        assert jnp.isnan(ours.sol(3.0)).all()


def test_events_have_derivatives_of_every_order():
    def landing(g, speed):
        start = jnp.stack([0.0 * speed, speed])
        found = integrate.solve_ivp(
            thrown(jnp), (0.0, 4.0), start, t_eval=TIMES[:3], events=[hit, top],
            args=(g,), max_events=2, **FINE,
        )  # fmt: skip
        return jnp.stack(
            [
                found.t_events[0][0],
                found.y_events[0][0, 1],
                found.t_events[1][0],
                found.y_events[1][0, 0],
                found.y[0, 2],
            ]
        )

    check_direction(landing, np.asarray(9.81), np.asarray(10.0))
    with jax.enable_x64(True):
        batch = jnp.array([9.81, 20.0])
        second = jax.jit(jax.vmap(jax.hessian(lambda g: landing(g, 10.0)[0])))(batch)
        np.testing.assert_allclose(second, 40 / batch**3, rtol=1e-6)


def test_the_level_of_an_event_has_derivatives_and_one_that_never_comes_has_none():
    def when(level):
        return integrate.solve_ivp(
            lambda t, y: y, (0.0, 1.0), jnp.ones(1), t_eval=[0.5],
            events=lambda t, y: y[0] - level, max_events=1, rtol=1e-6,
        ).t_events[0][0]  # fmt: skip

    slope = jax.jit(jax.vmap(jax.value_and_grad(when)))(jnp.array([2.0, 9.0]))
    np.testing.assert_allclose(slope[0], [np.log(2.0), np.nan], rtol=1e-4)
    np.testing.assert_allclose(slope[1], [0.5, 0.0], rtol=1e-4)


def test_more_events_than_places_are_an_error():
    wave = lambda t, y: jnp.stack([y[1], -y[0]])
    events = lambda t, y: y[0] - 0.1
    solve = lambda: integrate.solve_ivp(
        wave, (0.0, 10.0), jnp.ones(2), t_eval=[1.0], events=events, max_events=2
    )
    with pytest.raises(SolverError, match="Write max_events=3 or more"):
        solve()
    with pytest.raises(jax.errors.JaxRuntimeError, match="Write max_events=3 or more"):
        jax.block_until_ready(jax.jit(lambda: solve().y)())
    with pytest.raises(SolverError, match=r"event that returns shape \(2,\)"):
        integrate.solve_ivp(
            wave, (0.0, 1.0), jnp.ones(2), t_eval=[1.0], events=lambda t, y: y
        )


def test_a_dense_solution_leaves_compiled_code_and_has_derivatives():
    @jfi.jit
    def solve(rate):
        slope = lambda t, y: -rate * y
        return integrate.solve_ivp(
            slope, (2.0, 0.0), jnp.ones(1), t_eval=[1.0], dense_output=True, rtol=1e-6
        ).sol

    np.testing.assert_allclose(solve(0.5)(1.0), [np.exp(0.5)], rtol=1e-5)
    slope = jax.grad(lambda t: solve(0.5)(t)[0])(1.0)
    np.testing.assert_allclose(slope, -0.5 * np.exp(0.5), rtol=1e-5)


# ------------------------------------------------------------------------- odeint


@pytest.mark.parametrize("tfirst", [False, True])
def test_odeint_is_scipys(tfirst):
    def pendulum(xp):
        slope = lambda y, t, b: [y[1], -b * y[1] - 5.0 * xp.sin(y[0]) + 0.1 * t]
        return (lambda t, y, b: slope(y, t, b)) if tfirst else slope

    times = np.array([0.0, 0.5, 0.5, 2.0])
    for chosen in (times, times[::-1]):
        with jax.enable_x64(True):
            ours = integrate.odeint(
                pendulum(jnp), [3.0, 0.0], chosen, (0.25,), tfirst=tfirst
            )
        theirs = scipy.integrate.odeint(
            pendulum(np), [3.0, 0.0], chosen, (0.25,), tfirst=tfirst
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


def test_odeint_has_derivatives():
    def end(y0, rate):
        return integrate.odeint(lambda y, t, r: -r * y, y0, TIMES[:3], (rate,))[-1]

    check_direction(end, np.array([1.0, 2.0]), np.asarray(0.7))


# ------------------------------------------------------------------- given values


RANDOM = np.random.default_rng(0)
VALUES = RANDOM.normal(size=(3, 8, 2))
POINTS = np.cumsum(RANDOM.uniform(0.1, 1.0, 8))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("name", ["simpson", "cumulative_trapezoid"])
def test_integrals_of_values_are_scipys(name, n):
    ours, theirs = getattr(integrate, name), getattr(scipy.integrate, name)
    for points in (POINTS[:n], np.where(POINTS > 2, POINTS, 2.0)[:n]):
        y = VALUES[:, :n]
        with jax.enable_x64(True):
            for given in (
                {"x": points, "axis": 1},
                {"x": np.broadcast_to(points[:, None], y.shape), "axis": -2},
                {"dx": 0.3, "axis": 1},
            ):
                np.testing.assert_allclose(ours(y, **given), theirs(y, **given), 1e-10)


def test_integrals_of_values_have_derivatives():
    check_direction(lambda y, x: integrate.simpson(y, x, axis=1), VALUES, POINTS)


def test_integers_and_a_first_zero():
    expected = scipy.integrate.cumulative_trapezoid(np.arange(5) ** 2, initial=0)
    found = integrate.cumulative_trapezoid(jnp.arange(5) ** 2, initial=0)
    np.testing.assert_allclose(found, expected)
    with pytest.raises(SolverError, match="Pass None or 0"):
        integrate.cumulative_trapezoid(jnp.ones(3), initial=1.0)
    with pytest.raises(SolverError, match=r"x of shape \(2,\) for y of shape \(3,\)"):
        integrate.simpson(jnp.ones(3), jnp.ones(2))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_running_integrals_of_parabolas_are_scipys(n):
    y, points = VALUES[:, :n], POINTS[:n]
    with jax.enable_x64(True):
        for given in (
            {"x": points, "axis": 1},
            {"x": np.broadcast_to(points[:, None], y.shape), "axis": -2, "initial": 0},
            {"dx": 0.3, "axis": 1, "initial": 2.0},
        ):
            expected = scipy.integrate.cumulative_simpson(y, **given)
            found = integrate.cumulative_simpson(y, **given)
            np.testing.assert_allclose(found, expected, 1e-10)
    with pytest.raises(SolverError, match="does not increase"):
        integrate.cumulative_simpson(jnp.ones(3), x=jnp.ones(3))


def test_romberg():
    y = np.sin(np.linspace(0.0, 2.0, 27)).reshape(3, 9)
    for n in (2, 3, 5, 9):
        expected = scipy.integrate.romb(y[:, :n], 0.3)
        np.testing.assert_allclose(integrate.romb(y[:, :n], 0.3), expected, 1e-5)
    assert float(integrate.romb(jnp.arange(5))) == 8.0
    with pytest.raises(SolverError, match=r"6 values.*simpson\(y"):
        integrate.romb(jnp.ones(6))
    check_direction(lambda y: integrate.romb(y, 0.3), y)
