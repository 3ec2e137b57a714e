"""Derivatives and batches of PyTorch functions, of every mode and order."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jfi
from jfi import from_torch


torch = pytest.importorskip("torch")
torch.set_num_threads(1)
FakeTensor = pytest.importorskip("torch._subclasses.fake_tensor").FakeTensor
F = torch.nn.functional


class Counted:
    """A torch function that counts its calls with values (not those with shapes)."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args):
        self.calls += not any(isinstance(arg, FakeTensor) for arg in args)
        return self.function(*args)


def close(actual, expected, rtol=1e-4, atol=1e-5):
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, rtol=rtol, atol=atol),
        actual,
        expected,
    )


def data(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def old_style():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, cotangent):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * cotangent

    return Cube.apply


def with_numpy(x):
    return x**3 * float(np.sign(x.detach().numpy().sum()) ** 2)


def stopped(x):
    with torch.no_grad():
        factor = x * 2
    return factor * torch.sin(x)


FUNCTIONS = {
    "elementwise": (lambda x: torch.sin(x) * x**2, lambda x: jnp.sin(x) * x**2),
    "matrix": (lambda x: torch.outer(x, x.exp()), lambda x: jnp.outer(x, jnp.exp(x))),
    "number": (lambda x: x.pow(3).sum(), lambda x: (x**3).sum()),
    "old style": (old_style(), lambda x: x**3),
    "numpy": (with_numpy, lambda x: x**3),
    "branch": (
        lambda x: x**3 if x.sum() > 0 else x**2,
        lambda x: jnp.where(x.sum() > 0, x**3, x**2),
    ),
    "detached": (
        lambda x: x.detach() * x**2,
        lambda x: jax.lax.stop_gradient(x) * x**2,
    ),
    "no_grad": (stopped, lambda x: jax.lax.stop_gradient(2 * x) * jnp.sin(x)),
    "in place": (lambda x: torch.sin(x).mul_(x).add_(1), lambda x: jnp.sin(x) * x + 1),
    "integers too": (
        lambda x: (x.sort().values * x, x.argmax()),
        lambda x: (jnp.sort(x) * x, jnp.argmax(x)),
    ),
}


def floats(f):
    """The results of a function that have derivatives."""
    first = lambda y: y[0] if isinstance(y, tuple) else y
    return lambda x: first(f(x))


def total(f):
    return lambda x: floats(f)(x).sum()


def in_scan(f):
    step = lambda x, _: (x + 0.1 * jnp.sin(total(f)(x)), None)
    return lambda x: jax.lax.scan(step, x, length=3)[0].sum()


TRANSFORMS = {
    "jvp": lambda f: lambda x: jax.jvp(floats(f), (x,), (x + 1,)),
    "vjp": lambda f: lambda x: jax.vjp(floats(f), x)[1](floats(f)(x)),
    "jacfwd": lambda f: jax.jacfwd(floats(f)),
    "jacrev": lambda f: jax.jacrev(floats(f)),
    "hessian": lambda f: jax.hessian(total(f)),
    "reverse over reverse": lambda f: jax.jacrev(jax.grad(total(f))),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(floats(f))),
    "third": lambda f: jax.jacfwd(jax.hessian(total(f))),
    "linearize": lambda f: lambda x: jax.linearize(floats(f), x)[1](x + 1),
    "vmap of jvp": lambda f: jax.vmap(
        lambda x: jax.jvp(floats(f), (x,), (x,))[1], in_axes=0
    ),
    "vmap of grad": lambda f: jax.vmap(jax.grad(total(f))),
    "grad of vmap": lambda f: jax.grad(lambda x: jax.vmap(total(f))(x).sum()),
    "scan": lambda f: jax.grad(in_scan(f)),
    "checkpoint": lambda f: jax.grad(lambda x: jax.checkpoint(total(f))(x) ** 2),
}


SOME = ("jvp", "vjp", "hessian", "vmap of grad", "grad of vmap")


