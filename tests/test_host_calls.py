"""Host functions inside JAX: calls, batches, exceptions, declared results."""

import os
import re
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from jfi import CallbackError, _jax_internals
from jfi._host import (
    GivenFunction,
    HostFunction,
    ReadyGradients,
    Saved,
    Transposable,
    _primitives,
    call_host,
    host_call,
)

from .subprocesses import output_of


# The second is what a program raises that ran in the background.
JIT_ERRORS = (jax.errors.JaxRuntimeError, ValueError)


class UserError(Exception):
    """What a user's own function raises."""


def spec(shape, dtype=np.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


class Counted:
    """A host function that counts its calls and keeps what it was given."""

    def __init__(self, function):
        self.function, self.calls, self.given = function, 0, []

    def __call__(self, *arrays):
        self.calls += 1
        self.given.append(arrays)
        return [self.function(*arrays)]


def add(x, y, host=None, vectorized=False):
    """x + y on the host, with a sum over the last axis."""
    host = host or (lambda x, y: [(x + y).sum(-1)])
    shape = jnp.broadcast_shapes(x.shape, y.shape)[:-1]
    results = [spec(shape, x.dtype)]
    return host_call(host, results, x, y, name="add()", vectorized=vectorized)[0]


X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.ones(3, np.float32)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.checkpoint])
def test_value(transform, x64):
    result = transform(add)(jnp.asarray(X), jnp.asarray(Y))
    np.testing.assert_array_equal(result, (X + Y).sum(-1))
    assert result.dtype == np.float32


def test_the_function_gets_numpy_arrays_of_its_own():
    host = Counted(lambda x: x)

    def call(x):
        return host_call(host, [spec(x.shape, x.dtype)], x, name="keep()")[0]

    x = jnp.arange(3.0)
    for run in (call, jax.jit(call), jax.vmap(lambda x: call(x[None])[0])):
        before = np.array(run(x))
        (array,) = host.given[-1]
        assert type(array) is np.ndarray
        array[...] = -1  # neither the argument nor the result is this memory
        np.testing.assert_array_equal(before, run(x))
        np.testing.assert_array_equal(x, [0, 1, 2])


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("vectorized", [False, True])
def test_one_host_call_per_batch(jit, vectorized):
    entries = []

    def host(x, y):
        entries.append(threading.get_ident())
        return [(x + y).sum(-1)]

    def one(x, y):
        return add(x, y, host, vectorized)

    nested = jax.vmap(jax.vmap(one, (0, None)), (None, 0))
    run = jax.jit(nested) if jit else nested
    x, y = jnp.asarray(X), jnp.arange(12.0, dtype=jnp.float32).reshape(4, 3)
    expected = (X[None] + np.asarray(y)[:, None]).sum(-1)
    np.testing.assert_array_equal(run(x, y), expected)
    rows = 2 * 4
    assert len(entries) == (1 if vectorized else rows)
    text = str(jax.make_jaxpr(run)(x, y))
    assert text.count("host_callback[") == 1
    assert "scan" not in text
    assert "while" not in text


def test_vectorized_arguments_keep_their_batch_axes():
    host = Counted(lambda x, y: (x + y).sum(-1))
    run = jax.vmap(lambda x, y: add(x, y, host, vectorized=True), (0, None))
    run(jnp.asarray(X), jnp.asarray(Y))
    assert [a.shape for a in host.given[-1]] == [(2, 3), (1, 3)]


@settings(max_examples=30, deadline=None)
@given(
    axes=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([(0, None), (None, 0), (0, 0)])),
        max_size=3,
    ),
    vectorized=st.booleans(),
)
def test_nested_vmap_is_numpy_broadcasting(axes, vectorized):
    x = y = np.arange(3, dtype=np.float32)
    function = lambda x, y: add(x, y, vectorized=vectorized)
    expected = lambda x, y: jnp.sum(x + y, -1)
    for size, in_axes in axes:
        scale = np.arange(size, dtype=np.float32)
        x = np.multiply.outer(scale, x) if in_axes[0] == 0 else x
        y = np.multiply.outer(scale, y) if in_axes[1] == 0 else y
        function = jax.vmap(function, in_axes)
        expected = jax.vmap(expected, in_axes)
    result = function(x, y)
    np.testing.assert_array_equal(result, expected(x, y))
    np.testing.assert_array_equal(jax.jit(function)(x, y), result)


