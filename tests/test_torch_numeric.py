"""norm, softmax, clamp."""

import jax
import numpy as np
import pytest
from against_torch import (
    assert_same,
    compare,
    compare_gradient,
    compiled_together,  # noqa: F401
    in_64_bits,
    numbers,
)

import jfi as jnp


torch = pytest.importorskip("torch")

INF, NAN = np.inf, np.nan
ORDERS = ["fro", None, 0, 1, 2, 3, 0.5, 1.5, -1, -2, INF, -INF]


@pytest.fixture(autouse=True)
def _both_precisions(x64):
    """Each test of this file runs with 64-bit types allowed and not."""


# --------------------------------------------------------------------------- norm


@pytest.mark.parametrize(
    ("p", "dtype"),
    [
        *((p, dtype) for p in ORDERS for dtype in ("float32", "complex64")),
        *((p, dtype) for p in ("fro", 3, INF) for dtype in ("float64", "float16")),
    ],
)
def test_norm(p, dtype):
    compare(jnp.norm, torch.norm, numbers((2, 3, 4), dtype), p)
    compare(jnp.norm, torch.norm, numbers((2, 3, 4), dtype), p, 1, True, jit=False)


@in_64_bits
@pytest.mark.parametrize("p", ["fro", 1, INF])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, (), [], 0, -1, (0,), (1, -1), [-1, 0]])
def test_norm_over_dimensions(p, dim, keepdim):
    compare(jnp.norm, torch.norm, numbers((2, 3, 4)), p, dim, keepdim, jit=False)


@in_64_bits
@pytest.mark.parametrize("p", [0, 1, 2, 3, 0.5, -2, INF, -INF])
@pytest.mark.parametrize(
    "x",
    [
        [0.0, 0.0],
        [0.0, 2.0],
        [INF, 1.0],
        [INF, -INF],
        [NAN, 1.0],
        [NAN, INF],
        [1e30, 1e30],
        [1e-30, 1e-30],
        -3.0,
    ],
)
def test_norm_of_special_numbers(x, p):
    compare(jnp.norm, torch.norm, np.array(x, "float32"), p, jit=False)


