"""Functions that are traced to the same code are compiled once."""

import functools
import gc
import threading
import weakref

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jfi
from jfi import autojit
from jfi._jax_internals import on_compiled, without


@pytest.fixture
def compiled():
    """A list that gets longer with each program that XLA compiles."""
    seconds = []
    on_compiled(seconds.append)
    return seconds


def counting(compiled, call):
    """The result of a call, and how many programs it compiled."""
    before = len(compiled)
    out = call()
    return out, len(compiled) - before


# ---- what compiles once ----


def test_a_training_step_whose_keys_come_back_sorted(compiled):
    @autojit
    def step(params, state, x):
        grads = jax.grad(lambda p: jnp.sum(jax.nn.relu(x @ p["w"] + p["b"])))(params)
        updates, state = optax.adam(0.1).update(grads, state, params)
        return optax.apply_updates(params, updates), state

    x = jnp.ones((5, 3))
    params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    state = optax.adam(0.1).init(params)
    plain = step.__wrapped__(params, state, x)
    plain = step.__wrapped__(*plain, x)
    first = step(params, state, x)
    second, n = counting(compiled, lambda: step(*first, x))
    assert n == 0
    assert step.cache_info().traces == 2
    assert list(second[0]) == list(plain[0])
    close = functools.partial(np.testing.assert_allclose, rtol=1e-5)
    jax.tree.map(close, second, plain)


def test_an_attribute_that_the_numbers_do_not_depend_on(compiled):
    class Model:
        def __init__(self, name):
            self.name, self.w = name, jnp.arange(3.0)

        @autojit
        def __call__(self, x):
            return {self.name: jax.nn.gelu(self.w * x)}

    x = jnp.ones(3) * 2
    expected = jax.nn.gelu(jnp.arange(3.0) * 2)
    Model("a")(x)
    for name in "bcd":
        out, n = counting(compiled, lambda name=name: Model(name)(x))
        assert (list(out), n) == ([name], 0)
        np.testing.assert_allclose(out[name], expected, rtol=1e-6)


def test_a_static_field_of_an_equinox_module(compiled):
    class Layer(eqx.Module):
        w: jax.Array
        tag: str = eqx.field(static=True)

    @autojit
    def apply(layer, x):
        assert layer.tag
        return layer.w + x

    x = jnp.ones(3)
    apply(Layer(x, "a"), x)
    assert counting(compiled, lambda: apply(Layer(x, "b"), x))[1] == 0


def test_optimizers_made_anew(compiled):
    class Trainer:
        def __init__(self, seed):
            self.optimizer = optax.adam(optax.constant_schedule(0.1))
            self.w = jnp.full(3, seed)
            self.state = self.optimizer.init(self.w)

        @autojit
        def step(self):
            grads = jax.grad(lambda w: (w**2).sum())(self.w)
            updates, self.state = self.optimizer.update(grads, self.state)
            self.w = optax.apply_updates(self.w, updates)

    def train(seed):
        trainer = Trainer(seed)
        for _ in range(3):
            trainer.step()
        return trainer.w

    one = train(1.0)
    other, n = counting(compiled, lambda: train(1.0))
    assert n == 0
    np.testing.assert_array_equal(one, other)


def test_functions_defined_again(compiled):
    def cell():
        @autojit
        def f(x, scale=2.0):
            return jax.nn.softplus(x) * scale

        return f

    x = jnp.arange(4.0)
    first = cell()
    expected = first(x)
    out, n = counting(compiled, lambda: cell()(x))
    assert n == 0
    np.testing.assert_array_equal(out, expected)


def test_functions_defined_again_after_the_first_is_gone(compiled):
    def cell():
        return autojit(lambda x: jax.nn.softplus(x) * 1.75)

    x = jnp.arange(4.0)
    before = cell()
    before(x)
    for _ in range(3):
        cell_again = cell()
        assert counting(compiled, functools.partial(cell_again, x))[1] == 0
        before = cell_again
        gc.collect()


