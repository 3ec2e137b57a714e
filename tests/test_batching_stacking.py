"""Lists of trees to a batch, and back."""

import collections

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jfi as jnp
from jfi import BatchError, stack_trees, unstack_tree


def mode():
    """A function, told from others by identity."""


class Settings:
    """A plain object: a leaf to JAX, equal to itself alone."""


SETTINGS = st.sampled_from(
    [1, True, 1.0, 0.0, -0.0, float("nan"), "a", None, mode, jnp.tanh, Settings(), b"b"]
)
ARRAYS = st.tuples(
    st.lists(st.integers(0, 3), max_size=2),
    st.sampled_from(["float32", "int8", "bool"]),
)
TREES = st.recursive(
    SETTINGS | ARRAYS.map(lambda kind: ("array", kind)),
    lambda inner: st.dictionaries(st.sampled_from("zyx"), inner) | st.lists(inner),
    max_leaves=6,
)


def filled(tree, rng):
    """The tree with random arrays for what stands for one."""
    if isinstance(tree, tuple):
        shape, dtype = tree[1]
        return rng.integers(0, 2, size=shape).astype(dtype)
    if isinstance(tree, dict):
        return {k: filled(x, rng) for k, x in tree.items()}
    return [filled(x, rng) for x in tree] if isinstance(tree, list) else tree


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return a is b


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from("cba"), TREES), st.integers(1, 4))
def test_what_was_stacked_comes_back(tree, n):
    rng = np.random.default_rng(0)
    trees = [filled({**tree, "x": ("array", ([2], "float32"))}, rng) for _ in range(n)]
    back = unstack_tree(stack_trees(trees))
    assert len(back) == n
    for one, other in zip(trees, back, strict=True):
        assert list(one) == list(other)  # the order of the keys, too
        assert jax.tree.structure(one) == jax.tree.structure(other)
        assert all(map(same, jax.tree.leaves(one), jax.tree.leaves(other)))


def test_the_batch_is_what_functions_of_batches_take():
    problems = [{"x": jnp.full(2, k), "key": jnp.key(k), "n": 3} for k in range(4)]
    batch = stack_trees(problems)
    assert isinstance(batch["x"], jax.Array)
    draw = lambda p: {"y": jax.random.normal(p["key"]) + p["x"].sum(), "n": p["n"]}
    results = unstack_tree(jnp.vmap_automatically(draw, batch))
    for problem, result in zip(problems, results, strict=True):
        np.testing.assert_allclose(result["y"], draw(problem)["y"], rtol=1e-6)


def test_shared_arrays_go_into_each_tree():
    Q = np.ones((5, 5))
    rows = unstack_tree({"x": np.arange(3), "Q": Q, "s": np.float64(2)}, batch_size=3)
    assert [row["x"] for row in rows] == [0, 1, 2]
    assert all(row["Q"] is Q and row["s"] == 2 for row in rows)


def test_numbers_in_arrays_are_data():
    batch = stack_trees([{"mass": jnp.asarray(m)} for m in (1.0, 2.0)])
    assert batch["mass"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("first", "second", "seen"),
    [
        (1, True, "is 1, trees[1]['s'] is True"),
        (1, 1.0, "is 1, trees[1]['s'] is 1.0"),
        (0.0, -0.0, "is 0.0, trees[1]['s'] is -0.0"),
        (1.0, 2.0, "make it an array in each tree: jnp.asarray(trees[1]['s'])"),
        ("a", "b", "is 'a', trees[1]['s'] is 'b'"),
        (lambda x: x, lambda x: x, "two settings"),
        (Settings(), Settings(), "two settings"),
        (np.ones(2), 1.0, "two settings"),
        (
            np.ones(2),
            np.ones(3),
            "['s'] is float64 (2,), trees[1]['s'] is float64 (3,)",
        ),
        (np.ones(2), np.ones(2, int), "is float64 (2,), trees[1]['s'] is int64 (2,)"),
        (np.float64(1), 1.0, "two settings"),
        (np.float64(1), np.float32(2), "float64 (), trees[1]['s'] is float32 ()"),
        (np.array(["a"]), np.array(["b"]), "two settings"),
        ({"a": 1}, {"b": 1}, "['s']['a'] is only in trees[0]"),
        ([1], [1, 2], "['s'][1] is only in trees[1]"),
        ((1, 2), [1, 2], "different structures"),
        (None, 1, "['s'] is only in trees[1]"),
    ],
)
def test_trees_that_disagree_are_refused(first, second, seen):
    with pytest.raises(BatchError) as info:
        stack_trees([{"s": first}, {"s": second}])
    assert seen in str(info.value)


def test_arrays_of_text_that_agree_are_a_setting():
    names = np.array(["a", "b"])
    batch = stack_trees([{"names": names, "x": np.ones(2)}] * 3)
    assert batch["names"] is names
    assert batch["x"].shape == (3, 2)


def test_nothing_and_no_batch_are_refused():
    with pytest.raises(BatchError, match=r"got no tree.*\nPass one tree or more"):
        stack_trees([])
    with pytest.raises(BatchError, match="needs one leading size and found no array"):
        unstack_tree({"a": 1})
    with pytest.raises(BatchError, match=r"(?s)2 rows in tree\['x'\], 3 rows in .*=32"):
        unstack_tree({"x": np.ones(2), "y": np.ones(3)})
    with pytest.raises(BatchError, match="got batch_size=4, and no array has that"):
        unstack_tree({"x": np.ones(2)}, batch_size=4)


def test_marks_are_refused():
    trees = [{"x": np.float32(k), "Q": jnp.shared(np.eye(2))} for k in range(3)]
    with pytest.raises(
        BatchError, match=r"got tree\['Q'\] marked as shared\.\nRemove the mark"
    ):
        jnp.stack_trees(trees)
    with pytest.raises(BatchError, match="marked as batched"):
        jnp.unstack_tree({"x": jnp.batched(np.ones((3, 2)), axis=1)})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (frozenset([1]), frozenset([True])),
        (collections.Counter(a=1), collections.Counter(a=1, b=0)),
        (np.ma.masked_array([1, 2], [0, 0]), np.ma.masked_array([1, 2], [1, 1])),
    ],
    ids=["types inside", "zeros", "masks"],
)
def test_settings_that_are_equal_and_not_the_same(first, second):
    with pytest.raises(BatchError, match="two settings for one place"):
        jnp.stack_trees([{"s": first}, {"s": second}])


def test_equal_objects_without_a_text_of_their_own_agree():
    class Same:
        def __eq__(self, other):
            return isinstance(other, Same)

        __hash__ = None

    stacked = jnp.stack_trees([{"s": Same()}, {"s": Same()}])
    assert isinstance(stacked["s"], Same)