@in_64_bits
@pytest.mark.parametrize("p", ["fro", None, 0, 1, -1, 3, INF])
@pytest.mark.parametrize("dim", [0, -1, (0,)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_norm_of_one_number_over_a_dimension(p, dim, keepdim):
    compare(jnp.norm, torch.norm, np.array(-3.0), p, dim, keepdim, jit=False)


@in_64_bits
@pytest.mark.parametrize("p", ["fro", 0, 1, 2, 3])
@pytest.mark.parametrize(
    ("shape", "dim"), [((0,), 0), ((0, 3), 0), ((0, 3), 1), ((0,), None)]
)
def test_norm_of_nothing(p, shape, dim):
    compare(jnp.norm, torch.norm, numbers(shape), p, dim, jit=False)


def test_norm_of_no_rows_with_inf():
    compare(jnp.norm, torch.norm, numbers((0, 3)), INF, 1)


@pytest.mark.parametrize("dim", [(0, 1), (1, 0), (-1, 0), (1, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_nuclear_norm(dim, keepdim):
    ours = jnp.norm(numbers((2, 3, 4)), "nuc", dim, keepdim)
    theirs = torch.norm(torch.from_numpy(numbers((2, 3, 4))), "nuc", dim, keepdim)
    assert_same(ours, theirs, rtol=1e-5)


def test_nuclear_norm_of_few():
    compare(jnp.norm, torch.norm, numbers((2, 3)), "nuc")
    compare(jnp.norm, torch.norm, numbers((0, 3)), "nuc")


@pytest.mark.parametrize(
    ("dtype", "wider"),
    [
        ("float16", "float32"),
        ("float32", "float64"),
        ("float32", "float32"),
        ("complex64", "complex64"),
        ("complex64", "complex128"),
    ],
)
def test_norm_in_a_wider_dtype(dtype, wider, x64):
    if not x64:
        dtype, wider = "float16", "float32"
    x = numbers((2, 3), dtype)
    theirs = torch.norm(torch.from_numpy(x), dtype=getattr(torch, wider))
    assert_same(jnp.norm(x, dtype=wider), theirs)


def test_norm_of_half_precision_does_not_overflow():
    compare(jnp.norm, torch.norm, np.full(4, 300.0, "float16"))


@in_64_bits
@pytest.mark.parametrize("p", ["fro", 0, 1, 2, 3, 0.5, 1.5, -1, INF, -INF])
@pytest.mark.parametrize("x", [[0.0, 0.0], [0.0, 3.0], [1.0, -2.0], [2.0, -2.0]])
def test_gradient_of_norm(p, x):
    x = np.array([x, [3.0, 4.0]], "float32")
    compare_gradient(lambda x: jnp.norm(x, p, -1), lambda x: torch.norm(x, p, -1), x)
    compare_gradient(lambda x: jnp.norm(x, p), lambda x: torch.norm(x, p), x)


def test_derivatives_of_norm_at_zero_in_every_mode():
    zero = jax.numpy.zeros(3)
    for p in ("fro", 1, 3, 1.5):
        for transform in (jax.grad, jax.jacfwd):
            result = transform(lambda x, p=p: jnp.norm(x, p))(zero)
            assert np.isfinite(result).all()
    assert (
        jax.vmap(jax.grad(jnp.norm))(jax.numpy.zeros((2, 3))).tolist()
        == [[0.0] * 3] * 2
    )


@in_64_bits
@pytest.mark.parametrize("p", ["fro", 1, 3, INF])
def test_complex_norm_has_a_derivative_at_zero(p):
    x = np.array([0, 0], "complex64")
    assert np.isfinite(jax.grad(lambda x: jnp.norm(x, p))(x)).all()


def test_numpys_keywords_of_norm():
    x = numbers((2, 3))
    assert jnp.norm(x, axis=-1).tolist() == jnp.norm(x, dim=-1).tolist()
    assert jnp.norm(x, 2, -1).tolist() == jax.numpy.linalg.norm(x, 2, -1).tolist()
    assert jnp.norm(x, 1, axis=0, keepdims=True).shape == (1, 3)
    assert jnp.norm(x, ord=1, axis=1).tolist() == jnp.norm(x, p=1, dim=1).tolist()
    assert jnp.norm(x, ord=None) == jnp.norm(x)
    assert jnp.norm(x, ord="fro") == jnp.norm(x)
    assert jnp.norm(x, axis=None) == jnp.norm(x)


@in_64_bits
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": "fro", "ord": 2}, "both p and ord"),
        ({"dim": 0, "axis": 0}, "both dim and axis"),
        ({"dim": None, "axis": 0}, "both dim and axis"),
        ({"keepdim": False, "keepdims": True}, "both keepdim and keepdims"),
    ],
)
def test_both_spellings_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        jnp.norm(numbers((2, 3)), **arguments)


@in_64_bits
@pytest.mark.parametrize("order", [1, 2, -2, INF])
@pytest.mark.parametrize("dims", [{}, {"axis": (0, 1)}, {"dim": (1, 2)}])
def test_numpys_matrix_norms_are_not_guessed(order, dims):
    with pytest.raises(
        ValueError, match=rf"jnp\.linalg\.norm\(x, {order}\).*p={order}"
    ):
        jnp.norm(numbers((2, 3, 4)), ord=order, **dims)


@in_64_bits
@pytest.mark.parametrize(
    ("x", "arguments", "error", "message"),
    [
        (numbers(3, "int32"), {}, TypeError, r"array of int32.*input\.astype\(float\)"),
        (numbers(3, "bool"), {}, TypeError, "array of bool"),
        ([1.0], {}, TypeError, "got a list"),
        (numbers((2, 3)), {"p": "abc"}, ValueError, "p='abc'; it takes a number"),
        (numbers((2, 3)), {"p": 2j}, TypeError, "the complex number 2j for p"),
        (numbers((2, 3)), {"dim": 2}, IndexError, "dim=2"),
        (numbers((2, 3)), {"dim": (1, -1)}, ValueError, "names a dimension twice"),
        (numbers((2, 3)), {"dim": (0, 0)}, ValueError, "names a dimension twice"),
        (numbers((2, 3)), {"dim": "a"}, TypeError, "dim='a'"),
        (numbers(()), {"dim": 1}, IndexError, "dim=1"),
        (numbers((2, 3, 4)), {"dim": (0, 1, 2)}, ValueError, "write p=2"),
        (numbers((2, 3, 4)), {"p": "nuc"}, ValueError, r"3 dimensions.*goes over two"),
        (numbers((2, 3)), {"p": "nuc", "dim": 0}, ValueError, "goes over two"),
        (numbers(3), {"p": "nuc"}, ValueError, "goes over two"),
        (numbers((0,)), {"p": INF}, ValueError, "p=inf of no elements"),
        (numbers((0,)), {"p": -1}, ValueError, "p=-1 of no elements"),
        (numbers((0, 3)), {"p": -INF, "dim": 0}, ValueError, "p=-inf of no elements"),
        (numbers(3), {"dtype": "float16"}, TypeError, r"dtype=float16 .*float32"),
        (numbers(3), {"dtype": "int32"}, TypeError, "dtype=int32"),
        (
            numbers(3, "complex64"),
            {"dtype": "float32"},
            TypeError,
            "array of complex64",
        ),
    ],
)
def test_norm_refuses(x, arguments, error, message):
    with pytest.raises(error, match=message):
        jnp.norm(x, **arguments)


def test_norm_needs_a_known_order():
    with pytest.raises(TypeError, match="a traced array for p"):
        jax.jit(jnp.norm)(numbers(3), 2.0)
    assert jnp.norm(numbers(3), np.float32(2)) == jnp.norm(numbers(3))


# ------------------------------------------------------------------------ softmax


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((3,), 0),
        ((2, 3), 0),
        ((2, 3), 1),
        ((2, 3), -1),
        ((2, 3, 4), -2),
        ((0, 3), 0),
        ((0, 3), 1),
        ((), 0),
        ((), -1),
    ],
)
def test_softmax(shape, dim, dtype):
    compare(jnp.softmax, torch.softmax, numbers(shape, dtype), dim)


@in_64_bits
@pytest.mark.parametrize(
    "x", [[-INF, -INF], [INF, 1.0], [-INF, 1.0], [NAN, 1.0], [1e4, -1e4], [[NAN]]]
)
def test_softmax_of_special_numbers(x):
    compare(jnp.softmax, torch.softmax, np.array(x, "float32"), -1)


@in_64_bits
@pytest.mark.parametrize("x", [INF, NAN, 3.0])
def test_softmax_of_one_number(x):
    compare(jnp.softmax, torch.softmax, np.array(x, "float32"), 0)


def test_softmax_in_another_dtype():
    x = numbers((2, 3), "int32")
    theirs = torch.softmax(torch.from_numpy(x), 1, dtype=torch.float32)
    assert_same(jnp.softmax(x, 1, dtype="float32"), theirs)
    assert_same(jnp.softmax(x, axis=1, dtype=np.float32), theirs)


def test_gradient_of_softmax():
    x = numbers((3, 4))
    x[0, 0] = -INF
    for dim in (0, 1):
        compare_gradient(
            lambda x, dim=dim: jnp.softmax(x, dim),
            lambda x, dim=dim: torch.softmax(x, dim),
            x,
        )


@in_64_bits
@pytest.mark.parametrize(
    ("x", "arguments", "error", "message"),
    [
        (numbers(3), {}, TypeError, r"got no dim.*jnp\.softmax\(x, dim=-1\)"),
        (numbers(3), {"dim": None}, TypeError, "got no dim"),
        (numbers(3), {"dim": 1}, IndexError, "dim=1"),
        (numbers((2, 3)), {"dim": (0, 1)}, TypeError, r"dim=\(0, 1\)"),
        (numbers(3), {"dim": 0, "axis": 0}, TypeError, "both dim and axis"),
        (
            numbers(3, "int32"),
            {"dim": 0},
            TypeError,
            r"array of int32.*input\.astype\(float\)",
        ),
        (numbers(3, "bool"), {"dim": 0}, TypeError, "array of bool"),
        (numbers(3, "complex64"), {"dim": 0}, TypeError, "array of complex64"),
        (numbers(3), {"dim": 0, "dtype": "int32"}, TypeError, "array of int32"),
    ],
)
def test_softmax_refuses(x, arguments, error, message):
    with pytest.raises(error, match=message):
        jnp.softmax(x, **arguments)


# -------------------------------------------------------------------------- clamp


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int32", "int64", "uint8"]
)
@pytest.mark.parametrize(
    ("low", "high"), [(1, 3), (None, 3), (1, None), (3, 1), (2, 2), (True, True)]
)
def test_clamp(dtype, low, high):
    compare(jnp.clamp, torch.clamp, numbers((2, 3), dtype), low, high)


