import inspect
import sys

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from subprocesses import run_python

import jfi
from jfi import (
    HaikuError,
    HaikuNetwork,
    MissingDependencyError,
    StatefulHaikuNetwork,
    from_haiku,
)


X = np.linspace(-1, 1, 24, dtype="float32").reshape(6, 4)


def mlp(x):
    return hk.nets.MLP([8, 3])(x)


def conv(x):
    return hk.Linear(2)(hk.Flatten()(hk.Conv2D(4, kernel_shape=2)(x)))


def dropout(x, rate=0.5):
    return hk.dropout(hk.next_rng_key(), rate, jnp.ones_like(x))


def batch_norm(x, is_training):
    norm = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)
    return norm(hk.Linear(3)(x), is_training)


def noisy_batch_norm(x, is_training):
    x = batch_norm(x, is_training)
    return hk.dropout(hk.next_rng_key(), 0.5, x) if is_training else x


def close(a, b):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), a, b
    )


SCRIPT = """
import haiku as hk, jax.numpy as jnp
scale = 2.0
def made(shift):
    def network(x, power=1.0):
        y = hk.Linear(2)(x) * scale + shift
        return y**power * abs(getattr(network, "sign", 1.0))
    def set_shift(value):
        nonlocal shift
        shift = value
    return network, set_shift
network, set_shift = made(1.0)
"""
CHANGES = [
    "pass",
    "scale = 3.0",
    "network.__defaults__ = (2.0,)",
    "set_shift(0.5)",
    "network.sign = -4.0",
    "abs = jnp.exp",
    "del abs",
    "del network.sign",
    "del scale",
    "scale = 2.0",
]


def test_whatever_a_network_reads_is_seen_when_it_changes():
    script = {"__name__": "__main__"}
    exec(SCRIPT, script)
    plain = hk.without_apply_rng(hk.transform(script["network"])).apply
    params = {"linear": {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}}
    compiled = jfi.autojit(plain)
    for change in CHANGES:
        exec(change, script)
        for _ in range(4):  # from the third on it is recognised
            if "scale" not in script:
                with pytest.raises(NameError, match="scale"):
                    compiled(params, X)
                continue
            close(compiled(params, X), plain(params, X))


def test_a_bound_method_uses_its_own_default_not_that_of_a_copied_signature():
    class Model:
        def scaled(self, *args, **named):
            return scaled(*args, **named)

    def scaled(x, factor=2.0):
        return x * factor

    Model.scaled.__signature__ = inspect.signature(lambda self, x, factor=2.0: None)
    compiled = jfi.autojit(Model().scaled)
    assert float(compiled(3.0)) == 6
    scaled.__defaults__ = (5.0,)
    assert float(compiled(3.0)) == 15


# ---- the same numbers as haiku ----


@pytest.mark.parametrize(
    "make", [lambda f: f, hk.transform], ids=["function", "transf"]
)
@pytest.mark.parametrize(("f", "x"), [(mlp, X), (conv, X.reshape(2, 3, 4, 1))])
def test_with_a_key_it_is_haiku(f, x, make, x64):
    network, plain = from_haiku(make(f)), hk.transform(f)
    assert isinstance(network, HaikuNetwork)
    key = jax.random.key(3)
    params = network.init(x, key=key)
    close(params, plain.init(key, x))
    close(network.apply(params, x), plain.apply(params, None, x))
    close(network.apply(params, x, key=key), plain.apply(params, key, x))


def test_with_state_and_a_key_it_is_haiku(x64):
    plain = hk.transform_with_state(noisy_batch_norm)
    network = from_haiku(plain)
    assert isinstance(network, StatefulHaikuNetwork)
    key = jax.random.key(3)
    params, state = network.init(X, is_training=True, key=key)
    close((params, state), plain.init(key, X, is_training=True))
    out = network.apply(params, state, X, is_training=True, key=key)
    close(out, plain.apply(params, state, key, X, is_training=True))
    # The state that comes out goes in again.
    out, later = network.apply(params, out[1], X, False)
    close((out, later), plain.apply(params, later, None, X, False))


def test_raw_keys_work_as_in_haiku():
    key = jax.random.PRNGKey(3)
    close(from_haiku(mlp).init(X, key=key), hk.transform(mlp).init(key, X))


# ---- keys of jfi ----


def test_init_is_fresh_and_follows_the_seed():
    network = from_haiku(mlp)
    jfi.manual_seed(1)
    first, second = network.init(X), network.init(X)
    jfi.manual_seed(1)
    close(network.init(X), first)
    close(network.init(X), second)
    weights = [p["mlp/~/linear_0"]["w"] for p in (first, second)]
    assert not np.allclose(*weights)


def test_dropout_is_fresh_and_follows_the_seed():
    network = from_haiku(dropout)
    params = network.init(X)
    jfi.manual_seed(1)
    first, second = network.apply(params, X), network.apply(params, X)
    jfi.manual_seed(1)
    close(network.apply(params, X), first)
    assert not np.array_equal(first, second)
    assert set(np.unique(first)) == {0.0, 2.0}


def test_a_network_that_draws_nothing_leaves_the_generator_alone():
    network = from_haiku(lambda x: hk.Linear(2, w_init=jnp.ones)(x))
    jfi.manual_seed(1)
    expected = jfi.rand(3)
    jfi.manual_seed(1)
    params = network.init(X)
    network.apply(params, X)
    np.testing.assert_array_equal(jfi.rand(3), expected)