def test_inside_loops_and_branches():
    def step(carry, x):
        carry = carry + add(x, jnp.asarray(Y))
        return carry, carry

    total, _ = jax.jit(lambda x: jax.lax.scan(step, jnp.float32(0), x))(X)
    assert total == (X + Y).sum()
    branch = jax.jit(lambda on: jax.lax.cond(on, lambda: add(X, Y), lambda: X[:, 0]))
    np.testing.assert_array_equal(branch(True), (X + Y).sum(-1))
    np.testing.assert_array_equal(branch(False), X[:, 0])


def fail(*_):
    raise UserError("the 7th row is bad")


@pytest.mark.parametrize("wraps", [0, 1, 2], ids=["eager", "vmap", "vmap of vmap"])
def test_exceptions_keep_their_type_without_jit(wraps):
    function = lambda x: add(x, x, fail)
    for _ in range(wraps):
        function = jax.vmap(function)
    with pytest.raises(UserError, match="the 7th row is bad"):
        function(jnp.ones((2, 3, 1)))


def test_exceptions_under_jit_say_type_and_message():
    run = jax.jit(lambda x: add(x, x, fail))
    with pytest.raises(JIT_ERRORS, match="UserError: the 7th row"):
        run(jnp.ones(3)).block_until_ready()


def test_wide_dtypes_become_jaxs_without_a_warning(x64):
    def call(x):
        results = [spec((3,), np.float64), spec((), np.int64)]
        host = lambda x: [x.astype(np.float64), x.size]
        return host_call(host, results, x, name="wide()")

    for run in (call, jax.jit(call), lambda x: jax.vmap(call)(x[None])):
        floats, count = run(jnp.ones(3))
        assert floats.dtype == (np.float64 if x64 else np.float32)
        assert count.dtype == (np.int64 if x64 else np.int32)
        assert np.all(count == 3)


def test_the_function_gets_jaxs_dtypes(x64):
    """Also of NumPy arrays under an eager vmap, which leaves them as they are."""
    host = Counted(lambda x: x)

    def call(x):
        return host_call(host, [spec((), np.float64)], x, name="same()")[0]

    runs = [jax.vmap(call), jax.jit(jax.vmap(call)), lambda x: call(x[0])]
    for run in runs:
        run(np.ones(2))
        assert host.given[-1][0].dtype == (np.float64 if x64 else np.float32)


DTYPES = "bool int8 uint16 int32 float16 bfloat16 float32 complex64 float8_e4m3fn"


@pytest.mark.parametrize("dtype", DTYPES.split())
@pytest.mark.parametrize("shape", [(), (3,), (0, 2)])
def test_dtypes_and_empty_arrays(dtype, shape):
    x = jnp.ones(shape, dtype)

    def call(x):
        return host_call(lambda x: [x], [spec(shape, dtype)], x, name="same()")[0]

    for run in (call, jax.jit(call)):
        assert run(x).dtype == dtype
        np.testing.assert_array_equal(run(x), x)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "bool", "complex64"])
def test_large_results_of_every_dtype(dtype):
    x = (jnp.arange(600_001) % 3).astype(dtype)
    kept = host_call(lambda x: [x[::-1]], [spec(x.shape, dtype)], x, name="flip()")[0]
    np.testing.assert_array_equal(kept, np.asarray(x)[::-1])


@pytest.mark.parametrize("dtype", ["int4", "uint2", "float4_e2m1fn"])
def test_numbers_that_xla_packs_into_bytes_are_refused(dtype):
    """NumPy has a byte for each: what a callback wrote would be beyond XLA's memory."""
    call = lambda x, dtype: host_call(
        lambda x: [x.astype(dtype)], [spec((3,), dtype)], x, name="same()"
    )
    for run in (call, jax.jit(call, static_argnums=1)):
        with pytest.raises(CallbackError, match=rf"same\(\) got .* {dtype}.*x.astype"):
            run(jnp.ones(3, dtype), "float32")
        with pytest.raises(CallbackError, match=rf"same\(\) declares .* {dtype}"):
            run(jnp.ones(3), dtype)


WRONG = {
    "shape": (lambda _: [np.ones(2, np.float32)], r"returned float32\[2\]"),
    "dtype": (lambda _: [np.ones(3, np.int32)], r"returned int32\[3\]"),
    "precision": (lambda _: [np.ones(3)], r"returned float64\[3\]"),
    "number": (lambda x: [x, x], r"returned float32\[3\], float32\[3\]"),
    "nothing": (lambda _: None, "returned nothing"),
    "empty": (lambda _: [], "returned nothing"),
}


