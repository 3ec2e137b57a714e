"""Interpolation of scattered data on triangles: SciPy's values, and their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi import InterpolationError

from .differences import check_direction


si = pytest.importorskip("scipy.interpolate")
mine = jfi.scipy.interpolate

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.uniform(size=(40, 2))
VALUES = RANDOM.normal(size=(40, 3))
PLACES = RANDOM.uniform(-0.1, 1.1, (5, 30, 2))
GRID = np.indices((4, 5)).reshape(2, -1).T.astype(float)
BOTH = ["LinearNDInterpolator", "CloughTocher2DInterpolator"]


def of_scipy(name, *arguments, **options):
    if name.startswith("Clough"):  # its default is coarser than ours
        options |= {"tol": 1e-13, "maxiter": 10_000}
    return getattr(si, name)(*arguments, **options)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("rescale", [False, True])
def test_scattered_data_are_interpolated_as_by_scipy(name, rescale):
    options = {"rescale": rescale, "fill_value": 7.0 if rescale else np.nan}
    scale = [1.0, 50.0] if rescale else 1.0
    with jax.enable_x64(True):
        ours = getattr(mine, name)(POINTS * scale, VALUES, **options)
        theirs = of_scipy(name, POINTS * scale, VALUES, **options)
        np.testing.assert_allclose(
            ours(PLACES * scale), theirs(PLACES * scale), 1e-7, 1e-8
        )
        x, y = np.moveaxis(PLACES * scale, -1, 0)
        np.testing.assert_array_equal(ours(x, y), ours(PLACES * scale))
        np.testing.assert_array_equal(ours((x, y)), ours(PLACES * scale))
        columns = tuple((POINTS * scale).T)
        same = getattr(mine, name)(columns, VALUES, **options)
        np.testing.assert_array_equal(same(x, y), ours(x, y))


@pytest.mark.parametrize("name", BOTH)
def test_complex_values_and_points_on_a_grid(name):
    numbers = np.sin(GRID[:, 0]) + 1j * GRID[:, 1] ** 2
    with jax.enable_x64(True):
        ours = getattr(mine, name)(GRID, numbers)
        np.testing.assert_allclose(ours(GRID), numbers, atol=1e-12)
        places = PLACES * 3
        triangles = si.LinearNDInterpolator(GRID, numbers).tri
        expected = of_scipy(name, triangles, numbers)(places)
        ours = getattr(mine, name)(triangles, numbers)
        np.testing.assert_allclose(ours(places), expected, 1e-7, 1e-8)


def test_three_dimensions():
    points = RANDOM.uniform(size=(30, 3))
    places = RANDOM.uniform(size=(50, 3))
    with jax.enable_x64(True):
        ours = mine.LinearNDInterpolator(points, points[:, 0] ** 2)(places)
        theirs = si.LinearNDInterpolator(points, points[:, 0] ** 2)(places)
        np.testing.assert_allclose(ours, theirs, 1e-10)


@pytest.mark.parametrize("name", BOTH)
def test_values_and_places_have_gradients(name):
    inside = np.clip(PLACES[0, :4], 0.3, 0.7)

    def at(values, places):
        return getattr(mine, name)(POINTS, values)(places)

    check_direction(at, VALUES[:, 0], inside)


def test_outside_gradients_are_zero_and_finite():
    f = mine.LinearNDInterpolator(POINTS, VALUES[:, 0])
    assert jnp.isnan(f(jnp.array([2.0, 2.0])))
    assert jnp.isnan(f(jnp.array([0.5, jnp.nan])))
    slope = jax.grad(lambda p: jnp.nansum(f(p)))(jnp.array([[2.0, 2.0], [0.5, 0.5]]))
    assert jnp.isfinite(slope).all()
    np.testing.assert_array_equal(slope[0], 0)


def test_an_interpolator_is_an_argument_of_compiled_functions_and_of_batches():
    values = jnp.asarray(VALUES[:, 0], jnp.float32)
    make = lambda values: mine.LinearNDInterpolator(POINTS, values)
    batch = jax.vmap(make)(jnp.stack([values, 2 * values]))
    found = jfi.jit(jax.vmap(lambda f, p: f(p), (0, None)))(batch, PLACES[0])
    np.testing.assert_allclose(found[1], 2 * make(values)(PLACES[0]), rtol=1e-5)


def test_a_point_that_is_there_twice_is_as_in_scipy():
    points = np.concatenate([GRID, GRID[:3]])
    values = np.arange(len(points), dtype=float)
    with jax.enable_x64(True):
        for name in BOTH:
            ours = getattr(mine, name)(points, values)(PLACES * 3)
            theirs = of_scipy(name, points, values)(PLACES * 3)
            np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
            np.testing.assert_allclose(ours, theirs, 1e-6, 1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mine.LinearNDInterpolator(POINTS[:, 0], VALUES), "CubicSpline"),
        (lambda: mine.LinearNDInterpolator(POINTS, VALUES[1:]), r"\(40, ...\)"),
        (
            lambda: mine.CloughTocher2DInterpolator(np.eye(4)[:, :3], VALUES[:4]),
            "pass .n, 2., or use LinearNDInterpolator",
        ),
        (
            lambda: jax.jit(lambda p: mine.LinearNDInterpolator(p, VALUES)(p))(POINTS),
            "traced points.*RBFInterpolator",
        ),
        (
            lambda: mine.LinearNDInterpolator(POINTS, VALUES)(np.ones(3)),
            r"places of shape \(3,\)",
        ),
        (
            lambda: mine.LinearNDInterpolator(POINTS, VALUES, fill_value=1j),
            "complex fill_value for real values",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(InterpolationError, match=message):
        call()


def test_the_nearest_point_is_scipys():
    for given in ({}, {"rescale": True}):
        ours = mine.NearestNDInterpolator(POINTS * [1, 50], VALUES, **given)
        theirs = si.NearestNDInterpolator(POINTS * [1, 50], VALUES, **given)
        places = PLACES * [1, 50]
        np.testing.assert_allclose(ours(places), theirs(places), 1e-6)
        near = {"distance_upper_bound": 0.05}
        np.testing.assert_allclose(ours(places, **near), theirs(places, **near), 1e-6)
    x, y = np.moveaxis(places, -1, 0)
    np.testing.assert_array_equal(ours(x, y), ours(places))
    whole = lambda p, v: mine.NearestNDInterpolator(p, v)(PLACES).sum()
    _, slope = jax.jit(jax.value_and_grad(whole, 1))(POINTS, VALUES)
    np.testing.assert_allclose(slope.sum(), PLACES[..., 0].size * 3, 1e-6)
    with pytest.raises(InterpolationError, match=r"points of shape \(40, 2\)"):
        mine.NearestNDInterpolator(POINTS, VALUES[:3])


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
def test_griddata_chooses_as_scipy_does(method):
    with jax.enable_x64(True):
        for d in (1, 2):
            points, places = POINTS[:, :d], PLACES[..., :d]
            given = (points[:, 0], VALUES, places[..., 0])
            if d == 2:
                given = (tuple(points.T), VALUES, tuple(np.moveaxis(places, -1, 0)))
            expected = si.griddata(*given, method)
            found = mine.griddata(*given, method)
            np.testing.assert_allclose(found, expected, 1e-3, 1e-3)
    with pytest.raises(InterpolationError, match="one or two dimensions"):
        mine.griddata(np.ones((5, 3)), np.ones(5), np.ones((2, 3)), "cubic")


def test_what_only_scipy_has_is_named():
    line = mine.CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    with pytest.raises(AttributeError, match=r"scipy\.interpolate\.CubicSpline.*roots"):
        line.roots()
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        _ = line.colour
