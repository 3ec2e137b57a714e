"""What jfi needs of JAX beyond its documentation, with it and without it.

Random numbers without it have a file of their own, test_random_explicit.py.
"""

import re
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec
from subprocesses import output_of, run_python

import jfi as jnp
from jfi import _jax_internals as _jax_internals
from jfi._jax_internals import _tracing
from jfi._persistent._exported import exported
from jfi._persistent.fingerprint import fingerprint


ROOT = Path(__file__).parents[1]
NAMES = [row.name for row in _jax_internals.rows()]
X = np.linspace(1, 2, 3, dtype="float32")


# ------------------------------------------------------------ pieces


@pytest.mark.parametrize("name", NAMES)
def test_each_piece_is_in_use_here(name):
    (row,) = [row for row in _jax_internals.rows() if row.name == name]
    assert row.state == "in use"
    assert row.uses
    assert row.without


# Of any two pieces, each is in a half that the other is not in. All proofs are made
# anew for each half: for each piece alone they take long.
HALVES = [
    {name for k, name in enumerate(NAMES) if (k >> bit) % 2 == side}
    for bit in range((len(NAMES) - 1).bit_length())
    for side in (0, 1)
]


@pytest.mark.parametrize("off", HALVES, ids=[f"half {k}" for k in range(len(HALVES))])
def test_pieces_can_be_switched_off(off):
    with _jax_internals.without(*off):
        states = {row.name: row.state for row in _jax_internals.rows()}
        assert {states.pop(name) for name in off} <= {"fallback", "refused"}
        assert set(states.values()) == {"in use"}


def test_pieces_that_were_off_are_in_use_again():
    with _jax_internals.without(*NAMES):
        assert "in use" not in {row.state for row in _jax_internals.rows()}
    assert {row.state for row in _jax_internals.rows()} == {"in use"}


def test_pieces_are_proved_whatever_options_of_jax_are_set():
    code = """
import jax

jax.config.update("jax_default_matmul_precision", "highest")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_transfer_guard", "disallow")
jax.config.update("jax_disable_jit", True)

from jfi import _jax_internals

print({row.name for row in _jax_internals.rows() if row.state != "in use"})
"""
    assert output_of(code) == "set()"


def test_an_unknown_piece_is_refused():
    told = pytest.raises(ValueError, match=r"'hidden_stat'.*hidden_state")
    with told, _jax_internals.without("hidden_stat"):
        pass
    done = run_python("import jfi", env={"JFI_WITHOUT": "hidden_stat"}, check=False)
    assert "'hidden_stat'" in done.stderr
    assert "hidden_state" in done.stderr


def test_the_tested_releases_are_those_of_the_constraints():
    lines = (ROOT / "constraints.txt").read_text()
    assert set(re.findall(r"^jax==([\d.]+)", lines, re.MULTILINE)) == {
        *_jax_internals.TESTED
    }
    assert jax.__version__ in _jax_internals.TESTED


