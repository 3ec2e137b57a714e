"""SciPy's optimisers of JAX functions: SciPy's answers, and their derivatives."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import jfi
from jfi import SolverError
from jfi._jax_internals import on_compiled
from jfi.scipy import optimize

from .differences import check, close


A = np.array([[3.0, 1.0], [1.0, 2.0]])
TIMES = np.linspace(0.0, 3.0, 7)


def equations(x, a):
    """Two equations with one root near (1, 1)."""
    return jnp.stack([jnp.exp(x[0]) + x[1] - a, x[0] - x[1] ** 3 + 0.1 * a])


def rosenbrock(x, a):
    return (a - x[0]) ** 2 + 5.0 * (x[1] - x[0] ** 2) ** 2


def model(p, data):
    return p[0] * jnp.exp(-p[1] * TIMES) - data


# -------------------------------------------------------------------------- roots


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "anderson"])
def test_roots_are_scipys(method, x64):
    tol = None if x64 or method in ("hybr", "lm") else 1e-3
    found = optimize.root(equations, jnp.ones(2), 3.0, method, tol=tol)
    expected = scipy.optimize.root(
        lambda x: np.array(equations(x, 3.0)), np.ones(2), method="hybr"
    )
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-5 if x64 else 1e-3)
    assert found.success
    assert found.x.dtype == found.fun.dtype == (jnp.float64 if x64 else jnp.float32)


def test_a_root_has_derivatives_under_every_transformation(x64):
    def solution(a):
        return optimize.root(equations, jnp.ones(2), (a,)).x

    check(solution, jnp.asarray(3.0), x64=x64)


def test_a_root_has_second_derivatives():
    def solution(a):
        return optimize.root(lambda x: x**3 - a, jnp.ones(1)).x[0]

    second = jax.jit(jax.vmap(jax.hessian(solution)))(jnp.array([1.0, 8.0]))
    np.testing.assert_allclose(second, [-2 / 9, -2 / 9 / 32], rtol=1e-4)


def test_what_a_function_captures_has_derivatives_too():
    matrix, unknown = jnp.asarray(A, jnp.float32), jnp.zeros(2)

    @jax.jit
    def solution(b, scale):
        return optimize.root(lambda x: scale * matrix @ x - b, unknown).x

    b = jnp.ones(2)
    slopes = jax.jacobian(solution, (0, 1))(b, 2.0)
    np.testing.assert_allclose(slopes[0], np.linalg.inv(2 * A), rtol=1e-5)
    expected = -np.linalg.solve(A, np.ones(2)) / 4
    np.testing.assert_allclose(slopes[1], expected, rtol=1e-5)


def test_a_root_keeps_the_shape_of_its_start():
    found = optimize.root(lambda x: x**3 - 8.0, jnp.ones((2, 3)))
    np.testing.assert_allclose(found.x, np.full((2, 3), 2.0), rtol=1e-5)
    assert optimize.root(lambda x: x - 1.0, 0.0).x.shape == ()


def test_a_batch_is_larger_than_its_threads():
    targets = jnp.linspace(1.0, 5.0, 150)
    root = lambda a: optimize.root(lambda x: x**2 - a, jnp.ones(1)).x[0]
    before = threading.active_count()
    np.testing.assert_allclose(jax.vmap(root)(targets), np.sqrt(targets), rtol=1e-5)
    assert threading.active_count() <= before + 2  # those of XLA


def test_a_loop_around_a_root_begins_it_anew_in_each_round():
    def rounds(start):
        def step(carry, _):
            fixed = optimize.root(lambda x: x**2 - 4.0, jnp.ones(1)).x[0]
            moved = optimize.root(lambda x: x**2 - carry, jnp.ones(1)).x[0]
            return fixed + moved, moved

        return jax.lax.scan(step, start, None, 3)

    expected, values = 9.0, []
    for _ in range(3):
        values.append(np.sqrt(expected))
        expected = 2 + values[-1]
    found = jax.jit(rounds)(9.0)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
    np.testing.assert_allclose(found[1], values, rtol=1e-5)
    slope = jax.vmap(jax.grad(lambda s: rounds(s)[0]))(jnp.array([9.0, 9.0]))
    chain = np.prod([1 / (2 * v) for v in values])
    np.testing.assert_allclose(slope, [chain, chain], rtol=1e-5)


def test_no_root_is_no_success():
    found = optimize.root(lambda x: x**2 + 1.0, jnp.ones(1))
    compiled = jax.jit(lambda: optimize.root(lambda x: x**2 + 1.0, jnp.ones(1)))()
    assert not found.success
    assert not compiled.success


@pytest.mark.parametrize("method", [*("brentq brenth bisect ridder toms748".split())])
def test_roots_in_a_bracket(method):
    find = lambda a: optimize.root_scalar(
        lambda x: jnp.cos(x) - a * x, method=method, bracket=(0.0, 3.0)
    )
    expected = scipy.optimize.brentq(lambda x: np.cos(x) - x, 0, 3)
    np.testing.assert_allclose(find(1.0).root, expected, rtol=1e-5)
    slope = -expected / (np.sin(expected) + 1)
    np.testing.assert_allclose(jax.grad(lambda a: find(a).root)(1.0), slope, rtol=1e-5)


@pytest.mark.parametrize("method", ["newton", "halley", "secant"])
def test_roots_from_a_guess(method):
    cube = lambda x: x**3 - 8.0
    x1 = 4.0 if method == "secant" else None
    find = lambda: optimize.root_scalar(cube, method=method, x0=3.0, x1=x1, xtol=1e-5)
    for found in (find(), jax.jit(find)()):
        np.testing.assert_allclose(found.root, 2.0, rtol=1e-4)
        assert found.converged


@pytest.mark.parametrize("x64", [True], ids=["x64"], indirect=True)
def test_brentq_has_derivatives_under_every_transformation(x64):
    def solution(a):
        return optimize.brentq(lambda x: jnp.exp(x) - a, 0.0, 5.0)

    np.testing.assert_allclose(solution(3.0), np.log(3.0), **close(x64))
    check(solution, jnp.asarray(3.0), x64=x64)


def test_a_bracket_without_a_change_of_sign_is_scipys_error():
    solve = lambda: optimize.brentq(lambda x: x**2 + 1.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="must have different signs"):
        solve()
    with pytest.raises(jax.errors.JaxRuntimeError, match="must have different signs"):
        jax.block_until_ready(jax.jit(solve)())


# ------------------------------------------------------------------------- minima


METHODS = """scipy-bfgs cg l-bfgs-b tnc slsqp newton-cg trust-exact trust-ncg
trust-constr nelder-mead powell""".split()


@pytest.mark.parametrize("method", METHODS)
def test_minima_are_those_of_scipy(method):
    with jax.enable_x64(True):
        found = optimize.minimize(
            rosenbrock, jnp.array([0.4, 0.3]), 1.2, method, tol=1e-9
        )
        assert found.success
        np.testing.assert_allclose(found.x, [1.2, 1.44], rtol=1e-4)
        np.testing.assert_allclose(found.fun, 0.0, atol=1e-8)
        if method not in ("nelder-mead", "powell"):
            np.testing.assert_allclose(found.jac, 0.0, atol=1e-3)


@pytest.mark.parametrize("x64", [True], ids=["x64"], indirect=True)
def test_a_minimum_has_derivatives_under_every_transformation(x64):
    def solution(a):
        tol = 1e-11 if x64 else None
        return optimize.minimize(rosenbrock, jnp.array([1.0, 1.0]), a, tol=tol).x

    np.testing.assert_allclose(solution(1.2), [1.2, 1.44], **close(x64))
    check(solution, jnp.asarray(1.2), x64=x64)


def test_the_value_at_a_minimum_has_the_derivative_of_the_function_alone():
    def value(a):
        return optimize.minimize(
            lambda x: jnp.sum((x - a) ** 2) + a**2, jnp.ones(2)
        ).fun

    assert jax.grad(value)(3.0) == pytest.approx(6.0, rel=1e-4)


def bounded(a, low):
    return optimize.minimize(
        rosenbrock,
        jnp.array([0.5, 0.5]),
        a,
        bounds=[(None, low), (0.0, 9.0)],
        tol=1e-12,
    ).x


@pytest.mark.parametrize("x64", [True], ids=["x64"], indirect=True)
def test_a_bound_that_holds_the_minimum_takes_it_along(x64):
    a, low = jnp.asarray(1.2), jnp.asarray(0.8)
    expected = scipy.optimize.minimize(
        lambda x: float(rosenbrock(x, 1.2)), [0.5, 0.5], bounds=[(None, 0.8), (0, 9)]
    )
    np.testing.assert_allclose(bounded(a, low), expected.x, rtol=1e-3)
    check(bounded, a, low, x64=x64)


def test_a_bound_that_does_not_hold_the_minimum_has_no_part_in_it():
    slope = jax.jacobian(bounded, (0, 1))(0.5, 0.8)
    np.testing.assert_allclose(slope[0], [1.0, 1.0], rtol=1e-2)
    np.testing.assert_allclose(slope[1], [0.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("x64", [True], ids=["x64"], indirect=True)
def test_constraints_hold_a_minimum(x64):
    def solution(a, total):
        conditions = [
            {"type": "eq", "fun": lambda x: x.sum() - total},
            {"type": "ineq", "fun": lambda x: x[:2] - 0.3},  # the first holds
            {"type": "ineq", "fun": lambda x, b: b - x[2] ** 2, "args": (100.0,)},
        ]
        cost = lambda x: jnp.sum((x - a) ** 2 * jnp.array([1.0, 2.0, 3.0]))
        start = jnp.full(3, 0.4)
        return optimize.minimize(cost, start, constraints=conditions, tol=1e-10).x

    a, total = jnp.array([-1.0, 1.0, 2.0]), jnp.asarray(2.5)
    np.testing.assert_allclose(solution(a, total)[0], 0.3, rtol=1e-4)
    check(solution, a, total, x64=x64)


@pytest.mark.parametrize("method", ["slsqp", "cobyla"])
def test_methods_with_constraints(method):
    with jax.enable_x64(True):
        found = optimize.minimize(
            lambda x: jnp.sum((x - 1.0) ** 2),
            jnp.array([0.3, 0.2]),
            method=method,
            constraints={"type": "ineq", "fun": lambda x: 1.0 - x.sum()},
        )
        np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-3)


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
def test_jaxs_methods_return_what_jax_returns(method):
    start = jnp.array([0.4, 0.3])
    cost = lambda x: rosenbrock(x, 1.2)
    ours = optimize.minimize(cost, start, method=method)
    theirs = jax.scipy.optimize.minimize(cost, start, method=method)
    assert type(ours) is type(theirs) is optimize.OptimizeResults
    np.testing.assert_array_equal(ours.x, theirs.x)


# ------------------------------------------------------------------ least squares


LOSSES = ["linear", "soft_l1", "huber", "cauchy", "arctan"]
DATA = 2.0 * np.exp(-0.5 * TIMES) + 0.3 * np.cos(9 * TIMES)


@pytest.mark.parametrize("loss", LOSSES)
def test_least_squares_are_those_of_scipy(loss, x64):
    found = optimize.least_squares(
        model, jnp.ones(2), args=jnp.asarray(DATA), loss=loss, f_scale=0.2
    )
    expected = scipy.optimize.least_squares(
        lambda p: p[0] * np.exp(-p[1] * TIMES) - DATA, [1, 1], loss=loss, f_scale=0.2,
        gtol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-5 if x64 else 1e-2)
    np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-5)
    assert found.success


@pytest.mark.parametrize("x64", [True], ids=["x64"], indirect=True)
@pytest.mark.parametrize("loss", ["cauchy"])
def test_a_fit_has_derivatives_under_every_transformation(loss, x64):
    def fit(data):
        options = {"loss": loss, "gtol": 1e-12 if x64 else None}
        return optimize.least_squares(model, jnp.ones(2), args=data, **options).x

    check(fit, jnp.asarray(DATA), x64=x64)


@pytest.mark.parametrize("method", ["trf"])
def test_least_squares_within_bounds(method):
    def fit(data, low):
        start, bounds = jnp.array([4.0, 1.0]), ([low, 0.0], jnp.inf)
        return optimize.least_squares(
            model, start, args=data, bounds=bounds, method=method
        ).x

    with jax.enable_x64(True):  # trf ends near the bound, not on it
        slope = jax.jacobian(fit, 1)(jnp.asarray(DATA), jnp.asarray(3.0))
    assert slope[0] == pytest.approx(1.0)


# ----------------------------------------------------------------- beside the rest


def test_autojit_and_its_captured_numbers():
    shift = 4.0

    @jfi.autojit
    def solution(x):
        return jfi.scipy.optimize.root(lambda y: y**2 - shift * x, jnp.ones(1)).x

    x = jnp.ones(1)
    np.testing.assert_allclose(solution(x), 2.0, rtol=1e-5)
    shift = 9.0
    np.testing.assert_allclose(solution(x), 3.0, rtol=1e-5)


def test_settings_of_solvers_are_known_under_autojit_and_refused_under_jit():
    def solved(t):
        fun, start, times = lambda x: x**2 - t, jnp.ones(1), jnp.array([0.0, 0.1])
        integrate = jfi.scipy.integrate
        return {
            "xtol": optimize.least_squares(fun, start, xtol=1e-4 * t).x,
            "f_scale": optimize.least_squares(fun, start, loss="huber", f_scale=t).x,
            "tol": optimize.root(fun, start, tol=1e-4 * t).x,
            "xtol of brentq": optimize.brentq(fun, 0.0, 3.0, xtol=1e-4 * t),
            "rtol": integrate.odeint(lambda y, _: -t * y, start, times, rtol=1e-5 * t),
            "points": integrate.quad(lambda x: x * t, 0.0, 1.0, points=[t / 4])[0],
        }

    compiled = jfi.autojit(solved)
    for number in (2.0, 3.0):
        for name, expected in solved(number).items():
            found = compiled(number)[name]
            np.testing.assert_allclose(found, expected, rtol=1e-4, err_msg=name)
    with pytest.raises(SolverError, match=r"value of xtol, which is traced.*static"):
        jax.jit(solved)(2.0)


@pytest.mark.parametrize("relu", [jax.nn.relu, lambda x: x], ids=["rules", "none"])
def test_equal_code_is_compiled_once(relu):
    def solution(a, b):
        def cost(x, a):
            return jnp.sum((x - relu(a)) ** 2) + b * jnp.sum(x**2)

        return optimize.minimize(cost, jnp.ones(2), a).x

    first, second = jnp.float32(1.0), jnp.float32(3.0)
    solution(1.0, first)
    compiled = []
    on_compiled(compiled.append)  # from here on, for good
    found = solution(4.0, second)
    assert not compiled
    np.testing.assert_allclose(found, 1.0, rtol=1e-3)


def test_python_code_may_ask_for_the_value_of_a_float():
    find = lambda a: optimize.root(
        lambda x, a: x - a if a > 0 else x + a, jnp.ones(1), a
    )
    assert find(2.0).x[0] == 2.0
    assert find(-2.0).x[0] == 2.0


def test_a_function_without_derivatives_has_roots_and_minima():
    def square(x):
        spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda x: np.asarray(x) ** 2 - 4.0, spec, x)

    @jax.jit
    def find():
        root = optimize.root(square, jnp.ones(1), method="broyden1", tol=1e-4)
        cost = lambda x: jnp.sum(square(x) ** 2)
        return root, optimize.minimize(cost, jnp.ones(1), method="Nelder-Mead")

    root, minimum = find()
    np.testing.assert_allclose([root.x, minimum.x], 2.0, rtol=1e-3)
    assert np.isnan(minimum.jac)


def test_a_function_that_draws_is_refused():
    for transform in (lambda f: f, jfi.jit):
        find = transform(lambda: optimize.root(lambda x: x - jfi.randn(1), jnp.ones(1)))
        with pytest.raises(SolverError, match="draw once, before the call"):
            find()


def test_threads_solve_at_the_same_time():
    solve = jax.jit(lambda a: optimize.root(lambda x: x**2 - a, jnp.ones(1)).x[0])
    found = {}

    def work(a):
        eager = optimize.root(lambda x: x**2 - a, jnp.ones(1)).x[0]
        found[a] = float(solve(a)), float(eager)

    threads = [threading.Thread(target=work, args=(a,)) for a in (2.0, 3.0, 4.0, 5.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, values in found.items():
        np.testing.assert_allclose(values, np.sqrt(a), rtol=1e-5)
    assert len(found) == 4


REFUSED = [
    (lambda: optimize.root(lambda x: x[:1], jnp.ones(2)), "as many equations"),
    (lambda: optimize.root(lambda x: x, jnp.ones(2), method="newton"), "has the meth"),
    (lambda: optimize.root(lambda x: x, 1j * jnp.ones(2)), "real and imaginary"),
    (lambda: optimize.minimize(lambda x: x, jnp.ones(2)), "returns one number"),
    (
        lambda: optimize.minimize(jnp.sum, jnp.ones(2), bounds=[(0, 1)]),
        "1 bounds for 2",
    ),
    (
        lambda: optimize.minimize(
            jnp.sum, jnp.ones(2), method="cg", bounds=[(0, 1)] * 2
        ),
        "takes no bounds",
    ),
    (
        lambda: optimize.minimize(jnp.sum, jnp.ones(2), method="BFGS", bounds=[(0, 1)]),
        "is JAX's own",
    ),
    (
        lambda: optimize.minimize(jnp.sum, jnp.ones(2), constraints=[abs]),
        '"type": "eq"',
    ),
    (lambda: optimize.least_squares(abs, jnp.ones(2), loss="l1"), "soft_l1"),
    (lambda: optimize.root_scalar(abs), "needs x0="),
    (lambda: optimize.root_scalar(abs, method="brentq"), "needs bracket="),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_what_is_refused_says_what_to_write(call, words):
    with pytest.raises(SolverError, match=words):
        call()


def test_integers_are_where_a_search_begins_in_the_precision_of_the_world(x64):
    dtype = jnp.float64 if x64 else jnp.float32
    root = optimize.brentq(lambda x: 3 * x - 1, 0, 1)
    assert root.dtype == dtype
    np.testing.assert_allclose(root, 1 / 3, rtol=1e-12 if x64 else 1e-6)


def with_a_scan(p):
    step = lambda c, x: (0.9 * c + p[0] * x, c - p[1])
    return jfi.scan(step, p[0], jnp.arange(10.0))[1]


@pytest.mark.parametrize(
    "solve",
    [
        lambda k: optimize.least_squares(lambda p: with_a_scan(p) * k, jnp.ones(2)).x,
        lambda k: (
            optimize.minimize(
                lambda p: (with_a_scan(p) ** 2).sum() * k, jnp.ones(2), method="BFGS"
            ).x
        ),
        lambda k: (
            optimize.minimize(
                lambda p, k: (with_a_scan(p) ** 2).sum() * k, jnp.ones(2), (k,), "BFGS"
            ).x
        ),
        lambda k: optimize.curve_fit(
            lambda x, a, b: with_a_scan([a, b]) * k, jnp.arange(10.0), jnp.ones(10)
        )[0],
    ],
    ids=["least_squares", "BFGS", "BFGS with args", "curve_fit"],
)
def test_eager_solvers_compile_once_for_equal_code(solve):
    """Also functions with a loop of jfi's in them; other numbers are data."""
    first = [solve(1.0), solve(2.0)]
    compiled = []
    on_compiled(compiled.append)  # from here on, for good
    again = [solve(1.0), solve(2.0)]
    assert not compiled
    np.testing.assert_allclose(again, first)


def test_settings_of_eager_solvers_may_be_arrays():
    cost = lambda x: ((x - 1) ** 2).sum()
    least = optimize.least_squares(
        lambda p: p - 1, jnp.zeros(2), loss="soft_l1", f_scale=jnp.float32(0.1)
    )
    found = [
        optimize.minimize(cost, jnp.zeros(2), method="BFGS", tol=jnp.float32(1e-3)).x,
        optimize.minimize(
            cost, jnp.zeros(2), method="BFGS", options={"gtol": jnp.float32(1e-3)}
        ).x,
    ]
    np.testing.assert_allclose([least.x, *found], np.ones((3, 2)), atol=1e-3)
    with pytest.raises(SolverError, match="the value of f_scale"):
        jax.jit(
            lambda s: optimize.least_squares(
                lambda p: p - 1, jnp.zeros(2), loss="soft_l1", f_scale=s
            )
        )(0.1)