def test_functions_that_call_back_the_same_host_function(compiled):
    def f(x, tag):
        assert tag
        return jax.pure_callback(np.cbrt, jax.ShapeDtypeStruct((), x.dtype), x)

    x, f = jnp.ones(()) * 8, autojit(f)
    f(x, "a")
    out, n = counting(compiled, lambda: f(x, "b"))
    assert (out, n) == (2, 0)


def test_functions_that_draw(compiled):
    @autojit
    def draw(x, tag):
        assert tag
        return x + jfi.rand(3)

    jfi.manual_seed(0)
    expected = [1.0 + jfi.rand(3) for _ in range(4)]
    jfi.manual_seed(0)
    first = draw(1.0, "a")
    rest, n = counting(compiled, lambda: [draw(1.0, tag) for tag in "bcd"])
    assert n == 0
    np.testing.assert_allclose([first, *rest], expected, rtol=1e-6)


def test_constants_are_compared_by_their_bits(compiled):
    @autojit
    def f(x, n, tag):
        assert tag
        return x * np.arange(n)[::-1]

    x = jnp.ones(())
    f(x, 3, "a")
    assert counting(compiled, lambda: f(x, 3, "b"))[1] == 0
    out, n = counting(compiled, lambda: f(x, 4, "b"))
    assert n == 1
    np.testing.assert_array_equal(out, [3, 2, 1, 0])


# ---- what must not be mixed up ----

TABLE = np.zeros(3)


@jax.custom_jvp
def looked_up(x):  # of JAX's, so that autojit does not watch the table
    return x + jnp.sum(TABLE)


looked_up.defjvp(lambda x, t: (looked_up(*x), t[0]))


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("size", [3, 2**18])
def test_a_numpy_array_that_is_written_to(size, monkeypatch):
    monkeypatch.setitem(globals(), "TABLE", np.zeros(size))

    @autojit
    def f(x, tag):
        assert tag
        return looked_up(x)

    for k, tag in enumerate("abc"):
        TABLE[:] = k
        assert f(0.0, tag) == TABLE.sum()


@pytest.mark.parametrize(
    "settings", [(0.0, -0.0), (1, True), (1, 1.0), (2, 3), (1.0, 1.0 + 1e-12)]
)
def test_settings_that_the_numbers_depend_on(settings, x64):
    @functools.partial(autojit, static="k")
    def f(x, k):
        return jnp.copysign(x, k) + k

    x = jnp.ones(3, "int32")
    for k in settings * 2:
        out, plain = f(x, k), f.__wrapped__(x, k)
        assert (out.dtype, out.weak_type) == (plain.dtype, plain.weak_type)
        np.testing.assert_array_equal(out, plain)


def test_other_shapes_after_sharing():
    @autojit
    def f(x, k, tag):
        assert tag
        return x * k if x.ndim == 2 else x

    one, two = jnp.ones(3), jnp.ones((3, 3))
    for _ in range(3):
        f(one, 2, "a")
        f(one, 3, "b")  # which is the same code
    for _ in range(3):
        for k, tag in (2, "a"), (3, "b"):
            np.testing.assert_array_equal(f(two, k, tag), two * k)
            np.testing.assert_array_equal(f(one, k, tag), one)
    for k, tag in (5, "c"), (6, "d"):
        np.testing.assert_array_equal(f(two, k, tag), two * k)
        np.testing.assert_array_equal(f(one, k, tag), one)


def test_one_that_was_traced_for_two_shapes_makes_room(compiled):
    f = autojit(lambda x, tag: x * 3.25 if tag else x)
    one, two = jnp.ones(3), jnp.ones((3, 3))
    f(one, "a"), f(two, "a")
    f(one, "b")
    assert counting(compiled, lambda: f(one, "c"))[1] == 0


