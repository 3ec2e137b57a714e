import dataclasses
import functools
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting import Traces, count
from hypothesis import given, settings, strategies as st

from jfi import AmbiguousBatchError, BatchError, pytree, vmap, vmap_automatically


# Warns that it runs uncompiled, as it should here: see test_unasked.py.
UNCOMPILED = pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")


class Setting:
    """A plain object, a leaf to JAX."""

    scale = 2.0


def cost(p):
    """Works for one element only: x0 is (4,), A and Q are (4, 4)."""
    x = p["A"] @ p["x0"]
    return x @ p["Q"] @ x


def problem(n=32):
    x0 = np.arange(n * 4, dtype="float32").reshape(n, 4) / 100
    return {"x0": x0, "A": jnp.eye(4) * 2, "Q": jnp.eye(4)}


def per_element(fn, problem, size):
    """What the loop in plain Python gives."""

    def at(i):
        return lambda x: x[i] if getattr(x, "shape", ())[:1] == (size,) else x

    results = [fn(jax.tree.map(at(i), problem)) for i in range(size)]
    return jax.tree.map(lambda *rows: jnp.stack(rows), *results)


# ---- which arrays are batched ----


def test_the_batch_is_not_the_most_common_leading_size(x64):
    result = vmap_automatically(cost, problem())
    np.testing.assert_allclose(result, per_element(cost, problem(), 32), rtol=1e-6)


def test_every_kind_of_setting_reaches_the_function_as_it_is():
    seen = {}
    settings = {
        "mode": "fast",
        "power": 3,
        "rate": 0.5,
        "flag": True,
        "nothing": None,
        "act": jnp.tanh,
        "object": Setting(),
        "number": jnp.float32(4),
        "table": np.ones((3, 2)),
        "names": ("a", "b"),
    }

    def fn(p):
        kept = "mode", "flag", "nothing", "act", "object", "names"
        seen.update({name: p["settings"][name] for name in kept})
        assert (p["settings"]["rate"], p["settings"]["table"].shape) == (0.5, (3, 2))
        return p["x"] ** p["settings"]["power"] * p["settings"]["object"].scale

    result = vmap_automatically(fn, {"x": jnp.arange(5.0), "settings": settings}, 5)
    np.testing.assert_allclose(result, 2 * jnp.arange(5.0) ** 3)
    for name, value in seen.items():
        assert value is settings[name] or name == "names"
    assert seen["names"] == ("a", "b")


@UNCOMPILED
def test_a_shared_array_has_a_value_also_where_a_trial_is_needed():
    def fn(p):
        # Both need the value of a shared array: a trial by tracing alone would fail.
        if p["A"][0, 0] * 2 > 0:
            return np.linalg.inv(p["A"] * 2) @ p["x"]
        return p["x"]

    result = vmap_automatically(fn, {"x": jnp.ones((3, 4)), "A": jnp.eye(4)})
    np.testing.assert_allclose(result, np.full((3, 4), 0.5))


def test_keys_are_batched():
    keys = jax.random.split(jax.random.key(0), 6)
    result = vmap_automatically(
        lambda p: jax.random.normal(p["key"], (2,)) + p["A"].sum(),
        {"key": keys, "A": jnp.zeros((2, 3))},
        batch_size=6,
    )
    np.testing.assert_allclose(
        result, jax.vmap(lambda k: jax.random.normal(k, (2,)))(keys)
    )
    assert len(np.unique(result)) == 12


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Dynamics:
    x: jax.Array
    A: jax.Array


def test_the_problem_may_be_one_array_or_a_registered_class():
    assert vmap_automatically(jnp.sum, jnp.ones((3, 2))).shape == (3,)
    dynamics = Dynamics(jnp.ones((7, 4)), jnp.ones((2, 4)))
    result = vmap_automatically(lambda d: d.A @ d.x, dynamics)
    np.testing.assert_allclose(result, np.full((7, 2), 4.0))


def test_the_problem_of_the_caller_is_not_changed():
    mine = problem()

    def fn(p):
        p["x0"] = p["x0"] * 0
        p["new"] = 1
        return cost(p)

    vmap_automatically(fn, mine)
    assert set(mine) == {"x0", "A", "Q"}
    assert mine["x0"][1, 1] != 0


@settings(deadline=None, max_examples=30)
@given(
    size=st.integers(1, 6),
    inner=st.lists(st.integers(1, 3), max_size=2),
    shared=st.lists(st.integers(7, 9), min_size=1, max_size=3),
    n_batched=st.integers(1, 3),
)
def test_an_explicit_size_gives_what_a_loop_gives(size, inner, shared, n_batched):
    rng = np.random.default_rng(0)
    tree = {
        "batched": [rng.normal(size=(size, *inner)) for _ in range(n_batched)],
        "shared": {"a": rng.normal(size=shared), "n": 2},
    }

    def fn(p):
        total = sum(x.sum() for x in p["batched"])
        return {"y": total * p["shared"]["a"], "x": p["batched"][0], "none": None}

    result = vmap_automatically(fn, tree, batch_size=size)
    expected = per_element(fn, tree, size)
    assert jax.tree.structure(result) == jax.tree.structure(expected)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5),
        result,
        expected,
    )