@pytest.mark.parametrize("case", FUNCTIONS)
def test_derivatives_are_those_of_the_same_function_in_jax(case):
    theirs, native = FUNCTIONS[case]
    ours = from_torch(theirs)
    for name in SOME:
        transform = TRANSFORMS[name]
        shape = (3, 4) if "vmap" in name else (4,)
        x = jnp.abs(data(*shape)) + 0.1
        close(transform(ours)(x), jax.jit(transform(native))(x), rtol=1e-3, atol=1e-4)


def test_every_transform_eagerly_and_under_jit():
    """One program with all of them: compiled code goes another way."""
    theirs, native = FUNCTIONS["elementwise"]
    x = {True: data(3, 4), False: data(4)}

    def every(f):
        return [t(f)(x["vmap" in name]) for name, t in TRANSFORMS.items()]

    expected = jax.jit(lambda: every(native))()
    ours = from_torch(theirs)
    close(jax.jit(lambda: every(ours))(), expected, 1e-3, 1e-4)
    close(every(ours), expected, 1e-3, 1e-4)


RUNS = {"eager": lambda f: f, "jit": jax.jit}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("size", [4, 200])  # 200: memory is not copied
@pytest.mark.parametrize("number", [True, False], ids=["number", "array"])
def test_the_forward_pass_runs_once(run, size, number):
    body = lambda x, w: torch.tanh(x @ w)
    counted = Counted((lambda x, w: body(x, w).sum()) if number else body)
    ours = from_torch(counted)
    native = lambda x, w: jnp.tanh(x @ w)
    x, w = data(size, size), data(size, size, seed=1) / size

    def loss(f):
        return lambda x, w: (f(x, w) ** (1 if number else 2)).sum()

    gradient = RUNS[run](jax.value_and_grad(loss(ours), (0, 1)))
    gradient(x, w)
    counted.calls = 0
    found = jax.block_until_ready(gradient(x, w))
    assert counted.calls == 1
    close(found, jax.value_and_grad(loss(native), (0, 1))(x, w), rtol=1e-3)


@pytest.mark.parametrize("size", [4, 200])
def test_backward_passes_in_any_order_and_number(size):
    """What a forward pass leaves is used once; others compute it again."""
    ours, native = from_torch(torch.tanh), jnp.tanh
    xs = [data(size, size, seed=k) for k in range(3)]
    pulls = [jax.vjp(ours, x)[1] for x in xs]
    for k in (2, 0, 1, 0, 0, 2):
        close(pulls[k](xs[0]), jax.vjp(native, xs[k])[1](xs[0]))
    many = [jax.vjp(ours, x)[1] for x in xs * 30]  # more than are kept
    close(many[0](xs[0]), jax.vjp(native, xs[0])[1](xs[0]))


def test_steps_of_a_scan_with_large_states():
    """Their memory moves between the forward and the backward pass."""
    theirs, native = (lambda x, w: torch.tanh(x @ w)), (lambda x, w: jnp.tanh(x @ w))
    x, w = data(150, 150), data(150, 150, seed=1) / 12

    def through(f):
        step = lambda w: lambda x, _: (f(x, w), None)
        return lambda x, w: (jax.lax.scan(step(w), x, length=5)[0] ** 2).sum()

    found = jax.jit(jax.grad(through(from_torch(theirs)), (0, 1)))(x, w)
    close(found, jax.jit(jax.grad(through(native), (0, 1)))(x, w), rtol=1e-3)


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_batch_is_one_call_of_torch(jit, nested):
    counted = Counted(torch.sin)
    batched = jax.vmap(from_torch(counted), in_axes=1, out_axes=2)
    batched = jax.vmap(batched) if nested else batched
    batched = jax.jit(batched) if jit else batched
    shape = (2, 3, 4, 2) if nested else (3, 4, 2)
    x = data(*shape)
    batched(x)
    counted.calls = 0
    found = jax.block_until_ready(batched(x))
    assert counted.calls == 1
    close(found, jnp.moveaxis(jnp.sin(x), -3 + 1, -1))