def test_derivatives_are_each_function_s_own():
    def of(factor):
        @jax.custom_jvp
        def f(x):
            return x * 2

        @f.defjvp
        def _(primals, tangents):
            return f(*primals), tangents[0] * factor

        return f

    @autojit
    def call(f, x):
        return f(x)

    for factor in (2.0, 5.0, 7.0):
        f = of(factor)
        for _ in range(3):
            assert call(f, 1.0) == 2.0
            assert jax.grad(call, 1)(f, 1.0) == factor
            assert jax.grad(jax.jit(lambda x, f=f: call(f, x)))(1.0) == factor
            rows = jax.vmap(lambda x, f=f: call(f, x))(jnp.ones(2))
            assert rows.tolist() == [2.0, 2.0]


def test_callbacks_are_each_function_s_own():
    @functools.partial(autojit, static="k")
    def f(x, k):
        return jax.pure_callback(lambda x: x * k, jax.ShapeDtypeStruct((), x.dtype), x)

    for k in (2.0, 3.0, 2.0):
        assert f(jnp.ones(()), k) == k


def test_callbacks_that_equal_others_are_each_function_s_own():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __eq__(self, other):
            return isinstance(other, Scale)

        def __hash__(self):
            return 0

        def __call__(self, x):
            return np.asarray(x) * self.factor

    @functools.partial(autojit, static="k")
    def f(x, k):
        return jax.pure_callback(Scale(k), jax.ShapeDtypeStruct((), x.dtype), x)

    for k in (2.0, 3.0, 2.0):
        assert f(jnp.ones(()), k) == k


@pytest.mark.usefixtures("mixed_world")
def test_keys_that_callbacks_get_are_each_function_s_own():
    def keys(given):
        return np.asarray(sum(isinstance(key, bool) for key in given))

    @functools.partial(autojit, static="k")
    def f(x, k):
        return jax.pure_callback(keys, jax.ShapeDtypeStruct((), "int64"), {k: x})

    assert [int(f(1.0, k)) for k in (1, True, 1)] == [0, 1, 0]


def test_the_form_of_a_result_that_depends_on_shapes():
    @autojit
    def f(x, tag):
        assert tag
        return {f"rank {x.ndim}": x + 2.25}

    one, two = jnp.ones((1, 2)), jnp.ones((1, 2, 3))
    f(one, "a")
    for x in one[None], two[None]:
        jax.vmap(lambda x: f(x, "b"))(x)
    assert list(f(one, "b")) == ["rank 2"]
    assert list(f(two, "b")) == ["rank 3"]


@pytest.mark.parametrize("settings", [(1, True), (0.0, -0.0), (1, 1.0)])
def test_static_data_of_results_that_python_calls_equal(settings):
    class Tagged:
        def __init__(self, x, tag):
            self.x, self.tag = x, tag

        def __del__(self):  # which lets autojit leave it to JAX
            pass

    jax.tree_util.register_pytree_node(
        Tagged, lambda t: ((t.x,), t.tag), lambda tag, x: Tagged(*x, tag)
    )

    @functools.partial(autojit, static="k")
    def f(x, k):
        return Tagged(x + 1, k)

    for k in settings * 2:
        assert repr(f(jnp.ones(()), k).tag) == repr(k)


def test_changes_of_arguments_are_each_call_s_own():
    class Box:
        def __init__(self, name):
            self.name, self.w = name, jnp.zeros(2)

        @autojit
        def put(self, x):
            setattr(self, self.name, self.w + x)
            return self.name

    for name in ("a", "b", "w"):
        box, plain = Box(name), Box(name)
        for _ in range(3):
            assert box.put(1.0) == Box.put.__wrapped__(plain, 1.0)
        assert list(vars(box)) == list(vars(plain))
        np.testing.assert_array_equal(getattr(box, name), getattr(plain, name))


@pytest.mark.parametrize("option", [{}, {"donate": "x"}])
def test_donated_arrays(option, compiled):
    @functools.partial(autojit, **option)
    def f(x, tag):
        assert tag
        return x + 1

    f(jnp.ones(3), "a")
    x = jnp.ones(3)
    out, n = counting(compiled, lambda: f(x, "b"))
    assert n == 0
    assert x.is_deleted() == bool(option)
    np.testing.assert_array_equal(out, [2.0] * 3)


