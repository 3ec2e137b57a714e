"""PyTorch's random functions at the top of jfi, against PyTorch itself."""

import jax
import numpy as np
import pytest
from cheap_keys import SEED
from drawing import cheap_keys  # noqa: F401
from scipy import stats

import jfi as jnp


def same(a, b):
    return bool((np.asarray(a) == np.asarray(b)).all())


@pytest.mark.usefixtures("cheap_keys")
@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
def test_like_another_array(name, x64):
    draw = getattr(jnp, name)
    for dtype in ("float32", "float64") if x64 else ("float16", "bfloat16", "float32"):
        drawn = draw(jax.numpy.zeros((2, 3), dtype))
        assert (drawn.shape, drawn.dtype) == ((2, 3), dtype)
    assert draw(jnp.arange(3), dtype="float32").dtype == "float32"
    assert draw([1.0, 2.0]).dtype == "float32"
    assert draw(2.0).shape == ()
    assert not same(draw(jnp.zeros(9)), draw(jnp.zeros(9)))
    key = SEED
    plain = {"rand_like": jnp.rand, "randn_like": jnp.randn}[name]
    assert same(draw(jnp.zeros(9), key=key), plain(9, key=key))
    with pytest.raises(TypeError, match="draws a float"):
        draw(jnp.arange(3))
    with pytest.raises(jnp.RandomError, match="random key for input"):
        draw(key)


def test_randn_like_of_complex_arrays():
    assert jnp.randn_like(jnp.zeros(2, "complex64")).dtype == "complex64"


@pytest.mark.usefixtures("mixed_world", "cheap_keys")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_integers_in_a_float_dtype(dtype):
    order = jnp.randperm(10, dtype=dtype, key=SEED)
    assert order.dtype == dtype
    assert same(order, jnp.randperm(10, key=SEED))
    for drawn in (
        jnp.randint(2, 5, (200,), dtype=dtype),
        jnp.randint(jnp.array([2, 2]), 5, (100, 2), dtype=dtype),
        jnp.Generator(SEED).randint(2, 5, (200,), dtype=dtype),
        jnp.jit(lambda: jnp.randint(2, 5, (200,), dtype=dtype))(),
    ):
        assert drawn.dtype == dtype
        assert set(drawn.ravel().tolist()) == {2, 3, 4}
    assert jnp.randint(5, dtype=dtype).shape == ()


def test_integers_that_a_float_dtype_lacks_are_refused():
    assert len(set(jnp.randperm(257, dtype="bfloat16").tolist())) == 257
    with pytest.raises(ValueError, match="n=258, but bfloat16 holds integers up to"):
        jnp.randperm(258, dtype="bfloat16")
    with pytest.raises(ValueError, match="which is not 257 or less"):
        jnp.randint(0, 258, dtype="bfloat16")
    for draw in (jnp.randperm, jnp.randint):
        with pytest.raises(TypeError, match="draws an integer dtype"):
            draw(3, dtype="complex64")


@pytest.mark.usefixtures("mixed_world", "cheap_keys")
def test_randint_like():
    for dtype in ("int8", "uint8", "int64", "float32", "bfloat16"):
        drawn = jnp.randint_like(jnp.zeros((5, 40), dtype), 2, 5)
        assert (drawn.shape, drawn.dtype) == ((5, 40), dtype)
        assert set(drawn.ravel().tolist()) == {2, 3, 4}
    assert set(jnp.randint_like(jnp.zeros(99), 2).tolist()) == {0, 1}
    assert jnp.randint_like(jnp.zeros(2), 9, dtype="int32").dtype == "int32"
    with pytest.raises(ValueError, match="low=5 and high=2"):
        jnp.randint_like(jnp.zeros(3), 5, 2)
    with pytest.raises(ValueError, match="high=300, which is not 257 or less"):
        jnp.randint_like(jnp.zeros(3, "bfloat16"), 300)
    with pytest.raises(ValueError, match="high=300, which is not 128 or less"):
        jnp.randint_like(jnp.zeros(3, "int8"), 300)
    with pytest.raises(TypeError, match="draws an integer dtype"):
        jnp.randint_like(jnp.zeros(3, bool), 1)