# ---- sizes ----


def test_an_empty_batch():
    result = vmap_automatically(cost, problem(0))
    assert result.shape == (0,)
    assert vmap_automatically(cost, problem(0), batch_size=0).shape == (0,)


def test_a_batch_of_one():
    expected = per_element(cost, problem(1), 1)
    np.testing.assert_allclose(vmap_automatically(cost, problem(1), 1), expected)


def test_a_numpy_integer_is_a_batch_size():
    assert vmap_automatically(cost, problem(), np.int64(32)).shape == (32,)


def test_an_explicit_size_needs_no_trial():
    def fn(p):
        count()
        return p["x"] * 2

    tree = {"x": jnp.ones((3, 2)), "y": jnp.ones(5)}
    assert Traces.added(lambda: vmap_automatically(fn, tree, batch_size=3)) == 1


@UNCOMPILED
def test_the_trials_compute_nothing():
    seen = []

    def fn(p):
        jax.debug.callback(lambda x: seen.append(x), p["x0"].sum())
        return cost(p)

    vmap_automatically(fn, problem(8))
    jax.effects_barrier()
    assert len(seen) == 8


@pytest.mark.parametrize("size", [-1, True, 3.0, "3", [3]])
def test_a_wrong_batch_size_is_refused(size):
    with pytest.raises(BatchError, match=r"got batch_size=.*\nPass the number of ele"):
        vmap_automatically(cost, problem(), batch_size=size)


def test_several_arguments_are_sent_to_auto_vmap():
    x = jnp.ones((3, 2))
    with pytest.raises(
        BatchError, match=r"(?s)batch_size=float32\[3,2\]\..*auto_vmap\(fn"
    ):
        vmap_automatically(lambda x, y: x + y, x, x)


def test_the_reason_why_no_size_works_begins_in_the_function():
    fn = lambda p: p["A"] @ jnp.ones((7, 7)) + p["y"]
    with pytest.raises(BatchError, match="works with none") as refusal:
        vmap_automatically(fn, {"A": jnp.ones((3, 2)), "y": jnp.ones((4, 2))})
    cause = refusal.value.__cause__
    assert cause is not None
    first, *below = traceback.extract_tb(cause.__traceback__)
    assert first.filename == __file__
    assert not any("jfi/_" in frame.filename for frame in below)


def test_a_size_that_no_array_has_is_refused():
    with pytest.raises(BatchError, match=r"(?s)batch_size=7.*problem\['x0'\]: \(32, 4"):
        vmap_automatically(cost, problem(), batch_size=7)


# ---- ambiguity ----


def test_several_readings_are_refused_with_every_array_listed():
    tree = {"x": jnp.ones((32, 4)), "y": {"a": [jnp.ones(7)]}, "mode": "fast"}
    message = (
        r"more than one batch size: 7, 32\. The arrays are:\n"
        r"  problem\['x'\]: \(32, 4\)\n  problem\['y'\]\['a'\]\[0\]: \(7,\)\n"
        r"Choose one: batch_size=7 or batch_size=32; .* jfi\.vmap\(fn, in_axes="
    )
    with pytest.raises(AmbiguousBatchError, match=message):
        vmap_automatically(lambda p: p["x"] * 2, tree)
    assert vmap_automatically(lambda p: p["x"] * 2, tree, 32).shape == (32, 4)


def test_a_square_array_may_be_a_shared_matrix():
    tree = {"x": jnp.ones((8, 3)), "Q": jnp.ones((8, 8))}
    with pytest.raises(
        AmbiguousBatchError, match=r"problem\['Q'\] may be a batch of r"
    ):
        vmap_automatically(lambda p: p["x"].sum() + p["Q"].sum(), tree)
    # Said to be batched, it is.
    result = vmap_automatically(lambda p: p["x"].sum() + p["Q"].sum(), tree, 8)
    np.testing.assert_allclose(result, np.full(8, 3 + 8.0))


def test_a_square_array_is_seen_after_a_trial_too():
    tree = {"x": jnp.ones((8, 4)), "A": jnp.eye(4), "Q": jnp.ones((8, 8))}
    with pytest.raises(AmbiguousBatchError, match=r"a batch of 8, but problem\['Q'\]"):
        vmap_automatically(lambda p: p["A"] @ p["x"] + p["Q"].sum(), tree)


