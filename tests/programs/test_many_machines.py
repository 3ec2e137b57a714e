"""Functions and batches on the workers of a Dask cluster: two processes here."""

import os
import sys
from types import SimpleNamespace

import cloudpickle
import jax
import numpy as np
import pytest
import tqdm.auto
from subprocesses import cache_variables

import jfi as jnp


distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
X = jnp.arange(3.0)


def double(x):
    return x * 2


@pytest.fixture(scope="module")
def client():
    """Slow: each worker imports JAX."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)  # as the functions of a script
    quiet = {"distributed.worker.memory.terminate": False}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
            env=cache_variables(),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
    cloudpickle.unregister_pickle_by_value(module)


def traces(client, fn):
    """How often each worker has traced a function."""
    return list(client.run(lambda: fn.cache_info().traces).values())


def same(one, other):
    """Whether two trees are equal: classes, dtypes, weak types and numbers."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert type(x) is type(y)
        if isinstance(x, jax.Array):
            assert jax.typeof(x) == jax.typeof(y)
            assert getattr(x, "weak_type", None) == getattr(y, "weak_type", None)
            if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
                x, y = jax.random.key_data(x), jax.random.key_data(y)
            np.testing.assert_allclose(x, y, 1e-6)
        else:
            assert x == y
    return True


# ------------------------------------------------------------------ compiled functions


SCRIPT = """
import jax, jfi as jnp
GAIN = 3
def helper(x):
    return x * GAIN
@jnp.autojit
def step(x, power=2):
    return helper(x) ** power
@jnp.autojit
def inner(x):
    return jnp.sin(x) * 2
class Model:
    def __init__(self, k):
        self.w, self.kind = jnp.full(3, k), "sum"
    @jnp.autojit
    def loss(self, x):
        y = inner(helper(x) * self.w)
        return y.sum() if self.kind == "sum" else y.mean()
def make(w):
    @jnp.autojit
    def f(x):
        return w @ x + GAIN
    return f
class OddError(ValueError):
    pass
@jnp.autojit
def refuses(x, n):
    if n > 2:
        raise OddError(f"{n} is too many")
    return x * n
"""


@pytest.fixture(scope="module")
def script():
    """The functions of a script. Workers can't import it, so they get them by value."""
    variables = {"__name__": "script"}
    exec(SCRIPT, variables)
    return SimpleNamespace(all=variables, **variables)


def submitted(client, fn):
    tasks = [client.submit(fn, X + k, pure=False) for k in range(8)]
    return client.gather(tasks)


def mapped(client, fn):
    return client.gather(client.map(fn, [X + k for k in range(8)], pure=False))


def in_closures(client, fn):
    tasks = [client.submit(lambda k=k: fn(X + k), pure=False) for k in range(8)]
    return client.gather(tasks)


def delayed(client, fn):
    tasks = [dask.delayed(fn, pure=False)(X + k) for k in range(8)]
    return list(dask.compute(*tasks, scheduler=client))


@pytest.mark.parametrize("way", [submitted, mapped, in_closures, delayed])
def test_a_function_is_compiled_once_by_each_worker(client, script, way):
    expected = [(3 * (X + k)) ** 2 for k in range(8)]
    assert same(way(client, script.step), expected)
    assert max(traces(client, script.step)) == 1


def test_so_is_a_method_whatever_the_object_holds(client, script):
    models = [script.Model(float(k)) for k in range(8)]
    tasks = [client.submit(model.loss, X, pure=False) for model in models]
    expected = [jnp.sum(jnp.sin(3 * X * k) * 2) for k in range(8)]
    assert same(client.gather(tasks), expected)
    assert max(traces(client, script.Model.loss)) == 1


def test_so_is_a_closure_over_other_arrays(client, script):
    fns = [script.make(X * k) for k in range(8)]
    tasks = [client.submit(fn, X, pure=False) for fn in fns]
    assert [float(y) for y in client.gather(tasks)] == [5 * k + 3 for k in range(8)]
    assert max(traces(client, fns[0])) == 1


def test_a_helper_edited_between_two_submits_is_seen(client, script, monkeypatch):
    for edited, expected in [(lambda x: x + 1, 9), (lambda x: x * 5, 100)]:
        monkeypatch.setitem(script.all, "helper", edited)
        tasks = client.map(script.step, [2.0] * 4, pure=False)
        assert [float(y) for y in client.gather(tasks)] == [expected] * 4
    monkeypatch.setitem(script.all, "helper", script.helper)
    monkeypatch.setitem(script.all, "GAIN", 7)
    assert float(client.submit(script.step, 2.0, pure=False).result()) == 196