@pytest.mark.parametrize("case", WRONG)
def test_results_are_compared_with_the_declared(case):
    function, message = WRONG[case]
    call = lambda x: host_call(function, [spec((3,))], x, name="solve()")
    x = jnp.ones(3, jnp.float32)
    with pytest.raises(CallbackError, match=rf"solve\(\) {message}, where float32"):
        call(x)
    with pytest.raises(JIT_ERRORS, match=f"CallbackError.*{message}"):
        jax.block_until_ready(jax.jit(call)(x))


def test_other_platforms(monkeypatch, x64):
    """What runs where there are no CPU buffers, made to run here."""
    make = _primitives.staged
    elsewhere = lambda *given, on_cpu: make(*given, on_cpu=False)
    monkeypatch.setattr(_primitives, "staged", elsewhere)
    run = jax.jit(jax.vmap(add, (0, None)))
    x, y = jnp.asarray(X), jnp.asarray(Y)
    np.testing.assert_array_equal(run(x, y), (X + Y).sum(-1))
    assert "xla_ffi_python_cpu_callback" in run.lower(x, y).as_text()
    wide = lambda x: host_call(
        lambda x: [x.astype(np.float64)], [spec((3,), np.float64)], x, name="wide()"
    )
    assert jax.jit(wide)(x[0])[0].dtype == (np.float64 if x64 else np.float32)
    with pytest.raises(JIT_ERRORS, match="UserError: the 7th row"):
        jax.jit(lambda x: add(x, x, fail))(x).block_until_ready()


def test_no_result_is_refused():
    with pytest.raises(CallbackError, match=r"log\(\) declares no result"):
        host_call(lambda x: None, [], jnp.ones(3), name="log()")


def test_keys_are_refused():
    key = jax.random.key(0)
    call = lambda key: host_call(lambda k: [k], [spec((2,))], key, name="draw()")
    for run in (call, jax.jit(call)):
        with pytest.raises(
            CallbackError, match=r"key<fry>.*jax.random.key_data\(key\)"
        ):
            run(key)


def test_without_arguments():
    calls = []

    def call():
        host = lambda: [calls.append(1) or np.float32(2)]
        return host_call(host, [spec(())], name="constant()")[0]

    assert call() == 2
    assert jax.jit(call)() == 2
    assert len(calls) == 2


def test_nothing_is_called_while_tracing():
    """Also not for constants: what the function closes over may change later."""
    state = [1.0]
    host = lambda x: [x * np.float32(state[0])]
    constant = jnp.ones(3, jnp.float32)
    run = jax.jit(lambda: host_call(host, [spec((3,))], constant, name="scale()")[0])
    assert run()[0] == 1
    state[0] = 5.0
    assert run()[0] == 5


