"""Labels of connected parts: SciPy's results, and their derivatives."""

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
X = RANDOM.normal(size=(6, 7))
TRUE = RANDOM.random((6, 7)) < 0.5
LABELS = np.asarray(nd.label(TRUE)[0])
REDUCTIONS = (
    "sum_labels", "mean", "variance", "standard_deviation", "minimum", "maximum",
    "center_of_mass",
)  # fmt: skip


def test_parts_are_numbered_as_in_scipy():
    for image in (TRUE, X * TRUE, RANDOM.random((3, 4, 5)) < 0.4, np.zeros((2, 3))):
        for connectivity in (1, 2):
            near = nd.generate_binary_structure(image.ndim, connectivity)
            labels, count = mine.label(image, near)
            expected, number = nd.label(image, near)
            np.testing.assert_array_equal(labels, expected)
            assert labels.dtype == expected.dtype
            assert int(count) == number
    many = jax.jit(jax.vmap(mine.label))(jnp.stack([TRUE, ~TRUE]))
    np.testing.assert_array_equal(many[0][1], nd.label(~TRUE)[0])
    assert mine.label(TRUE, output=np.int16)[0].dtype == np.int16


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_each_label_has_what_scipy_finds(name):
    ours, theirs = getattr(mine, name), getattr(nd, name)
    for image in (X, (9 * X).astype(np.int32), TRUE):
        for index in (1, [3, 1, 1, 99, 0], [[1, 2], [2, 4]]):
            if name == "center_of_mass" and np.ndim(index) == 2:
                continue  # SciPy makes lists of one depth
            found = ours(image, LABELS, np.asarray(index))
            expected = np.asarray(theirs(image, LABELS, index))
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        for given in ((), (LABELS,)):
            expected = np.asarray(theirs(image, *given))
            found = ours(image, *given)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
            assert found.dtype.kind == expected.dtype.kind or image is TRUE
    index = np.arange(1, LABELS.max() + 1)
    compiled = jax.jit(ours)(X, LABELS, index)
    np.testing.assert_allclose(compiled, ours(X, LABELS, index), rtol=1e-5)
    check_direction(lambda x: ours(x, LABELS, index), X + 3.0)


def test_what_label_can_not_take():
    for call, line in (
        (lambda: mine.label(TRUE, np.ones((2, 2))), r"shape \(3, 3\)"),
        (lambda: mine.label(TRUE, output=np.zeros((6, 7))), "Pass a dtype"),
        (lambda: mine.mean(X, index=1), "Pass labels as well"),
        (lambda: jax.jit(mine.label)(TRUE, np.ones((3, 3))), "traced structure"),
    ):
        with pytest.raises(ImageError, match=line):
            call()
    with pytest.raises(AttributeError, match=r"find_objects\(np\.asarray\(labels\)"):
        _ = mine.find_objects
