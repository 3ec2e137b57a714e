"""PyTorch functions inside JAX: values, gradients, batches, refusals."""

import collections
import copy
import functools
import gc
import pickle
import threading
import types
import weakref

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi import CallbackError, from_torch

from .subprocesses import output_of


torch = pytest.importorskip("torch")
torch.set_num_threads(1)
F = torch.nn.functional
FakeTensor = pytest.importorskip("torch._subclasses.fake_tensor").FakeTensor

# The second is what a program raises that ran in the background.
JIT_ERRORS = (jax.errors.JaxRuntimeError, ValueError)

cross_entropy = from_torch(F.cross_entropy)


def native_cross_entropy(logits, labels):
    rows = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -rows.mean()


def logits_and_labels(dtype=np.float32, batch=()):
    logits = np.random.default_rng(0).normal(size=(*batch, 5, 4)).astype(dtype)
    return jnp.asarray(logits), jnp.array([0, 1, 2, 3, 1])


class Counted:
    """A torch function that counts its calls with values (not those with shapes)."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args):
        if not any(isinstance(arg, FakeTensor) for arg in args):
            self.calls += 1
        return self.function(*args)


def close(actual, expected, **tolerance):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, **{"rtol": 1e-5, **tolerance}),
        actual,
        expected,
    )


# ------------------------------------------------------------ the loss of PyTorch


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        jax.jit,
        jax.grad,
        lambda f: jax.jit(jax.grad(f)),
        lambda f: jax.grad(jax.jit(f)),
        lambda f: jax.grad(jax.checkpoint(f)),
        jax.value_and_grad,
        lambda f: jax.jacrev(jax.jacrev(f)),
        lambda f: jax.jit(jax.jacrev(jax.grad(f))),
    ],
)
def test_cross_entropy(transform, x64):
    logits, labels = logits_and_labels()
    result = transform(cross_entropy)(logits, labels)
    expected = jax.jit(transform(native_cross_entropy))(logits, labels)
    close(result, expected, atol=1e-6)
    assert jax.tree.leaves(result)[0].dtype == logits.dtype


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("label_dtype", [np.int32, np.int64])
def test_dtypes_of_cross_entropy(dtype, label_dtype):
    logits, labels = logits_and_labels(dtype)
    run = lambda loss: jax.jit(jax.value_and_grad(loss))(logits, labels)
    labels = labels.astype(label_dtype)
    result = run(cross_entropy)
    close(result, run(native_cross_entropy), rtol=1e-2 if dtype == np.float16 else 1e-5)
    assert all(part.dtype == dtype for part in result)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: jax.vmap(f, (0, None)),
        lambda f: jax.vmap(jax.grad(f), (0, None)),
        lambda f: jax.jit(jax.vmap(jax.value_and_grad(f), (0, None))),
        lambda f: jax.grad(lambda x, y: jax.vmap(f, (0, None))(x, y).sum()),
        lambda f: jax.jit(jax.vmap(jax.jacrev(jax.grad(f)), (0, None))),
    ],
)
def test_cross_entropy_in_batches(transform, x64):
    logits, labels = logits_and_labels(batch=(3,))
    result = transform(cross_entropy)(logits, labels)
    expected = jax.jit(transform(native_cross_entropy))(logits, labels)
    close(result, expected, atol=1e-6)


def test_a_batch_has_the_dtype_of_its_rows():
    """`torch.vmap` makes float32 of `addmv` on uint8; PyTorch itself keeps uint8."""

    def f(a, m, v):
        return torch.addmv(a, m, v, beta=0.6, alpha=1.9)

    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 9, (2, *s), dtype=np.uint8) for s in ((3,), (3, 4), (4,))]
    got = jax.vmap(from_torch(f))(*map(jnp.asarray, rows))
    pairs = zip(*rows, strict=True)
    expected = [f(*map(torch.from_numpy, row)).numpy() for row in pairs]
    assert got.dtype == np.uint8
    assert np.array_equal(got, expected)


def test_nested_vmap():
    logits, labels = logits_and_labels(batch=(3, 2))
    nest = lambda f: jax.vmap(jax.vmap(jax.grad(f), (0, None)), (0, None))
    result = nest(cross_entropy)(logits, labels)
    close(result, jax.jit(nest(native_cross_entropy))(logits, labels), atol=1e-6)


def test_scan():
    logits, labels = logits_and_labels()

    def descend(loss):
        def step(x, _):
            value, gradient = jax.value_and_grad(loss)(x, labels)
            return x - 0.5 * gradient, value

        return jax.lax.scan(step, logits, length=5)

    close(descend(cross_entropy), descend(native_cross_entropy), atol=1e-6)
    unrolled = lambda loss: jax.grad(lambda x: through_scan(loss, x, labels))(logits)
    close(unrolled(cross_entropy), unrolled(native_cross_entropy), atol=1e-6)


def through_scan(loss, x, labels):
    step = lambda x, _: (x * (1 + loss(x, labels)), None)
    return jax.lax.scan(step, x, length=3)[0].sum()


def test_one_torch_call_per_jax_call():
    counted = Counted(F.cross_entropy)
    loss = from_torch(counted)
    logits, labels = logits_and_labels()
    compiled = jax.jit(loss).lower(logits, labels).compile()
    assert counted.calls == 0  # shapes are learnt from tensors without values
    for count, run in enumerate([loss, compiled, compiled], 1):
        run(logits, labels).block_until_ready()
        assert counted.calls == count
    counted.calls = 0
    jax.block_until_ready(jax.jit(jax.value_and_grad(loss))(logits, labels))
    assert counted.calls == 1  # the value comes with the gradient


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_one_host_call_per_batch(jit):
    counted = Counted(torch.sin)
    batched = jax.vmap(from_torch(counted))
    batched = jax.jit(batched) if jit else batched
    x = jnp.arange(12.0).reshape(4, 3)
    close(batched(x), jnp.sin(x), atol=1e-6)
    assert counted.calls == 1  # of torch.vmap
    text = str(jax.make_jaxpr(batched)(x))
    assert text.count("host_callback[") == 1
    assert "scan" not in text


# ---------------------------------------------------------- arguments and results


OWN = {
    "of two": (torch.add, torch.sub, torch.mul, torch.maximum, torch.eq, torch.complex),
    "of one": (torch.sin, torch.relu, torch.mean, torch.sort, torch.cumsum, torch.t),
    "of a list": (torch.stack, torch.cat),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int32", "bool"])
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (1,)])
def test_pytorchs_own_functions_write_where_jax_reads(shape, dtype):
    x = jnp.asarray(np.resize([0.5, -1.0, 2.0, 0.0], shape)).astype(dtype)
    arguments = {"of two": (x, x[::-1]), "of one": (x,), "of a list": ([x, x],)}
    compared = 0
    for kind, functions in OWN.items():
        for function in map(from_torch, functions):
            try:
                eager = function(*arguments[kind])
            except (RuntimeError, TypeError):  # not of this dtype, or of more arguments
                continue
            found = jax.jit(function)(*arguments[kind])
            for one, other in zip(*map(jax.tree.leaves, (found, eager)), strict=True):
                np.testing.assert_array_equal(*np.array([one, other], complex))
            assert jax.tree.map(jax.typeof, found) == jax.tree.map(jax.typeof, eager)
            compared += 1
    assert compared > 6


def test_what_is_written_is_no_argument():
    # An argument that is donated, or that nothing reads later, is still read here.
    a = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32) / 8
    multiply = from_torch(torch.matmul)
    powers = lambda x: jax.lax.fori_loop(0, 5, lambda _, c: multiply(c, a), x)
    expected = np.linalg.matrix_power(a, 6)
    for run in (jax.jit(powers), jax.jit(powers, donate_argnums=0)):
        np.testing.assert_allclose(run(jnp.array(a)), expected, atol=1e-5)


def test_arguments_are_any_pytree():
    def f(tree, *, scale, mode, size=None):
        assert type(tree) is dict
        assert mode == "sum"
        assert size is None
        total = sum(x.sum() for x in tree["xs"]) * scale + tree["flag"]
        return {"total": total, "parts": (tree["xs"][0], None), "all": list(tree["xs"])}

    wrapped = functools.partial(from_torch(f), scale=2.5, mode="sum")
    tree = {"xs": [jnp.ones(2), jnp.arange(3.0)], "flag": 1}
    result = wrapped(tree)
    assert jax.tree.structure(result) == jax.tree.structure(
        {"total": 0, "parts": (0, None), "all": [0, 0]}
    )
    assert result["total"] == 13.5
    arrays = lambda xs: wrapped({"xs": xs, "flag": 1})
    close(jax.jit(arrays)(tree["xs"]), result)
    gradient = jax.grad(lambda xs: arrays(xs)["total"])(tree["xs"])
    close(gradient, jax.tree.map(lambda x: jnp.full_like(x, 2.5), tree["xs"]))


def test_numpy_arrays_and_tensors_are_arrays():
    add = from_torch(torch.add)
    x = jnp.ones(2, jnp.float32)
    for other in (
        np.ones(2, np.float32),
        torch.ones(2),
        torch.ones(2).requires_grad_(),
    ):
        result = add(x, other)
        assert isinstance(result, jax.Array)
        assert result.dtype == np.float32
        close(jax.jit(add)(x, np.ones(2, np.float32)), result)


def test_numbers_are_told_apart_by_type_and_value():
    seen = from_torch(
        lambda x, n: torch.tensor([isinstance(n, bool), 1 / n < 0]) & (x > 0)
    )
    x = jnp.ones(2)
    assert True == 1 == 1.0  # one key in a dict
    for number, bools in [(1, [0, 0]), (True, [1, 0]), (1.0, [0, 0]), (-1.0, [0, 1])]:
        for run in (seen, jax.vmap(lambda x, n=number: seen(x, n), axis_size=1)):
            result = run(x, number) if run is seen else run(x[None])[0]
            assert result.tolist() == [bool(b) for b in bools]
    zero = from_torch(
        lambda x, n: x * torch.copysign(torch.tensor(1.0), torch.tensor(n))
    )
    for number in (0.0, -0.0, 0.0):
        run = jax.jit(lambda x, number=number: zero(x, number))
        assert run(x)[0] == np.copysign(1.0, number)


@pytest.mark.parametrize("error", [TypeError, AttributeError])
def test_a_function_that_fails_on_a_number_runs_once(error):
    calls = []

    @functools.wraps(torch.add)  # which also copies __module__
    def fails(x, number):
        calls.append(number)
        if isinstance(number, float):
            raise error("its own")
        return x

    with pytest.raises(error, match="its own") as caught:
        from_torch(fails)(jnp.ones(2), 1.5)
    assert calls == [1.5]
    assert "pass jnp.asarray(1.5)" in caught.value.__notes__[0]


def test_objects_are_passed_on():
    class Config:
        def __init__(self, width):
            self.width = width

        def __eq__(self, other):
            return True

        __hash__ = None

    widen = from_torch(lambda x, config: x.expand(config.width, -1))
    config = Config(2)
    assert jax.jit(lambda x: widen(x, config))(jnp.ones(3)).shape == (2, 3)
    config.width = 4  # the same object with another shape, and an equal one
    assert jax.jit(lambda x: widen(x, config))(jnp.ones(3)).shape == (4, 3)
    assert jax.jit(lambda x: widen(x, Config(5)))(jnp.ones(3)).shape == (5, 3)
    cast = from_torch(lambda x, dtype, part: x.to(dtype)[part])
    assert cast(jnp.ones(3), torch.float16, slice(0, 2)).dtype == np.float16
    assert cast(jnp.ones(3), torch.float64, slice(0, 2)).shape == (2,)


def test_gradient_with_respect_to_a_module():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
    params = {k: jnp.asarray(v.detach().numpy()) for k, v in model.named_parameters()}
    call = from_torch(torch.func.functional_call)
    x = jnp.ones((2, 3), jnp.float32)
    loss = lambda params, x: call(model, params, x).sum()
    native = lambda p, x: jnp.tanh(x @ p["0.weight"].T + p["0.bias"]).sum()
    for run in (jax.grad(loss), jax.jit(jax.grad(loss))):
        close(run(params, x), jax.grad(native)(params, x), atol=1e-6)


def test_a_function_of_a_module_sees_its_values():
    model = torch.nn.Linear(3, 1)
    f = from_torch(lambda x: model(x))
    x = jnp.ones((2, 3), jnp.float32)
    for run in (f, jax.jit(f)):
        close(run(x), model(torch.ones(2, 3)).detach().numpy())
    close(jax.grad(lambda x: f(x).sum())(x)[0], model.weight.detach().numpy()[0])
    assert model.weight.grad is None
    with torch.no_grad():
        model.weight.zero_()  # compiled programs see the module as it is now
    compiled = jax.jit(f)
    before = compiled(x)
    with torch.no_grad():
        model.bias.add_(1)
    close(compiled(x), before + 1)


def test_named_tuples():
    topk = from_torch(torch.topk)
    x = jnp.array([3.0, 1.0, 2.0])
    for run in (topk, jax.jit(topk, static_argnums=1)):
        result = run(x, 2)
        assert result.values.tolist() == [3, 2]
        assert result.indices.tolist() == [0, 2]
        assert isinstance(result, tuple)
    gradient = jax.grad(lambda x: topk(x, 2).values.sum())(x)
    assert gradient.tolist() == [1, 0, 1]
    Pair = collections.namedtuple("Pair", "a b")
    pair = jax.jit(from_torch(lambda x: Pair(x, x + 1)))(x)
    assert type(pair) is Pair


def test_the_result_may_be_what_the_function_keeps():
    state = torch.zeros(3)
    f = from_torch(lambda x: state)
    first = f(jnp.ones(1))
    state.add_(1)
    assert first.tolist() == [0, 0, 0]
    assert f(jnp.ones(1)).tolist() == [1, 1, 1]


def test_numpy_inside():
    def f(x):
        return x * float(x.detach().numpy().sum()), x.detach().numpy() + 1

    x = jnp.arange(3.0)
    for run in (from_torch(f), jax.jit(from_torch(f))):
        close(run(x), (x * 3, x + 1))
    close(jax.jit(jax.grad(lambda x: from_torch(f)(x)[0].sum()))(x), [3.0, 3.0, 3.0])


def test_branches_on_values():
    f = from_torch(lambda x: x * 2 if x.sum() > 0 else -x)
    for run in (f, jax.jit(f)):
        assert run(jnp.ones(2)).tolist() == [2, 2]
        assert run(-jnp.ones(2)).tolist() == [1, 1]
    gradients = jax.vmap(jax.grad(lambda x: f(x).sum()))(jnp.array([[1.0], [-1.0]]))
    assert gradients.tolist() == [[2], [-1]]


def test_shapes_that_depend_on_values_are_compared_at_run_time():
    nonzero = from_torch(lambda x: x[x > 0])
    assert nonzero(jnp.array([1.0, -1.0])).tolist() == [1]
    with pytest.raises(CallbackError, match=r"looks at values.*empty tensor"):
        jax.jit(nonzero)(jnp.array([1.0, -1.0]))
    at_least_one = jax.jit(from_torch(lambda x: x[: max(1, int(x.sum()))]))
    assert at_least_one(jnp.array([1.0, 0.0])).tolist() == [1]
    with pytest.raises(JIT_ERRORS, match=r"CallbackError.*float.*\[2\], where.*\[1\]"):
        at_least_one(jnp.array([1.0, 1.0])).block_until_ready()


def test_in_place_operations_change_no_array():
    def f(x, y):
        x.add_(1)
        y.mul_(2)
        return x * y

    x, y = jnp.ones(3), np.full(3, 2.0)
    wrapped = from_torch(f)
    for run in (wrapped, jax.jit(wrapped), lambda *a: jax.vmap(wrapped)(*a)):
        assert run(x, y).tolist() == [8, 8, 8]
        assert x.tolist() == [1, 1, 1]
        assert y.tolist() == [2, 2, 2]
    scalar = lambda x, y: wrapped(x, y).sum()
    close(jax.grad(scalar, (0, 1))(x, jnp.asarray(y)), ([4.0] * 3, [4.0] * 3))
    close(jax.jacrev(jax.grad(scalar, 1))(x, jnp.asarray(y)), 2 * np.eye(3))


DTYPES = (
    "bool uint8 int8 int16 int64 uint16 uint32 float16 bfloat16 float32 float64 "
    "complex64 complex128 float8_e4m3fn float8_e5m2"
)


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("dtype", DTYPES.split())
@pytest.mark.parametrize("shape", [(), (2,), (0, 3)])
def test_dtypes_pass_through(dtype, shape):
    x = jnp.ones(shape, dtype)
    same = from_torch(lambda x: x)
    for run in (same, jax.jit(same)):
        assert run(x).dtype == dtype
        np.testing.assert_array_equal(run(x), x)


def test_int32_is_an_index(x64):
    seen = []
    f = from_torch(lambda x: (seen.append(x.dtype), x)[1])
    result = f(jnp.arange(3, dtype=jnp.int32))
    assert seen == [torch.int64]
    assert result.dtype == (np.int64 if x64 else np.int32)


def test_numpy_arrays_have_jaxs_dtypes(x64):
    seen = []
    f = from_torch(lambda x: (seen.append(x.dtype), x.sum())[1])
    x, wide = np.ones(2), (torch.float64 if x64 else torch.float32)
    for run in (f, jax.jit(f), jax.grad(f), jax.value_and_grad(jax.jit(f))):
        run(x)
    jax.vmap(f)(x[None])
    jax.vmap(jax.grad(f))(x[None])
    assert set(seen) == {wide}


def test_float64_results(x64):
    f = from_torch(lambda x: x.double() * 2)
    x = jnp.ones(2, jnp.float32)
    wide = np.float64 if x64 else np.float32
    for run in (f, jax.jit(f), lambda x: jax.vmap(f)(x)):
        assert run(x).dtype == wide
    gradient = jax.jit(jax.grad(lambda x: f(x).sum()))(x)
    assert gradient.dtype == np.float32
    assert gradient.tolist() == [2, 2]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_gradients_in_half_precision(dtype):
    x = jnp.array([1.0, 2.0], dtype)
    gradient = jax.jit(jax.grad(lambda x: from_torch(torch.square)(x).sum()))(x)
    assert gradient.dtype == dtype
    assert gradient.tolist() == [2, 4]


def test_gradient_of_an_empty_array():
    gradient = jax.grad(lambda x: from_torch(torch.sum)(x))(jnp.ones((0, 3)))
    assert gradient.shape == (0, 3)
    assert from_torch(F.relu)(jnp.ones((0, 3))).shape == (0, 3)


# -------------------------------------------------------------------- gradients


def test_an_operator_that_conjugates_inside_does_so():
    rng = np.random.default_rng(0)
    real, imaginary = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 4, 3))
    a, b = (real + 1j * imaginary).astype("complex64")
    residuals = lambda a, b: torch.linalg.lstsq(a, b, driver="gels").residuals
    expected = residuals(torch.from_numpy(a), torch.from_numpy(b))
    close(from_torch(residuals)(a, b), expected)


def test_complex_gradients_are_those_of_jax():
    z = jnp.array([1 + 2j, -0.5 + 0.3j], jnp.complex64)
    w = jnp.array([0.2 - 1j, 2 + 0.1j], jnp.complex64)
    real = lambda exp, z, w: exp(z) * w * w.conj() * z
    functions = [
        (
            from_torch(lambda z, w: real(torch.exp, z, w).abs().sum()),
            lambda z, w: jnp.abs(real(jnp.exp, z, w)).sum(),
        ),
        (
            from_torch(lambda z, w: (z.real * w.imag + (z * w).conj().imag).sum()),
            lambda z, w: (z.real * w.imag + (z * w).conj().imag).sum(),
        ),
    ]
    second = lambda f: jax.grad(lambda z: jnp.abs(jax.grad(f)(z, w)).sum())(z)
    found = lambda f: (f(z, w), jax.grad(f, (0, 1))(z, w), second(f))
    for ours, native in functions:
        value, gradients, curvature = jax.jit(found, static_argnums=0)(native)
        close(ours(z, w), value)
        for argnum in (0, 1):
            close(jax.grad(ours, argnum)(z, w), gradients[argnum])
            close(jax.jit(jax.grad(ours, argnum))(z, w), gradients[argnum])
        close(second(ours), curvature, atol=1e-5)
    holomorphic = from_torch(lambda z: torch.sin(z) * z)
    expected = jax.jacrev(lambda z: jnp.sin(z) * z, holomorphic=True)(z)
    close(jax.jacrev(holomorphic, holomorphic=True)(z), expected, atol=1e-5)
    _, pull = jax.vjp(holomorphic, z)
    _, native_pull = jax.vjp(lambda z: jnp.sin(z) * z, z)
    close(pull(w), native_pull(w))


def test_a_third_derivative():
    f = from_torch(lambda x: torch.sin(x) * x**2)
    native = lambda x: jnp.sin(x) * x**2
    third = lambda f: jax.grad(jax.grad(jax.grad(f)))
    expected = jax.jit(third(native))(jnp.array(0.7))
    for run in (third(f), jax.jit(third(f)), lambda x: jax.vmap(third(f))(x[None])[0]):
        close(run(jnp.array(0.7)), expected)


def test_second_derivatives_of_several_arguments():
    f = from_torch(lambda x, y: (torch.exp(x) * y.pow(3)).sum() + x.sum())
    native = lambda x, y: (jnp.exp(x) * y**3).sum() + x.sum()
    x, y = jnp.array([0.1, 0.2]), jnp.array([1.5, -0.5])
    for outer in (0, 1):
        for inner in (0, 1):
            nest = lambda f, o=outer, i=inner: jax.jacrev(jax.grad(f, i), o)(x, y)
            close(nest(f), jax.jit(nest, static_argnums=0)(native))


@pytest.mark.usefixtures("mixed_world")
def test_only_wanted_gradients_are_computed():
    """`weight` has none in PyTorch: asking for it would raise."""
    weight = jnp.array([1.0, 2.0, 0.5, 1.0], jnp.float32)
    logits, labels = logits_and_labels()
    loss = lambda x: cross_entropy(x, labels, weight)
    gradient = jax.jit(jax.grad(loss))(logits)
    tensors = [torch.tensor(np.asarray(a)) for a in (logits, labels, weight)]
    tensors[0].requires_grad_()
    F.cross_entropy(*tensors).backward()
    close(gradient, tensors[0].grad.numpy())


def test_arguments_without_influence_have_zero_gradients():
    f = from_torch(lambda x, y, n: (x * 2).sum() + y.detach().sum() * n.sum())
    x, n = jnp.ones(3), jnp.arange(3)
    gradients = jax.grad(f, (0, 1, 2), allow_int=True)(x, x, n)
    assert gradients[0].tolist() == [2, 2, 2]
    assert gradients[1].tolist() == [0, 0, 0]
    assert gradients[2].dtype == jax.dtypes.float0
    constant = from_torch(lambda x: torch.ones(2))
    assert jax.grad(lambda x: constant(x).sum())(x).tolist() == [0, 0, 0]
    linear = jax.jacrev(jax.grad(lambda x: from_torch(torch.sum)(x)))(x)
    assert linear.tolist() == [[0] * 3] * 3


def test_results_that_are_not_used_take_no_part():
    """The derivative of sqrt at 0 is infinite, and 0 times that is NaN."""
    f = from_torch(lambda x: (torch.sqrt(x).sum(), (x * 3).sum(), x.argmax()))
    assert jax.grad(lambda x: f(x)[1])(jnp.zeros(2)).tolist() == [3, 3]


def test_functions_that_differentiate_themselves():
    def slope(x):
        x = x.requires_grad_()
        return torch.autograd.grad((x**3).sum(), x, create_graph=True)[0]

    f = from_torch(slope)
    x = jnp.array([1.0, 2.0])
    close(f(x), 3 * x**2)
    close(jax.jit(f)(x), 3 * x**2)
    close(jax.jit(jax.grad(lambda x: f(x).sum()))(x), 6 * x)


def test_autograd_functions():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, cotangent):
            return cotangent * 7  # wrong on purpose: it is this rule that counts

    gradient = jax.grad(lambda x: from_torch(Double.apply)(x).sum())(jnp.ones(2))
    assert gradient.tolist() == [7, 7]


# --------------------------------------------------------------------- refusals


class Net(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


RUNS = {
    "eager": lambda f, x: f(x),
    "jit": lambda f, x: jax.jit(f)(x),
    "vmap": lambda f, x: jax.vmap(f)(x[None]),
    "grad": lambda f, x: jax.grad(lambda x: f(x).sum())(x),
}


@pytest.mark.parametrize("run", RUNS)
def test_generators_are_refused(run):
    generator = torch.Generator().manual_seed(0)
    f = from_torch(lambda x: x + torch.rand(3, generator=generator))
    errors = (CallbackError, *JIT_ERRORS)
    with pytest.raises(errors, match=r"draws from a torch.Generator of its own.*aten"):
        RUNS[run](f, jnp.ones(3, jnp.float32))


STATE, TABLE, ONES = torch.zeros(3), torch.zeros(3, 2), torch.ones(3)
BATCH_NORM = Net(torch.nn.BatchNorm1d(3))

WRITES = {
    "batch norm": (BATCH_NORM.forward, (2, 3)),
    "instance norm": (
        Net(torch.nn.InstanceNorm1d(3, track_running_stats=True)).forward,
        (2, 3, 4),
    ),
    "statistics": (lambda x: F.batch_norm(x, STATE, ONES, training=True), (2, 3)),
    "closed over": (lambda x: x + STATE.add_(1), (3,)),
    "view": (lambda x: TABLE[:, 0].copy_(x), (3,)),
    "out": (lambda x: torch.add(x, 1, out=STATE), (3,)),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("case", WRITES)
def test_writes_into_other_tensors_are_refused(case, run):
    function, shape = WRITES[case]
    state = copy.deepcopy(BATCH_NORM.state_dict())
    errors = (CallbackError, *JIT_ERRORS)  # at the latest when it runs
    with pytest.raises(errors, match=r"writes into a tensor.*not its argument"):
        RUNS[run](from_torch(function), jnp.ones(shape, jnp.float32))
    assert not STATE.any()
    assert not TABLE.any()
    assert ONES.all()
    for name, old in state.items():
        assert torch.equal(old, BATCH_NORM.state_dict()[name])


def own_writes(x):
    out = torch.zeros(3)
    out[1:] += x[1:]
    constant = torch.tensor([1.0, 2.0, 3.0])
    constant.add_(out)
    return torch.sin(x).mul_(constant)


@pytest.mark.parametrize("run", RUNS)
def test_writes_into_own_tensors_are_fine(run):
    RUNS[run](from_torch(own_writes), jnp.ones(3, jnp.float32))


@pytest.mark.parametrize("run", RUNS)
def test_batch_norm_in_evaluation(run):
    net = Net(torch.nn.BatchNorm1d(3)).eval()
    RUNS[run](from_torch(net.forward), jnp.ones((2, 3), jnp.float32))


def test_statistics_as_arguments():
    def norm(x, mean, var):
        return F.batch_norm(x, mean, var, training=True), mean, var

    x = jnp.arange(6.0).reshape(3, 2)
    mean, var = jnp.zeros(2), jnp.ones(2)
    _, new_mean, _ = jax.jit(from_torch(norm))(x, mean, var)
    close(new_mean, 0.1 * x.mean(0))
    assert mean.tolist() == [0, 0]


@pytest.mark.parametrize("run", ["jit", "vmap"])
def test_a_function_that_keeps_a_tensor_is_refused(run):
    class Cached:
        table = None

        def __call__(self, x):
            if self.table is None:
                self.table = torch.arange(3.0)
            return x + self.table

    x = jnp.ones(3, jnp.float32)
    with pytest.raises(CallbackError, match=r"Cached\(\) keeps a tensor of its call"):
        RUNS[run](from_torch(Cached()), x)
    cached = Cached()
    f = from_torch(cached)
    assert f(x).tolist() == [1, 2, 3]  # an eager call has values
    close(RUNS[run](f, x), f(x) if run == "jit" else f(x)[None])


RESULTS = {
    "number": (lambda x: (x, 3.5), r"returned 3.5 \(float\).*torch.as_tensor"),
    "string": (lambda x: "done", r"returned 'done' \(str\)"),
    "sparse": (lambda x: x.to_sparse(), "layout torch.sparse_coo.*to_dense"),
    "dtype": (lambda x: x.to(torch.complex32), r"complex32, .*torch\.complex64\)"),
}


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("run", ["eager", "jit", "vmap"])
@pytest.mark.parametrize("case", RESULTS)
def test_results_without_a_jax_form_are_refused(case, run):
    function, message = RESULTS[case]
    with pytest.raises(CallbackError, match=message):
        RUNS[run](from_torch(function), jnp.ones(3, jnp.float32))


@pytest.mark.parametrize("run", ["eager", "jit"])
def test_dtypes_that_pytorch_lacks_are_refused(run):
    f = from_torch(lambda x: x)
    for x in (jax.random.key(0), jnp.ones(3, jnp.int4)):
        with pytest.raises(CallbackError, match="with which PyTorch can't"):
            RUNS[run](f, x)


def test_no_result_is_refused_under_jit():
    nothing = from_torch(lambda x: None)
    assert nothing(jnp.ones(3)) is None
    with pytest.raises(CallbackError, match=r"<lambda>\(\) declares no result"):
        jax.jit(nothing)(jnp.ones(3))


def test_exceptions_keep_their_type():
    def solve(x):
        if x.sum() > 5:
            raise ZeroDivisionError("the sum is too large")
        return x

    f = from_torch(solve)
    big, small = jnp.full(3, 9.0), jnp.ones(3)
    for run in (RUNS["eager"], RUNS["vmap"], RUNS["grad"]):
        with pytest.raises(ZeroDivisionError, match="the sum is too large"):
            run(f, big)
    compiled = jax.jit(f)
    assert compiled(small).tolist() == [1, 1, 1]
    with pytest.raises(JIT_ERRORS, match="ZeroDivisionError: the sum"):
        compiled(big).block_until_ready()
    assert compiled(small).tolist() == [1, 1, 1]


def test_errors_found_while_tracing_keep_their_type():
    f = from_torch(lambda x: x @ x)
    with pytest.raises(RuntimeError, match="mat1 and mat2") as caught:
        jax.jit(f)(jnp.ones((2, 3)))
    assert "ran <lambda>() on zeros" in caught.value.__notes__[0]


def test_a_function_that_refuses_zeros_is_looked_at_with_ones():
    """Weights that sum to zero are an error of PyTorch."""
    x, weights = jnp.array([[1.0, 2.0, 4.0]]), jnp.array([1.0, 1.0, 2.0])
    cov = from_torch(lambda x, w: torch.cov(x, aweights=w))
    expected = np.cov(x, aweights=weights)
    assert np.allclose(jax.jit(cov)(x, weights), expected)


# ------------------------------------------------------------------- surroundings


def test_methods_signatures_and_pickling():
    class Model:
        scale = 3.0

        @from_torch
        def forward(self, x, power=2):
            """Scale a power of x."""
            return self.scale * x**power

    model = Model()
    assert model.forward(jnp.array(2.0)) == 12
    assert jax.jit(model.forward)(jnp.array(2.0)) == 12
    model.scale = 1.0
    assert model.forward(jnp.array(2.0), power=3) == 8
    assert Model.forward.__doc__ == "Scale a power of x."
    jax.jit(from_torch(F.softmax), static_argnames="dim")(jnp.ones(2), dim=0)
    for dumps in (pickle.dumps, cloudpickle.dumps):
        again = pickle.loads(dumps(from_torch(torch.sin)))
        assert again(jnp.array(0.0)) == 0
    closure = cloudpickle.loads(cloudpickle.dumps(from_torch(lambda x: x + 1)))
    assert closure(jnp.array(0.0)) == 1
    assert copy.deepcopy(from_torch(torch.sin))(jnp.array(0.0)) == 0
    assert repr(from_torch(len)) == "from_torch(<built-in function len>)"


def test_autojit_passes_functions_on():
    model = torch.nn.Linear(3, 1, bias=False)

    @jfi.autojit
    def apply(f, x, name):
        return f(x) if name == "call" else -f(x)

    f, x = from_torch(model.forward), jnp.ones(3, jnp.float32)
    close(apply(f, x, "call"), f(x))
    close(apply(f, x, "other"), -f(x))
    with torch.no_grad():
        model.weight.add_(1)  # a compiled program reads it when it runs
    close(apply(f, x, "call"), f(x))
    close(apply(from_torch(torch.sin), x, "call"), jnp.sin(x))


@pytest.mark.usefixtures("mixed_world")
def test_a_module_that_changes_its_dtype():
    model = torch.nn.Linear(3, 1)
    f = from_torch(lambda x: model(x.to(model.weight.dtype)))
    compiled = jax.jit(f)
    x = jnp.ones(3, jnp.float32)
    assert compiled(x).dtype == np.float32
    model.double()
    assert f(x).dtype == np.float64
    with pytest.raises(JIT_ERRORS, match="changed since, wrap and compile it again"):
        compiled(x).block_until_ready()
    again = jax.jit(from_torch(lambda x: model(x.to(model.weight.dtype))))
    assert again(x).dtype == np.float64


def test_other_calls_before_change_nothing():
    f = from_torch(lambda x, n: x.repeat(n))
    for n in (2, 3, 2):
        for shape in ((1,), (2,), (1,)):
            for dtype in (jnp.float32, jnp.int8, jnp.float32):
                x = jnp.ones(shape, dtype)
                for run in (f, jax.jit(f, static_argnums=1)):
                    result = run(x, n)
                    assert (result.shape, result.dtype) == ((n * shape[0],), dtype)


def test_x64_on_and_off():
    f = jax.jit(from_torch(lambda x: (x.double(), x.sum().long())))
    for on in (True, False, True, False):
        with jax.enable_x64(on):
            floats, ints = f(np.ones(3))
            assert floats.dtype == (np.float64 if on else np.float32)
            assert ints.dtype == (np.int64 if on else np.int32)


def test_threads():
    loss = jax.jit(jax.value_and_grad(cross_entropy))
    logits, labels = logits_and_labels()
    expected = [loss(logits * i, labels) for i in range(6)]
    results = {}

    def work(i):
        for _ in range(5):
            results[i] = loss(logits * i, labels), cross_entropy(logits * i, labels)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, (value, gradient) in enumerate(expected):
        close(results[i], ((value, gradient), value))


def test_integers_that_do_not_fit_are_refused_not_cut():
    f = from_torch(lambda x: x.long() * 2**20)
    close(f(np.array([3, -3])), [3 * 2**20, -3 * 2**20])
    for run in (f, jfi.jit(f)):
        with pytest.raises(
            CallbackError, match=r"returned the integer .* fit into int3"
        ):
            run(jnp.array([2**12]))
    for x in (np.array([2**40]), torch.tensor([2**40])):
        with pytest.raises(CallbackError, match="got the integer 1099511627776"):
            f(x)


def test_writes_that_begin_later_are_refused():
    in_place = False
    f = from_torch(lambda x: x.mul_(2) if in_place else x * 2)
    compiled = jfi.jit(f)
    x = jnp.ones(3)
    assert compiled(x)[0] == f(x)[0] == 2
    in_place = True
    assert f(x)[0] == 2  # on a copy
    assert x[0] == 1
    with pytest.raises(CallbackError, match="written into an argument, and wrote into"):
        compiled(x + 1)


REBOUND = {
    "global": lambda f: f.__globals__.update(act=torch.relu_),
    "default": lambda f: setattr(f, "__defaults__", (True,)),
    "code": lambda f: setattr(f, "__code__", (lambda x, _=0: 2 * x.relu_()).__code__),
    "module": lambda f: setattr(f.__globals__["own"], "relu", torch.relu_),
    "draws": lambda f: f.__globals__.update(act=F.dropout),
}


@pytest.mark.parametrize("how", REBOUND)
def test_what_reads_only_pytorch_is_watched_once_that_is_rebound(how):
    names = {"F": F, "act": torch.relu, "own": types.SimpleNamespace(relu=torch.relu)}
    text = "return F.relu(x, in_place) + 0.5 * (act(x) + own.relu(x))"
    exec(f"def f(x, in_place=False): {text}", names)  # as in a notebook
    f, x = names["f"], jnp.linspace(-1.0, 1.0, 5)
    wrapped, before = from_torch(f), np.array(x)
    compiled = jfi.jit(lambda x: wrapped(x + 0) + 0 * x)
    assert compiled(x).tolist() == wrapped(x).tolist() == [0, 0, 0, 1, 2]
    REBOUND[how](f)
    if how == "draws":
        drawn = [(jfi.manual_seed(0), wrapped(x).tolist())[1] for _ in range(2)]
        assert drawn[0] == drawn[1]
    else:
        assert wrapped(x).tolist() == [0, 0, 0, 1, 2]  # on a copy
        np.testing.assert_array_equal(x, before)
    message = "draws random numbers now" if how == "draws" else "written into an arg"
    with pytest.raises(CallbackError, match=message):
        compiled(x)


def test_functions_are_not_kept_alive():
    def make():
        big = torch.zeros(1000)
        f = from_torch(lambda x: x + big[: x.shape[0]])
        f(jnp.ones(3))
        return weakref.ref(big)

    reference = make()
    gc.collect()
    assert reference() is None


def test_without_pytorch():
    code = """