def test_results_are_on_the_device_of_the_arguments():
    code = """
import jax, numpy as np
jax.config.update("jax_platforms", "cpu")
from jfi._host import host_call
spec = jax.ShapeDtypeStruct((3,), np.float32)
call = lambda x: host_call(lambda x: [x + 1], [spec], x, name="f()")[0]
x = jax.device_put(np.ones(3, np.float32), jax.devices()[2])
for run in (call, jax.jit(call)):
    print(run(x).devices() == x.devices(), float(run(x)[0]))
mesh = jax.make_mesh((4,), ("i",))
rows = jax.NamedSharding(mesh, jax.P("i"))
wide = jax.device_put(np.arange(8, dtype=np.float32), rows)
spec = jax.ShapeDtypeStruct((8,), np.float32)
for run in (call, jax.jit(call)):
    print(np.asarray(run(wide)).tolist() == list(range(1, 9)))
"""
    env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    lines = output_of(code, env=env).splitlines()
    assert lines == ["True 2.0", "True 2.0", "True", "True"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_megabytes_on_one_core():
    """`jax.pure_callback` waits for ever here, most times."""
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_platforms", "cpu")
from jfi._host import host_call
def both(x, y):
    spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
    host = lambda x, y: [x + y, np.sort(x)]
    return host_call(host, [spec, spec], x, y, name="f()")
run = jax.jit(lambda x, y: sum(r.sum() for r in both(jnp.sin(x), y + 1)))
for size in (1_000_000, 4_000_000):
    for i in range(5):
        x = jnp.full(size, 1.0 * i, jnp.float32)
        run(x, x).block_until_ready()
        jax.block_until_ready(both(x, x))
print("done")
"""
    assert output_of(code, timeout=100) == "done"


def advice_on(array):
    """What Linux was told of the memory of an array: "hg" is large pages, please."""
    address = array.unsafe_buffer_pointer() + array.nbytes // 2
    found = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if span := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
            start, end = (int(part, 16) for part in span.groups())
            found = start <= address < end
        elif found and line.startswith("VmFlags:"):
            return line.split()[1:]
    return []


@pytest.mark.parametrize("size", [1 << 22, (1 << 22) - 4, 12_000_004])
def test_large_results_come_in_large_pages(size):
    results = [spec((size // 4,)), spec((3,)), spec((2, size // 4))]
    compute = lambda x: [x + 1, x[:3], np.stack([x, x])]
    call = lambda x: host_call(compute, results, x, name="f()")
    x = jnp.arange(size // 4, dtype=np.float32)
    found = jax.jit(call)(x)
    for one, expected in zip(found, compute(np.asarray(x)), strict=True):
        np.testing.assert_array_equal(one, expected)
    if Path("/sys/kernel/mm/transparent_hugepage").exists():
        assert "hg" in advice_on(found[2])


def test_threads():
    run = jax.jit(lambda x: add(x, x))
    results = {}

    def work(i):
        for _ in range(20):
            results[i] = float(run(jnp.full(3, i, jnp.float32)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: 6.0 * i for i in range(8)}


class Wave(HostFunction):
    """sin(scale * x) with counted calls, differentiated in three ways."""

    def __init__(self, way):
        super().__init__("wave()")
        self.way, self.calls = way, 0

    def results(self, scale, x):
        return [x, spec((), np.int32)]

    def run(self, scale, x):
        self.calls += 1
        return [np.sin(scale * x), np.int32(len(x))]

    def derivative(self, wanted, specs):
        products = Transposable(
            Slope("wave.jvp", wanted, None), lambda _: Slope("wave.vjp", None, wanted)
        )
        if self.way == "products":
            return products

        def saving(scale, x):
            self.calls += 1
            return [np.sin(scale * x), np.int32(len(x)), np.cos(scale * x), scale, x]

        def from_saved(cos, scale, x, ct):
            found = [(ct * cos * x).sum(), ct * cos * scale]
            return [f for f, wants in zip(found, wanted, strict=True) if wants]

        specs = [spec(s.shape, s.dtype) for s in specs]
        chosen = [s for s, wants in zip(specs, wanted, strict=True) if wants]
        call = GivenFunction(
            "wave", saving, lambda scale, x: [x, spec((), np.int32), x, scale, x]
        )
        return Saved(
            call,
            lambda _: GivenFunction("wave", from_saved, lambda *_: chosen),
            products,
        )


class Slope(HostFunction):
    """First derivatives of a wave, differentiated by JAX's own rules for that."""

    def __init__(self, name, forward, backward):
        super().__init__(name)
        self.forward, self.backward = forward, backward

    def results(self, scale, x, *_):
        if self.backward is None:
            return [x]
        return [s for s, want in zip((scale, x), self.backward, strict=True) if want]

    def run(self, scale, x, *more):
        cos = np.cos(scale * x)
        if self.backward is not None:
            found = [(more[0] * cos * x).sum(), more[0] * cos * scale]
            pairs = zip(found, self.backward, strict=True)
            return [np.asarray(f, x.dtype) for f, want in pairs if want]
        remaining = iter(more)
        d_scale = next(remaining) if self.forward[0] else 0.0
        d_x = next(remaining) if self.forward[1] else 0.0
        return [(cos * (d_scale * x + scale * d_x)).astype(x.dtype)]


@pytest.mark.parametrize("way", ["products", "saved"])
def test_a_derivative_by_products_and_by_what_was_saved(way):
    wave = Wave(way)
    ours = lambda scale, x: call_host(wave, scale, x)[0]
    plain = lambda scale, x: jnp.sin(scale * x)
    scale, x = jnp.float32(2.0), jnp.asarray(X[0])

    def checks(f):
        loss = lambda scale, x: jnp.sum(f(scale, x) ** 2)
        over_rows = lambda scale, x: jnp.sum(jax.vmap(f, (None, 0))(scale, x) ** 2)
        repeated = lambda x: jax.lax.scan(lambda c, _: (f(scale, c), 0), x, None, 3)[0]
        return [
            jax.jit(jax.grad(loss, (0, 1)))(scale, x),
            jax.grad(loss)(scale, x),
            jax.jvp(f, (scale, x), (scale, x))[1],
            jax.jacfwd(f, 1)(scale, x),
            jax.vmap(jax.grad(loss, 1), (None, 0))(scale, jnp.asarray(X)),
            jax.jit(jax.grad(over_rows, (0, 1)))(scale, jnp.asarray(X)),
            jax.jit(jax.jacrev(repeated))(x),
            jax.grad(lambda x: jax.checkpoint(f)(scale, x).sum())(x),
            jax.linearize(lambda x: f(scale, x), x)[1](x),
        ]

    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5),
        checks(ours),
        checks(plain),
    )


