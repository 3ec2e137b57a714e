"""Callbacks in what `autojit` compiles: they write where plain Python writes."""

import functools
import sys
import types
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi import UncompiledWarning, autojit


LOG, SCALE = [], 3.0
SCALAR = jax.ShapeDtypeStruct((), jnp.float32)


def logs(x):
    LOG.append(float(x))
    return np.float32(2 * x)


def scaled(x):
    return np.float32(SCALE * x)


def twice(x):
    return np.float32(2 * x)


def raises(x):
    raise RuntimeError("host")


@pytest.fixture(autouse=True)
def _empty():
    LOG.clear()


def told(fn):
    with pytest.warns(UncompiledWarning, match="calls back to Python code that uses"):
        return fn()


def test_a_callback_writes_to_a_global_list():
    run = autojit(lambda x: jax.pure_callback(logs, SCALAR, x) + 1)
    assert told(lambda: [float(run(1.0)), float(run(2.0))]) == [3.0, 5.0]
    assert LOG == [1.0, 2.0]


def test_a_callback_writes_to_what_it_captured():
    mine = []

    @autojit
    def run(x):
        jax.debug.callback(lambda v: mine.append(float(v)), 2 * x)
        return x

    told(lambda: [run(1.0), run(2.0)])
    jax.effects_barrier()
    assert mine == [2.0, 4.0]


class Box:
    def __init__(self):
        self.value = 0.0

    def put(self, v):
        self.value = float(v)


def put_into(box, v):
    box.put(v)


@pytest.mark.parametrize(
    "callback",
    [
        lambda box: lambda v: box.put(v),
        lambda box: box.put,
        lambda box: functools.partial(put_into, box),
        lambda box: lambda v, box=box: box.put(v),
    ],
)
def test_a_callback_writes_to_what_the_body_has_made_and_reads(callback):
    @autojit
    def run(x):
        box = Box()
        jax.debug.callback(callback(box), 2 * x)
        jax.effects_barrier()
        return x + box.value

    assert told(lambda: [float(run(1.0)), float(run(2.0))]) == [3.0, 6.0]


@pytest.mark.parametrize("made", ["a function", "a text", "an array"])
def test_a_callback_that_captured_what_can_not_change_is_compiled(made):
    @autojit
    def run(x):
        text = f"{made}: "
        kept = {"a function": lambda v: text, "an array": np.float32(1)}.get(made, text)
        jax.debug.callback(lambda v: kept and None, x)
        return x

    assert [float(run(1.0)), float(run(2.0))] == [1.0, 2.0]
    assert run.cache_info().traces == 1


def test_a_callback_writes_to_self():
    class Model:
        def __init__(self):
            self.seen = []

        def note(self, x):
            self.seen.append(float(x))

        @autojit
        def step(self, x):
            jax.debug.callback(self.note, x)
            return x * 2

    model, other = Model(), Model()
    told(lambda: [model.step(1.0), other.step(2.0), model.step(3.0)])
    jax.effects_barrier()
    assert (model.seen, other.seen) == ([1.0, 3.0], [2.0])


def test_a_callback_reads_a_global_variable_when_it_runs(monkeypatch):
    run = autojit(lambda x: jax.pure_callback(scaled, SCALAR, x))
    assert told(lambda: float(run(1.0))) == 3.0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert float(run(1.0)) == 5.0


def test_a_callback_in_a_loop_and_in_a_branch():
    def body(carry, x):
        carry = carry + jax.pure_callback(logs, SCALAR, x)
        return carry, carry

    run = autojit(lambda xs: jax.lax.scan(body, jnp.zeros(()), xs)[0])
    assert told(lambda: float(run(jnp.arange(3.0)))) == 6.0
    assert LOG == [0.0, 1.0, 2.0]


def test_functions_that_capture_nothing_are_compiled():
    @autojit
    def run(x):
        return jax.pure_callback(twice, SCALAR, x) + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [float(run(float(k))) for k in range(4)] == [1.0, 3.0, 5.0, 7.0]
    assert run.cache_info().traces == 1


def test_printing_is_compiled(capfd):
    @autojit
    def run(x):
        jax.debug.print("x = {}", x)
        return x

    for k in range(3):
        run(float(k))
    jax.effects_barrier()
    assert capfd.readouterr().out == "x = 0.0\nx = 1.0\nx = 2.0\n"
    assert run.cache_info().traces == 1


def test_derivatives_draws_and_writes_beside_a_callback():
    class Model:
        def __init__(self):
            self.w, self.n = jnp.ones(2), 0

        @autojit
        def step(self, x):
            slope = jfi.grad(lambda w: (w * x).sum())(self.w)
            self.w, self.n = self.w - slope + 0 * jfi.randn(2), self.n + 1
            return jax.pure_callback(twice, SCALAR, self.w[0])

    model = Model()
    assert [float(model.step(1.0)) for _ in range(2)] == [0.0, -2.0]
    assert model.n == 2


