"""Saying what is batched: by path, in the data; and what is told when nothing fits."""

import dataclasses

import jax
import numpy as np
import pytest

import jfi as jnp
from jfi import AmbiguousBatchError, BatchError, auto_vmap, vmap_automatically


def total(p):
    """The sum of all arrays, at any depth: works with any reading."""
    return sum(x.sum() for x in jax.tree.leaves(p) if hasattr(x, "sum"))


def ones(*shape):
    return np.ones(shape, "float32")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Dynamics:
    Q: object
    A: object = None


def problem():
    """A batch of 3, and a shared Q of 3 rows by accident."""
    return {
        "x": ones(3, 2),
        "dyn": {"Q": ones(3, 4), "name": "cart"},
        "costs": [{"Q": ones(3, 5)}],
        "model": Dynamics(ones(3, 6)),
    }


@pytest.mark.parametrize(
    ("shared", "sizes"),
    [
        ((), 2 + 4 + 5 + 6),
        ("dyn.Q", 2 + 12 + 5 + 6),
        ("dyn", 2 + 12 + 5 + 6),
        ("dyn.*", 2 + 12 + 5 + 6),
        ("costs.0.Q", 2 + 4 + 15 + 6),
        ("model.Q", 2 + 4 + 5 + 18),
        ("*.Q", 2 + 12 + 15 + 18),
        (["dyn.Q", "model"], 2 + 12 + 5 + 18),
    ],
)
def test_paths_say_what_is_shared(shared, sizes):
    result = vmap_automatically(total, problem(), 3, shared=shared)
    np.testing.assert_array_equal(result, np.full(3, sizes))


def test_paths_of_a_function_begin_with_the_parameter():
    @auto_vmap(shared=("system.Q", "rest.1"), batched={"z": -1})
    def fn(x, system, *rest, z, gain=2.0):
        return x.sum() + total(system) + gain * total(rest) + z.sum()

    args = ones(3, 2), {"Q": ones(3, 4)}, ones(3, 5), ones(3, 6)
    result = fn(*args, z=ones(7, 3), gain=10.0)
    np.testing.assert_array_equal(result, np.full(3, 2 + 12 + 50 + 180 + 7))


def test_values_can_be_marked_wherever_they_are():
    marked = {
        **problem(),
        "x": jnp.batched(ones(2, 3), axis=-1),
        "dyn": jnp.shared({"Q": ones(3, 4), "inner": jnp.batched(ones(7, 3), axis=1)}),
    }
    seen = {}

    def fn(p):
        seen.update({name: type(value) for name, value in p["dyn"].items()})
        return total(p)

    result = vmap_automatically(fn, marked)
    np.testing.assert_array_equal(result, np.full(3, 2 + 12 + 7 + 5 + 6))
    assert seen["Q"] is not type(marked["dyn"])

    shared = auto_vmap(lambda x, *, q: x.sum() + q.sum())
    assert shared(ones(3, 2), q=jnp.shared(ones(3, 3))).tolist() == [11.0, 11.0, 11.0]


def test_marks_are_trees():
    mark = jnp.batched({"a": 1.0}, axis=1)
    doubled = jax.tree.map(lambda x: 2 * x, mark)
    assert repr(doubled) == "batched({'a': 2.0}, axis=1)"
    assert repr(jnp.shared(3)) == "shared(3)"


def test_an_axis_said_of_one_array_is_the_batch_of_the_others():
    tree = {"x": ones(2, 5), "y": ones(5, 3), "w": ones(2)}
    result = vmap_automatically(total, tree, batched={"x": 1})
    np.testing.assert_array_equal(result, np.full(5, 2 + 3 + 2))


def test_a_square_array_is_settled_by_saying_it():
    tree = {"x": ones(4, 2), "Q": ones(4, 4)}
    with pytest.raises(AmbiguousBatchError, match=r"to share a matrix: shared='Q' or"):
        vmap_automatically(total, tree)
    assert vmap_automatically(total, tree, shared="Q")[0] == 18
    assert vmap_automatically(total, tree, batched={"Q": 0})[0] == 6
    assert vmap_automatically(total, tree, batched={"Q": 1, "x": 0})[0] == 6