# ---- no reading ----


@pytest.mark.parametrize("tree", [{}, {"a": 1, "b": "x"}, 3.0, Setting()])
def test_a_problem_without_arrays_is_refused(tree):
    with pytest.raises(BatchError, match="found no array with a leading dimension"):
        vmap_automatically(lambda p: p, tree)


def test_vmap_automatically_plain_object_is_refused_with_the_line_to_write():
    @dataclasses.dataclass
    class Problem:
        x: object
        mode: str = "fast"

    for tree in (Problem(jnp.ones((8, 2))), {"inner": [Problem(jnp.ones((8, 2)))]}):
        with pytest.raises(BatchError, match="@jnp\\.pytree above class Problem"):
            vmap_automatically(lambda p: p, tree)
    written = pytree(Problem)(jnp.ones((8, 2)))
    assert vmap_automatically(lambda p: p.x.sum(), written).shape == (8,)


def test_vmap_automatically_without_a_problem_is_refused_with_the_line_to_write():
    def solve(p):
        return p["x"].sum()

    message = r"(?s)solve\(\) and no problem.*any arguments, jfi.auto_vmap\(solve\)"
    with pytest.raises(BatchError, match=message):
        vmap_automatically(solve)
    with pytest.raises(TypeError, match=r"jfi\.vmap_automatically\(solve, problem\)"):
        vmap_automatically(solve, batch_size=3)


def test_a_function_that_fails_with_every_size_is_told_with_each_reason():
    tree = {"x": jnp.ones((8, 7)), "A": jnp.eye(3)}
    message = r"(?s)none of the possible batch sizes:\n  3: TypeError: .*  8: TypeError"
    with pytest.raises(BatchError, match=message) as info:
        vmap_automatically(lambda p: p["A"] @ p["x"], tree)
    assert isinstance(info.value.__cause__, TypeError)


def test_the_functions_own_exception_is_chained_or_passes_through():
    def fn(p):
        return {}["missing"]

    with pytest.raises(BatchError, match=r"3: KeyError: 'missing'") as info:
        vmap_automatically(fn, {"x": jnp.ones((8, 7)), "A": jnp.eye(3)})
    assert isinstance(info.value.__cause__, KeyError)
    with pytest.raises(KeyError, match="missing"):
        vmap_automatically(fn, {"x": jnp.ones((8, 7))})


@pytest.mark.parametrize(
    "value", [np.array(["a", "b", "c"]), np.array([None] * 3), Setting]
)
def test_an_array_that_jax_can_not_batch_is_refused_if_it_is_as_long(value):
    tree = {"x": jnp.ones((3, 4)), "names": value}
    if value is Setting:  # no shape: a setting like any other
        assert vmap_automatically(lambda p: p["x"].sum(), tree).shape == (3,)
        return
    with pytest.raises(BatchError, match=r"problem\['names'\] \(ndarray of .*\(3,\)\)"):
        vmap_automatically(lambda p: p["x"].sum(), tree)


def test_a_torch_tensor_as_long_as_the_batch_is_refused():
    torch = pytest.importorskip("torch")
    tree = {"x": jnp.ones((3, 4)), "w": torch.ones(3)}
    with pytest.raises(BatchError, match=r"Tensor of torch\.float32, shape \(3,\)"):
        vmap_automatically(lambda p: p["x"].sum(), tree)


# ---- results ----


def test_results_are_trees_of_arrays_and_numbers():
    result = vmap_automatically(
        lambda p: {"sum": p.sum(), "rest": (None, 1, 2.0, True)}, jnp.ones((3, 2))
    )
    np.testing.assert_allclose(result["sum"], [2.0, 2.0, 2.0])
    assert result["rest"][0] is None
    np.testing.assert_array_equal(result["rest"][1], [1, 1, 1])
    np.testing.assert_array_equal(result["rest"][3], [True, True, True])


def test_settings_in_a_result_come_back_as_they_are():
    setting = Setting()
    tree = {"x": jnp.ones((3, 5)), "setting": setting}

    def fn(p):
        extra = ("converged", None, jnp.tanh, p["setting"])
        return {"y": p["x"].sum(), "a": extra}

    result = vmap_automatically(fn, tree)
    assert list(result) == ["y", "a"]
    assert result["y"].shape == (3,)
    assert result["a"] == ("converged", None, jnp.tanh, setting)


class Solution:
    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize(
    ("hide", "kind"),
    [
        (Solution, "Solution"),
        (lambda x: Solution([{"x": x}]), "Solution"),
        (lambda x: lambda: x, "function"),
        (lambda x: functools.partial(jnp.add, x), "partial"),
        (lambda x: iter([x]), "list_iterator"),
    ],
)
def test_a_result_that_hides_arrays_of_a_row_is_refused(hide, kind):
    with pytest.raises(BatchError, match=rf"returned a {kind} for result\['s'\]\[0\]"):
        vmap_automatically(lambda p: {"s": [hide(p["x"])]}, {"x": jnp.ones((3, 5))})