def test_an_exception_arrives_with_its_type(client, script):
    tasks = [client.submit(script.refuses, X, n, pure=False) for n in (2, 3)]
    assert tasks[0].result().tolist() == [0, 2, 4]
    with pytest.raises(script.OddError, match="3 is too many"):
        tasks[1].result()


def test_workers_find_what_a_persistent_function_has_compiled_here(client):
    @jnp.persistent(mode="disk")
    def settled(x, steps=4):
        for _ in range(steps):
            x = x + 0.1 * jnp.cos(x)
        return x

    def task(x):
        return float(settled(x)), settled.cache_info().traces

    expected = [float(settled(float(k))) for k in range(8)]
    found = client.gather(client.map(task, [float(k) for k in range(8)], pure=False))
    np.testing.assert_allclose([y for y, _ in found], expected, 1e-6)
    assert {n for _, n in found} == {0}


# ----------------------------------------------------------------------------- batches


def simulate(p):
    x = p["A"] @ p["x"] + jnp.randn(2)
    return {
        "end": x,
        "n": 2.0,
        "key": jax.random.wrap_key_data(jnp.ones(2, jnp.uint32)),
        "kind": p["kind"],
        "pair": (x.sum(), x.astype("bfloat16"), 3),
    }


PROBLEM = {
    "x": np.linspace(0, 1, 14, dtype="f4").reshape(7, 2),
    "A": jnp.eye(2),
    "kind": "a",
}


@pytest.mark.parametrize("chunk_size", [None, 3, 1, 7, 50])
def test_a_batch_is_that_of_one_machine(client, chunk_size):
    jnp.manual_seed(1)
    here, after = jnp.vmap_automatically(simulate, PROBLEM), jnp.randn(2)
    jnp.manual_seed(1)
    options = {"client": client, "chunk_size": chunk_size}
    there = jnp.vmap_automatically(simulate, PROBLEM, **options)
    assert same(there, here)
    assert same(jnp.randn(2), after)  # the stream goes on in the same way


def test_rows_on_workers_call_numpy_and_trees_of_scipy(client):
    pytest.importorskip("scipy")
    ordered = jnp.from_numpy(np.sort)
    tree = jnp.KDTree(np.arange(8.0, dtype=np.float32).reshape(4, 2))

    def row(problem):
        x = ordered(problem["x"])
        return {"x": x, "near": tree.query(x)}

    problem = {"x": np.array([[4.0, 1.0], [3.0, 5.0], [7.0, 6.0]], np.float32)}
    here = jnp.vmap_automatically(row, problem)
    assert same(jnp.vmap_automatically(row, problem, client=client), here)


def test_another_call_compiles_nothing(client):
    rows = {"traced": np.ones((8, 3), "f4")}

    def count(p, w):
        return p["traced"] @ w

    def compiled():
        def counted():
            from jfi._transforms.batching._parts import _known

            calls = [c for c in _known._table.values() if c._name == "count"]
            return sum(c._compiled.history.traces for c in calls)

        return list(client.run(counted).values())

    for k in range(3):
        options = {"client": client, "chunk_size": 2}
        out = jnp.auto_vmap(count, **options)(rows, X * k)
        assert out.tolist() == [3 * k] * 8
    assert max(compiled()) == 1


def test_rows_draw_by_their_number_whatever_they_draw_from(client):
    here, there = jnp.Generator(4), jnp.Generator(4)
    draw = lambda g: lambda x: (x + g.randn(), jnp.randint(0, 100))
    for _ in range(2):
        state = jnp.get_rng_state()
        expected = jnp.vmap_automatically(draw(here), jnp.zeros(5))
        jnp.set_rng_state(state)
        options = {"client": client, "chunk_size": 2}
        assert same(
            jnp.vmap_automatically(draw(there), jnp.zeros(5), **options), expected
        )
    equal = jnp.vmap_automatically(
        lambda x: x + jnp.randn(), jnp.zeros(5), client=client, randomness="same"
    )
    assert len(set(equal.tolist())) == 1


def test_one_row_and_none(client):
    for size in (0, 1):
        rows = {"x": np.ones((size, 2), "f4")}
        double = lambda p: {"y": p["x"] * 2, "n": 3}
        here = jnp.vmap_automatically(double, rows, size)
        assert same(jnp.vmap_automatically(double, rows, size, client=client), here)


def test_keywords_axes_and_settings(client):
    @jnp.auto_vmap(client=client, batched={"x": 1}, out_axes=1, chunk_size=2)
    def f(x, table, *, by=2, name="n"):
        return (x * by) @ table

    x, table = jnp.arange(15.0).reshape(3, 5), jnp.ones((3, 2))
    assert same(f(x, table, by=4), ((x * 4).T @ table).T)


