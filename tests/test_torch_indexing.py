"""gather, masked_fill, topk."""

import jax
import numpy as np
import pytest
from against_torch import (
    DTYPES,
    assert_same,
    compare,
    compare_gradient,
    compiled_together,  # noqa: F401
    in_64_bits,
    numbers,
)
from hypothesis import given, settings, strategies as st

import jfi as jnp


torch = pytest.importorskip("torch")

REAL = ["float32", "float64", "float16", "int8", "int32", "int64", "uint8"]
INF, NAN = np.inf, np.nan


@pytest.fixture(autouse=True)
def _both_precisions(x64):
    """Each test of this file runs with 64-bit types allowed and not."""


# ------------------------------------------------------------------------- gather


def picks(shape, size, dtype="int64", seed=1):
    return np.random.default_rng(seed).integers(0, size, size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather(dtype, index_dtype, dim):
    x = numbers((4, 3), dtype)
    index = picks((2, 3), x.shape[dim], index_dtype)
    compare(jnp.gather, torch.gather, x, dim, index)


@in_64_bits
@pytest.mark.parametrize(
    ("shape", "dim", "index_shape"),
    [
        ((), 0, ()),
        ((), 0, (2,)),
        ((3,), 0, ()),
        ((3,), -1, (5,)),
        ((4, 3), 0, (7, 3)),
        ((4, 3), 1, (4, 7)),
        ((4, 3), 1, (1, 1)),
        ((2, 3, 4), 1, (2, 9, 1)),
        ((2, 3, 4), 2, (1, 2, 9)),
        ((4, 3), 0, (0,)),
        ((4, 3), 0, (0, 3)),
        ((4, 3), 1, (4, 0)),
        ((0, 3), 0, (0, 3)),
        ((3, 0), 0, (2, 0)),
    ],
)
def test_gather_of_shapes(shape, dim, index_shape):
    x = numbers(shape)
    size = x.shape[dim] if x.ndim else 1
    compare(jnp.gather, torch.gather, x, dim, picks(index_shape, max(size, 1)))


def test_gather_with_names_and_small_integers():
    x, index = numbers((4, 3)), picks((2, 3), 4)
    expected = torch.gather(torch.from_numpy(x), 0, torch.from_numpy(index))
    assert_same(jnp.gather(input=x, dim=0, index=index), expected)
    assert_same(jnp.gather(x, axis=0, index=index), expected)
    assert_same(jnp.gather(x, 0, index.astype("uint8")), expected)
    assert_same(jnp.gather(x, 0, index.astype("int16")), expected)


def test_gather_derives():
    x, index = numbers((4, 3)), np.array([[0, 0, 1], [3, 0, 1], [0, 0, 2]])
    compare_gradient(
        lambda x: jnp.gather(x, 0, index),
        lambda x: torch.gather(x, 0, torch.from_numpy(index)),
        x,
    )


def test_gather_under_vmap():
    x, index = numbers((5, 4)), picks((5, 2), 4)
    rows = jax.vmap(lambda x, i: jnp.gather(x, 0, i))(x, index)
    assert_same(rows, torch.gather(torch.from_numpy(x), 1, torch.from_numpy(index)))


@in_64_bits
@pytest.mark.parametrize("wrong", [-1, 3, 100, -4])
@pytest.mark.parametrize("transform", [lambda f: f, jax.grad])
def test_gather_refuses_an_index_out_of_range(wrong, transform):
    function = transform(lambda x: jnp.gather(x, 1, np.array([[0, wrong]])).sum())
    with pytest.raises(IndexError, match=f"index {wrong} for dimension 1 of size 3"):
        function(numbers((2, 3)))


@pytest.mark.parametrize("wrong", [-1, 3, 100, -4])
@pytest.mark.parametrize(
    ("dtype", "filled"),
    [
        ("float32", NAN),
        ("complex64", NAN),
        ("int32", -(2**31)),
        ("uint8", 255),
        ("bool", True),
    ],
)
def test_gather_fills_where_it_can_not_look(wrong, dtype, filled):
    x = numbers((2, 3), dtype)
    index = np.array([[0, wrong, 2]])
    result = jax.jit(lambda x, i: jnp.gather(x, 1, i))(x, index)
    np.testing.assert_array_equal(result[0, [0, 2]], x[0, [0, 2]])
    np.testing.assert_array_equal(result[0, 1].real, filled)


def test_gather_out_of_range_takes_no_derivative():
    def loss(x, index):
        return jnp.gather(x, 0, index).sum()

    gradient = jax.jit(jax.grad(loss))(numbers(3), np.array([0, -1, 0]))
    assert gradient.tolist() == [2.0, 0.0, 0.0]


@in_64_bits
@pytest.mark.parametrize(
    ("dim", "index", "error", "message"),
    [
        (1, np.array([[True]]), TypeError, r"index array of bool.*astype\(int\)"),
        (1, np.array([[0.0]]), TypeError, "index array of float"),
        (1, [[0]], TypeError, "got a list for index"),
        (1, None, TypeError, "got a NoneType for index"),
        (2, np.array([[0]]), IndexError, "dim=2"),
        (None, np.array([[0]]), TypeError, "dim=None"),
        (
            0,
            np.array([0, 1]),
            ValueError,
            r"shape \(2,\) for an array of shape \(2, 3\)",
        ),
        (0, np.zeros((1, 4), int), ValueError, r"shape \(1, 4\)"),
        (1, np.zeros((3, 1), int), ValueError, r"shape \(3, 1\)"),
    ],
)
def test_gather_refuses(dim, index, error, message):
    with pytest.raises(error, match=message):
        jnp.gather(numbers((2, 3)), dim, index)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_gather_from_nothing_is_refused(transform):
    function = transform(lambda i: jnp.gather(numbers((0, 3)), 0, i))
    with pytest.raises(IndexError, match="dimension 0, which is empty"):
        function(np.zeros((1, 3), int))


# -------------------------------------------------------------------- masked_fill


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [2, 0.0, True, 2.5, -0.75])
def test_masked_fill(dtype, value):
    x, mask = numbers((2, 3), dtype), numbers((2, 3), "bool")
    if dtype == "uint8" and value < 0:
        value = 7.5
    compare(jnp.masked_fill, torch.masked_fill, x, mask, value)


