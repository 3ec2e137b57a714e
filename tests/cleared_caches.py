"""What jfi compiled is right when JAX has forgotten what it traced and compiled.

Run by `test_cleared_caches.py` in a process of its own: `jax.clear_caches()` takes the
longer the more programs there are, and all tests after it would begin anew. So are
tests of how many programs JAX counts: it counts rightly while its table has room.
"""

import functools
import gc
import html
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import test_custom_arrays
from jax.sharding import PartitionSpec as P

import jfi
from jfi import _jax_internals, autojit
from jfi._jax_internals import _key_state


X = np.linspace(1, 2, 3, dtype="float32")


MESH = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))


def shared():
    """A function that runs the program of another one."""
    first, second = (autojit(lambda x: x * 2.75 + 1) for _ in range(2))
    first(jnp.ones(3)), second(jnp.ones(3))
    return second


@pytest.mark.parametrize("shape", [(3,), (4,), (3, 2)])
@pytest.mark.parametrize(
    "transform",
    [
        jax.jit,
        jax.vmap,
        functools.partial(jax.vmap, axis_name="i"),
        lambda f: jax.grad(lambda x: f(x).sum()),
        lambda f: jax.jit(jax.vmap(jax.grad(lambda x: f(x).sum()))),
        lambda f: lambda x: jax.lax.map(f, x),
        lambda f: jax.shard_map(f, mesh=MESH, in_specs=P("d"), out_specs=P("d")),
    ],
)
def test_shared_programs_under_transformations(transform, shape):
    x = jnp.arange(float(np.prod(shape))).reshape(shape)
    second = shared()
    for clear in (lambda: None, jax.clear_caches, lambda: None):
        clear()
        expected = transform(second.__wrapped__)(x)
        np.testing.assert_allclose(transform(second)(x), expected)
        np.testing.assert_allclose(second(x), second.__wrapped__(x))


def test_jax_forgets_what_it_compiled():
    @autojit
    def f(x, k, tag):
        return (x * k if x.ndim else x), tag

    for _ in range(2):
        for tag in "ab":
            np.testing.assert_array_equal(f(1.0, 2.0, tag)[0], 1.0)
        jax.clear_caches()
    for tag in "abab":
        out, other = f(jnp.ones(2), 3.0, tag)
        assert (out.tolist(), other) == ([3.0, 3.0], tag)


def test_what_a_trace_captured_is_freed_with_the_function():
    captured = jnp.ones(3)
    alive = weakref.ref(captured)
    jfi.jit(lambda x, kept=captured: x + jnp.sin(kept) + jfi.randn())(X)
    jfi.vmap(lambda x, kept=captured: x + jnp.sin(kept) + jfi.randn())(X)
    del captured
    jax.clear_caches()
    gc.collect()
    assert alive() is None


def test_a_class_is_freed_with_its_functions():
    def of_a_class():
        class Local:
            def __init__(self):
                self.w = jnp.ones(3)

            @autojit
            def f(self, x):
                return self.w * x

        local = Local()
        for _ in range(4):
            local.f(1.0)
        return weakref.ref(Local)

    alive = of_a_class()
    gc.collect()
    jax.clear_caches()
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "name", ["batch_tracers", "transformation_names", "ruled_calls"]
)
def test_branches_in_a_batch(name):
    def f(x, w):
        return jfi.cond(x > 1.2, lambda: (w * x).sum(), lambda: x)

    rows = jfi.vmap(f, (0, None))
    in_scan = jax.vmap(lambda x: jax.lax.scan(lambda c, _: (f(c, X), x), x, length=2))
    slope = jfi.vmap(jfi.grad(f), (0, None))
    expected = rows(X, X), in_scan(X), slope(X, X)
    with _jax_internals.without(name):
        jax.clear_caches()
        found = (
            jfi.vmap(lambda x, w: f(x, w), (0, None))(X, X),
            jax.vmap(
                lambda x: jax.lax.scan(lambda c, _: (f(c, X), x), x, length=2)
            )(X),
            jfi.vmap(jfi.grad(lambda x, w: f(x, w)), (0, None))(X, X),
        )  # fmt: skip
    jax.tree.map(np.testing.assert_allclose, found, expected)


@pytest.fixture(params=["documented", "clearing"])
def state(request):
    """`jit_key_state` as JAX gives it, and on public functions alone."""
    if request.param == "documented":
        yield _jax_internals.jit_key_state("a")
        return
    with _jax_internals.without("user_contexts"):
        made = _jax_internals.jit_key_state("a")
        assert isinstance(made, _key_state._ClearingState)
        yield made


def test_a_compiled_function_sees_the_state_change(state):
    @jax.jit
    def f(x):
        return x + len(state.value)

    assert f(0) == 1
    state.set_global("abc")
    assert f(0) == 3
    with state("ab"):
        assert f(0) == 2
        with state("abcd"):
            assert f(0) == 4
        assert f(0) == 2
    assert f(0) == 3


def test_the_state_of_a_block_belongs_to_its_thread(state):
    seen = []
    with state("mine"):
        thread = threading.Thread(target=lambda: seen.append(state.value))
        thread.start()
        thread.join()
        assert state.value == "mine"
    assert seen == ["a"]
    assert state.value == "a"


def test_rules_hold_where_jax_has_no_state_for_compiled_functions():
    """Compiled functions are forgotten where JAX can't keep several of them."""
    with _jax_internals.without("user_contexts"):
        test_custom_arrays.test_override_everywhere_in_a_block()
        test_custom_arrays.test_a_later_rule_holds_in_what_was_compiled_before()


def step(x, n: int = 2, *, mode="a<b"):
    return x * n


LINE = step.__code__.co_firstlineno


@pytest.mark.parametrize("tool", [jfi.jit, jfi.autojit])
def test_a_compiled_function_shows_what_it_is_and_how_often_it_was_compiled(tool):
    function = tool(step)
    shown = html.unescape(function._repr_html_())
    file = f"cleared_caches.py:{LINE}"
    parts = [tool.__name__, "step(x, n: int = 2, *, mode='a<b')", file]
    assert all(part in shown for part in parts)
    assert "not compiled yet" in shown
    assert "a&lt;b" in function._repr_html_()
    function(1.0), function(np.ones(3, np.float32)), function(2.0)
    shown = html.unescape(function._repr_html_())
    assert "compiled 2 times" in shown
    assert ("x: float32[] -> float32[3]" in shown) == (tool is jfi.autojit)


@pytest.mark.parametrize("tool", [jfi.jit, jfi.autojit])
def test_a_compiled_function_prints_what_it_is_and_how_often_it_was_compiled(tool):
    function = tool(step)
    file = f"cleared_caches.py:{LINE}"
    start = f"<{tool.__name__} of step(x, n=2, *, mode='a<b') in {file}, "
    function.clear_cache()
    assert repr(function) == start + "not compiled yet>"
    function(1.0), function(2.0)
    assert repr(function) == start + "compiled 1 time>"