def test_a_big_batch_in_the_64_bit_world(client):
    with jnp.default_dtype("float64"):
        x = np.linspace(0, 1, 200_000).reshape(100_000, 2)
        out = jnp.vmap_automatically(lambda x: x.sum() + jnp.ones(()), x, client=client)
        assert out.dtype == "float64"
        np.testing.assert_allclose(out, x.sum(1) + 1, 1e-15)


def test_python_code_that_asks_for_a_value_runs_as_on_one_machine(client):
    def f(p):
        return p["x"] * (2 if float(p["shared"].sum()) > 1 else 3)

    rows = {"x": jnp.arange(4.0), "shared": jnp.ones(2)}
    options = {"shared": "shared", "client": client, "chunk_size": 2}
    assert jnp.vmap_automatically(f, rows, **options).tolist() == [0, 2, 4, 6]


def test_the_rows_of_a_worker_that_dies_are_computed_by_another(client, tmp_path):
    mark = tmp_path / "died"

    def die_once(x):
        if not mark.exists():
            mark.touch()
            os._exit(1)
        return x

    def f(x):
        return jax.pure_callback(die_once, x, x, vmap_method="sequential") * 2

    out = jnp.vmap_automatically(f, jnp.arange(6.0), client=client, chunk_size=1)
    assert mark.exists()
    assert out.tolist() == [0, 2, 4, 6, 8, 10]
    client.wait_for_workers(2, timeout=60)


@pytest.mark.filterwarnings("ignore:.*calls back to Python:jfi.UncompiledWarning")
def test_an_exception_of_a_row_arrives_with_its_type(client):
    def check(x):
        if x > 3:
            raise ValueError(f"{x:.0f} is too many")
        return x

    f = lambda x: jax.pure_callback(check, x, x, vmap_method="sequential") * 2
    for options in ({}, {"client": client, "chunk_size": 1}):
        with pytest.raises(jax.errors.JaxRuntimeError, match="4 is too many"):
            jnp.vmap_automatically(f, jnp.arange(5.0), **options)
        out = jnp.vmap_automatically(f, jnp.arange(4.0), **options)
        assert out.tolist() == [0, 2, 4, 6]


def test_an_exception_of_the_python_code_is_raised_here(client, script):
    f = lambda p: script.refuses(p["x"], p["n"])
    with pytest.raises(script.OddError, match="3 is too many"):
        jnp.vmap_automatically(f, {"x": X, "n": 3}, client=client)


def test_progress_is_shown(client, monkeypatch):
    moves = []

    class Bar:
        def __init__(self, total, desc):
            self.n = 0
            moves.append((total, desc))

        def update(self, n):
            self.n += n
            moves.append(n)

        def close(self):
            moves.append("closed")

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    options = {"client": client, "chunk_size": 2, "progress": True}
    jnp.vmap_automatically(double, jnp.arange(5.0), **options)
    assert moves == [(3, "double"), 1, 1, 1, "closed"]


# ---------------------------------------------------------------------------- refusals


def refused(match, fn=double, rows=X, error=jnp.BatchError, **options):
    with pytest.raises(error, match=match):
        jnp.vmap_automatically(fn, rows, **options)


def test_what_is_no_client_is_refused_with_the_line_to_write(client):
    refused(r"client='here'.*\n.*distributed.Client\(", client="here")
    closed = distributed.Client(client.scheduler.address)
    closed.close()
    refused("a client that is closed", client=closed)


def test_dask_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    match = r"pip install 'jfi\[dask\]'"
    refused(match, client="here", error=jnp.MissingDependencyError)


def test_what_can_not_be_sent_is_named(client):
    lock = __import__("threading").Lock()
    rows = {"x": X, "lock": lock}
    refused(r"problem\['lock'\] is a lock", lambda p: p["x"], rows, client=client)
    refused("It uses lock, a lock", lambda x: (lock, x)[1], client=client)


def test_options_that_contradict_a_client_are_refused(client):
    refused("client= and devices=", client=client, devices="all")
    refused("chunk_size=0", client=client, chunk_size=0)
    refused("out_axes= with None", client=client, out_axes=None)


def test_traced_code_needs_no_workers(client):
    batch = lambda x: jnp.vmap_automatically(double, x, client=client).sum()
    for tool in (jnp.jit, jnp.grad):
        with pytest.raises(jnp.BatchError, match="Leave out client="):
            tool(batch)(X)


def test_a_class_that_only_the_script_registers_is_named(client):
    class Problem:
        def __init__(self, x):
            self.x = x

    jax.tree_util.register_pytree_node(
        Problem, lambda p: ((p.x,), None), lambda _, c: Problem(*c)
    )
    match = "a .*Problem, which your script registered"
    refused(match, lambda p: p.x, Problem(X), client=client)
