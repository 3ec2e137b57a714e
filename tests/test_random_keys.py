"""Random keys as plain data."""

import json

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jfi as jnp
from jfi.random import key_repr, unwrap_key, wrap_key


IMPLS = [
    "threefry2x32", "rbg", "unsafe_rbg", "threefry4x32", "philox2x32", "philox4x32",
]  # fmt: skip


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


@pytest.fixture(scope="module")
def custom():
    """An implementation that JAX does not know by name."""
    from jax.extend.random import define_prng_impl, threefry_2x32  # noqa: TID251

    return define_prng_impl(
        key_shape=(2,),
        seed=lambda seed: jax.numpy.stack([seed * 0, seed]).astype("uint32"),
        split=lambda key, shape: jax.numpy.broadcast_to(key, (*shape, 2)),
        random_bits=lambda key, width, shape: threefry_2x32(
            key, jax.numpy.zeros(shape, "uint32")
        ),
        fold_in=lambda key, data: key + data,
        name="my-own",
        tag="own",
    )


@pytest.mark.parametrize(
    ("impl", "shape"),
    [
        *((impl, (2, 3)) for impl in IMPLS),
        *((IMPLS[0], shape) for shape in [(), (3,), (0,), (0, 4), (4, 0)]),
        ("rbg", ()),
    ],
)
def test_json_round_trip(impl, shape):
    key = jax.random.split(jax.random.key(7, impl=impl), shape)
    text = json.dumps(unwrap_key(key))
    assert same(wrap_key(json.loads(text)), key)
    assert same(wrap_key(json.loads(text), impl), key)
    assert wrap_key(key) is key
    assert wrap_key(key, impl) is key
    assert same(wrap_key(jax.random.key_data(key), impl), key)
    assert same(wrap_key(np.asarray(jax.random.key_data(key)), impl), key)
    if key.size:
        told = key_repr(key)
        assert same(wrap_key(json.loads(json.dumps(told))), key)
        assert np.shape(told) == shape
        words = jax.random.key_data(key).tolist()
        assert same(wrap_key(words, impl), key)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=2))
def test_every_word_survives(words):
    assert unwrap_key(wrap_key(words))["words"] == words
    assert same(wrap_key(key_repr(wrap_key(words))), wrap_key(words))


def test_keys_draw_what_they_drew(x64):
    key = jax.random.fold_in(jnp.key(1), 5)
    expected = jnp.randn(3, key=key)
    for told in (unwrap_key(key), key_repr(key), jax.random.key_data(key)):
        assert (jnp.randn(3, key=wrap_key(told)) == expected).all()
    old = jax.random.PRNGKey(7)
    assert same(wrap_key(old), jnp.key(7))
    assert same(wrap_key([old, jax.random.PRNGKey(8)])[1], jnp.key(8))
    assert same(wrap_key((jnp.key(7), jnp.key(8)))[1], jnp.key(8))
    assert unwrap_key(old) == unwrap_key(jnp.key(7))
    assert same(wrap_key(np.array([0, 7])), jnp.key(7))
    assert same(wrap_key([jnp.array(0), jnp.array(7)]), jnp.key(7))


def test_the_default_implementation_is_that_of_jax():
    with jax.default_prng_impl("rbg"):
        assert same(wrap_key([1, 2, 3, 4]), wrap_key([1, 2, 3, 4], "rbg"))
        with pytest.raises(jnp.RandomError, match="keys of rbg have 4 words"):
            wrap_key([1, 2])


def test_other_implementations(custom):
    key = jax.random.key(3, impl=custom)
    record = json.loads(json.dumps(unwrap_key(key)))
    assert record["impl"] == "PRNGSpec('my-own')"
    assert same(wrap_key(record, custom), key)
    assert same(wrap_key(key_repr(key), custom), key)
    with pytest.raises(jnp.RandomError, match="JAX does not know by name"):
        wrap_key(record)
    with pytest.raises(jnp.RandomError, match=r"PRNGSpec\('my-own'\) and impl='rbg'"):
        wrap_key(record, "rbg")


def test_under_transformations():
    words = np.array([[0, 7], [0, 8]], "uint32")
    assert same(jax.jit(wrap_key)(words), wrap_key(words))
    assert same(jax.vmap(wrap_key)(words), wrap_key(words))
    pair = jax.jit(lambda a, b: wrap_key([a, b]))(words[0, 0], words[0, 1])
    assert same(pair, jnp.key(7))
    rows = jax.jit(lambda a, b: wrap_key([a, b]))(*words)
    assert same(rows, wrap_key(words))
    assert same(jax.jit(wrap_key)(jnp.key(7)), jnp.key(7))
    with pytest.raises(jnp.RandomError, match=r"words.astype\(jnp.uint32\)"):
        jax.jit(wrap_key)(words.astype("int32"))
    for tell in (unwrap_key, key_repr):
        with pytest.raises(jnp.RandomError, match="was called on a traced key"):
            jax.jit(lambda k, tell=tell: tell(k) and k)(jnp.key(0))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2, 3], "words of shape .3,., but keys of threefry2x32 have 2 words .*"
         "Words of each implementation: threefry2x32 2, rbg 4"),
        ([1, 2, 3, 4], "Write impl='rbg' if that is where it comes from"),
        (7, r"words of shape \(\)"),
        ([], r"words of shape \(0,\)"),
        ([-1, 2], "ints from 0 to 2.*jnp.key\\(seed\\)"),
        ([0, 2**32], "ints from 0 to 2"),
        ([0, 2**70], "ints from 0 to 2"),
        ([0.0, 1.0], r"\[0.0, 1.0\], which are no words of a key"),
        (np.zeros(2), "data of dtype float64, which are no words"),
        ([True, False], "no words of a key"),
        ([[1, 2], [3]], "lists of one length"),
        (None, "no words of a key"),
        (["a", "b"], "got 'a'. Write what key_repr"),
        ("threefry2x32", "Write what key_repr"),
        ("threefry2x32-00000001", r"words of shape \(1,\)"),
        ("three-00000001", "JAX does not know by name"),
        ({"impl": "rbg"}, r"a dict with \['impl'\]"),
        ({"impl": "rbg", "shape": [], "words": [1, 2]}, "2 words for keys of shape"),
        (np.array([0, -1]), "ints from 0 to 2"),
    ],
)  # fmt: skip
def test_what_is_no_key(data, message):
    with pytest.raises(jnp.RandomError, match=message):
        wrap_key(data)


def test_what_can_t_be_told():
    for tell in (unwrap_key, key_repr):
        with pytest.raises(jnp.RandomError, match=r"got 7, which is no random key"):
            tell(7)
        with pytest.raises(jnp.RandomError, match="no words of a key"):
            tell(jnp.zeros(2))
    with pytest.raises(jnp.RandomError, match="a key of threefry2x32 and impl='rbg'"):
        wrap_key(jnp.key(0), "rbg")