def test_optional_randomness_is_off_without_a_key_eagerly_and_under_jit():
    def maybe(x):
        key = hk.maybe_next_rng_key()
        return x if key is None else x + jax.random.normal(key, x.shape)

    network = from_haiku(maybe)
    close(network.apply({}, X), X)
    close(jax.jit(network.apply)({}, X), X)
    assert not np.allclose(network.apply({}, X, key=jax.random.key(0)), X)


# ---- under transformations ----


def test_without_randomness_no_key_is_needed_anywhere(x64):
    network, plain = from_haiku(mlp), hk.transform(mlp)
    params = network.init(X)
    out = plain.apply(params, None, X)
    close(jax.jit(network.apply)(params, X), out)
    close(jax.vmap(lambda x: network.apply(params, x))(X), out)
    _, rows = jax.lax.scan(lambda c, x: (c, network.apply(params, x)), 0, X)
    close(rows, out)
    close(
        jax.grad(lambda p: jnp.sum(network.apply(p, X) ** 2))(params),
        jax.grad(lambda p: jnp.sum(plain.apply(p, None, X) ** 2))(params),
    )


def test_training_with_state_under_jit():
    network = from_haiku(hk.transform_with_state(batch_norm))
    params, state = network.init(X, True)

    @jax.jit
    def step(params, state):
        def loss(params):
            out, new = network.apply(params, state, X, True)
            return jnp.mean((out - 1) ** 2), new

        (value, state_), grads = jax.value_and_grad(loss, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state_, value

    values = []
    for _ in range(20):
        params, state, value = step(params, state)
        values.append(float(value))
    assert values[-1] < 0.5 * values[0]


def test_a_key_as_argument_of_the_jitted_function():
    network = from_haiku(dropout)
    run = jax.jit(lambda key: network.apply({}, X, key=key))
    a, b = jfi.make_random_key(), jfi.make_random_key()
    close(run(a), hk.transform(dropout).apply({}, a, X))
    assert not np.array_equal(run(a), run(b))
    rows = jax.vmap(lambda x, key: network.apply({}, x, key=key))(
        X, jax.random.split(a, len(X))
    )
    assert len(np.unique(rows, axis=0)) > 1


@pytest.mark.parametrize(
    "transform",
    [jax.jit, jfi.jit, jfi.autojit, lambda f: lambda x: jax.jvp(f, (x,), (x,))[0]],
    ids=["jax.jit", "jit", "autojit", "jvp"],
)
def test_fresh_keys_under_a_transformation(transform):
    network = from_haiku(dropout)
    run = transform(lambda x: network.apply({}, x))
    assert not np.array_equal(run(X), run(X))
    started = transform(lambda x: from_haiku(mlp).init(x))
    first, second = jax.tree.leaves(started(X)), jax.tree.leaves(started(X))
    assert not all(map(np.array_equal, first, second))


def test_under_jit_the_keys_are_those_of_eager_code():
    network = from_haiku(dropout)
    expected = [network.apply({}, X) for _ in range(3)]
    jfi.manual_seed(0)
    run = jfi.jit(lambda x: network.apply({}, x))
    for rows in expected:
        close(run(X), rows)


def test_rows_of_vmap_drop_different_units():
    network = from_haiku(dropout)
    rows = jfi.vmap(lambda x: network.apply({}, x), in_axes=None, axis_size=8)(X)
    assert len(np.unique(rows, axis=0)) > 1


def test_an_error_of_the_network_passes_through():
    def wrong(x):
        raise ValueError("not this shape")

    network = from_haiku(wrong)
    with pytest.raises(ValueError, match="not this shape"):
        network.apply({}, X)
    uses_state = from_haiku(batch_norm)
    with pytest.raises(ValueError, match="transform_with_state"):
        uses_state.init(X, True)


# ---- refusals ----


class Net(hk.Module):
    def __call__(self, x):
        return x


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (
            Net,
            r"got the class Net\.\nPass a function.*from_haiku\(lambda x: Net\(\)\(x\)",
        ),
        (3, r"got a int\.\nPass a function"),
        (hk.multi_transform(lambda: (mlp, (mlp, mlp))), r"got a MultiTransformed\.\n"),
        (
            hk.without_apply_rng(hk.transform(mlp)),
            r"apply takes no random key.*\n.*from_haiku\(hk\.transform\(f\)\)",
        ),
        (
            hk.without_apply_rng(hk.transform_with_state(batch_norm)),
            r"apply takes no random key.*\n.*hk\.transform_with_state\(f\)\)",
        ),
    ],
)
def test_what_is_no_network_is_refused(network, message):
    with pytest.raises(HaikuError, match=message):
        from_haiku(network)


def test_a_network_rebuilt_from_jitted_functions_is_taken():
    plain = hk.transform(dropout)
    network = from_haiku(hk.Transformed(jax.jit(plain.init), jax.jit(plain.apply)))
    key = jax.random.key(0)
    close(network.apply({}, X, key=key), plain.apply({}, key, X))
    assert set(np.unique(network.apply({}, X))) == {0.0, 2.0}
    empty = from_haiku(hk.with_empty_state(plain))
    assert set(np.unique(empty.apply({}, {}, X)[0])) == {0.0, 2.0}


def test_haiku_is_imported_on_first_use():
    code = (
        "import sys, jfi, jfi.bridges._haiku as h; assert 'haiku' not in sys.modules;"
        "h.from_haiku(lambda x: x); assert 'haiku' in sys.modules"
    )
    run_python(code, fresh=True)


def test_without_haiku_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "haiku", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'jfi\[haiku\]'"):
        from_haiku(mlp)