def test_a_callback_counts_in_a_captured_variable():
    n = 0

    def count(x):
        nonlocal n
        n += 1
        return np.float32(x)

    run = autojit(lambda x: jax.pure_callback(count, SCALAR, x))
    told(lambda: [run(1.0), run(2.0)])
    assert n == 2


def test_settings_that_a_callback_captured_are_compiled():
    def make(power):
        return autojit(
            lambda x: jax.pure_callback(lambda v: np.float32(v**power), SCALAR, x)
        )

    assert float(make(2)(3.0)) == 9.0
    assert float(make(3)(3.0)) == 27.0


def test_an_error_of_a_callback_is_the_same_twice():
    run = autojit(lambda x: jax.pure_callback(raises, SCALAR, x))
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match="host"):
            run(1.0).block_until_ready()


def test_a_callback_calls_a_captured_function_under_autojit():
    def make():
        doubled = autojit(lambda x: 2 * x)
        return autojit(
            lambda x: jax.pure_callback(
                lambda v: np.float32(doubled(float(v))), SCALAR, x
            )
        )

    run = make()
    told(lambda: run(1.0))
    assert [float(run(k)) for k in (1.0, 2.0)] == [2.0, 4.0]


def noted(x):
    noted.seen.append(float(x))
    noted.last = float(x)
    return np.float32(x)


class Counted:
    n = 0


def counts_in_a_class(x):
    Counted.n += 1
    return np.float32(x)


def test_a_callback_writes_attributes_of_its_function():
    noted.seen = []
    run = autojit(lambda x: jax.pure_callback(noted, SCALAR, x))
    told(lambda: [float(run(1.0)), float(run(2.0))])
    assert (noted.seen, noted.last) == ([1.0, 2.0], 2.0)


def test_a_callback_counts_in_a_class_that_the_body_reads():
    Counted.n = 0

    @autojit
    def run(x):
        y = jax.pure_callback(counts_in_a_class, SCALAR, x)
        return jax.block_until_ready(y) + Counted.n

    assert told(lambda: [float(run(1.0)) for _ in range(3)]) == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("write", ["{m}.n += 1", "setattr({m}, 'n', {m}.n + 1)",
                                   "{m}.items.append(1)"])  # fmt: skip
def test_a_callback_writes_to_a_module(write, monkeypatch):
    module = types.ModuleType("users_counts")
    module.n, module.items = 0, []
    monkeypatch.setitem(sys.modules, "users_counts", module)
    names = {"__name__": "script", "jax": jax, "np": np, "S": SCALAR}
    names |= {"autojit": autojit, "m": module}
    exec(f"""
def note(x):
    {write.format(m="m")}
    return np.float32(x)
@autojit
def run(x): return jax.pure_callback(note, S, x)
""", names)  # fmt: skip
    told(lambda: [names["run"](1.0).block_until_ready() for _ in range(2)])
    assert module.n + len(module.items) == 2


def test_a_method_of_a_list_is_called_back():
    run = autojit(lambda x: jax.debug.callback(LOG.append, x))
    told(lambda: [run(1.0), run(2.0)])
    jax.effects_barrier()
    assert LOG == [1.0, 2.0]


def test_a_callback_by_a_name_that_is_made_up():
    kind = ["pure", "callback"]
    run = autojit(lambda x: getattr(jax, "_".join(kind))(logs, SCALAR, x))
    told(lambda: [float(run(1.0)), float(run(2.0))])
    assert LOG == [1.0, 2.0]


class Terrain:
    def __init__(self):
        self.places, self.heights = np.arange(3.0), jnp.arange(3.0) ** 2

    def height(self, x):
        return np.interp(x, self.places, np.asarray(self.heights))

    def on_the_host(self, x):
        return jfi.from_numpy(self.height)(x)


def test_a_function_of_numpy_reads_attributes_of_self():
    terrain, height = Terrain(), autojit(Terrain.on_the_host)
    assert told(lambda: float(height(terrain, 1.5))) == 2.5
    terrain.places[:] *= 2
    assert float(height(terrain, 3.0)) == 2.5


def test_a_function_of_numpy_that_computes_with_captured_arrays_of_jax_is_refused():
    def host(x, table):
        return jfi.from_numpy(lambda x: x + np.sort(table))(x)

    with pytest.raises(jfi.CallbackError, match=r"Make it an argument: from_numpy"):
        jfi.jit(host)(jnp.ones(2), jnp.ones(2))
