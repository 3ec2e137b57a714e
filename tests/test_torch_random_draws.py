"""PyTorch functions that draw: from jfi's stream, the same numbers in reverse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi import CallbackError, from_torch


torch = pytest.importorskip("torch")
torch.set_num_threads(1)
F = torch.nn.functional

JIT_ERRORS = (jax.errors.JaxRuntimeError, ValueError)


def try_or_none(f):
    try:
        return f()
    except RuntimeError:
        return None


DRAWS = {
    "dropout": lambda x: F.dropout(x, 0.5),
    "rand": lambda x: x + torch.rand(32),
    "randn_like": lambda x: x * torch.randn_like(x),
    "in place": lambda x: torch.empty_like(x).normal_() * x,
    "bernoulli": lambda x: torch.bernoulli(torch.full_like(x, 0.5)) * x,
    "permutation": lambda x: x[torch.randperm(32)],
    "caught": lambda x: (try_or_none(lambda: torch.rand(3)), x * torch.rand(32))[1],
    "attention": lambda x: F.scaled_dot_product_attention(
        *[x.reshape(1, 1, 8, 4)] * 3, dropout_p=0.5
    ),
    "looks at values": lambda x: F.dropout(x, 0.5) if x.sum() > -9 else x,
    "numpy": lambda x: x * F.dropout(torch.from_numpy(x.detach().numpy()), 0.5),
}
X = jnp.arange(1.0, 33.0)


@pytest.mark.parametrize("case", DRAWS)
def test_draws_come_from_the_stream_of_jfi(case):
    f = from_torch(DRAWS[case])
    state = torch.get_rng_state()
    jfi.manual_seed(0)
    first, second = f(X), f(X)
    assert not np.array_equal(first, second)
    jfi.manual_seed(0)
    np.testing.assert_array_equal(f(X), first)
    compiled = jfi.jit(f)
    jfi.manual_seed(0)
    np.testing.assert_allclose(compiled(X), first, rtol=1e-6)
    np.testing.assert_allclose(compiled(X), second, rtol=1e-6)
    assert torch.equal(torch.get_rng_state(), state)  # the user's own is as it was


@pytest.mark.parametrize("jit", [jfi.jit, lambda f: f], ids=["jit", "eager"])
def test_the_backward_pass_sees_the_same_draws(jit):
    dropout = from_torch(lambda x: F.dropout(x, 0.5))

    def run(x):
        result, pull = jax.vjp(dropout, x)
        tangent = jax.jvp(lambda x: jnp.sum(result * x), (x,), (x,))[1]
        return result, pull(jnp.ones_like(x))[0], tangent

    result, gradient, _ = jit(run)(X)
    np.testing.assert_array_equal(gradient, result / X)
    assert set(np.unique(gradient)) == {0.0, 2.0}
    value, gradient = jit(jax.value_and_grad(lambda x: dropout(x).sum()))(X)
    np.testing.assert_allclose(value, (gradient * X).sum(), rtol=1e-6)
    # Forward mode, a jacobian, and a second derivative: one draw for each call.
    jacobian = jit(jfi.jacfwd(dropout))(X)
    np.testing.assert_array_equal(jacobian, np.diag(np.diag(jacobian)))
    assert set(np.unique(np.diag(jacobian))) == {0.0, 2.0}
    assert set(np.unique(np.diag(jit(jfi.jacrev(dropout))(X)))) == {0.0, 2.0}
    hessian = jit(jfi.hessian(lambda x: (dropout(x) ** 2).sum()))(X)
    assert set(np.unique(np.diag(hessian))) == {0.0, 8.0}


def test_loss_with_draws_runs_once():
    loss = from_torch(lambda x: (F.dropout(x, 0.5) ** 2).sum())
    value, gradient = jfi.jit(jax.value_and_grad(loss))(X)
    np.testing.assert_allclose(value, (gradient * X).sum() / 2, rtol=1e-5)


def test_rows_of_a_batch_draw_their_own():
    dropout = from_torch(lambda x: F.dropout(x, 0.5))
    rows = jfi.vmap(dropout)(jnp.ones((8, 32)))
    assert len(np.unique(np.asarray(rows), axis=0)) == 8
    jfi.manual_seed(3)
    both = jfi.jit(jfi.vmap(jax.value_and_grad(lambda x: dropout(x).sum())))
    values, gradients = both(jnp.ones((8, 32)))
    np.testing.assert_allclose(values, gradients.sum(1))
    assert len(np.unique(np.asarray(gradients), axis=0)) == 8


def test_steps_of_a_loop_draw_their_own():
    dropout = from_torch(lambda x: F.dropout(x, 0.5))
    step = lambda carry, _: (carry, dropout(X))
    _, steps = jfi.jit(lambda: jfi.scan(step, 0, length=4))()
    assert len(np.unique(np.asarray(steps), axis=0)) == 4


def test_modules_with_dropout():
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5))
    ours = from_torch(net)
    call = jfi.jit(lambda net, x: net(x))
    x = jnp.ones((4, 3))
    assert not np.array_equal(call(ours, x), call(ours, x))
    np.testing.assert_array_equal(call(ours.eval(), x), call(ours.eval(), x))
    jfi.manual_seed(1)
    traced = call(ours, x)
    jfi.manual_seed(1)
    np.testing.assert_allclose(ours(x), traced, rtol=1e-6)


NO_DRAWS = {
    "eval": torch.nn.Dropout(0.1).eval(),
    "zero": lambda x: F.dropout(x, 0.0),
    "rrelu": lambda x: F.rrelu(x, training=False),
}


@pytest.mark.parametrize("case", NO_DRAWS)
def test_what_is_switched_off_draws_nothing(case):
    f = from_torch(NO_DRAWS[case])
    jfi.manual_seed(0)
    expected = jfi.rand(3)
    jfi.manual_seed(0)
    f(X), jfi.jit(f)(X), jax.grad(lambda x: f(x).sum())(X)
    np.testing.assert_array_equal(jfi.rand(3), expected)


def test_a_module_that_goes_back_to_training():
    net = torch.nn.Dropout(0.5).eval()
    f = from_torch(lambda x: net(x))
    compiled = jax.jit(f)
    np.testing.assert_array_equal(f(X), compiled(X))
    np.testing.assert_array_equal(f(X), X)
    state = torch.get_rng_state()
    net.train()
    assert not np.array_equal(f(X), X)  # an eager call sees it
    with pytest.raises((CallbackError, *JIT_ERRORS), match="draws random numbers now"):
        compiled(X).block_until_ready()
    assert torch.equal(torch.get_rng_state(), state)


def test_draws_for_some_values_only():
    f = from_torch(lambda x: F.dropout(x, 0.5) if x.sum() > 5 else x)
    with pytest.raises((CallbackError, *JIT_ERRORS), match="draws random numbers now"):
        jfi.jit(f)(X).block_until_ready()
    assert set(np.unique(f(jnp.full(32, 3.0)))) == {0.0, 6.0}