@in_64_bits
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
@pytest.mark.parametrize("value", [INF, -INF, NAN])
def test_masked_fill_with_no_number(dtype, value):
    x, mask = numbers((2, 3), dtype), numbers((2, 3), "bool")
    compare(jnp.masked_fill, torch.masked_fill, x, mask, value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value_dtype", ["float32", "float64", "int64", "bool"])
def test_masked_fill_with_an_array(dtype, value_dtype):
    x, mask = numbers((2, 3), dtype), numbers((2, 3), "bool")
    value = np.array(1.5).astype(value_dtype)
    compare(jnp.masked_fill, torch.masked_fill, x, mask, value)


@in_64_bits
@pytest.mark.parametrize(
    ("shape", "mask_shape"),
    [((2, 3), (3,)), ((3,), (2, 3)), ((2, 3), (2, 1, 1)), ((), ()), ((0,), (0,))],
)
def test_masked_fill_broadcasts(shape, mask_shape):
    x, mask = numbers(shape), numbers(mask_shape, "bool")
    compare(jnp.masked_fill, torch.masked_fill, x, mask, 7.0)


def test_masked_fill_derives_by_both():
    mask = numbers((2, 3), "bool")
    compare_gradient(
        lambda x, v: jnp.masked_fill(x, mask, v),
        lambda x, v: torch.masked_fill(x, torch.from_numpy(mask), v),
        numbers((2, 3)),
        np.array(2.0, "float32"),
    )


@in_64_bits
@pytest.mark.parametrize(
    ("dtype", "mask", "value", "error", "message"),
    [
        ("float32", np.array([1, 0]), 0, TypeError, "mask of int64|mask of int32"),
        ("float32", np.array([1.0, 0]), 0, TypeError, "mask of float.*mask != 0"),
        ("float32", [True, False], 0, TypeError, "got a list for mask"),
        ("float32", np.array([True, False]), np.ones(1), ValueError, r"shape \(1,\)"),
        ("float32", np.array([True, False]), [1.0], ValueError, "value of list"),
        ("float32", np.array([True, False]), None, ValueError, "value of NoneType"),
        ("float32", np.array([True, False]), 1j, TypeError, r"complex value.*\.real"),
        ("float32", np.array([True, False]), np.array(1j), TypeError, "complex value"),
        (
            "float32",
            np.array([True, False]),
            1e300,
            OverflowError,
            "float32 can't hold",
        ),
        ("float16", np.array([True, False]), 1e5, OverflowError, "float16 can't hold"),
        ("int8", np.array([True, False]), 300, OverflowError, "value 300, which int8"),
        ("int8", np.array([True, False]), np.array(300), OverflowError, "value 300"),
        ("uint8", np.array([True, False]), -1, OverflowError, "uint8 can't hold"),
        ("int32", np.array([True, False]), 2**40, OverflowError, "int32 can't hold"),
        ("int32", np.array([True, False]), 2**100, OverflowError, "can't hold"),
        ("float16", np.array([True, False]), 2**100, OverflowError, "can't hold"),
        (
            "int32",
            np.array([True, False]),
            INF,
            OverflowError,
            "value inf, which int32",
        ),
        (
            "int32",
            np.array([True, False]),
            NAN,
            OverflowError,
            "value nan, which int32",
        ),
    ],
)
def test_masked_fill_refuses(dtype, mask, value, error, message):
    with pytest.raises(error, match=message):
        jnp.masked_fill(numbers(2, dtype), mask, value)


def test_masked_fill_refuses_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="broadcast"):
        jnp.masked_fill(numbers((2, 3)), np.array([True, False]), 0)


