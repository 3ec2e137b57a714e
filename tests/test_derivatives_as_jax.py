"""On trees of floats derivatives are JAX's: the same numbers, types and programs."""

import inspect

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jfi as jnp


def array(shape, dtype):
    values = np.linspace(0.5, 1.5, int(np.prod(shape)), dtype="float32").reshape(shape)
    return jnp.asarray(values.astype(dtype))


# Few shapes and dtypes: each pair of them compiles its own operations.
LEAVES = st.one_of(
    st.just(0.75),
    st.just(np.float64(1.25)),
    st.just(np.ones(2, "float32")),
    st.builds(
        array,
        st.sampled_from([(), (2,), (0,), (1, 2)]),
        st.sampled_from(["float32", "float64", "bfloat16"]),
    ),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2),
        st.tuples(inner, st.none()),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=2),
    ),
    max_leaves=3,
)


def outputs(tree, other=1.0):
    """A tree of results, in which every leaf of the argument has a part."""
    leaves = [jnp.sin(x) * other for x in jax.tree.leaves(tree)]
    return {"all": leaves, "sum": sum(jnp.sum(x) for x in leaves)}


def loss(tree, other=1.0):
    return (outputs(tree, other)["sum"] * 1.0).astype("float32")


def same(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (type(a), a.aval) == (type(b), b.aval)  # with the weak type
        np.testing.assert_array_equal(a, b)


def by_vjp(module):
    def run(tree):
        out, pull = module.vjp(outputs, tree)
        return out, pull(out)

    return run


def by_linearize(module):
    def run(tree):
        out, push = module.linearize(outputs, tree)
        return out, push(tree)

    return run


WAYS = {
    "grad": lambda m: m.grad(loss),
    "value_and_grad": lambda m: m.value_and_grad(loss),
    "vjp": by_vjp,
    "jvp": lambda m: lambda tree: m.jvp(outputs, (tree,), (tree,)),
    "linearize": by_linearize,
    "jacrev": lambda m: m.jacrev(outputs),
    "jacfwd": lambda m: m.jacfwd(outputs),
    "hessian": lambda m: m.hessian(loss),
}


def arrays(tree):
    """NumPy's arrays and Python's floats as arrays, which arguments of jit are."""
    return jax.tree.map(jnp.asarray, tree)


@pytest.mark.parametrize("way", ["grad", "value_and_grad", "vjp", "jvp", "linearize"])
@settings(max_examples=15, deadline=None)
@given(tree=TREES)
def test_the_same_numbers_and_types(way, tree):
    make = WAYS[way]
    same(make(jnp)(tree), make(jax)(tree))


@pytest.mark.parametrize("way", ["jacrev", "jacfwd", "hessian"])
@settings(max_examples=5, deadline=None)
@given(tree=TREES)
def test_the_same_blocks(way, tree):
    make = WAYS[way]
    same(make(jnp)(tree), make(jax)(tree))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=3, deadline=None)
@given(tree=TREES)
def test_the_same_programs(way, tree):
    make, tree = WAYS[way], arrays(tree)
    ours, theirs = (jax.jit(make(m)).lower(tree).as_text() for m in (jnp, jax))
    assert ours == theirs


@pytest.mark.parametrize("way", ["grad", "vjp", "hessian"])
def test_the_same_programs_of_arguments_by_name(way):
    tree = {"a": np.ones(2, "float32"), "b": np.float32(1)}
    if way == "vjp":
        ours, theirs = (jax.jit(WAYS[way](m)).lower(tree).as_text() for m in (jnp, jax))
    else:
        by_name = getattr(jnp, way)(loss, argnames="other")
        by_place = getattr(jax, way)(loss, argnums=1)
        ours = jax.jit(lambda t, x: by_name(t, other=x)).lower(tree, 2.0).as_text()
        theirs = jax.jit(lambda t, x: by_place(t, x)).lower(tree, 2.0).as_text()
    assert ours == theirs


def test_programs_have_the_name_of_the_function():
    ours, theirs = (jax.jit(m.grad(loss)).lower(1.0).as_text() for m in (jnp, jax))
    assert "@jit_loss" in ours
    assert ours == theirs


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("way", WAYS)
def test_with_64_bit_types_and_without(way):
    tree = {"a": 0.75, "b": np.linspace(0, 1, 2)}
    same(WAYS[way](jnp)(tree), WAYS[way](jax)(tree))


@pytest.mark.parametrize(
    "tool", ["grad", "value_and_grad", "jacrev", "jacfwd", "hessian"]
)
def test_the_signatures_begin_as_those_of_jax(tool):
    ours, theirs = (
        [
            n
            for n in inspect.signature(getattr(m, tool)).parameters
            if n != "reduce_axes"
        ]
        for m in (jnp, jax)
    )
    assert ours[: len(theirs)] == theirs


def test_a_mixed_tree_computes_what_its_floats_compute():
    floats = {"a": np.ones(2, "float32"), "b": np.float32(1)}
    mixed = jax.jit(lambda p: jnp.grad(loss_of_mixed)({**p, "n": 3, "s": "a"}))
    alone = jax.jit(lambda p: jax.grad(loss_of_mixed)(p))
    programs = [f.lower(floats).compile().as_text() for f in (mixed, alone)]
    assert programs[0].count("sine") == programs[1].count("sine")
    ours, theirs = mixed(floats), alone(floats)
    for name in floats:
        np.testing.assert_array_equal(ours[name], theirs[name])


def loss_of_mixed(p):
    return loss({"a": p["a"], "b": p["b"]})