# ---- refusals ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shared": "dyn.R"}, r"no path matches 'dyn\.R'.*'dyn\.Q'.*mean 'dyn\.Q'"),
        ({"shared": "Q"}, r"no path matches 'Q'.*Did you mean '.*\.Q'"),
        ({"shared": "*.R"}, r"no path matches '\*\.R'. The paths are:"),
        ({"batched": {"y": 0}}, r"got batched=\{'y': 0\}, and no path"),
        (
            {"batched": {"x": 2}},
            r"problem\['x'\] along axis 2, but its shape",
        ),
        (
            {"batched": {"dyn.name": 0}},
            r"for problem\['dyn'\]\['name'\], str",
        ),
        (
            {"batched": {"x": 0, "dyn.Q": 1}, "batch_size": None},
            r"two sizes: problem\['x'\] \(3, 2\) along axis 0, and "
            r"problem\['dyn'\]\['Q'\] \(3, 4\) along axis 1",
        ),
        ({"batched": {"x": 1}, "batch_size": 3}, r"two sizes: batch_size=3, and"),
        ({"batched": {"x": 0}, "shared": "x"}, r"disagree about problem\['x'\]"),
        ({"batched": {"x": "0"}}, r"in batched=, 'x': '0'.\nWrite the axis"),
        ({"batched": {"x": True}}, r"in batched=, 'x': True"),
        ({"batched": ["x"]}, r"got batched=\['x'\].\nWrite a dict"),
        ({"shared": 3}, r"got shared=3.\nWrite paths"),
        ({"randomness": "none"}, r"got randomness='none'"),
        ({"chunk_size": 0}, r"got chunk_size=0.\nPass the number of rows"),
        ({"progress": True}, r"got progress=True without chunk_size="),
        ({"devices": 0}, r"got devices=0, and this process has"),
        ({"devices": True}, r"got devices=True.\nWrite 'all'"),
        ({"sharding": "x"}, r"got sharding='x'.\nPass a mesh"),
        ({"sharding": 1, "devices": 1}, r"got devices= and sharding="),
        ({"chunk_size": 2, "out_axes": None}, r"out_axes= with None, and chunks"),
    ],
)
def test_options_that_can_not_be_are_refused(options, message):
    with pytest.raises(BatchError, match=f"(?s){message}"):
        vmap_automatically(total, problem(), **{"batch_size": 3, **options})


def test_an_unknown_option_is_a_type_error():
    with pytest.raises(TypeError, match=r"vmap_automatically\(\) got .*'chunk'"):
        vmap_automatically(total, problem(), 3, chunk=2)
    with pytest.raises(TypeError, match=r"auto_vmap\(\) got an unexpected .*'jit'"):
        auto_vmap(total, jit=False)


def test_marks_that_can_not_be_are_refused():
    with pytest.raises(BatchError, match=r"batched\(\) got axis='a'.\nWrite the axis"):
        jnp.batched(ones(3), axis="a")
    with pytest.raises(BatchError, match=r"for problem\['s'\], str without"):
        vmap_automatically(total, {"x": ones(3, 2), "s": jnp.batched("text")})


def test_an_iterator_in_the_problem_is_refused():
    with pytest.raises(BatchError, match=r"problem\['g'\] is an iterator \(a gen"):
        vmap_automatically(total, {"x": ones(3, 2), "g": (k for k in range(3))})


def test_what_would_work_is_told():
    tree = {"x": ones(5, 2), "A": ones(3, 2), "net": {"w": ones(5, 3), "b": ones(5)}}

    def fn(p):
        return p["net"]["w"] @ (p["A"] @ p["x"]) + p["net"]["b"] @ ones(5)

    with pytest.raises(BatchError, match=r"(?s)none .* batch_size=5, shared='net'\."):
        vmap_automatically(fn, tree)
    assert vmap_automatically(fn, tree, batch_size=5, shared="net").shape == (5, 5)


def test_the_traceback_of_a_refusal_is_short():
    with pytest.raises(AmbiguousBatchError) as info:
        vmap_automatically(total, {"x": ones(3, 2), "y": ones(4)})
    assert len(info.traceback) < 7
    assert not hasattr(info.value, "__notes__")


def test_vmap_with_automatic_axes():
    tree = {"x": ones(3, 2), "Q": 2 * ones(2, 2), "power": 2}
    fn = lambda p: (p["Q"] @ p["x"]).sum() ** p["power"]
    assert jnp.vmap(fn, in_axes="auto")(tree).tolist() == [64.0] * 3
    parts = jnp.vmap(lambda p: p["x"], in_axes="auto", out_axes=1, chunk_size=2)
    assert parts({"x": ones(3, 2)}).shape == (2, 3)
    with pytest.raises(BatchError, match=r"got in_axes='atuo'"):
        jnp.vmap(fn, in_axes="atuo")
    with pytest.raises(BatchError, match=r"in_axes='auto' and axis_name="):
        jnp.vmap(fn, in_axes="auto", axis_name="i")