# --------------------------------------------------------------------------- topk


def check_topk(x, k, dim=-1, largest=True, transform=lambda f: f):
    """Values as PyTorch's; indices that point at them, none of them twice."""
    found = transform(lambda x: jnp.topk(x, k, dim, largest))(x)
    values, indices = found
    assert_same(values, torch.topk(torch.from_numpy(x), k, dim, largest).values)
    assert indices.shape == values.shape
    assert indices.dtype == (np.int64 if jax.config.jax_enable_x64 else np.int32)
    if x.ndim:
        np.testing.assert_array_equal(
            np.take_along_axis(x, np.asarray(indices), dim), values
        )
        ordered = np.sort(indices, axis=dim)
        assert (np.diff(ordered, axis=dim) > 0).all()


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dim", [0, -1])
def test_topk(dtype, largest, dim):
    x = numbers((5, 6), dtype)
    # Each k is compiled: the ends of what it may be for one dtype.
    for k in (0, 1, 3, x.shape[dim]) if dtype == "float32" else (1, 3):
        check_topk(x, k, dim, largest, jax.jit if k == 3 else lambda f: f)


@in_64_bits
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    ("shape", "k", "dim"),
    [((), 1, 0), ((1,), 1, 0), ((0,), 0, 0), ((0, 3), 2, 1), ((2, 3, 4), 2, 1)],
)
def test_topk_of_shapes(shape, k, dim, largest):
    check_topk(numbers(shape), k, dim, largest)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_extreme_integers(dtype, largest):
    info = np.iinfo(dtype)
    check_topk(np.array([0, info.min, info.max, 1], dtype), 3, 0, largest)


@in_64_bits
@settings(max_examples=20, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_orders_what_is_no_number(data, dtype, largest):
    specials = st.sampled_from([NAN, -NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5])
    x = np.array(data.draw(st.lists(specials, min_size=6, max_size=6)), dtype)
    check_topk(x, data.draw(st.sampled_from([1, 2, 5, 6])), 0, largest)


def test_topk_with_nan_of_either_sign():
    x = np.array([1.0, -NAN, INF, NAN, -INF], "float32")
    assert np.signbit(x[1])
    assert jnp.topk(x, 3).indices.tolist() == [1, 3, 2]
    assert jnp.topk(x, 5, largest=False).indices.tolist() == [4, 0, 2, 1, 3]


@pytest.mark.parametrize("largest", [True, False])
def test_topk_under_vmap_where_some_rows_hold_nan(largest):
    x = numbers((4, 6))
    x[1, 2] = x[1, 3] = NAN
    found = jax.vmap(lambda x: jnp.topk(x, 3, largest=largest))(x)
    assert_same(found.values, torch.topk(torch.from_numpy(x), 3, -1, largest).values)


@pytest.mark.parametrize("largest", [True, False])
def test_topk_derives(largest):
    x = np.random.default_rng(0).permutation(12).reshape(3, 4).astype("float32")
    for dim in (0, 1):
        compare_gradient(
            lambda x, dim=dim: jnp.topk(x, 2, dim, largest).values,
            lambda x, dim=dim: torch.topk(x, 2, dim, largest).values,
            x,
        )


def test_topk_is_a_named_pair():
    found = jnp.topk(numbers((2, 3)), k=2, axis=0, sorted=False)
    assert found._fields == ("values", "indices")
    assert found.values is found[0]
    assert jax.jit(jnp.topk, static_argnums=1)(numbers(3), 2)._fields == found._fields
    assert jnp.topk(numbers((2, 3)), k=np.int64(2), dim=None).values.shape == (2, 2)


@in_64_bits
@pytest.mark.parametrize(
    ("x", "k", "dim", "error", "message"),
    [
        (numbers((2, 3)), 4, -1, ValueError, "k=4 .* has 3 elements.* from 0 to 3"),
        (numbers((2, 3)), -1, -1, ValueError, "k=-1"),
        (numbers(()), 2, 0, ValueError, "from 1 to 1"),
        (numbers(()), 0, 0, ValueError, "from 1 to 1"),
        (numbers((2, 3)), 1.0, -1, TypeError, r"k=1\.0 \(float\)"),
        (numbers((2, 3)), True, -1, TypeError, "the bool True for k"),
        (numbers((2, 3)), 1, 2, IndexError, "dim=2"),
        (numbers((2, 3), "bool"), 1, 0, TypeError, "array of bool"),
        (numbers((2, 3), "complex64"), 1, 0, TypeError, "array of complex64"),
    ],
)
def test_topk_refuses(x, k, dim, error, message):
    with pytest.raises(error, match=message):
        jnp.topk(x, k, dim)


def test_topk_needs_a_known_k():
    with pytest.raises(
        TypeError, match="a traced array for k; it must be a Python int"
    ):
        jax.jit(jnp.topk)(numbers(3), 2)
