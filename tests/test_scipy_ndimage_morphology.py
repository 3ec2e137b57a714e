"""Morphology of images: SciPy's results, and their derivatives."""

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
X = RANDOM.normal(size=(6, 5))
BYTES = RANDOM.integers(0, 250, (6, 5)).astype(np.uint8)
TRUE = RANDOM.random((6, 7)) < 0.6
MASK = RANDOM.random((6, 7)) < 0.7
FOOTPRINT = np.array([[1, 0, 1], [0, 1, 1]], bool)
HEIGHTS = RANDOM.normal(size=(2, 3))
GREY = (
    "grey_erosion", "grey_dilation", "grey_opening", "grey_closing",
    "morphological_gradient", "morphological_laplace", "white_tophat", "black_tophat",
)  # fmt: skip
GIVEN = {
    "a size": {"size": (2, 3), "mode": "wrap"},
    "a footprint": {"footprint": FOOTPRINT, "origin": (-1, 1), "mode": "mirror"},
    "heights": {
        "structure": HEIGHTS,
        "mode": "constant",
        "cval": 0.5,
        "origin": (0, -1),
    },
    "both": {"structure": HEIGHTS, "footprint": FOOTPRINT},
    "along an axis": {"size": 3, "axes": (1,)},
}
BINARY = {
    "plain": {},
    "a footprint": {"structure": FOOTPRINT, "origin": (-1, 1), "border_value": 1},
    "twice in a mask": {"iterations": 2, "mask": MASK},
    "until nothing changes": {"iterations": -1, "mask": MASK, "border_value": 1},
    "to another dtype": {"output": np.int8},
    "along an axis": {"axes": (0,)},
}


def assert_same(ours, theirs):
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", GREY)
def test_grey_images(name, given):
    options = GIVEN[given]
    assert_same(getattr(mine, name)(X, **options), getattr(nd, name)(X, **options))


@pytest.mark.parametrize("name", GREY)
def test_integers_wrap_around(name):
    for heights in ([[3, -2, 9]], [[0.5, -1.8, 2.2], [0.1, -2.5, 2.9]]):
        options = {"structure": np.array(heights), "mode": "constant", "cval": 2.7}
        for x in (BYTES, BYTES.astype(np.int32) + 2**26):
            found = getattr(mine, name)(x, **options)
            assert found.dtype == x.dtype
            assert_same(found - x, getattr(nd, name)(x, **options) - x)


@pytest.mark.parametrize("given", BINARY)
@pytest.mark.parametrize(
    "name", ["binary_erosion", "binary_dilation", "binary_opening", "binary_closing"]
)
def test_binary_images(name, given):
    options = BINARY[given]
    found = getattr(mine, name)(TRUE * 2.0, **options)
    expected = getattr(nd, name)(TRUE * 2.0, **options)
    assert found.dtype == expected.dtype
    assert_same(found, expected)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("binary_propagation", {"mask": MASK}),
        ("binary_fill_holes", {}),
        ("binary_fill_holes", {"structure": np.ones((3, 3))}),
        ("binary_hit_or_miss", {}),
        ("binary_hit_or_miss", {"structure1": FOOTPRINT, "origin1": (0, 1)}),
        ("binary_hit_or_miss", {"structure1": FOOTPRINT, "structure2": [[0, 1, 0]]}),
    ],
)
def test_what_is_made_of_them(name, options):
    image = TRUE.copy()
    image[1:4, 1:4] = [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
    assert_same(
        getattr(mine, name)(image, **options), getattr(nd, name)(image, **options)
    )


@pytest.mark.parametrize(("rank", "connectivity"), [(0, 1), (1, 0), (2, 2), (3, 2)])
def test_structures(rank, connectivity):
    ours, theirs = (m.generate_binary_structure(rank, connectivity) for m in (mine, nd))
    assert (ours == theirs).all()


def test_a_structure_without_the_element_ends():
    moves = np.array([True, False, False])
    mine.binary_dilation(TRUE, moves[None], -1, border_value=1).block_until_ready()


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", GREY[:6])
def test_derivatives(name):
    smooth = np.arange(30.0).reshape(6, 5) ** 1.5
    function = getattr(mine, name)
    check_direction(lambda x: function(x, (2, 3)), smooth)
    check_direction(lambda h: function(smooth, structure=h), HEIGHTS)


def test_jit_and_vmap():
    images = np.stack([TRUE, ~TRUE])
    filled = jax.jit(jax.vmap(mine.binary_fill_holes))(images)
    for image, found in zip(images, filled, strict=True):
        assert_same(found, nd.binary_fill_holes(image))
    opened = jax.vmap(lambda x: mine.grey_opening(x, 2))(np.stack([X, -X]))
    assert_same(opened[1], nd.grey_opening(-X, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mine.grey_erosion(X), "needs the neighbors that count"),
        (lambda: mine.binary_erosion(X * 1j), "complex image"),
        (lambda: mine.binary_erosion(X, iterations=1.5), "iterations=1.5"),
        (lambda: mine.binary_erosion(X, mask=MASK), r"mask of shape \(6, 7\)"),
        (
            lambda: mine.grey_dilation(X, structure=HEIGHTS, footprint=[[1]]),
            "one shape",
        ),
        (
            lambda: jax.jit(lambda s: mine.binary_erosion(X, s))(jnp.ones((3, 3))),
            "traced structure",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ImageError, match=message):
        call()
