"""cat, t, unsqueeze, permute, flatten, bmm, detach, item, to_numpy."""

import inspect

import jax
import ml_dtypes
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

import jfi as jnp


torch = pytest.importorskip("torch")

SHAPES = [(), (1,), (3,), (0,), (2, 3), (0, 3), (2, 0, 3), (2, 3, 4), (2, 1, 3, 2)]


@pytest.fixture(autouse=True)
def _both_precisions(x64):
    """Each test of this file runs with 64-bit types allowed and not."""


# ---------------------------------------------------------------------------- cat


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_cat(dtype, dim):
    arrays = [numbers((2, 3), dtype, seed) for seed in range(3)]
    compare(jnp.cat, torch.cat, arrays, dim)


@in_64_bits
@pytest.mark.parametrize("dim", [0, 1])
def test_cat_of_unequal_lengths(dim):
    other = (5, 3) if dim == 0 else (2, 5)
    compare(jnp.cat, torch.cat, [numbers((2, 3)), numbers(other)], dim)


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", DTYPES)
def test_cat_promotes(first, second):
    arrays = [numbers(2, first), numbers(3, second)]
    compare(jnp.cat, torch.cat, arrays, 0, jit=False)


@in_64_bits
@pytest.mark.parametrize(
    "shapes",
    [[(0,)], [(0,), (0,)], [(0,), (2, 3)], [(2, 3), (0,)], [(2, 3), (0,), (2, 1)]],
)
def test_cat_passes_over_empty_vectors(shapes):
    arrays = [numbers(shape) for shape in shapes]
    compare(jnp.cat, torch.cat, arrays, 1)


def test_cat_counts_the_dtype_of_an_empty_vector(x64):
    arrays = [numbers((2, 3)), numbers((0,), "complex64")]
    compare(jnp.cat, torch.cat, arrays, 0)


def test_cat_takes_lists_and_tuples_under_every_transformation():
    x, y = numbers((4, 3)), numbers((4, 3), seed=1)
    rows = jax.vmap(lambda x, y: jnp.cat((x, y)))(x, y)
    assert_same(rows, torch.cat([torch.from_numpy(x), torch.from_numpy(y)], 1))
    compare_gradient(lambda x, y: jnp.cat([x, y]), lambda *a: torch.cat(a), x, y)


@in_64_bits
@pytest.mark.parametrize(
    ("tensors", "dim", "error", "message"),
    [
        ([], 0, ValueError, r"no arrays.*jnp\.cat\(\[x\]\)"),
        ([1.0], 0, ValueError, r"tensors\[0\] without dimensions.*jnp\.stack"),
        (np.zeros((2, 3)), 0, TypeError, r"got a ndarray.*list or tuple"),
        ([np.zeros(2), [1.0]], 0, TypeError, r"got a list for tensors\[1\]"),
        ([np.zeros(2), "a"], 0, TypeError, r"got a str for tensors\[1\]"),
        ([np.zeros(2), None], 0, TypeError, r"got a NoneType for tensors\[1\]"),
        ([np.zeros((2, 3))], 2, IndexError, r"dim=2 .* between -2 and 1"),
        ([np.zeros((2, 3))], -3, IndexError, r"dim=-3 .* between -2 and 1"),
        ([np.zeros((2, 3))], None, TypeError, r"dim=None .* must be an int"),
        ([np.zeros((2, 3))], 1.0, TypeError, r"dim=1\.0 .* must be an int"),
        ([np.zeros((2, 3))], True, TypeError, r"the bool True for dim"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], 0, ValueError, r"\(2, 3\) and \(2, 4\)"),
        ([np.zeros((2, 3)), np.zeros((0, 4))], 0, ValueError, r"\(2, 3\) and \(0, 4\)"),
        ([np.zeros((2, 3)), np.zeros(4)], 0, ValueError, r"must agree"),
        ([np.zeros(2), np.zeros((2, 3))], 0, ValueError, r"must agree"),
    ],
)
def test_cat_refuses(tensors, dim, error, message):
    with pytest.raises(error, match=message):
        jnp.cat(tensors, dim)


def test_cat_refuses_a_generator():
    with pytest.raises(TypeError, match=r"got a generator.*list\(tensors\)"):
        jnp.cat(np.zeros(2) for _ in range(2))


# --------------------------------------------------------------- NumPy's keywords


