"""Interpolators: SciPy's values, derivatives and integrals, from traced data too."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax.test_util import check_grads

import jfi
from jfi import InterpolationError
from jfi.scipy.interpolate._intervals import interval_of


si = pytest.importorskip("scipy.interpolate")
mine = jfi.scipy.interpolate

RANDOM = np.random.default_rng(0)
X = np.cumsum(RANDOM.uniform(0.3, 1.3, 7))
Y = RANDOM.normal(size=(2, 7, 3))
POINTS = np.array([[X[0] - 0.7, X[0], X[2]], [3.1, X[-1], X[-1] + 0.9]])
INSIDE = np.clip(POINTS, X[0] - 0.1, X[-1] + 0.1)


def close(found, expected, tolerance=None):
    tolerance = tolerance or (1e-9 if jax.config.jax_enable_x64 else 2e-4)
    assert found.shape == np.shape(expected)
    scale = max(1.0, np.nanmax(np.abs(expected), initial=1.0))
    np.testing.assert_allclose(found / scale, expected / scale, tolerance, tolerance)


ENDS = (1, np.ones((2, 3))), (2, np.full((2, 3), 0.5))


def periodic(cls):
    values = Y.copy()
    values[:, -1] = values[:, 0]
    return cls(X, values, axis=1, bc_type="periodic")


PIECES = {
    "not-a-knot": lambda m: m.CubicSpline(X, Y, axis=1),
    "natural": lambda m: m.CubicSpline(X, Y, axis=1, bc_type=("natural", "clamped")),
    "given": lambda m: m.CubicSpline(X, Y, axis=1, bc_type=ENDS, extrapolate=False),
    "periodic": lambda m: periodic(m.CubicSpline),
    "two": lambda m: m.CubicSpline(X[:2], Y[:, :2], axis=1),
    "three": lambda m: m.CubicSpline(X[:3], Y[:, :3], axis=1),
    "hermite": lambda m: m.CubicHermiteSpline(X, Y, Y[:, ::-1], axis=1),
    "pchip": lambda m: m.PchipInterpolator(X, Y, axis=1),
    "akima": lambda m: m.Akima1DInterpolator(X, Y, axis=1),
    "makima": lambda m: m.Akima1DInterpolator(
        X, Y, axis=1, method="makima", extrapolate=True
    ),
    "complex": lambda m: m.CubicSpline(X, Y[0] + 1j * Y[1]),
    "complex slopes at the ends": lambda m: m.CubicSpline(
        X, Y[0, :, 0], bc_type=((1, 2j), (2, 1j))
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_cubic_interpolators_are_those_of_scipy(name):
    with jax.enable_x64(True):
        found = PIECES[name](mine)
        close(found(POINTS), PIECES[name](si)(POINTS))


@pytest.mark.parametrize("name", ["not-a-knot", "periodic", "akima"])
def test_derivatives_and_integrals_of_pieces_are_those_of_scipy(name):
    expected, found = PIECES[name](si), PIECES[name](mine)
    again = jfi.jaxify(expected)
    assert isinstance(again, mine.PPoly)
    for nu in range(5) if name == "not-a-knot" else (0, 1):
        close(found(POINTS, nu), expected(POINTS, nu))
        close(again(POINTS, nu), expected(POINTS, nu))
    ends = (X[0], X[-1] + 5) if name == "periodic" else (X[1], X[-1])
    close(found.integrate(*ends), expected.integrate(*ends))
    close(found.derivative()(POINTS), expected.derivative()(POINTS))


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_b_splines_are_those_of_scipy(k):
    with jax.enable_x64(True):
        expected = si.make_interp_spline(X, Y, k, axis=1)
        found = mine.make_interp_spline(X, Y, k, axis=1)
        close(found(INSIDE), expected(INSIDE))
        close(jfi.jaxify(expected)(INSIDE, 1), expected(INSIDE, 1))


@pytest.mark.parametrize("outer", [True, False, "periodic"])
def test_derivatives_and_integrals_of_b_splines_are_those_of_scipy(outer):
    expected = si.make_interp_spline(X, Y, 3, axis=1)
    found = mine.make_interp_spline(X, Y, 3, axis=1)
    close(found(INSIDE, 0, outer), expected(INSIDE, 0, outer), 5e-3)
    ends = X[0] - 0.1, X[-1] + 0.2
    close(found.integrate(*ends, outer), expected.integrate(*ends, outer), 5e-3)
    if outer is True:
        close(found.derivative()(INSIDE), expected.derivative()(INSIDE), 5e-3)
        twice = expected.antiderivative(2)
        close(found.antiderivative(2)(INSIDE), twice(INSIDE), 5e-3)
        close(found(INSIDE, 4), expected(INSIDE, 4))


@pytest.mark.parametrize("ends", ["natural", ([(1, 1.0)], [(2, 0.0)])])
def test_b_splines_have_end_conditions(ends):
    found = mine.make_interp_spline(X, Y[0, :, 0], bc_type=ends)
    close(found(INSIDE), si.make_interp_spline(X, Y[0, :, 0], bc_type=ends)(INSIDE))


def test_a_jump_of_a_b_spline_has_no_derivative():
    jump = mine.BSpline([0, 0, 1, 1, 2, 2], [1.0, 2.0, 3.0, 4.0], 1)
    assert jump(jnp.array([0.5, 1.0, 1.5])).tolist() == [1.5, 3.0, 3.5]
    with pytest.raises(InterpolationError, match="2 equal knots inside"):
        jump.derivative()


KINDS = [
    "linear", "nearest", "nearest-up", "zero", "slinear", "quadratic", "cubic",
    "previous", "next", 4,
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_interp1d_is_that_of_scipy(kind):
    order = np.random.default_rng(1).permutation(7)
    fill = "extrapolate" if kind in ("linear", "previous", "next", 4) else (1.0, 2.0)
    given = X[order], Y[:, order], kind, 1
    expected = si.interp1d(*given, bounds_error=False, fill_value=fill)
    found = mine.interp1d(*given, bounds_error=False, fill_value=fill)
    close(found(INSIDE), expected(INSIDE), 5e-3)
    close(jfi.jaxify(expected)(INSIDE), expected(INSIDE), 5e-3)


GRID = X, np.linspace(2, 3, 8)[::-1], X[:6] ** 2


@pytest.mark.parametrize(
    "method", ["linear", "nearest", "slinear", "cubic", "quintic", "pchip"]
)
def test_grids_are_those_of_scipy(method):
    dimensions = 3 if method == "linear" else 2
    random = np.random.default_rng(2)
    grid = GRID[:dimensions]
    values = random.normal(size=tuple(map(len, grid)))
    share = random.uniform(0, 1, (2, 5, dimensions))
    low, high = (np.array([f(axis) for axis in grid]) for f in (np.min, np.max))
    points = low + share * (high - low)
    points[0, 0, 0] = X[0] - 0.2
    for fill in (np.nan, None):
        expected = si.RegularGridInterpolator(grid, values, method, False, fill)
        found = jfi.jaxify(expected)
        close(found(points), expected(points), 1e-3)
    exact = mine.RegularGridInterpolator(grid, values, method)
    assert exact(points).shape == (2, 5)


def test_a_grid_is_also_that_of_jax():
    theirs = jax.scipy.interpolate.RegularGridInterpolator((X,), jnp.asarray(Y[0]))
    found = mine.RegularGridInterpolator((X,), jnp.asarray(Y[0]))
    points = jnp.asarray(POINTS[..., None])
    close(found(points), theirs(points), 1e-5)
    with pytest.raises(ValueError, match="is not defined"):
        found(points, method="none")


KERNELS = [
    "linear", "thin_plate_spline", "cubic", "quintic", "multiquadric",
    "inverse_multiquadric", "inverse_quadratic", "gaussian",
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
def test_radial_functions_are_those_of_scipy(kernel):
    random = np.random.default_rng(3)
    places, points = random.normal(size=(12, 2)), random.normal(size=(5, 2))
    values = random.normal(size=(12, 3))
    settings = {"kernel": kernel, "epsilon": 1.3, "smoothing": 0.1}
    expected = si.RBFInterpolator(places, values, **settings)
    close(mine.RBFInterpolator(places, values, **settings)(points), expected(points))
    close(jfi.jaxify(expected)(points), expected(points), 1e-3)


@pytest.mark.parametrize("kernel", ["thin_plate_spline", "gaussian"])
def test_radial_functions_of_neighbors_are_those_of_scipy(kernel):
    random = np.random.default_rng(4)
    places, points = random.normal(size=(20, 2)), random.normal(size=(5, 2))
    values = random.normal(size=(20, 2)) * (1 + 2j)
    settings = {"kernel": kernel, "epsilon": 0.5, "smoothing": 0.1, "neighbors": 7}
    with jax.enable_x64(True):
        expected = si.RBFInterpolator(places, values, **settings)
        found = mine.RBFInterpolator(places, values, **settings)
        close(found(points), expected(points))
        close(jax.jit(jfi.jaxify(expected))(points), expected(points))
        assert found(points[:0]).shape == (0, 2)

        def total(values, points):
            return mine.RBFInterpolator(places, values, **settings)(points).sum()

        check_grads(total, (values.real, points), 1, ["rev"])


def test_equal_places_are_an_error_as_in_scipy():
    twice = np.concatenate([X, X])[:, None]
    with pytest.raises(np.linalg.LinAlgError, match=r"Singular.*leave|Leave such data"):
        mine.RBFInterpolator(twice, twice[:, 0])
    with pytest.raises(np.linalg.LinAlgError, match="lower degree"):
        mine.RBFInterpolator(twice, twice[:, 0], neighbors=4)(X[:, None])


def test_values_on_a_grid_are_those_of_scipy():
    grid, values = (X, X[:4]), Y.ravel()[:28].reshape(7, 4)
    points = np.stack([X[1:4], X[:3]], axis=-1) + 0.1
    with jax.enable_x64(True):
        for method in ("linear", "nearest", "cubic"):
            expected = si.interpn(grid, values, points, method)
            # SciPy solves for cubic splines by iteration, to six digits.
            close(mine.interpn(grid, values, points, method), expected, 1e-5)
    with pytest.raises(ValueError, match="outside"):
        mine.interpn(grid, values, points + 100)


def test_a_value_at_a_knot_does_not_ask_for_the_next():
    values = np.where(X[2] == X, np.nan, X)
    for fill in (5.0, [5.0]):
        lines = [
            m.interp1d(X, values, fill_value=fill, bounds_error=False)
            for m in (si, mine)
        ]
        expected, found = (line(np.concatenate([X, X + 0.01])) for line in lines)
        close(found, expected)


def test_fits_of_scipy_are_evaluated_in_jax():
    x = np.linspace(0, 3, 20)
    points = np.linspace(-1, 4, 11)
    for ext in (0, 1, 3):
        expected = si.UnivariateSpline(x, np.sin(x), s=0.01, ext=ext)
        found = mine.UnivariateSpline(x, np.sin(x), s=0.01, ext=ext)
        close(found(points), expected(points))
        close(found.derivative()(points), expected.derivative()(points))
        close(found.integral(-1, 2), expected.integral(-1, 2))
    surface = si.RectBivariateSpline(x, x, np.outer(np.sin(x), x))
    found = jfi.jaxify(surface)
    close(found(points, x[:3]), surface(np.sort(points), x[:3]), 1e-3)
    close(found.ev(points, x[:11], dx=1), surface.ev(points, x[:11], dx=1), 1e-3)


MADE_OF_VALUES = {
    "spline": lambda y: mine.CubicSpline(X, y),
    "pchip": lambda y: mine.PchipInterpolator(X, y),
    "akima": lambda y: mine.Akima1DInterpolator(X, y),
    "b-spline": lambda y: mine.make_interp_spline(X, y),
    "linear": lambda y: mine.interp1d(X, y),
    "grid": lambda y: lambda x: mine.RegularGridInterpolator((X,), y, "cubic")(x)[0],
    "radial": lambda y: lambda x: mine.RBFInterpolator(X[:, None], y)(x[None, None])[0],
}


@pytest.mark.parametrize("name", MADE_OF_VALUES)
def test_gradients_are_differences_also_for_the_values(name):
    def f(y, x):
        return MADE_OF_VALUES[name](y)(x)

    with jax.enable_x64(True):
        y, x = jnp.asarray(Y[0, :, 0]), jnp.asarray(3.1)
        direction = jnp.cos(jnp.arange(7.0)), jnp.asarray(0.3)

        def along(t):
            return f(y + t * direction[0], x + t * direction[1])

        compiled = jax.jit(lambda t: (along(t), jax.jvp(along, (t,), (1.0,))[1]))
        low, high = compiled(-1e-5)[0], compiled(1e-5)[0]
        slope = compiled(0.0)[1]
        np.testing.assert_allclose(slope, (high - low) / 2e-5, rtol=1e-6)
        gradients = jax.jit(jax.grad(f, (0, 1)))(y, x)
        reverse = sum(jnp.vdot(g, d) for g, d in zip(gradients, direction, strict=True))
        np.testing.assert_allclose(reverse, slope, rtol=1e-9)


def test_second_derivatives_and_batches():
    spline = mine.CubicSpline(X, Y[0, :, 0])
    points = jnp.linspace(X[0], X[-1], 5)
    second = jax.vmap(jax.grad(jax.grad(spline)))(points)
    close(second, spline(points, 2), 1e-5)
    many = jax.vmap(lambda y: mine.CubicSpline(X, y))(jnp.asarray(Y[0].T))
    rows = jax.vmap(lambda spline, x: spline(x), (0, None))(many, points)
    close(rows, mine.CubicSpline(X, Y[0].T, axis=1)(points), 1e-5)


def test_interpolators_are_trees_that_never_change():
    spline = mine.CubicSpline(X, Y[0, :, 0])
    expected = spline(3.0)
    copies = [pickle.loads(pickle.dumps(spline)), copy.deepcopy(spline)]
    assert all(type(c) is mine.CubicSpline and c(3.0) == expected for c in copies)

    @jfi.autojit
    def at_three(spline):
        return spline(3.0)

    doubled = jax.tree.map(lambda c: 2 * c, spline)
    for of in (spline, spline, spline, mine.CubicSpline(X, 2 * Y[0, :, 0])):
        close(at_three(of), of(3.0), 1e-5)
    assert doubled.axis == 0
    with pytest.raises(AttributeError, match="make a new CubicSpline"):
        spline.c = 0


def test_what_scipy_fits_is_known_under_autojit():
    def run(x, smoothing):
        fitted = mine.UnivariateSpline(X, Y[0, :, 0], s=smoothing)
        return fitted(x), mine.LinearNDInterpolator(CORNERS, X[:4])(CORNERS[2])

    for smoothing in (0.1, 0.2):
        jax.tree.map(close, jfi.autojit(run)(3.0, smoothing), run(3.0, smoothing))


CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def test_what_the_64_bit_world_has_made_is_used_in_the_other():
    with jax.enable_x64(True):
        made = mine.CubicSpline(X, Y[0, :, 0]), mine.make_interp_spline(X, Y[0, :, 0])
    for spline in made:
        assert spline(3.0).dtype == jnp.float32
        close(spline(3.0), si.CubicSpline(X, Y[0, :, 0])(3.0), 1e-5)


def test_odd_points():
    spline = mine.CubicSpline(X, Y[0, :, 0])
    assert spline([]).shape == (0,)
    assert spline(3).dtype == spline(3.0).dtype == jnp.float32
    assert not spline(3.0).weak_type
    assert spline(jnp.array(3.0, "bfloat16")).dtype == jnp.float32
    assert np.isnan(spline(np.nan))
    assert np.isnan(mine.PPoly([[1.0]], [0, 1])(np.nan))
    # Many knots in the last part of the range, where 16 bits round it up.
    knots = np.append(-np.arange(1, 1025) / 1024, -np.arange(20) / 2**16)
    knots = np.unique(knots.astype(np.float16))
    steps = np.arange(len(knots) - 1, dtype=np.float16)[None]
    points = np.repeat(knots, 2)
    found = mine.PPoly(jnp.asarray(steps), jnp.asarray(knots))(jnp.asarray(points))
    wanted = np.searchsorted(knots, points, side="right") - 1
    np.testing.assert_array_equal(found, np.minimum(wanted, len(knots) - 2))
    # NaN outside does not spoil the gradient of what is used.
    inside = mine.CubicSpline(X, Y[0, :, 0], extrapolate=False)
    gradient = jax.grad(lambda x: jnp.nansum(inside(x)))(jnp.array([0.0, 3.0]))
    assert np.isfinite(gradient).all()


@settings(max_examples=40, deadline=None)
@given(
    n=st.sampled_from([2, 5, 70]),
    spread=st.sampled_from(["even", "random", "exponential", "tiny"]),
    seed=st.integers(0, 1000),
)
def test_intervals_are_those_of_a_search(n, spread, seed):
    random = np.random.default_rng(seed)
    knots = {
        "even": np.linspace(-3, 5, n),
        "random": np.sort(random.normal(size=n)),
        "exponential": np.exp(np.linspace(-10, 20, n)),
        "tiny": np.linspace(0, 1e-38, n),
    }[spread].astype("float32")
    points = random.choice(knots, 100) * random.choice([1, 1.0001, -2], 100)
    points = np.concatenate([points, knots, [np.inf, -np.inf]]).astype("float32")
    points = np.resize(points, 180)
    # XLA takes numbers near zero for zero.
    points, knots = (np.where(np.abs(v) < 1e-37, 0, v) for v in (points, knots))
    expected = np.searchsorted(knots, points, side="right") - 1
    found = jax.jit(interval_of)(jnp.asarray(knots), jnp.asarray(points))
    np.testing.assert_array_equal(found, np.clip(expected, 0, n - 2))


REFUSED = [
    (lambda: mine.CubicSpline([0, 0, 1], [1, 2, 3]), "strictly increase"),
    (lambda: mine.CubicSpline(1e9 + X, X), "can't tell apart"),
    (lambda: mine.CubicSpline(X, X[:3]), "got 7 knots, and values of shape"),
    (lambda: mine.CubicSpline(X, X, bc_type="none"), "end condition 'none'"),
    (lambda: mine.CubicSpline(X, X, bc_type="periodic"), r"y = y\.at\[-1\]"),
    (lambda: mine.CubicSpline(X, X)(1j), "complex points"),
    (lambda: mine.CubicSpline(X, X)(1.0, nu=-1), "nu=-1"),
    (lambda: mine.CubicSpline(X, X, extrapolate="no"), "extrapolate='no'"),
    (lambda: mine.PPoly([1.0], X), r"\(k, 6, \.\.\.\)"),
    (lambda: mine.make_interp_spline(X[:3], X[:3]), "which need 4 in all"),
    (lambda: mine.make_interp_spline(X, X, bc_type="periodic"), "CubicSpline"),
    (lambda: jax.jit(lambda y: mine.UnivariateSpline(X, y))(X), "outside jit"),
    (lambda: mine.UnivariateSpline(X, X)(X, ext="NaN"), r"'raise' \(2\) or 'const'"),
    (
        lambda: mine.RBFInterpolator(X[:, None], X, neighbors=0),
        "neighbors=0. Pass None",
    ),
    (lambda: mine.RBFInterpolator(X[:, None], X, smoothing=X[:2]), "or one for each"),
    (lambda: mine.interp1d(X, X[:3]), "values of shape .3,."),
    (
        lambda: mine.interp1d(X, X, bounds_error=True, fill_value="extrapolate"),
        "one of the two",
    ),
    (lambda: mine.CubicSpline(X, X * np.nan), "not finite"),
    (lambda: mine.CubicHermiteSpline(X, X, X * np.inf), "not finite"),
    (lambda: mine.make_interp_spline(X, X * np.nan), "not finite"),
    (lambda: mine.interpn((X[:3],), X[:3], [[1.0]], "cubic"), "needs at least 4"),
    (lambda: mine.RegularGridInterpolator((X,), X[:3]), "for axis 0"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(InterpolationError, match=message):
        call()


def test_points_outside_are_an_error_or_nan():
    line = mine.interp1d(X, X)
    plane = mine.RegularGridInterpolator((X,), X, bounds_error=True)
    for f, point in ((line, -1.0), (plane, np.array([[-1.0]]))):
        with pytest.raises(ValueError, match="outside"):
            f(point)
        assert np.isnan(jax.jit(f)(point)).all()


@pytest.mark.parametrize("ext", [0, 1, 2, 3, "extrapolate", "zeros", "raise", "const"])
def test_a_smoothing_spline_ends_as_scipys(ext):
    spline, expected = (
        m.UnivariateSpline(X, Y[0, :, 0], s=0, ext=ext) for m in (mine, si)
    )
    for f, g in [
        (spline, expected),
        (spline.derivative(), expected.derivative()),
        (spline.antiderivative(), expected.antiderivative()),
    ]:
        close(f(INSIDE[:, 1]), g(INSIDE[:, 1]))
        if ext not in (2, "raise"):
            close(f(POINTS), g(POINTS))
            continue
        with pytest.raises(ValueError, match="not in the domain"):
            g(POINTS)
        with pytest.raises(ValueError, match="with ext='raise', outside its inter"):
            f(POINTS)
        beyond = np.clip(POINTS, X[0], X[-1]) != POINTS
        np.testing.assert_array_equal(jnp.isnan(jax.jit(f)(POINTS)), beyond)


def test_the_strictest_settings_of_jax():
    x = np.linspace(0, 1, 5, dtype="float32")
    at, X = x[:2] + np.float32(0.1), np.stack([x, x**2], axis=1)

    def run():
        of_scipy = jfi.scipy.interpolate
        return (
            of_scipy.interp1d(x, x**3, kind="cubic")(at),
            of_scipy.RBFInterpolator(X, x)(X[:2]),
            of_scipy.LinearNDInterpolator(X, x)(X[:2]),
            of_scipy.NearestNDInterpolator(X, x)(X[:2]),
        )

    expected = run()
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        jax.tree.map(np.testing.assert_array_equal, run(), expected)