def test_batches_that_torch_cannot_do():
    """Rows in a loop, in one host call: it looks at values, or has no rule."""
    f = from_torch(lambda x, n: x * 2 if x.sum() > 0 else x * n.item())
    x = jnp.array([[1.0, 2.0], [-1.0, -2.0]])
    found = jax.jit(jax.vmap(f, (0, None)))(x, jnp.array(5.0))
    close(found, [[2.0, 4.0], [-5.0, -10.0]])
    assert jax.vmap(f, (0, None))(jnp.zeros((0, 2)), jnp.array(5.0)).shape == (0, 2)
    gradient = jax.vmap(jax.grad(lambda x, n: f(x, n).sum()), (0, None))
    close(gradient(x, jnp.array(5.0)), [[2.0, 2.0], [5.0, 5.0]])
    # Places are counted from where the memory of a row begins.
    second = lambda x: torch.as_strided_scatter(x, torch.zeros(1), (1,), (1,), 1)
    close(jax.vmap(from_torch(second))(x), [[1.0, 0.0], [-1.0, 0.0]])


def test_forward_mode_in_complex_numbers():
    theirs = lambda z: (z * z.conj()).real.sum() + (torch.exp(z) * z).imag.sum()
    native = lambda z: (z * z.conj()).real.sum() + (jnp.exp(z) * z).imag.sum()
    z, t = (data(3) + 1j * data(3, seed=1)), (data(3, seed=2) + 1j * data(3, seed=3))
    both = lambda f: (jax.jvp(f, (z,), (t,)), jax.grad(f)(z))
    close(both(from_torch(theirs)), jax.jit(both, static_argnums=0)(native))
    holomorphic = lambda z: z**3
    for mode in (jax.jacfwd, jax.jacrev):
        found = mode(from_torch(holomorphic), holomorphic=True)(z)
        close(found, mode(holomorphic, holomorphic=True)(z))


def test_gradients_that_underflow_when_they_are_not_scaled():
    """A loss in 16 bits is multiplied before its gradient is taken."""
    ours = from_torch(lambda x: (x * 1e-4).mean())
    x = jnp.ones(1000, jnp.float16)
    gradient = jax.grad(lambda x: ours(x).astype(jnp.float32) * 2.0**12)(x)
    close(gradient, jnp.full(1000, 4096e-7), rtol=1e-2, atol=0)


@pytest.mark.parametrize("run", RUNS)
def test_large_arrays_are_not_changed(run):
    """They are not copied for a function that only reads them."""

    def f(x, y):
        y.mul_(2)
        return x + y, x, y[:2]

    x, y = data(300, 300), data(300, 300, seed=1)
    before = np.array(y)
    g = RUNS[run](from_torch(f))
    for _ in range(3):
        total_, same, part = g(x, y)
        np.testing.assert_array_equal(y, before)
        close((total_, same, part), (x + 2 * before, x, 2 * before[:2]))


def test_large_results_are_not_what_the_function_keeps():
    kept = []
    table = torch.zeros(200, 200)

    def keeps(x):
        kept.append(x * 2)
        return kept[-1]

    f, g = from_torch(keeps), from_torch(lambda x: table)
    x = data(200, 200)
    first = f(x)
    kept[0].zero_()
    close(first, 2 * x)
    zeros = g(x)
    table.add_(1)
    assert not zeros.any()


def test_shard_map():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("rows",))
    spec = jax.sharding.PartitionSpec("rows")
    f = from_torch(lambda x: torch.sin(x) * 2)
    mapped = jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)
    x = data(4, 2)
    close(jax.jit(mapped)(x), 2 * jnp.sin(x))
    close(jax.jit(jax.grad(lambda x: mapped(x).sum()))(x), 2 * jnp.cos(x))