@in_64_bits
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("low", "high"), [(-1.5, 1.5), (-INF, 0.5), (NAN, None), (None, NAN), (NAN, 1.0)]
)
def test_clamp_of_special_numbers(dtype, low, high):
    x = np.array([NAN, -INF, INF, 0.5, 1.5, -1.5], dtype)
    compare(jnp.clamp, torch.clamp, x, low, high)


@in_64_bits
@pytest.mark.parametrize(
    ("shape", "low", "high"),
    [
        ((2, 3), (3,), None),
        ((2, 3), None, (2, 1)),
        ((2, 3), (2, 1), (3,)),
        ((2, 3), (4, 1, 1), ()),
        ((), (2,), None),
        ((0, 3), (3,), ()),
    ],
)
def test_clamp_broadcasts(shape, low, high):
    low, high = (
        None if s is None else numbers(s, seed=i) for i, s in enumerate((low, high))
    )
    compare(jnp.clamp, torch.clamp, numbers(shape), low, high)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "bool"])
@pytest.mark.parametrize("limit", ["float16", "float64", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("of", [(), (3,)])
def test_clamp_promotes(dtype, limit, shape, of):
    compare(
        jnp.clamp, torch.clamp, numbers(of, dtype), numbers(shape, limit), jit=False
    )


def test_clamp_keeps_the_dtype_with_a_number_of_numpy():
    assert jnp.clamp(numbers(3), np.float64(0.1)).dtype == np.float32
    assert jnp.clamp(numbers(3), np.int64(1), np.float64(2)).dtype == np.float32


def test_clamp_of_integers_with_a_fraction(x64):
    x = jnp.clamp(numbers(3, "int32"), 0.5)
    assert x.dtype == jax.numpy.result_type(float)
    np.testing.assert_array_equal(x, np.maximum(numbers(3, "int32"), 0.5))


def test_a_wide_limit_does_not_wrap_around():
    x = np.array([-100, 0, 100], "int8")
    for limit in (jax.numpy.asarray(300), np.int32(300)):
        assert jnp.clamp(x, max=limit).tolist() == [-100, 0, 100]
        assert jax.jit(jnp.clamp)(x, -limit, limit).tolist() == [-100, 0, 100]
    assert jnp.clamp(x.view("uint8"), np.int32(-5)).dtype == np.uint8
    assert jax.jit(jnp.clamp)(x, -300, 300).tolist() == [-100, 0, 100]
    assert jax.jit(jnp.clamp)(x, -300, 300).dtype == np.int8


def test_clamp_leaves_weak_numbers_weak():
    weak = 2.0 * jax.numpy.arange(3)
    assert (jnp.clamp(weak, 0, 1) * numbers(3)).dtype == np.float32


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 2.0), (None, 2.0), (-1.0, None), (2.0, -1.0)]
)
def test_gradient_of_clamp(low, high):
    x = np.array([-3.0, -1.0, 0.5, 2.0, 3.0], "float32")
    compare_gradient(
        lambda x: jnp.clamp(x, low, high), lambda x: torch.clamp(x, low, high), x
    )