def test_axis_means_dim():
    x = numbers((2, 3))
    assert jnp.cat([x, x], axis=1).shape == (2, 6)
    assert jnp.cat(tensors=[x, x], axis=-1).shape == (2, 6)
    assert jnp.unsqueeze(x, axis=1).shape == (2, 1, 3)


@in_64_bits
@pytest.mark.parametrize(
    "call",
    [
        lambda x: jnp.cat([x], 0, axis=0),
        lambda x: jnp.cat([x], dim=0, axis=0),
        lambda x: jnp.unsqueeze(x, 0, axis=0),
    ],
)
def test_axis_beside_dim_is_refused(call):
    with pytest.raises(TypeError, match="got both dim and axis"):
        call(numbers((2, 3)))


def test_axis_none_is_no_default():
    with pytest.raises(TypeError, match="dim=None"):
        jnp.cat([numbers(2)], axis=None)


def test_signatures_are_readable():
    assert str(inspect.signature(jnp.flatten)).startswith("(input: ")
    assert list(inspect.signature(jnp.cat).parameters) == ["tensors", "dim", "axis"]
    assert inspect.signature(jnp.cat).parameters["dim"].default == 0


# ------------------------------------------------------------- shapes alone change


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3), (0, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_t(shape, dtype):
    compare(jnp.t, torch.t, numbers(shape, dtype), jit=False)


def test_t_of_a_batch_swaps_the_last_two():
    x = numbers((2, 3, 4))
    np.testing.assert_array_equal(jnp.t(x), np.swapaxes(x, -1, -2))


@in_64_bits
@pytest.mark.parametrize("shape", SHAPES)
def test_unsqueeze(shape):
    x = numbers(shape)
    for dim in range(-x.ndim - 1, x.ndim + 1):
        compare(jnp.unsqueeze, torch.unsqueeze, x, dim, jit=False)
    for dim in (-x.ndim - 2, x.ndim + 1):
        with pytest.raises(IndexError, match=f"dim={dim}"):
            jnp.unsqueeze(x, dim)


def test_unsqueeze_needs_an_int():
    with pytest.raises(TypeError, match="dim=None"):
        jnp.unsqueeze(numbers(3))
    with pytest.raises(TypeError, match=r"dim=\(0, 1\)"):
        jnp.unsqueeze(numbers(3), (0, 1))
    with pytest.raises(TypeError, match="a traced array for dim"):
        jax.jit(jnp.unsqueeze)(numbers(3), 0)


def test_ints_of_numpy_are_ints():
    assert jnp.unsqueeze(numbers(3), np.int64(0)).shape == (1, 3)
    with pytest.raises(TypeError, match="the bool True for dim"):
        jnp.unsqueeze(numbers(3), np.bool_(True))


@in_64_bits
@pytest.mark.parametrize("dims", [(0, 1, 2), (2, 0, 1), [-1, 0, -2], (2, 1, 0)])
def test_permute(dims):
    compare(jnp.permute, torch.permute, numbers((2, 3, 4)), dims)


def test_permute_of_few_dimensions():
    compare(jnp.permute, torch.permute, numbers(()), ())
    compare(jnp.permute, torch.permute, numbers((0, 3)), (1, 0))


@in_64_bits
@pytest.mark.parametrize(
    ("dims", "error", "message"),
    [
        ((0,), ValueError, r"dims=\(0,\) for an array of 2 dimensions"),
        ((0, 1, 2), IndexError, "dim=2"),
        ((0, 0), ValueError, "names a dimension twice"),
        ((1, -1), ValueError, "names a dimension twice"),
        (1, TypeError, r"dims=1; it takes a tuple.*permute\(x, \(1, 0\)\)"),
        (("a", 0), TypeError, "dim='a'"),
    ],
)
def test_permute_refuses(dims, error, message):
    with pytest.raises(error, match=message):
        jnp.permute(numbers((2, 3)), dims)


@in_64_bits
@pytest.mark.parametrize("shape", SHAPES)
def test_flatten(shape):
    x = numbers(shape)
    compare(jnp.flatten, torch.flatten, x)
    for start in range(-max(x.ndim, 1), max(x.ndim, 1)):
        for end in range(start % max(x.ndim, 1), max(x.ndim, 1)):
            compare(jnp.flatten, torch.flatten, x, start, end, jit=False)


def test_flatten_refuses():
    with pytest.raises(ValueError, match="start_dim=1 after end_dim=0"):
        jnp.flatten(numbers((2, 3)), 1, 0)
    with pytest.raises(IndexError, match="start_dim=2"):
        jnp.flatten(numbers((2, 3)), 2)
    with pytest.raises(IndexError, match="end_dim=-3"):
        jnp.flatten(numbers((2, 3)), 0, -3)


# ---------------------------------------------------------------------------- bmm


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3, 4), (2, 4, 5)),
        ((0, 3, 4), (0, 4, 5)),
        ((2, 3, 0), (2, 0, 5)),
        ((1, 1, 1), (1, 1, 1)),
    ],
)
def test_bmm(left, right, dtype):
    compare(jnp.bmm, torch.bmm, numbers(left, dtype), numbers(right, dtype))