def test_numbers_alike_eagerly_and_under_jit(x64):
    exp, dropout = from_torch(torch.exp), from_torch(F.dropout)
    add, topk = from_torch(torch.add), from_torch(torch.topk)
    for number in (1.0, np.float32(1.0), np.float64(1.0), jnp.float32(1.0)):
        for run in (exp, jax.jit(exp)):
            result = run(number)
            assert result.shape == ()
            close(result, np.exp(1.0))
    assert exp(1.0).dtype == jax.jit(exp)(1.0).dtype
    close(add(1.0, np.float32(2.0)), jax.jit(add)(1.0, 2.0))
    close(add(jnp.ones(2), 2), jax.jit(add)(jnp.ones(2), 2))
    assert topk(jnp.arange(4.0), 2).values.shape == (2,)
    assert dropout(jnp.ones(8), 0.5, training=False).tolist() == [1] * 8
    close(jax.grad(exp)(1.0), np.exp(1.0))
    with pytest.raises(TypeError, match="must be Tensor, not str"):
        exp("1.0")
    with pytest.raises(TypeError, match="unsupported operand"):
        from_torch(lambda x, y: x + y)(1.0, "y")


STEPS = {
    "sin": (torch.sin, jnp.sin),
    "square": (lambda x: x * x, lambda x: x * x),
    "centre": (lambda x: x - x.mean(), lambda x: x - x.mean()),
    "softmax": (lambda x: torch.softmax(x, -1), jax.nn.softmax),
    "flip": (lambda x: x.flip(-1), lambda x: jnp.flip(x, -1)),
    "roll": (lambda x: x.roll(1, -1).mul_(2), lambda x: 2 * jnp.roll(x, 1, -1)),
    "cumsum": (lambda x: x.cumsum(-1), lambda x: jnp.cumsum(x, -1)),
    "stop": (lambda x: x * x.detach(), lambda x: x * jax.lax.stop_gradient(x)),
}
NESTABLE = ["jacfwd", "jacrev", "grad", "vmap", "jvp"]


def applied(f, transforms):
    rank = 1
    for name in transforms:
        if name == "vmap":
            f, rank = jax.vmap(f), rank + 1
        elif name == "grad":
            f = jax.grad(lambda x, f=f: jnp.sin(f(x)).sum())
        elif name == "jvp":
            f = lambda x, f=f: jax.jvp(f, (x,), (jnp.cos(x),))[1]
        else:
            f = getattr(jax, name)(f)
    return f, rank


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3),
    st.lists(st.sampled_from(NESTABLE), max_size=3),
)
def test_any_nesting(steps, transforms):
    def chain(k):
        def f(x):
            for step in steps:
                x = STEPS[step][k](x)
            return x

        return f

    ours, rank = applied(from_torch(chain(0)), transforms)
    native, _ = applied(chain(1), transforms)
    x = data(*(2,) * (rank - 1), 3)
    close(ours(x), jax.jit(native)(x), rtol=1e-3, atol=1e-4)


def test_sequences_of_worlds():
    f = from_torch(lambda x: torch.sin(x).sum())
    for on in (False, True, False):
        with jax.enable_x64(on):
            x = np.ones(3)
            wide = np.float64 if on else np.float32
            for run in (f, jax.grad(f), jax.jit(jax.hessian(f)), jfi.autojit(f)):
                assert run(x).dtype == wide


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("look", [True, False])
def test_where_the_caller_wants_no_graphs(mode, look):
    f = from_torch(lambda x: torch.sin(x) if not look or x.sum() > -99 else x)
    x = data(4)
    with mode():
        close(f(x), jnp.sin(x))
        close(jax.grad(lambda x: f(x).sum())(x), jnp.cos(x))
        close(jax.vjp(f, x)[1](x)[0], x * jnp.cos(x))
        close(jax.jacfwd(f)(x), jnp.diag(jnp.cos(x)))
    close(jax.jit(jax.grad(lambda x: f(x).sum()))(x), jnp.cos(x))
