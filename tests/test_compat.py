"""What jfi needs of JAX beyond its documentation, with it and without it."""

import threading

import jax
import numpy as np
import pytest
from subprocesses import output_of, run_python

from jfi import _compat
from jfi._fingerprint import fingerprint


@pytest.fixture(params=["documented", "clearing"])
def state(request, monkeypatch):
    """`jit_key_state` as JAX gives it, and on public functions alone."""
    if request.param == "clearing":
        monkeypatch.delattr(jax, "make_user_context")
    made = _compat.jit_key_state("a")
    assert isinstance(made, _compat._ClearingState) == (request.param == "clearing")
    return made


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


@pytest.mark.parametrize(
    "test", [_compat._trace_context_test, _compat._trace_state_test]
)
def test_both_ways_tell_tracing(test):
    at_top_level = test()
    assert _compat._tells_tracing(at_top_level)
    assert at_top_level()
    seen = []
    jax.vmap(lambda x: seen.append(at_top_level()) or x)(np.ones(2))
    jax.jit(lambda x: seen.append(at_top_level()) or x)(1)
    jax.grad(lambda x: seen.append(at_top_level()) or x)(1.0)
    assert seen == [False] * 3


def test_a_test_that_tells_nothing_is_not_taken():
    assert not _compat._tells_tracing(lambda: True)
    assert not _compat._tells_tracing(lambda: False)


WITHOUT_TRACE_CONTEXT = """
import jfi._compat as compat
def gone(): raise ImportError
compat._trace_context_test = gone
import jfi as jnp
jnp.randn(2)
try:
    draw = jnp.jit(jnp.randn)
    print(draw() != draw())
except jnp.RandomError:
    print("refused")
"""
WITHOUT_HIDDEN_STATE = """
import sys
sys.modules["jfi._compat._hidden_state"] = None
import jax, jfi as jnp
for transform in (jax.jit, jnp.jit, jnp.autojit, jnp.vmap, jnp.hessian):
    try:
        print(transform(lambda x: x * jnp.randn())(jnp.ones(())))
    except jnp.RandomError as error:
        assert "release of JAX" in str(error), error
    except ValueError:
        assert transform is jnp.vmap  # of a scalar
assert jnp.randn() != jnp.randn()
print("refused")
"""


def test_random_numbers_under_jit_without_the_trace_context():
    assert output_of(WITHOUT_TRACE_CONTEXT) == "True"


def test_draws_in_traced_code_are_refused_where_jax_has_no_way_for_them():
    assert output_of(WITHOUT_HIDDEN_STATE) == "refused"


def test_without_either_way_nothing_is_drawn():
    code = WITHOUT_TRACE_CONTEXT.replace(
        "import jfi as jnp", "compat._trace_state_test = gone\nimport jfi as jnp"
    )
    done = run_python(code, check=False)
    assert "this release of JAX hides from jfi whether a function" in done.stderr


def test_settings_without_the_list_of_them(monkeypatch):
    assert _compat.all_settings()["jax_enable_x64"] == jax.config.jax_enable_x64
    monkeypatch.setattr(type(jax.config), "values", None)
    assert _compat.all_settings()["jax_enable_x64"] == jax.config.jax_enable_x64


def test_unreadable_options_of_a_jitted_function_are_refused(monkeypatch):
    inner = jax.jit(lambda x: x)
    assert fingerprint(lambda x: inner(x))
    monkeypatch.setattr("jfi._fingerprint._identity.jit_options", lambda jitted: None)
    with pytest.raises(ValueError, match="whose options can't be read"):
        fingerprint(lambda x: inner(x))
    assert _compat.jit_options(object()) is None


@jax.tree_util.register_pytree_node_class
class Point:
    def __init__(self, x, name):
        self.x, self.name = x, name

    def tree_flatten(self):
        return (self.x,), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


class _Bare:
    """A tree structure of a JAX without `node_data`."""

    def __init__(self, structure):
        self._structure = structure

    def unflatten(self, leaves):
        return self._structure.unflatten(leaves)


@pytest.mark.parametrize("whole", [False, True])
def test_a_pytree_node_is_taken_apart_and_put_together(whole, monkeypatch):
    structure = jax.tree.structure(Point(0, "p"))
    if whole:
        monkeypatch.setattr(jax.tree_util, "treedef_is_leaf", lambda structure: False)
        structure = _Bare(structure)
    _, data = _compat.pytree_node(structure)
    assert isinstance(data, _compat.WholeStructure) == whole
    made = _compat.pytree_from_node(Point, data, [3])
    assert (made.x, made.name) == (3, "p")


def test_a_leaf_has_no_node():
    assert _compat.pytree_node(jax.tree.structure(0)) is None