def test_other_options_are_another_program(compiled):
    def f(x, tag):
        assert tag
        return x + 1

    x = jnp.ones(3)
    autojit(f)(x, "a")
    kept = jnp.ones(3)
    autojit(f, donate="x")(kept, "a")
    assert kept.is_deleted()
    autojit(f)(x, "b")
    assert not x.is_deleted()


def test_under_another_precision():
    @autojit
    def f(x, tag):
        assert tag
        return x @ x

    x = jnp.ones((3, 3))
    for tag in "abc":
        np.testing.assert_array_equal(f(x, tag), x * 3)
        with jax.default_matmul_precision("highest"):
            np.testing.assert_array_equal(f(x, tag), x * 3)
        with jax.enable_x64(False):
            assert f(np.ones((3, 3)), tag).dtype == "float32"


def test_settings_of_jax_that_differ_cost_no_second_trace():
    def make():
        return autojit(lambda x: x + 1.25)

    f, g, h = make(), make(), make()
    x = jnp.ones(3)
    f(x)
    with jax.default_matmul_precision("highest"):
        for one in (g, h):
            np.testing.assert_array_equal(one(x), [2.25] * 3)
            assert one.cache_info().traces == 1


def test_threads():
    @functools.partial(autojit, warn_after=1000)
    def f(x, k, tag):
        assert tag
        return x * k if x.ndim > 1 else x + 1

    wrong = []

    def work(k):
        for shape in ((2,), (2, 2), (2,), (3, 2)):
            x = jnp.ones(shape)
            for _ in range(20):
                expected = x * k if x.ndim > 1 else x + 1
                if not np.array_equal(f(x, k, f"tag {k}"), expected):
                    wrong.append((shape, k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def shared(f=lambda x: x * 2.75 + 1):
    """A function that runs the program of another one."""
    first = autojit(lambda x: f(x))
    second = autojit(lambda x: f(x))
    first(jnp.ones(3)), second(jnp.ones(3))
    return first, second


def test_the_check_of_dtypes_looks_at_each_kind_of_arrays(mixed_world):
    jfi.config(float64="refuse")
    try:
        for f in shared(lambda x: x * 3.75):
            for shape in (3,), (4,), (3, 2):
                x = jnp.ones(shape, "float32")
                np.testing.assert_array_equal(f(x), x * 3.75)
        add = autojit(lambda x, y: x + y)
        x = jnp.ones(3, "float32")
        assert add(x, x).tolist() == add(x, x[0]).tolist() == [2.0] * 3
        with pytest.raises(jfi.DefaultsError, match="float32 becomes float64"):
            add(x, jnp.ones((), "float64"))
    finally:
        jfi.config(float64="allow")


# ---- what is kept ----


def test_a_shared_program_stays_while_somebody_uses_it(compiled):
    first, second = shared(lambda x: x * 4.75)
    del first
    gc.collect()
    third = autojit(lambda x: x * 4.75)
    assert counting(compiled, lambda: third(jnp.ones(3)))[1] == 0
    assert second(jnp.ones(3)).tolist() == [4.75] * 3


def test_a_function_dies_whose_program_is_shared():
    class Big:
        pass

    def make(held):
        def f(x):
            return x + 1.5 if held else x

        return f

    f, g = make(big := Big()), make(Big())
    autojit(f)(jnp.ones(3))
    kept = autojit(g)
    kept(jnp.ones(3))
    gone = weakref.ref(big), weakref.ref(f)
    del f, big
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    np.testing.assert_array_equal(kept(jnp.ones(3)), [2.5] * 3)
    np.testing.assert_array_equal(kept(jnp.ones(2)), [2.5] * 2)


def test_without_the_comparison_each_is_compiled(compiled):
    def f(x, tag):
        return x * 3, tag

    x = jnp.ones(3)
    with without("same_code"):
        g = autojit(f)
        g(x, "a")
        out, n = counting(compiled, lambda: g(x, "b"))
    assert (n, out[1]) == (1, "b")