def test_bmm_derives():
    compare_gradient(jnp.bmm, torch.bmm, numbers((2, 3, 4)), numbers((2, 4, 5)))


@in_64_bits
@pytest.mark.parametrize(
    ("left", "right", "error", "message"),
    [
        (
            numbers((3, 4)),
            numbers((4, 5)),
            ValueError,
            r"three dimensions\. Write x @ y",
        ),
        (
            numbers((2, 3, 4)),
            numbers((1, 4, 5)),
            ValueError,
            r"\(2, 3, 4\) and \(1, 4, 5\)",
        ),
        (numbers((2, 3, 4)), numbers((2, 3, 5)), ValueError, r"\(batch, m, p\)"),
        (
            numbers((1, 2, 2)),
            numbers((1, 2, 2), "int32"),
            TypeError,
            "float32 and int32",
        ),
        (numbers((1, 2, 2), "bool"), numbers((1, 2, 2), "bool"), TypeError, "bool"),
    ],
)
def test_bmm_refuses(left, right, error, message):
    with pytest.raises(error, match=message):
        jnp.bmm(left, right)


# ------------------------------------------------------------------ reading values


def test_detach_stops_derivatives_in_both_modes():
    assert jax.grad(lambda x: x * jnp.detach(x))(3.0) == 3.0
    assert jax.jvp(lambda x: x * jnp.detach(x), (3.0,), (1.0,)) == (9.0, 3.0)


def test_detach_takes_trees():
    key = jax.random.key(0)
    tree = {"w": jax.numpy.ones(2), "n": 3, "act": "tanh", "none": None, "key": key}
    tree["host"] = host = np.ones(2)

    def loss(w):
        detached = jnp.detach({**tree, "w": w, "pair": (w, [2 * w])})
        assert detached["act"] == "tanh"
        assert detached["n"] == 3
        assert detached["none"] is None
        assert detached["host"] is host
        return (detached["w"] + detached["pair"][1][0] + detached["host"]).sum() + w[0]

    assert jax.grad(loss)(tree["w"]).tolist() == [1.0, 0.0]
    assert jax.jit(jax.grad(loss))(tree["w"]).tolist() == [1.0, 0.0]
    assert (jnp.detach(key) == key).all()


def test_detach_sees_through_array_wrappers():
    class Wrapped:
        def __init__(self, x):
            self.x = x

        def __jax_array__(self):
            return self.x

    assert jax.grad(lambda x: x * jnp.detach(Wrapped(x)))(3.0) == 3.0


@pytest.mark.parametrize(
    ("value", "kind"),
    [(2.5, float), (3, int), (True, bool), (1 + 2j, complex)],
)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("make", [np.full, jax.numpy.full])
def test_item(value, kind, shape, make):
    seen = jnp.item(make(shape, value))
    assert seen == value
    assert type(seen) is kind


def test_item_of_numbers_and_of_small_dtypes():
    assert jnp.item(2.5) == 2.5
    assert jnp.item(np.float32(2.5)) == 2.5
    assert jnp.item(np.full((1,), 2.5, ml_dtypes.bfloat16)) == 2.5
    assert np.isnan(jnp.item(np.full((1,), np.nan)))


@in_64_bits
@pytest.mark.parametrize(("shape", "size"), [((3,), 3), ((0,), 0), ((2, 2), 4)])
def test_item_refuses_other_sizes(shape, size):
    with pytest.raises(ValueError, match=f"has {size} elements and not one.*x.tolist"):
        jnp.item(numbers(shape))


