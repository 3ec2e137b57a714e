"""Filters of images: SciPy's results at every border, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi import ImageError

from .differences import check_direction


nd = pytest.importorskip("scipy.ndimage")
mine = jfi.scipy.ndimage

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(7, 5))
BYTES = RANDOM.integers(0, 200, (7, 5)).astype(np.uint8)
WEIGHTS = RANDOM.normal(size=(3, 4))
FOOTPRINT = np.array([[1, 0, 1], [0, 1, 1]], bool)
MODES = [
    "reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant",
    "grid-wrap",
]  # fmt: skip

AT_BORDERS = {
    "correlate": lambda m, **k: m.correlate(X, WEIGHTS, origin=(1, -1), **k),
    "convolve": lambda m, **k: m.convolve(X, WEIGHTS, origin=(-1, 1), **k),
    "correlate1d": lambda m, **k: m.correlate1d(X, WEIGHTS[0], 0, origin=-2, **k),
    "convolve1d": lambda m, **k: m.convolve1d(X, WEIGHTS[0], origin=1, **k),
    "gaussian": lambda m, **k: m.gaussian_filter(X, (0.5, 3.0), (0, 1), **k),
    "uniform": lambda m, **k: m.uniform_filter(X, (3, 12), origin=(1, -2), **k),
    "sobel": lambda m, **k: m.sobel(X, **k),
    "laplace": lambda m, **k: m.laplace(X, **k),
    "minimum": lambda m, **k: m.minimum_filter(X, (3, 6), origin=(0, -1), **k),
    "maximum": lambda m, **k: m.maximum_filter(X, footprint=FOOTPRINT, **k),
    "median": lambda m, **k: m.median_filter(BYTES, (2, 3), **k),
}
ONCE = {
    "even weights": lambda m: m.convolve(X, WEIGHTS),
    "complex": lambda m: m.correlate(X + 1j * X[::-1], WEIGHTS),
    "complex weights": lambda m: m.correlate(X, WEIGHTS * 1j + WEIGHTS**2),
    "complex weights of a convolution": lambda m: m.convolve1d(
        X * 1j, WEIGHTS[0] * (1 + 2j)
    ),
    "complex in spite of output": lambda m: m.convolve(
        X + 1j * X[::-1], WEIGHTS, output=np.float32
    ),
    "complex weights in spite of output": lambda m: m.correlate1d(
        X, [1j, 2.0], output=float
    ),
    "many weights": lambda m: m.correlate(
        np.outer(np.arange(9.0), np.arange(9.0)) ** 2,
        np.outer(np.arange(9), [2, 7] * 5),
    ),
    "along an axis": lambda m: m.correlate(X, WEIGHTS[0], axes=(1,)),
    "third derivative": lambda m: m.gaussian_filter1d(X, 1.5, 0, 3, truncate=2.0),
    "radius": lambda m: m.gaussian_filter(
        X, 1.5, radius=(2, 3), mode=("wrap", "mirror")
    ),
    "one axis": lambda m: m.gaussian_filter(X, 1.0, axes=0),
    "no width": lambda m: m.gaussian_filter(X, (0.0, 1.0)),
    "uniform 1d": lambda m: m.uniform_filter1d(X, 4, 0),
    "prewitt": lambda m: m.prewitt(X, 0),
    "gaussian laplace": lambda m: m.gaussian_laplace(X, 1.0, mode="wrap"),
    "laplace of one axis": lambda m: m.gaussian_laplace(X, 1.0, axes=(1,)),
    "steepness": lambda m: m.gaussian_gradient_magnitude(X, (1.0, 2.0), truncate=3.0),
    "steepness of one axis": lambda m: m.gaussian_gradient_magnitude(X, 1.0, axes=(1,)),
    "minimum 1d": lambda m: m.minimum_filter1d(X, 5, 0),
    "maximum 1d": lambda m: m.maximum_filter1d(X, 6, origin=2),
    "full footprint": lambda m: m.maximum_filter(X, footprint=np.ones((3, 2))),
    "median of a footprint": lambda m: m.median_filter(X, footprint=FOOTPRINT),
    "median of one axis": lambda m: m.median_filter(X, 4, axes=(0,)),
    "median of many": lambda m: m.median_filter(X, (9, 8)),
    "rank": lambda m: m.rank_filter(X, -2, size=3),
    "percentile": lambda m: m.percentile_filter(X, -20, size=3),
    "last percentile": lambda m: m.percentile_filter(X, 100, size=3),
    "bytes": lambda m: m.sobel(BYTES, 0),
    "bytes averaged": lambda m: m.uniform_filter(BYTES, 3),
    "bytes smoothed": lambda m: m.gaussian_filter(BYTES, 1.0),
    "bytes to floats": lambda m: m.sobel(BYTES, output=np.float32),
    "bytes and a fraction": lambda m: m.maximum_filter(
        BYTES // 90, 3, mode="constant", cval=1.5
    ),
    "booleans": lambda m: m.median_filter(X > 0, 3),
    "booleans averaged": lambda m: m.uniform_filter(X > 0, 3),
    "nothing": lambda m: m.gaussian_filter(X[:0], 1.0),
}


def close(found, expected, tolerance=1e-12):
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, tolerance, tolerance)


@pytest.mark.parametrize("name", AT_BORDERS)
def test_borders_are_scipys(name):
    call = AT_BORDERS[name]
    with jax.enable_x64(True):
        for mode in MODES:
            close(call(mine, mode=mode, cval=1.5), call(nd, mode=mode, cval=1.5))


@pytest.mark.filterwarnings("ignore:promoting specified output:UserWarning")
@pytest.mark.parametrize("name", ONCE)
def test_filters_are_scipys(name):
    with jax.enable_x64(True):
        close(ONCE[name](mine), ONCE[name](nd))


def test_integers_are_cut_alike_where_there_are_32_bits():
    numbers = np.arange(1, 90, 3, dtype=np.int32).reshape(5, 6)
    for size in (3, 5, 7, (3, 4)):
        expected = nd.uniform_filter(numbers, size)
        close(mine.uniform_filter(numbers, size), expected)


def test_every_median_of_a_network_is_that_of_sorting():
    from jfi.scipy.ndimage._networks import selecting

    for count in range(2, 20):
        for place in range(count):
            values = list(RANDOM.permutation(count))
            for low, high in selecting(count, place):
                pair = values[low], values[high]
                values[low], values[high] = min(pair), max(pair)
            assert values[place] == place


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: mine.correlate(x, w[:2, :2], mode="wrap"),
        lambda x, w: mine.gaussian_filter(x, 1.0 + w[0, 0] ** 2, 1, radius=3),
        lambda x, w: mine.gaussian_gradient_magnitude(x, 1.0) * w[0, 0],
        lambda x, w: mine.maximum_filter(x * w[0, 0], (2, 3)),
        lambda x, w: mine.median_filter(x * w[0, 0], 3, mode="nearest"),
    ],
    ids=["weights", "sigma", "steepness", "maximum", "median"],
)
def test_filters_have_derivatives(function):
    check_direction(function, X, WEIGHTS)


def test_a_flat_image_is_nowhere_steep_and_has_a_finite_derivative():
    steepness = lambda x: mine.gaussian_gradient_magnitude(x, 1.0).sum()
    np.testing.assert_array_equal(jax.grad(steepness)(jnp.zeros((4, 4))), 0)


def test_filters_run_in_compiled_batches():
    images = jnp.stack([jnp.asarray(X, jnp.float32), jnp.asarray(X[::-1], jnp.float32)])
    smoothed = jfi.jit(jax.vmap(lambda x: mine.gaussian_filter(x, 1.0)))(images)
    np.testing.assert_allclose(
        smoothed[1], nd.gaussian_filter(X[::-1], 1.0), 1e-5, 1e-6
    )


def test_a_nan_spoils_its_neighbors_alone():
    image = np.ones((5, 7), np.float32)
    image[2, 3] = np.nan
    spoiled = np.isnan(mine.uniform_filter(image, 3))
    assert spoiled.sum() == 9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: mine.sobel(X, mode="mirrored"),
            "mode='mirrored'. Pass one of reflect",
        ),
        (lambda: mine.correlate(X, WEIGHTS[0]), r"weights of shape \(4,\) for 2 axes"),
        (lambda: mine.uniform_filter(X, (3, 3, 3)), "3 values for 2 axes"),
        (lambda: mine.uniform_filter(X, 3, origin=2), "origin.* from -1 to 1"),
        (lambda: mine.uniform_filter(X, 2.5), "size=2.5, origin=0. Pass integers"),
        (lambda: mine.median_filter(X), "needs the neighbors that count: size=3"),
        (lambda: mine.median_filter(X * 1j, 3), "complex image. Pass a real one"),
        (lambda: mine.rank_filter(X, 9, size=3), "rank=9 for 9 neighbors"),
        (lambda: mine.percentile_filter(X, 101, size=3), "number from 0 to 100"),
        (lambda: mine.laplace(X, axes=(0, 2)), r"axes=\(0, 2\), and an image of 2"),
        (lambda: mine.laplace(X, axes=(0, 0)), "each may be named once"),
        (
            lambda: mine.correlate(X, WEIGHTS, axes=(1, 0)),
            r"axes=\(1, 0\), an order .* Write axes=\(0, 1\)",
        ),
        (
            lambda: mine.median_filter(X, (1, 3), axes=(1, 0)),
            r"axes=\(1, 0\), an order",
        ),
        (lambda: mine.laplace(X, np.empty((7, 5))), r"Write: result = laplace\("),
        (
            lambda: jax.jit(lambda s: mine.gaussian_filter(X, s))(1.0),
            r"Say the size: gaussian_filter\(x, sigma, radius=8\)",
        ),
        (
            lambda: jax.jit(lambda s: mine.median_filter(X, s))(3),
            "traced size or origin",
        ),
        (
            lambda: jax.jit(lambda f: mine.median_filter(X, footprint=f))(FOOTPRINT),
            "traced footprint",
        ),
        (
            lambda: mine.median_filter(X, footprint=FOOTPRINT & False),
            "at least one True",
        ),
        (lambda: mine.gaussian_filter(X, 1.0, order=-1), "Pass integers, 0 or more"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ImageError, match=message):
        call()


@pytest.mark.parametrize(
    "smooth",
    [
        lambda x, width: jfi.scipy.ndimage.gaussian_filter(x, width),
        lambda x, percent: jfi.scipy.ndimage.percentile_filter(x, 20 * percent, 3),
    ],
)
def test_a_number_that_must_be_known_is_a_setting_under_autojit(smooth):
    image = jnp.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
    compiled = jfi.autojit(smooth)
    for number in (2.0, 4.0):
        expected = smooth(image, number)
        np.testing.assert_allclose(compiled(image, number), expected, rtol=1e-5)


FOOTPRINT = np.array([[False, True, False], [True, True, True], [False, True, False]])


def test_neighbors_in_a_global_variable_are_known_under_autojit():
    filters = jfi.scipy.ndimage

    def run(x):
        return (
            filters.median_filter(x, footprint=FOOTPRINT),
            filters.rank_filter(x, np.sum(FOOTPRINT) - 2, footprint=FOOTPRINT),
            filters.binary_opening(x > 0.5, FOOTPRINT),
            filters.label(x > 0.5, FOOTPRINT),
        )

    x = jnp.asarray(np.random.default_rng(0).random((5, 6)))
    jax.tree.map(np.testing.assert_array_equal, jfi.autojit(run)(x), run(x))


def test_the_strictest_settings_of_jax():
    image = np.arange(12, dtype="float32").reshape(3, 4)
    places = image[:2] / 4

    def run():
        of_scipy = jfi.scipy.ndimage
        return (
            *(of_scipy.map_coordinates(image, places, order=n) for n in (2, 3)),
            of_scipy.affine_transform(image, np.eye(2, dtype="float32")),
            of_scipy.label(image > 3),
            of_scipy.binary_erosion(image > 3),
            of_scipy.binary_fill_holes(image > 3),
            of_scipy.binary_hit_or_miss(image > 3),
        )

    expected = run()
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        jax.tree.map(np.testing.assert_array_equal, run(), expected)
