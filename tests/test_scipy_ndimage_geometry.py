"""Images at other places: SciPy's values for every order and mode, and derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi import ImageError

from .differences import check_direction
from .test_scipy_ndimage import MODES, close


nd = pytest.importorskip("scipy.ndimage")
mine = jfi.scipy.ndimage

RANDOM = np.random.default_rng(0)
LINE = RANDOM.normal(size=9)
PICTURE = RANDOM.normal(size=(6, 7))
BYTES = RANDOM.integers(0, 255, (5, 6)).astype(np.uint8)
# Ties, and points far beyond both ends, where modes differ.
PLACES = np.concatenate([np.arange(-20, 30, 0.5), RANDOM.uniform(-25, 35, 99)])[None]


@pytest.mark.parametrize("order", range(6))
def test_values_anywhere_are_scipys_in_every_mode(order):
    with jax.enable_x64(True):
        for mode in MODES:
            # SciPy's coefficients are off by 0.43**size for two of the modes.
            tolerance = 1e-2 if mode in ("reflect", "grid-mirror") else 1e-10
            settings = {"order": order, "mode": mode, "cval": 1.5, "output": float}
            found = mine.map_coordinates(LINE, PLACES, **settings)
            close(found, nd.map_coordinates(LINE, PLACES, **settings), tolerance)


CALLS = {
    "zoom": lambda m: m.zoom(PICTURE, (1.7, 0.6), mode="mirror"),
    "zoom of squares": lambda m: m.zoom(PICTURE, 2, mode="grid-wrap", grid_mode=True),
    "no zoom": lambda m: m.zoom(PICTURE, 1.0),
    "nearest elements": lambda m: m.zoom(BYTES, 2.3, order=0),
    "shift": lambda m: m.shift(PICTURE, (2.5, -0.3), cval=2.0),
    "of integers": lambda m: m.shift(BYTES, (0.4, -1.0), mode="nearest"),
    "to floats": lambda m: m.shift(BYTES, 0.4, output=np.float32, order=1),
    "of coefficients": lambda m: m.shift(PICTURE, 0.4, prefilter=False),
    "complex": lambda m: m.shift(PICTURE * (1 + 2j), 0.4, order=1, cval=1j),
    "factors": lambda m: m.affine_transform(PICTURE, [0.5, -1.3], (1.0, 6.0), (8, 5)),
    "matrix": lambda m: m.affine_transform(
        PICTURE, [[0.51, 0.2], [-0.3, 1.3]], (3.0, -2.0), mode="grid-constant", cval=1.0
    ),
    "homogeneous": lambda m: m.affine_transform(
        PICTURE, [[0.51, 0.2, 1.0], [-0.3, 1.3, 0.5], [0, 0, 1]], order=1
    ),
    "turn": lambda m: m.rotate(PICTURE, 33.0),
    "quarter turn": lambda m: m.rotate(PICTURE, -90.0, order=1),
    "turned planes": lambda m: m.rotate(
        np.stack([PICTURE, PICTURE**2]), 20.0, (2, 1), reshape=False, order=1
    ),
    "three axes": lambda m: m.map_coordinates(
        np.outer(LINE, LINE).reshape(9, 3, 3), np.full((3, 2), 1.2), order=5
    ),
    "bent": lambda m: m.geometric_transform(
        PICTURE, lambda p: (p[0] * 0.5 + 0.1, p[1] - p[0] * 0.2), order=2
    ),
    "coefficients": lambda m: m.spline_filter(PICTURE, 4),
    "complex coefficients": lambda m: m.spline_filter(PICTURE + 1j * PICTURE[::-1]),
    "of many pixels": lambda m: m.spline_filter1d(
        np.outer(np.arange(150.0) ** 2 % 7, [1.0, 2.0]), 5, 0, mode="reflect"
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:promoting specified output:UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_images_at_other_places_are_scipys(name):
    with jax.enable_x64(True):
        close(CALLS[name](mine), CALLS[name](nd), 1e-10)


def test_they_have_derivatives_with_respect_to_image_and_places():
    def every(x, numbers):
        a, b, c, d = numbers
        turned = mine.rotate(x, 10.0 * a, reshape=False, mode="mirror")
        matrix = jnp.stack([jnp.stack([b, c]), jnp.stack([-c, b])])
        bent = mine.affine_transform(x, matrix, jnp.stack([a, d]), mode="reflect")
        return turned + bent + mine.shift(x, jnp.stack([c, d]), mode="grid-wrap")

    check_direction(every, PICTURE, np.array([3.3, 0.8, 0.3, 0.41]))


def test_traced_places_are_those_of_known_ones():
    x = jnp.asarray(PICTURE, jnp.float32)

    def turned(angle):
        return mine.rotate(x, angle, reshape=False, order=1)

    angles = jnp.array([90.0, 180.0, -90.0])
    found = jfi.jit(jax.vmap(turned))(angles)
    for row, angle in zip(found, (90.0, 180.0, -90.0), strict=True):
        np.testing.assert_allclose(row, turned(angle), atol=1e-5)


def test_places_in_a_long_line_are_exact_in_32_bits():
    line = jnp.arange(2.0**20) % 2
    moved = mine.shift(line, -0.125, order=1)[-5:-1]
    np.testing.assert_array_equal(moved, [0.875, 0.125, 0.875, 0.125])
    labels = jnp.array([2**24 + 1, 7])
    assert mine.zoom(labels, 2, order=0)[0] == labels[0]


def test_points_that_are_nan_are_the_constant_and_have_finite_derivatives():
    places = jnp.array([[1.0, jnp.nan, jnp.inf]])
    value = lambda p: mine.map_coordinates(jnp.arange(4.0), p, float, 1, cval=9.0)
    np.testing.assert_array_equal(value(places), [1.0, 9.0, 9.0])
    slope = jax.grad(lambda p: value(p).sum())(places)
    np.testing.assert_array_equal(slope, [[1.0, 0.0, 0.0]])


def test_calls_that_jax_takes_are_jaxs():
    x, places = jnp.arange(4.0), jnp.array([[-0.5, 3.4, 5.0]])
    expected = jax.scipy.ndimage.map_coordinates(x, places, 1, "wrap")
    np.testing.assert_array_equal(mine.map_coordinates(x, places, 1, "wrap"), expected)
    found = mine.map_coordinates(x, places, order=1, mode="wrap")
    np.testing.assert_array_equal(found, expected)


def test_a_factor_and_an_angle_are_settings_under_autojit():
    x = jnp.asarray(PICTURE, jnp.float32)
    for call in (
        lambda x, by: mine.zoom(x, by, order=0),
        lambda x, by: mine.rotate(x, by, order=0),
    ):
        np.testing.assert_array_equal(jfi.autojit(call)(x, 2.0), call(x, 2.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mine.shift(PICTURE, 1, order=6), "order=6. Pass .* from 0 to 5"),
        (lambda: mine.spline_filter(LINE, 1), "order=1. Pass .* from 2 to 5"),
        (lambda: mine.shift(PICTURE, (1, 2, 3)), "3 values for 2 axes"),
        (lambda: mine.shift(np.zeros((0, 2)), 1), "which has no elements"),
        (lambda: mine.shift(3.0, 1), "got a number"),
        (lambda: jax.jit(lambda z: mine.zoom(LINE, z))(2.0), "traced zoom"),
        (lambda: jax.jit(lambda z: mine.rotate(PICTURE, z))(2.0), "reshape=False"),
        (lambda: mine.rotate(LINE, 3.0), r"axes=\(1, 0\) for an image of 1"),
        (lambda: mine.map_coordinates(PICTURE, PLACES), r"shape \(2, ...\)"),
        (lambda: mine.affine_transform(PICTURE, np.eye(4)), r"matrix of shape \(4, 4"),
        (lambda: mine.affine_transform(PICTURE, np.ones((3, 3))), "whose last row is"),
        (lambda: mine.affine_transform(PICTURE, np.eye(2), 0, 3), "output_shape=3"),
        (
            lambda: mine.geometric_transform(PICTURE, lambda p: p[:1]),
            "returns 1 coordinates for an image of 2",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ImageError, match=message):
        call()