def report_of(**env):
    code = "import runpy, sys; runpy.run_module('jfi', run_name='__main__')"
    done = run_python(code, env=env, as_users=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_report_of_a_bug_has_all_it_needs():
    text = report_of(JFI_SERVER_DIR="/nowhere/at/all")
    for part in (
        f"jax          {jax.__version__}  tested: ", "cpu:0", "default_dtype",
        "float32", "not running in /nowhere/at/all", "no cache on disk", "numpy",
        "JFI_SERVER_DIR",
    ):  # fmt: skip
        assert part in text
    for name in NAMES:
        assert re.search(rf"^  {name} +in use +\w", text, re.MULTILINE)
    assert "what that costs you" not in text


def test_the_report_tells_what_a_missing_piece_costs():
    text = report_of(JFI_WITHOUT="hidden_state, symbolic_zeros")
    assert re.search(r"^  hidden_state +refused ", text, re.MULTILINE)
    assert re.search(r"^  symbolic_zeros +fallback ", text, re.MULTILINE)
    costs = text[text.index("what that costs you") :]
    assert "no random draws in code that JAX traces" in costs
    assert "a None cotangent" in costs


# ------------------------------------------------------------ all of them missing

README = f"""
import sys
sys.path.append({str(ROOT / "tests")!r})
from documented import ROOT, run_page
run_page((ROOT / "README.md").read_text(), "README.md")
print("every block ran")
"""


WITHOUT_ALL_BUT_DRAWS = ",".join(name for name in NAMES if name != "hidden_state")


def test_the_readme_runs_on_documented_jax_and_what_draws_need():
    env = {"JFI_WITHOUT": WITHOUT_ALL_BUT_DRAWS}
    assert "every block ran" in output_of(README, env=env)


DRAWS = """
import jax, jfi as jnp
jnp.manual_seed(0)
drawn = [float(jnp.randn()) for _ in range(3)]
jnp.manual_seed(0)
f = jnp.jit(lambda: jnp.scan(lambda c, _: (c, jnp.randn()), 0, length=3)[1])
assert f().tolist() == drawn, drawn
assert len(set(jnp.vmap(lambda x: x + jnp.randn())(jnp.zeros(5)).tolist())) == 5
jnp.manual_seed(0)
branches = lambda: jnp.randn(), lambda: jnp.zeros(())
value = jnp.grad(lambda x: x * jnp.cond(x > 0, *branches))(1.0)
assert float(value) == drawn[0]
print("drawn")
"""


@pytest.mark.parametrize(
    "missing",
    ["trace_context", "trace_context,trace_state,trace_options", WITHOUT_ALL_BUT_DRAWS],
)
def test_draws_need_one_piece_alone(missing):
    # The hidden state of an eager gradient is a stream of its own.
    code = DRAWS.replace("assert float(value) == drawn[0]\n", "")
    assert output_of(code, env={"JFI_WITHOUT": missing}) == "drawn"


def noisy(x):
    return x + jnp.randn()


TRACED = {
    "jit": jnp.jit(noisy),
    "jax.jit": jax.jit(noisy),
    "autojit": jnp.autojit(noisy),
    "persistent": jnp.persistent(noisy),
    "vmap": lambda x: jnp.vmap(noisy)(x[None]),
    "vmap_automatically": lambda x: jnp.vmap_automatically(noisy, x[None]),
    "grad": lambda x: jnp.grad(lambda x: noisy(x).sum())(x),
    "jacfwd": lambda x: jnp.jacfwd(noisy)(x),
    "scan": lambda x: jnp.scan(lambda c, x: (c, noisy(x)), 0, x),
    "map": lambda x: jnp.map(noisy, x),
    "fori_loop": lambda x: jnp.fori_loop(0, 2, lambda _, x: noisy(x), x),
    "while_loop": lambda x: jnp.while_loop(lambda x: x.sum() < 9, noisy, x),
    "scan_while": lambda x: jnp.scan_while(
        lambda x: x.sum() < 9, lambda x: (noisy(x), x), x, max_steps=3
    ),
    "cond": lambda x: jnp.cond(True, noisy, noisy, x),
    "checkpoint": lambda x: jnp.checkpoint(noisy)(x),
}


@pytest.mark.parametrize("tool", TRACED)
def test_draws_in_traced_code_are_refused_where_jax_has_no_place_for_them(tool):
    with _jax_internals.without("hidden_state"):
        for _ in range(2):
            with pytest.raises(jnp.RandomError, match="hides from jfi") as caught:
                TRACED[tool](X)
    assert "`key = jnp.make_random_key()`" in str(caught.value)
    with _jax_internals.without("hidden_state"):  # as it advises, and eagerly
        key = jnp.make_random_key()
        drawn = jnp.jit(lambda x, key: x + jnp.randn(key=key))(X, key)
        assert drawn.tolist() == (X + jnp.randn(key=key)).tolist()


# ------------------------------------------------------------ whether code is traced


@pytest.mark.parametrize(
    "missing", [(), ("trace_context",), ("trace_context", "trace_state")]
)
def test_each_way_notices_tracing(missing):
    with _jax_internals.without(*missing):
        test = _tracing._top_level_test()
        assert (test is _tracing._calls_no_jax) == (len(missing) == 2)
        assert _tracing._notices_tracing(test)
        assert _jax_internals.at_top_level()
        seen = []

        def probe(x):
            told = (
                _jax_internals.at_top_level,
                _jax_internals.is_staged,
                _jax_internals.is_outermost,
            )
            seen.append([tell() for tell in told])
            return x

        jax.vmap(probe)(X)
        jax.grad(probe)(1.0)
        jax.jit(probe)(1)
        jax.vmap(jax.jit(lambda x: probe(x)))(X)
        jax.jit(jax.vmap(lambda x: probe(x)))(X)
        jax.tree.map(probe, [1])
    assert [row[:2] for row in seen] == [
        [False, False], [False, False], [False, True], [False, True], [False, True],
        [True, False],
    ]  # fmt: skip
    assert seen[2][2]


def test_a_program_inside_of_a_program_is_not_the_outermost():
    for missing in ((), ("trace_context",)):
        seen = []
        inner = jnp.jit(
            lambda x, seen=seen: seen.append(_jax_internals.is_outermost()) or x
        )
        with _jax_internals.without(*missing):
            jax.jit(lambda x, inner=inner: inner(x))(1)
            jax.vmap(lambda x, inner=inner: inner(x))(X)
            jnp.jit(
                lambda x, seen=seen: seen.append(_jax_internals.is_outermost()) or x
            )(1)
        assert seen == [False, False, True]


@pytest.mark.parametrize("missing", [(), ("consts_as_arguments",)])
def test_captured_arrays_with_and_without_consts_as_arguments(missing):
    with _jax_internals.without(*missing):

        def root(a):
            return jnp.scipy.optimize.brentq(lambda x: x**2 - a, 0.0, 10.0)

        def doubled(a):
            return jnp.while_loop(lambda c: c < a, lambda c: 2 * c, a / 8, max_steps=5)

        assert float(root(jax.numpy.float32(4))) == pytest.approx(2)
        assert float(jax.grad(root)(4.0)) == pytest.approx(0.25)
        assert float(jax.jit(doubled)(4.0)) == 4
        assert float(jax.grad(doubled)(4.0)) == 1


def test_a_test_that_tells_nothing_is_not_taken():
    assert not _tracing._notices_tracing(lambda: True)
    assert not _tracing._notices_tracing(lambda: False)


# ------------------------------------------------------------ settings


def test_settings_without_the_list_of_them():
    every = _jax_internals.all_settings()
    with _jax_internals.without("config_values"):
        some = _jax_internals.all_settings()
    assert len(some) < len(every)
    assert some.items() <= every.items()


def test_draws_of_eager_code_without_trace_options():
    first = [float(jnp.randn()) for _ in range(40)]
    jnp.manual_seed(0)
    with _jax_internals.without("trace_options"):
        assert _jax_internals.compilation_context() is None
        assert [float(jnp.randn()) for _ in range(40)] == first
        with jax.default_matmul_precision("highest"):
            jnp.randn()


def test_whether_the_backend_runs_is_not_known_without_its_state():
    jnp.zeros(1)
    assert _jax_internals.backend_started()
    with _jax_internals.without("backend_state"):
        assert not _jax_internals.backend_started()


def test_unreadable_options_of_a_jitted_function_are_refused():
    inner = jax.jit(lambda x: x)
    assert fingerprint(lambda x: inner(x))
    told = pytest.raises(ValueError, match="whose options can't be read")
    with told, _jax_internals.without("jit_state"):
        fingerprint(lambda x: inner(x))
    assert _jax_internals.jit_options(object()) is None


GAINS = {"gain": 2.0}


def test_functions_that_catch_exceptions_without_value_errors():
    def scaled(x):
        try:
            return x * GAINS["gain"]
        except KeyError:
            return -x

    told = pytest.warns(jnp.UncompiledWarning, match="catches exceptions, among which")
    with told, _jax_internals.without("value_errors_are_seen"):
        found = jnp.autojit(lambda x: scaled(x) + 1)(X)
    np.testing.assert_allclose(found, scaled(X) + 1, 1e-6)


# ------------------------------------------------------------ batches, loops, shards


def test_loops_that_exchange_values_without_axis_effects():
    def f(x):
        def body(x):
            return x + jax.lax.psum(x, "i") / 10, x

        return jnp.scan_while(lambda x: x < 2, body, x, 3)

    values = jax.vmap(f, axis_name="i")
    slopes = jax.vmap(jax.grad(f_carry(f)), axis_name="i")
    expected = values(X)
    with pytest.raises(jnp.LoopError):
        slopes(X)
    with _jax_internals.without("axis_effects"):
        found = jax.vmap(lambda x: f(x), axis_name="i")(X)
        with pytest.raises(jnp.LoopError):  # refused as ever, and not wrong
            jax.vmap(jax.grad(f_carry(f)), axis_name="i")(X)
    jax.tree.map(np.testing.assert_allclose, found, expected)


def f_carry(f):
    return lambda x: f(x).carry


def test_loops_in_shards_without_varying_types():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = PartitionSpec("i")

    def shard(x):
        out = jnp.scan_while(lambda c: c.sum() < 9, lambda c: (c * 2, c), x, 3)
        return out.carry

    def mapped(**options):
        f = jax.shard_map(shard, mesh=mesh, in_specs=spec, out_specs=spec, **options)
        return f(X)

    expected = mapped()
    with _jax_internals.without("varying_types"):
        np.testing.assert_array_equal(mapped(check_vma=False), expected)
        with pytest.raises(Exception, match=r"vary|type"):
            mapped()


# ------------------------------------------------------------ messages


def test_a_wrong_carry_without_source_lines():
    def wrong(c, _):
        return c.astype(int), None

    with pytest.raises(jnp.LoopError, match=r"test_compat\.py, line"):
        jnp.scan(wrong, jnp.ones(2), length=2)
    with _jax_internals.without("source_lines"), pytest.raises(jnp.LoopError) as caught:
        jnp.scan(lambda c, _: (c.astype(int), None), jnp.ones(2), length=2)
    assert "test_jax_internals.py, line" not in str(caught.value)


def test_compile_times_are_left_out_without_compile_events():
    code = """
import jfi as jnp
f = jnp.autojit(lambda x: x + 1)
f(jnp.ones(2))
print(f.explain())
"""
    assert len(re.findall(r"\d s ", output_of(code))) == 2  # of tracing, of compiling
    untimed = output_of(code, env={"JFI_WITHOUT": "compile_events"})
    assert len(re.findall(r"\d s ", untimed)) == 1


# ------------------------------------------------------------ pytrees


@jax.tree_util.register_pytree_node_class
class Point:
    def __init__(self, x, name):
        self.x, self.name = x, name

    def tree_flatten(self):
        return (self.x,), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


@pytest.mark.parametrize("missing", [(), ("pytree_nodes",)])
def test_a_pytree_node_is_taken_apart_and_put_together(missing):
    with _jax_internals.without(*missing):
        _, data = _jax_internals.pytree_node(jax.tree.structure(Point(0, "p")))
        assert isinstance(data, _jax_internals.WholeStructure) == bool(missing)
        made = _jax_internals.pytree_from_node(Point, data, [3])
    assert (made.x, made.name) == (3, "p")


def test_an_object_with_settings_without_pytree_nodes():
    @jnp.autojit
    def f(point):
        return Point(point.x * len(point.name), point.name)

    with _jax_internals.without("pytree_nodes"):
        assert [float(f(Point(2.0, name)).x) for name in ("a", "abc", "a")] == [2, 6, 2]


def test_a_leaf_has_no_node():
    assert _jax_internals.pytree_node(jax.tree.structure(0)) is None


@pytest.mark.parametrize("missing", [(), ("stripping",)])
def test_kept_programs_hold_no_names_of_operations(missing):
    def named(x):
        return jax.numpy.sin(x) + 1

    with _jax_internals.without(*missing):
        compiled = _jax_internals.compiled_anew(jax.jit(named).lower(1.0))
        code = _jax_internals.serialized(compiled)
    assert (b"jit(named)/sin" in code) == bool(missing)
    run = _jax_internals.deserialized(code, 1, 1, jax.devices()[0])
    assert float(run(1.0)[0]) == pytest.approx(np.sin(1.0) + 1)


@pytest.mark.parametrize("missing", [(), ("lines_of_source",)])
def test_programs_that_are_sent_name_no_files(missing):
    traced = jax.jit(lambda x: jax.numpy.sin(x) + 1).trace(1.0)
    with _jax_internals.without(*missing):
        code = exported(traced, "cpu")
    assert (b"test_compat.py" in code) == bool(missing)


def test_what_was_traced_is_not_traced_again():
    """No first call of jfi adds to JAX's contexts, as the import of Pallas does."""
    code = """
import jax, numpy as np
traces = []
@jax.jit
def f(x):
    traces.append(x)
    return x
import jfi as jnp
f(1.0)
calls = [
    lambda: jnp.autojit(lambda x: x + 1)(1.0),
    lambda: jnp.jit(lambda x: x + jnp.rand())(1.0),
    lambda: jnp.scan(lambda c, x: (c, x), 0.0, jnp.ones(3)),
    lambda: jnp.vmap_automatically(lambda x: x, jnp.ones((3, 2))),
    lambda: jnp.grad(lambda x: jnp.scan_while(lambda c: c < 3, step, x, 5).carry)(1.0),
    lambda: jnp.jit(jnp.from_numpy(np.sin))(jnp.ones(3)),
    lambda: jnp.inspect(lambda x: jnp.linalg.solve(jnp.eye(2), x))(jnp.ones(2)),
    lambda: jnp.persistent(lambda x: x * 2)(1.0),
    lambda: jnp.scipy.optimize.root(lambda x: x - 1, jnp.ones(2)),
    lambda: jnp.KDTree(np.ones((9, 2))).query(jnp.ones((1, 2))),
]
step = lambda c: (c + 1, c)
for call in calls:
    call()
    f(1.0)
print(len(traces))
"""
    assert output_of(code, fresh=True) == "1"