def test_gradient_of_clamp_by_its_limits():
    x = np.array([-3.0, 0.5, 2.0, 3.0, 0.0], "float32")
    low, high = np.float32([-1, -1, 2, 2, 4]), np.float32([1, 1, 4, 2.5, 3])
    compare_gradient(jnp.clamp, torch.clamp, x, low, high)
    compare_gradient(jnp.clamp, torch.clamp, x, np.array(0.0, "float32"))


@in_64_bits
@pytest.mark.parametrize(
    ("x", "arguments", "error", "message"),
    [
        (numbers(3), {}, ValueError, r"neither min nor max.*jnp\.clamp\(x, min=0\.0\)"),
        (numbers(3, "complex64"), {"min": 0}, TypeError, "complex numbers"),
        (numbers(3), {"max": 1j}, TypeError, "complex numbers.*no order"),
        (numbers(3), {"min": "a"}, TypeError, "got a str for min"),
        (numbers(3), {"max": [1.0, 2.0]}, TypeError, "got a list for max"),
        (numbers(3, "int8"), {"max": 300}, OverflowError, "max=300, which int8"),
        (numbers(3, "uint8"), {"min": -5}, OverflowError, "min=-5, which uint8"),
        (numbers((2, 3)), {"min": np.zeros(2)}, ValueError, "roadcast|ncompatible"),
    ],
)
def test_clamp_refuses(x, arguments, error, message):
    with pytest.raises(error, match=message):
        jnp.clamp(x, **arguments)


@pytest.mark.parametrize("name", ["norm", "clamp"])
def test_one_compilation_serves_equal_calls(name):
    from jfi._torch_names import _numeric

    compiled = getattr(_numeric, {"norm": "vector_norm", "clamp": "_clamp"}[name])
    x = numbers((7, 5))
    arguments = (2.0, -1) if name == "norm" else (0.0, 1.0)
    getattr(jnp, name)(x, *arguments)
    before = compiled._cache_size()
    getattr(jnp, name)(x + 1, *arguments)
    assert compiled._cache_size() == before


def test_float_is_the_default_float_in_the_mixed_world(mixed_world):
    x = jnp.ones(2, "float32")
    for result in (
        jnp.softmax(x, 0, dtype=float),
        jnp.log_softmax(x, 0, dtype=float),
        jnp.norm(x, dtype=float),
    ):
        assert result.dtype == np.float32
