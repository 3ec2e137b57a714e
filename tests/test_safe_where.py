"""`safe_where`: values where a mask holds, and a gradient without NaN."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jfi as jnp
from jfi import LoopError


X = jnp.array([-1.0, 0.0, 2.0])
FUNCTIONS = {
    "log": jnp.log,
    "sqrt": jnp.sqrt,
    "inverse": lambda x: 1 / x,
    "power": lambda x: x**0.3,
    "of both sides": lambda x: jnp.log(x) * jnp.sqrt(x),
}


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("fn", FUNCTIONS.values(), ids=FUNCTIONS)
def test_values_and_derivatives(fn, transform):
    f = transform(lambda x: jnp.safe_where(x > 0, fn, x, 7.0))
    every = jax.jit(lambda x: (fn(x), jax.grad(fn)(x), jax.grad(jax.grad(fn))(x)))
    value, slope, curvature = every(2.0)
    np.testing.assert_allclose(f(X), [7.0, 7.0, value], rtol=1e-6)
    total = lambda x: f(x).sum()
    np.testing.assert_allclose(jax.grad(total)(X), [0, 0, slope], rtol=1e-6)
    np.testing.assert_allclose(jax.jacfwd(f)(X)[2], [0, 0, slope], rtol=1e-6)
    hessian = jax.hessian(total)(X)
    np.testing.assert_allclose(hessian[2], [0, 0, curvature], rtol=1e-5)
    assert np.isfinite(hessian).all()


def test_the_gradient_of_a_plain_where_is_nan():
    """What the function is there for."""
    plain = lambda x: jnp.where(x > 0, jnp.log(x) * jnp.sqrt(x), 0).sum()
    assert np.isnan(jax.grad(plain)(X)).any()


def test_parameters_that_fn_captures():
    f = lambda t: jnp.safe_where(t < X, lambda x: jnp.sqrt(x - t), X).sum()
    np.testing.assert_allclose(jax.grad(f)(1.0), -0.5, rtol=1e-6)


def test_nothing_undefined_is_computed():
    with jax.debug_nans(True), jax.debug_infs(True):
        out, slope = jax.value_and_grad(
            lambda x: jnp.safe_where(x > 0, jnp.log, x).sum()
        )(X)
    assert np.isfinite(out)
    assert np.isfinite(slope).all()


def test_rows_and_trees():
    rows = jnp.array([[0.0, 0.0], [3.0, 4.0]])
    norms = jnp.vmap(lambda m, row: jnp.safe_where(m, jnp.linalg.norm, row))
    f = lambda rows: norms(rows.any(axis=1), rows)
    np.testing.assert_allclose(f(rows), [0, 5])
    slope = jax.grad(lambda rows: f(rows).sum())(rows)
    np.testing.assert_allclose(slope, [[0, 0], [0.6, 0.8]], rtol=1e-6)
    ratio = lambda pair: pair["a"] / pair["b"]
    for mask, expected in ((True, 2.0), (False, -1.0)):
        out = jnp.safe_where(mask, ratio, {"a": 4.0, "b": 2.0}, -1.0)
        np.testing.assert_allclose(out, expected)


def test_empty_masks_and_arrays():
    nowhere = jnp.safe_where(X > 5, jnp.log, X, 3.0)
    np.testing.assert_array_equal(nowhere, [3.0, 3.0, 3.0])
    slope = jax.grad(lambda x: jnp.safe_where(x > 5, jnp.log, x).sum())(X)
    np.testing.assert_array_equal(slope, [0, 0, 0])
    assert jnp.safe_where(X[:0] > 0, jnp.log, X[:0]).shape == (0,)


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_dtype_is_that_of_fn(dtype):
    assert jnp.safe_where(X > 0, jnp.log, X.astype(dtype), 1).dtype == dtype


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([0, 1, 6]),  # few shapes: each is compiled
    st.lists(
        st.floats(0.125, 10, width=32)
        | st.just(0.0)
        | st.floats(-10, -0.125, width=32),
        min_size=6,
        max_size=6,
    ),
)
def test_it_is_where_for_any_array(size, values):
    values = values[:size]
    x = jnp.array(values, "float32")
    expected = [np.log(np.float32(v)) if v > 0 else 0.5 for v in values]
    out = jnp.safe_where(x > 0, jnp.log, x, 0.5)
    np.testing.assert_allclose(out, np.array(expected, "float32"), rtol=1e-5, atol=1e-6)
    slope = jax.grad(lambda x: jnp.safe_where(x > 0, jnp.log, x).sum())(x)
    np.testing.assert_allclose(
        slope, [1 / v if v > 0 else 0 for v in values], rtol=1e-5
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jnp.safe_where(X, jnp.log, X), r"a mask of float32.*\nWrite a comp"),
        (
            lambda: jnp.safe_where(X > 0, jnp.log, jnp.ones((3, 2))),
            r"mask of shape \(3,\), and x is an array of shape \(3, 2\)\.\nPass",
        ),
        (
            lambda: jnp.safe_where(X > 0, jnp.sum, X),
            r"mask of shape \(3,\), and sum\(\) returned an array of shape \(\)\.",
        ),
        (
            lambda: jnp.safe_where(
                jnp.ones((2, 1), bool), lambda x: x[0], jnp.ones((2, 1))
            ),
            r"<lambda>\(\) returned an array of shape \(1,\)",
        ),
    ],
)
def test_masks_that_do_not_fit(call, message):
    with pytest.raises(LoopError, match=message):
        call()