import sys
sys.modules["torch"] = None
from jfi.bridges.torch import from_torch
try:
    from_torch(len)
except ImportError as error:
    print(type(error).__name__, error)
"""
    text = output_of(code)
    assert text.startswith(
        "MissingDependencyError from_torch needs the package 'torch'"
    )
    assert "pip install 'jfi[torch]'" in text


def test_pytorch_is_imported_on_use():
    code = "import jfi.bridges.torch, sys; print('torch' in sys.modules)"
    assert output_of(code, fresh=True) == "False"


@pytest.mark.parametrize("function", [torch.add, lambda a, b: a + b])
def test_large_eager_results_are_not_copied(function):
    pointers = []

    def noted(a, b):
        result = function(a, b)
        pointers.append(result.data_ptr())
        return result

    x = jnp.ones(300_000)
    add = from_torch(noted)
    add(x, x)
    assert add(x, x).unsafe_buffer_pointer() == pointers[-1]


def test_a_number_that_torch_checks_is_a_setting_under_autojit():
    huber = jfi.from_torch(torch.nn.functional.huber_loss)
    loss = lambda x, delta: huber(x, jnp.zeros(2), delta=delta)
    compiled = jfi.autojit(loss)
    for delta in (0.5, 2.0):
        expected = loss(jnp.ones(2), delta)
        np.testing.assert_allclose(compiled(jnp.ones(2), delta), expected, rtol=1e-6)