@in_64_bits
@pytest.mark.parametrize("name", ["item", "to_numpy"])
@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap, jax.jacfwd])
def test_reading_under_a_trace_is_refused(name, transform):
    argument = np.ones(2, "float32") if transform is jax.vmap else np.float32(1)
    with pytest.raises(jax.errors.ConcretizationTypeError) as caught:
        transform(getattr(jnp, name))(argument)
    assert f"{name}() needs the numbers themselves" in str(caught.value)
    assert f"call {name}() outside" in str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_to_numpy_copies(dtype, shape):
    x = jax.numpy.asarray(numbers(shape, dtype))
    copy = jnp.to_numpy(x)
    assert type(copy) is np.ndarray
    assert copy.dtype == x.dtype
    np.testing.assert_array_equal(copy, x)
    copy[...] = 1
    np.testing.assert_array_equal(x, numbers(shape, dtype))


def test_to_numpy_copies_numpy_arrays_and_keeps_their_dtype():
    x = np.array([1.0, 2.0], "float64")
    copy = jnp.to_numpy(x)
    copy[0] = 5
    assert x[0] == 1
    assert copy.dtype == np.float64
    assert jnp.to_numpy(np.float64(2)).dtype == np.float64
    assert jnp.to_numpy(2.0).shape == ()


@in_64_bits
@pytest.mark.parametrize("name", ["t", "flatten", "item", "to_numpy"])
def test_lists_are_refused(name):
    with pytest.raises(
        TypeError, match=rf"{name}\(\) got a list for input.*jnp.asarray"
    ):
        getattr(jnp, name)([1.0, 2.0])


def test_tensors_are_refused():
    with pytest.raises(TypeError, match=r"t\(\) got a Tensor for input"):
        jnp.t(torch.zeros(2))


@pytest.mark.parametrize("strange", [np.array(["a"]), np.array([1, None])])
def test_arrays_of_other_things_are_refused(strange):
    with pytest.raises(TypeError, match=rf"array of {strange.dtype} for input"):
        jnp.flatten(strange)


# ------------------------------------------------------------- as JAX may be set up


def call_everything(x):
    """A result of each function that computes, from a `(2, 3)` float32 array."""
    index = np.array([[0, 2]])
    return {
        "cat": jnp.cat([x, x], 1),
        "flatten": jnp.flatten(x),
        "bmm": jnp.bmm(x[None], jnp.permute(x, (1, 0))[None]),
        "gather": jnp.gather(x, 1, index),
        "masked_fill": jnp.masked_fill(x, x > 1, 2),
        "topk": jnp.topk(x, 2),
        "smallest": jnp.topk(x, 2, 0, largest=False),
        "norm": [jnp.norm(x, p, -1) for p in ("fro", 1, 3, np.inf)],
        "half": jnp.norm(x.astype("float16")),
        "softmax": jnp.softmax(x, 0),
        "clamp": [jnp.clamp(x, 0, 2.5), jnp.clamp(x, x, x)],
        "cross_entropy": [
            jnp.cross_entropy(x, goal, weight=x[0] + 1, label_smoothing=0.1)
            for goal in (index[0], jnp.softmax(x, 1))
        ],
        "solve": jnp.linalg.cholesky_solve(x, np.eye(2, dtype="float32")),
    }


def assert_equal_trees(ours, expected):
    jax.tree.map(np.testing.assert_array_equal, ours, expected)


def test_the_strictest_settings_of_jax():
    x = jax.numpy.asarray(numbers((2, 3)))
    plain = call_everything(x)
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        assert_equal_trees(call_everything(x), plain)
    with jax.debug_nans(True):
        assert_equal_trees(call_everything(x), plain)
    with jax.disable_jit():
        np.testing.assert_allclose(call_everything(x)["norm"][0], plain["norm"][0])


def test_inside_of_loops_and_checkpoints():
    x = jax.numpy.asarray(numbers((2, 3)))
    plain = jax.tree.map(np.asarray, call_everything(x))
    stepped = jax.jit(lambda x: jax.lax.map(call_everything, x[None]))(x)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a[0], b, rtol=1e-3), stepped, plain
    )
    gradient = jax.grad(
        lambda x: jax.checkpoint(call_everything)(x)["topk"].values.sum()
    )
    assert gradient(x).shape == x.shape