# ---- under transformations ----


def test_under_jit_grad_vmap_and_scan(x64):
    expected = per_element(cost, problem(), 32)
    base = {k: jnp.asarray(v) for k, v in problem().items()}

    def run(Q):
        return vmap_automatically(cost, {**base, "Q": Q})

    np.testing.assert_allclose(jax.jit(run)(base["Q"]), expected, rtol=1e-5)
    by_hand = jax.vmap(lambda x, Q: cost({**base, "x0": x, "Q": Q}), (0, None))
    np.testing.assert_allclose(
        jax.grad(lambda Q: run(Q).sum())(base["Q"]),
        jax.grad(lambda Q: by_hand(base["x0"], Q).sum())(base["Q"]),
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        jax.grad(lambda x: vmap_automatically(cost, {**base, "x0": x}).sum())(
            base["x0"]
        ),
        8 * base["x0"],
        rtol=1e-5,
    )
    many = jnp.stack([base["Q"], 2 * base["Q"]])
    both = jnp.stack([expected, 2 * expected])
    np.testing.assert_allclose(jax.vmap(run)(many), both, rtol=1e-5)
    _, scanned = jax.lax.scan(lambda c, Q: (c, run(Q)), 0, many)
    np.testing.assert_allclose(scanned, both, rtol=1e-5)


def test_one_inside_of_another():
    def inner(p):
        return vmap_automatically(lambda q: q["x"] * q["a"], p, batch_size=3).sum()

    tree = {"x": jnp.arange(15.0).reshape(5, 3), "a": 2.0}
    np.testing.assert_allclose(
        vmap_automatically(inner, tree), 2 * tree["x"].sum(1), rtol=1e-6
    )


def test_what_was_called_before_does_not_matter():
    scale = [1.0]

    def fn(p):
        return p["A"] @ p["x"] * scale[0]

    first = vmap_automatically(fn, {"x": jnp.ones((3, 2)), "A": jnp.eye(2)})
    scale[0] = 5.0
    second = vmap_automatically(fn, {"x": jnp.ones((3, 2)), "A": jnp.eye(2)})
    np.testing.assert_allclose(second, 5 * first)
    third = vmap_automatically(fn, {"x": jnp.ones((2, 3)), "A": jnp.ones((4, 3))})
    assert third.shape == (2, 4)


def test_a_partial_has_a_name_in_messages():
    with pytest.raises(AmbiguousBatchError, match=r"^<lambda>\(\) may work with more"):
        vmap_automatically(
            functools.partial(lambda a, x: x, 2), [jnp.ones((3, 2)), jnp.ones((2, 5))]
        )


def test_numpy_arrays_under_jit_reach_functions_with_their_own_gradient():
    @jax.custom_vjp
    def double(x):
        return 2 * x

    double.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))
    rows = np.arange(3.0)
    doubled = jax.jit(lambda: vmap_automatically(double, rows))()
    assert (doubled == 2 * rows).all()


def test_a_size_whose_trial_needs_values_may_be_the_right_one():
    def solve(p):
        return p["y"].sum() if (p["x"] > 0).any() else p["y"].max()

    problem = {"x": jnp.ones((5, 2)), "y": jnp.ones((3, 2))}
    with pytest.raises(AmbiguousBatchError, match="more than one batch size: 3, 5"):
        vmap_automatically(solve, problem)


def test_chunks_of_arguments_that_are_none_or_too_flat():
    x = jnp.ones((6, 2))
    for options in ({}, {"in_axes": (0, None)}):
        out = vmap(lambda x, n: x + 1, **options, chunk_size=2)(x, None)
        np.testing.assert_array_equal(out, x + 1)
    with pytest.raises(
        BatchError, match=r"in_axes= with 5 for an array of shape \(6, 2"
    ):
        vmap(lambda x: x, in_axes=5, chunk_size=2)(x)


def test_a_dict_whose_keys_are_attributes_is_a_setting_or_refused():
    """Asked for its shape, it raises a KeyError."""

    class Settings(dict):
        __getattr__ = dict.__getitem__

    settings, x = Settings(rate=2.0), jnp.ones((2, 3))
    out = vmap_automatically(
        lambda p: p["x"].sum() * p["s"].rate, {"x": x, "s": settings}
    )
    assert out.tolist() == [6.0, 6.0]
    with pytest.raises(BatchError, match=r"(?s)no array.*problem: Settings.*in dicts"):
        vmap_automatically(lambda p: p.x.sum(), Settings(x=x))