# ------------------------------------------------------------------------ multinomial


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_follows_its_weights(replacement):
    weights = np.array([4.0, 0.0, 2.0, 2.0])
    drawn = np.asarray(jnp.multinomial(np.tile(weights, (20_000, 1)), 1, replacement))
    assert drawn.shape == (20_000, 1)
    seen = np.bincount(drawn[:, 0], minlength=4)
    assert seen[1] == 0
    assert stats.chisquare(seen[[0, 2, 3]], [10_000, 5_000, 5_000]).pvalue > 1e-3


def test_multinomial_without_replacement_follows_what_is_left():
    weights = np.tile([4.0, 2.0, 2.0], (20_000, 1))
    drawn = np.asarray(jnp.multinomial(weights, 2))
    pairs = np.bincount(drawn[:, 0] * 3 + drawn[:, 1], minlength=9).reshape(3, 3)
    assert np.diag(pairs).tolist() == [0, 0, 0]
    p = np.array([0.5, 0.25, 0.25])
    expected = 20_000 * p[:, None] * p / (1 - p[:, None])
    off = ~np.eye(3, dtype=bool)
    assert stats.chisquare(pairs[off], expected[off]).pvalue > 1e-3


@pytest.mark.usefixtures("mixed_world", "cheap_keys")
def test_multinomial_shapes(torch):
    weights = torch.rand(2, 5).numpy()
    for row in (weights, weights[0]):
        for count, replacement in ((5, False), (9, True)):
            theirs = torch.multinomial(torch.tensor(row), count, replacement)
            ours = jnp.multinomial(row, count, replacement)
            assert ours.shape == tuple(theirs.shape)
            assert ours.dtype == "int64"
    assert sorted(jnp.multinomial(weights[0], 5).tolist()) == [0, 1, 2, 3, 4]
    assert jnp.multinomial([0.0, 1.0], 3, True).tolist() == [1, 1, 1]
    key = jnp.key(0)
    jitted = jax.jit(lambda p: jnp.multinomial(p, 3, key=key))(weights)
    assert same(jitted, jnp.multinomial(weights, 3, key=key))


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize(
    ("probs", "count", "replacement", "error", "message"),
    [
        ([0.5, 0.5], 3, False, ValueError, "num_samples=3 and rows of 2.*replacement"),
        ([0.5, 0.5], 0, True, ValueError, "num_samples=0; it draws 1 or more"),
        ([-0.5, 0.5], 1, True, ValueError, "non-negative and finite"),
        ([np.inf, 0.5], 1, True, ValueError, "non-negative and finite"),
        ([np.nan, 0.5], 1, True, ValueError, "non-negative and finite"),
        ([0.0, 0.0], 1, True, ValueError, "above 0 in 1 places"),
        ([[0.5, 0.5], [0.0, 1.0]], 2, False, ValueError, "above 0 in 2 places"),
        ([1, 1], 1, True, TypeError, "probs of dtype int64; it takes floats"),
        (np.ones((2, 2, 2)), 1, True, ValueError, r"shape \(2, 2, 2\)"),
    ],
)
def test_multinomial_refuses_what_torch_refuses(
    torch, probs, count, replacement, error, message
):
    with pytest.raises(error, match=message):
        jnp.multinomial(probs, count, replacement)
    if "in 2 places" in message:
        return  # PyTorch draws what has the weight 0 here
    with pytest.raises((RuntimeError, TypeError)):
        torch.multinomial(torch.tensor(probs), count, replacement)


# ---------------------------------------------------------------------------- poisson


