"""Optimisers by the names of methods: SciPy's answers, and their derivatives."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import jfi
from jfi import SolverError
from jfi.scipy import optimize

from .differences import check, check_direction


T = np.linspace(0.0, 3.0, 9)
DATA = 2.0 * np.exp(-0.5 * T) + 0.02 * np.sin(7 * T)


def decay(t, size, rate):
    return size * jnp.exp(-rate * t)


def decay_of_numpy(t, size, rate):
    return size * np.exp(-rate * t)


# -------------------------------------------------------------------------- roots


@pytest.mark.parametrize("method", ["bisect", "brenth", "ridder", "toms748"])
def test_roots_between_two_numbers(method):
    find = getattr(optimize, method)
    slope = jax.value_and_grad(lambda a: find(lambda x, b: jnp.cos(x) - b * x, 0, 3, a))
    expected = getattr(scipy.optimize, method)(lambda x: np.cos(x) - x, 0, 3)
    np.testing.assert_allclose(
        slope(1.0), (expected, -expected / (np.sin(expected) + 1)), rtol=1e-5
    )
    with pytest.raises(RuntimeError, match=r"^Failed to converge after [23] it"):
        find(lambda x: x**3 - 0.3, 0.0, 1.0, maxiter=2)


@pytest.mark.parametrize("x1", [None, 4.0], ids=["newton", "secant"])
def test_roots_near_a_guess(x1, x64):
    find = lambda a: optimize.newton(lambda x: x**3 - a, 3.0, x1=x1)
    found = jax.jit(jax.vmap(jax.value_and_grad(find)))(jnp.array([8.0, 1000.0]))
    np.testing.assert_allclose(found[0], [2.0, 10.0], rtol=1e-8 if x64 else 1e-5)
    np.testing.assert_allclose(found[1], [1 / 12, 1 / 300], rtol=1e-5)
    with pytest.raises(RuntimeError) as ours:
        optimize.newton(lambda x: x**2 + 1.0, 0.3, x1=x1)
    assert str(ours.value).startswith(("Failed to converge after 50", "Tolerance of"))


def test_a_guess_of_several_numbers_is_refused():
    with pytest.raises(SolverError, match=r"shape \(3,\).*jnp.vmap\(lambda x: jnp"):
        optimize.newton(jnp.sin, jnp.ones(3))


@pytest.mark.parametrize("x64", [True], ids=["x64"], indirect=True)
def test_a_fixed_point_has_derivatives_under_every_transformation(x64):
    def point(a):
        return optimize.fixed_point(lambda x: jnp.sqrt(a[0] / (x + a)), jnp.ones(2))

    a = jnp.array([10.0, 12.0])
    expected = scipy.optimize.fixed_point(
        lambda x: np.sqrt(10.0 / (x + np.array([10.0, 12.0]))), np.ones(2)
    )
    np.testing.assert_allclose(point(a), expected, rtol=1e-8)
    check(point, a, x64=x64)


def test_what_does_not_converge_is_scipys_error_and_nan_in_programs_of_jax():
    point = lambda x: optimize.fixed_point(lambda x: x**2 + 1.0, x, maxiter=9)
    root = lambda x: optimize.newton(lambda x: x**2 + 1.0, x, maxiter=9)
    both = lambda x: (point(x), root(x))
    with pytest.raises(RuntimeError) as error:
        scipy.optimize.fixed_point(lambda x: x**2 + 1.0, 0.3, maxiter=9)
    text = re.escape(str(error.value)[:35])
    for run in (both, jfi.jit(both), jfi.autojit(both), jfi.grad(point)):
        with pytest.raises(RuntimeError, match=text) as error:
            run(0.3)
        assert type(error.value) is RuntimeError
    assert jnp.isnan(jnp.array(jax.jit(both)(0.3))).all()
    found = jax.vmap(lambda a: optimize.newton(lambda x: x**2 - a, 1.0, maxiter=9))
    np.testing.assert_allclose(found(jnp.array([4.0, -3.0])), [2.0, np.nan], 1e-5)


def test_an_unknown_method_of_fixed_point_is_refused():
    with pytest.raises(SolverError, match="'del2', 'iteration'"):
        optimize.fixed_point(jnp.cos, 1.0, method="newton")


# ------------------------------------------------------------------------- minima


def to_goal(x, goal):
    return jnp.sum((x - goal) ** 2)


@pytest.mark.filterwarnings("ignore:Equality and inequality")  # SciPy's own
def test_minima_between_ends_of_linear_and_other_functions():
    line = scipy.optimize.LinearConstraint(
        [[1.0, 1.0], [1.0, 0.0]], [-1.0, 0.5], [1.5, 0.5]
    )
    disc = scipy.optimize.NonlinearConstraint(lambda x: (x**2).sum(), -np.inf, 2.0)
    goal = np.array([1.0, 2.0])
    for ends in (line, disc, [line, disc]):
        ours = optimize.minimize(to_goal, jnp.zeros(2), goal, constraints=ends)
        theirs = scipy.optimize.minimize(
            lambda x: ((x - goal) ** 2).sum(), np.zeros(2), constraints=ends, tol=1e-10
        )
        np.testing.assert_allclose(ours.x, theirs.x, atol=2e-3)
    find = lambda g: optimize.minimize(to_goal, jnp.zeros(2), g, constraints=line).x
    np.testing.assert_allclose(jax.jacobian(find)(goal), 0.0, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"jac": True}, r"minimize\(lambda x: fun\(x\)\[0\], x0\)"),
        ({"jac": jax.grad(to_goal)}, "leave jac out"),
        ({"hess": jax.hessian(to_goal)}, "leave hess out"),
        ({"callback": print}, r"jax\.debug\.print"),
    ],
)
def test_what_minimize_computes_itself_is_refused(given, line):
    with pytest.raises(TypeError, match=line):
        optimize.minimize(to_goal, jnp.zeros(2), jnp.ones(2), **given)


@pytest.mark.parametrize(
    ("method", "begin"),
    [
        ("brent", {}),
        ("brent", {"bracket": (0.0, 1.0)}),
        ("golden", {"bracket": (-2.0, 0.5, 3.0)}),
        ("bounded", {"bounds": (-1.0, 4.0)}),
    ],
)
def test_minima_of_one_number_are_scipys(method, begin):
    cost = lambda xp: lambda x, a: xp.cosh(x - a) + 0.3 * x
    with jax.enable_x64(True):
        ours = optimize.minimize_scalar(cost(jnp), args=1.2, method=method, **begin)
        theirs = scipy.optimize.minimize_scalar(
            cost(np), args=(1.2,), method=method, **begin
        )
        assert ours.success
        assert (ours.nfev, ours.nit) == (theirs.nfev, theirs.nit)
        np.testing.assert_allclose((ours.x, ours.fun), (theirs.x, theirs.fun), 1e-7)


def lowest(a, low):
    cost = lambda x: (x - a) ** 2 + 0.1 * x**4
    return optimize.minimize_scalar(cost, bounds=(low, 4.0)).x


@pytest.mark.parametrize(
    ("a", "slope"),
    [(1.2, 2 / 3.2), (-3.0, 0.0)],
    ids=["in", "at low"],
)
def test_a_minimum_between_bounds_has_derivatives(a, slope):
    found = jax.jit(jax.jacfwd(lowest, (0, 1)))(a, 0.25)
    of_bound = 0.0 if slope else 1.0
    np.testing.assert_allclose(found, (slope, of_bound), rtol=1e-3)


def test_a_linear_cost_is_lowest_at_its_bound():
    find = lambda high: optimize.minimize_scalar(lambda x: -x, bounds=(0.0, high)).x
    np.testing.assert_allclose(jax.value_and_grad(find)(2.0), (2.0, 1.0), rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "bounded"}, "method='bounded' and bounds=None"),
        ({"method": "brent", "bounds": (0, 1)}, "no bounds with others"),
        ({"bracket": (1.0,)}, "1 numbers to begin with"),
        ({"method": "best"}, "'brent', 'golden', 'bounded'"),
    ],
)
def test_what_minimize_scalar_can_not_take(options, message):
    with pytest.raises(SolverError, match=message):
        optimize.minimize_scalar(lambda x: x**2, **options)
    with pytest.raises(SolverError, match=r"returns shape \(2,\). Return one number"):
        optimize.minimize_scalar(lambda x: jnp.stack([x, x]))


# ------------------------------------------------------------------------- curves


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sigma": 0.1 + 0.05 * T, "absolute_sigma": True},
        {"sigma": np.diag(0.1 + T) + 0.05, "p0": [1.5, 1.0]},
        {"bounds": (0.0, [5.0, np.inf])},
        {"method": "dogbox"},
    ],
    ids=["plain", "sigma", "covariance", "bounds", "dogbox"],
)
def test_curves_are_fitted_as_by_scipy(options):
    with jax.enable_x64(True):
        ours = optimize.curve_fit(decay, T, DATA, **options)
        theirs = scipy.optimize.curve_fit(decay_of_numpy, T, DATA, **options)
        np.testing.assert_allclose(ours.popt, theirs[0], rtol=1e-5)
        np.testing.assert_allclose(ours.pcov, theirs[1], rtol=1e-4)


def test_a_fitted_curve_and_its_covariances_have_derivatives():
    def fit(data, sigma):
        found = optimize.curve_fit(decay, T, data, sigma=sigma, xtol=1e-12)
        return jnp.concatenate([found.popt, 100 * found.pcov.ravel()])

    check_direction(fit, DATA, 0.1 + 0.05 * T)


def test_covariances_are_infinite_where_data_tell_nothing():
    both = lambda t, a, b: (a + b) * t
    found = optimize.curve_fit(both, T, DATA)
    assert jnp.isinf(found.pcov).all()
    assert jnp.isinf(optimize.curve_fit(decay, T[:2], DATA[:2]).pcov).all()


@pytest.mark.parametrize("bounds", [None, (0.0, 10.0)])
def test_a_curve_that_is_not_found_is_scipys_error(bounds):
    given = {} if bounds is None else {"bounds": bounds}
    with pytest.raises(RuntimeError, match="Optimal parameters not found") as theirs:
        scipy.optimize.curve_fit(decay_of_numpy, T, DATA, [9.0, 9.0], maxfev=2, **given)
    with pytest.raises(RuntimeError) as ours:
        optimize.curve_fit(decay, T, DATA, [9.0, 9.0], maxfev=2, **given)
    assert str(ours.value) == str(theirs.value)


def test_what_curve_fit_can_not_take():
    with pytest.raises(SolverError, match="how many parameters"):
        optimize.curve_fit(lambda t, *p: p[0] * t, T, DATA)
    with pytest.raises(SolverError, match=r"sigma of shape \(3,\) for 9 data"):
        optimize.curve_fit(decay, T, DATA, sigma=np.ones(3))
    with pytest.raises(TypeError, match=r"least_squares\(lambda p"):
        optimize.curve_fit(decay, T, DATA, full_output=True)
    with pytest.raises(TypeError, match="leave jac out"):
        optimize.curve_fit(decay, T, DATA, jac=decay)
    with pytest.raises(TypeError, match=r"no option 'colour'.*ftol"):
        optimize.curve_fit(decay, T, DATA, colour=1)


def test_a_root_of_several_guesses_is_refused():
    with pytest.raises(SolverError, match=r"shape \(2,\).*jnp.vmap\(lambda x0"):
        optimize.root_scalar(jnp.sin, x0=jnp.ones(2))


# -------------------------------------------------------- programs and assignments


COST = np.random.default_rng(0).normal(size=(4, 6))


@pytest.mark.parametrize("maximize", [False, True])
def test_assignments_are_scipys(maximize):
    for cost in (COST, COST.T):
        ours = optimize.linear_sum_assignment(cost, maximize)
        theirs = scipy.optimize.linear_sum_assignment(cost, maximize)
        np.testing.assert_array_equal(ours, theirs)


def test_an_assignment_in_a_batch_has_the_derivatives_of_its_cost():
    def total(cost):
        rows, columns = optimize.linear_sum_assignment(cost)
        return cost[rows, columns].sum()

    slopes = jax.jit(jax.vmap(jax.grad(total)))(jnp.stack([COST, -COST]))
    expected = np.zeros((2, 4, 6))
    for k, cost in enumerate([COST, -COST]):
        expected[(k, *scipy.optimize.linear_sum_assignment(cost))] = 1
    np.testing.assert_array_equal(slopes, expected)
    with pytest.raises(SolverError, match=r"costs of shape \(3,\).*use jnp.vmap"):
        optimize.linear_sum_assignment(jnp.ones(3))
    with pytest.raises(ValueError, match="invalid numeric"):
        optimize.linear_sum_assignment(jnp.full((2, 2), jnp.nan))


PROGRAM = {
    "c": np.array([-1.0, 4.0, 0.5]),
    "A_ub": np.array([[-3.0, 1.0, 1.0], [1.0, 2.0, 0.0]]),
    "b_ub": np.array([6.0, 4.0]),
    "A_eq": np.array([[1.0, 1.0, 1.0]]),
    "b_eq": np.array([3.0]),
    "bounds": [(None, 2.5), (-3.0, None), (0.0, 9.0)],
}


def test_linear_programs_are_scipys():
    ours = jax.jit(lambda b: optimize.linprog(**{**PROGRAM, "b_ub": b}))(
        jnp.array([6.0, 4.0])
    )
    theirs = scipy.optimize.linprog(**PROGRAM)
    for name in ("x", "fun", "slack", "con", "success", "status"):
        found = getattr(ours, name)
        np.testing.assert_allclose(found, getattr(theirs, name), atol=1e-6)
    np.testing.assert_allclose(ours.ineqlin, theirs.ineqlin.marginals, atol=1e-6)
    np.testing.assert_allclose(ours.eqlin, theirs.eqlin.marginals, atol=1e-6)


def test_a_program_without_a_solution_is_nan():
    ours = optimize.linprog([1.0], [[1.0]], [-1.0])
    assert not ours.success
    assert ours.status == scipy.optimize.linprog([1.0], [[1.0]], [-1.0]).status == 2
    assert jnp.isnan(ours.x).all()


def test_a_program_has_no_derivative_and_refuses_what_does_not_fit():
    with pytest.raises(SolverError, match=r"by result.ineqlin with b_ub"):
        jax.grad(lambda c: optimize.linprog(c).fun)(jnp.ones(2))
    with pytest.raises(SolverError, match=r"A_ub of shape \(2, 2\).* Pass \(m, 3\)"):
        optimize.linprog(np.ones(3), np.ones((2, 2)), np.ones(2))