def test_a_saving_call_runs_once():
    wave = Wave("saved")
    gradient = jax.jit(jax.grad(lambda x: call_host(wave, jnp.float32(2), x)[0].sum()))
    gradient(jnp.ones(3))
    wave.calls = 0
    gradient(jnp.ones(3))
    assert wave.calls == 1


def test_gradients_that_come_with_the_value():
    calls = []

    class Loss(HostFunction):
        def results(self, w, x):
            return [spec((), w.dtype), spec((), np.int32)]

        def run(self, w, x):
            calls.append("value")
            return [((w * x) ** 2).sum(), np.int32(7)]

        def derivative(self, wanted, specs):
            assert wanted == (True, False)  # nobody asks for that of the data

            def both(w, x):
                calls.append("both")
                return [((w * x) ** 2).sum(), np.int32(7), 2 * w * x * x]

            outs = lambda w, x: [spec((), w.dtype), spec((), np.int32), w]
            return ReadyGradients(GivenFunction("loss()", both, outs))

    loss = Loss("loss()")
    ours = lambda w, x: call_host(loss, w, x)[0]
    plain = lambda w, x: jnp.sum((w * x) ** 2)
    w, x = jnp.asarray(Y), jnp.asarray(X)
    for run in (jax.value_and_grad(ours), jax.jit(jax.value_and_grad(ours))):
        found, expected = run(w, x[1]), jax.value_and_grad(plain)(w, x[1])
        jax.tree.map(np.testing.assert_allclose, found, expected)
    assert calls == ["both", "both"]
    batch = lambda f: lambda w: jnp.sum(jax.vmap(f, (None, 0))(w, x) ** 2)
    found = jax.jit(jax.grad(batch(ours)))(w)
    np.testing.assert_allclose(found, jax.grad(batch(plain))(w), rtol=1e-5)


def test_no_derivative_is_refused_and_integers_have_none():
    x = jnp.ones(3)
    with pytest.raises(CallbackError, match=r"add\(\) has no derivative"):
        jax.grad(lambda x: add(x, x))(x)
    count = lambda x: host_call(lambda x: [x.size], [spec((), int)], x, name="count()")
    assert jax.grad(lambda x: x.sum() * count(x)[0])(x)[0] == 3


def test_a_loop_whose_body_is_one_call():
    """XLA takes the call for the tuple of the loop's state, and hangs."""
    code = """
import jax, jax.numpy as jnp
from jfi._host import GivenFunction, call_host
both = GivenFunction("both()", lambda x, y: [x + y, x * y], lambda x, y: [x, y])
def loop(c):
    body = lambda c: tuple(call_host(both, *c))
    return jax.lax.while_loop(lambda c: c[0] < 9, body, c)
nested = lambda c: jax.lax.fori_loop(0, 2, lambda _, c: loop(c), c)
print(*jax.jit(nested)((jnp.int32(2), jnp.int32(1))))
"""
    assert output_of(code, timeout=100) == "11 30"


def test_shards_differ_where_arguments_do():
    code = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import PartitionSpec as P
from jfi import from_numpy
kind = (jax.sharding.AxisType.Auto,)
mesh = jax.make_mesh((4,), ("i",), axis_types=kind)
f = from_numpy(np.multiply, vjp=lambda p, c: (p[1] * c, p[0] * c))
shard = lambda x, y: f(x, y)
run = jax.shard_map(shard, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))
x, y = jnp.arange(8.0), jnp.array([1.0, 2.0])
for call in (run, jax.jit(run)):
    print(np.asarray(call(x, y)).tolist())
print(np.asarray(jax.jit(jax.grad(lambda y: run(x, y).sum()))(y)).tolist())
"""
    env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    lines = output_of(code, env=env).splitlines()
    product = str([k * (1.0 + k % 2) for k in range(8)])
    assert lines == [product, product, "[12.0, 16.0]"]


def test_calls_through_trees_of_jax_give_the_same():
    def both(x, y):
        specs = [jax.ShapeDtypeStruct((2,), x.dtype), jax.ShapeDtypeStruct((), y.dtype)]
        swapped = lambda x, y: [x[::-1], y + 1]
        return host_call(swapped, specs, x, y, name="both")

    x, y = jnp.array([1.0, 2.0]), jnp.array(3)
    flat = jax.jit(both)(x, y)
    with _jax_internals.without("flat_buffer_calls"):
        in_trees = jax.jit(lambda x, y: both(x, y))(x, y)
    for found in (flat, in_trees):
        assert [one.tolist() for one in found] == [[2.0, 1.0], 4]