def test_poisson():
    drawn = jnp.poisson(np.full(50_000, 3.5, "float32"))
    assert drawn.dtype == "float32"
    seen = np.bincount(np.asarray(drawn).astype(int), minlength=30)[:12]
    expected = stats.poisson(3.5).pmf(np.arange(12)) * 50_000
    assert stats.chisquare(seen, expected, sum_check=False).pvalue > 1e-3
    traced = jax.eval_shape(
        lambda key: jnp.poisson(jnp.zeros((2, 3), "bfloat16"), key=key), jnp.key(0)
    )
    assert (traced.shape, traced.dtype) == ((2, 3), "bfloat16")
    with pytest.raises(ValueError, match=r"rate=-1\.0, which is not 0 or more"):
        jnp.poisson(-1.0)


# ---------------------------------------------------------------------------- dropout


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_dropout_keeps_scales_and_keeps_the_dtype(dtype):
    x = jax.numpy.ones(20_000, dtype)
    for p in (0.1, 0.75):
        dropped = jnp.dropout(x, p)
        assert dropped.dtype == dtype
        values = np.asarray(dropped).astype("complex64").real
        kept = values != 0
        np.testing.assert_allclose(values[kept], 1 / (1 - p), rtol=5e-3)
        assert stats.binomtest(int(kept.sum()), 20_000, 1 - p).pvalue > 1e-3


def test_dropout_at_the_ends_and_off():
    x = jnp.array([1.0, -2.0, 3.0])
    assert same(jnp.dropout(x, 0.0), x)
    assert jnp.dropout(x, 1.0).tolist() == [0, 0, 0]
    assert jnp.dropout(jnp.array([np.inf, np.nan]), 1.0).tolist() == [0, 0]
    jnp.manual_seed(0)
    expected = jnp.randn(2)
    jnp.manual_seed(0)
    assert same(jnp.dropout(x, training=False), x)  # and nothing is drawn
    assert same(jnp.randn(2), expected)


def test_dropout_derivatives():
    x, key = jnp.ones(100), jnp.key(0)
    for p, scale in ((0.25, 1 / 0.75), (0.0, 1.0), (1.0, 0.0)):
        slope = jax.grad(lambda x, p=p: jnp.dropout(x, p, key=key).sum())(x)
        np.testing.assert_allclose(slope[slope != 0], scale, rtol=1e-6)
        assert same(slope != 0, jnp.dropout(x, p, key=key) != 0)
    by_p = jax.jit(jax.grad(lambda p: jnp.dropout(x, p, key=key).sum()))(0.5)
    kept = int((jnp.dropout(x, 0.5, key=key) != 0).sum())
    np.testing.assert_allclose(by_p, kept * 4, rtol=1e-5)
    assert np.isfinite(jax.grad(lambda p: jnp.dropout(x, p, key=key).sum())(1.0))


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jnp.dropout(jnp.ones(2), 1.5), ValueError, "p=1.5, .* between 0 and"),
        (lambda: jnp.dropout(jnp.ones(2), -0.1), ValueError, "p=-0.1"),
        (
            lambda: jnp.dropout(jnp.ones(2), [0.5, 0.5]),
            ValueError,
            "takes one number",
        ),
        (lambda: jnp.dropout(jnp.arange(2)), TypeError, "dtype int64; it takes floats"),
        (lambda: jnp.dropout(jnp.key(0)), jnp.RandomError, "random key for input"),
        (lambda: jnp.normal(jnp.key(0)), jnp.RandomError, "random key for mean"),
        (lambda: jnp.randint(jnp.key(0), 3), jnp.RandomError, "random key for low"),
        (lambda: jnp.bernoulli(jnp.key(0)), jnp.RandomError, "random key for p"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_next_key():
    key = jnp.next_key()
    jnp.manual_seed(0)
    assert bool(jnp.make_random_key() == key)
    keys = jnp.next_key(3)
    jnp.manual_seed(0)
    jnp.next_key()
    assert bool((jnp.make_random_keys(3) == keys).all())
    assert jnp.next_key(0).shape == (0,)
    assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    given = jnp.next_key(2, key=key)
    assert bool((given == jax.random.split(key)).all())
