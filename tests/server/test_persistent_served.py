"""Persistent functions in a real server: what they give is what plain Python gives."""

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import time
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest
from jfi_server import control
from jfi_server.client import Client
from jfi_server.environment import digest
from jfi_server.folders import server_folder
from subprocesses import output_of

import jfi as jnp
from jfi import LocalFallbackWarning

from .conftest import wait_until


@contextlib.contextmanager
def a_server():
    """The folder of a server that runs."""
    base = Path(tempfile.mkdtemp(prefix="jfi", dir="/tmp"))
    control.start_server(base)
    pid = status(base)["pid"]
    yield base
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    control.stop(server_folder(base, digest()))
    shutil.rmtree(base)


@pytest.fixture(scope="module")
def shared():
    """One server: each starts JAX."""
    with a_server() as base:
        yield base


@pytest.fixture
def base(monkeypatch, tmp_path, shared):
    """A server, and a store of the test's own."""
    monkeypatch.setenv("JFI_SERVER_DIR", str(shared))
    monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path / "cache"))
    return shared


@pytest.fixture
def own(monkeypatch, tmp_path):
    """A server of the test's own, which it may end."""
    with a_server() as base:
        monkeypatch.setenv("JFI_SERVER_DIR", str(base))
        monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path / "cache"))
        yield base


def status(base):
    return control.ask(server_folder(base, digest()), "status")


def state(pid):
    """That of a process: "T" if it is stopped, "Z" if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def calls(base):
    return status(base)["calls"]


def served(fn, *args, mode="server", **options):
    """A persistent function that the server knows: it was compiled before."""
    jnp.persistent(fn, mode="disk")(*args)
    return jnp.persistent(fn, mode=mode, **options)


def same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert type(x) is type(y)
        if not isinstance(x, jax.Array):
            assert x == y
            continue
        assert jax.typeof(x) == jax.typeof(y)
        assert x.committed == y.committed
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def all_types(x, key, n):
    return {
        "weak": 2.0 * n,
        "keys": jax.random.split(key, 2),
        "bfloat16": x.astype(jnp.bfloat16),
        "float8": x.astype(jnp.float8_e4m3fn),
        "others": (x > 0, x.astype(jnp.int8), x + 1j, x[:0], x.sum()),
        "large": jnp.tile(x, 100_000),
    }


def test_values_of_all_types_go_there_and_back(base):
    args = jnp.arange(3.0), jax.random.key(1), 1.5
    run = served(all_types, *args)
    before = calls(base)
    same(run(*args), jax.jit(all_types)(*args))
    assert calls(base) == before + 1


def test_numpy_arrays_python_numbers_and_the_64_bit_world(base):
    def fn(x, y, flag):
        return x * y, flag * 2

    for x in (np.arange(3), np.ones(2, np.float64), np.float64(2), 3, True, 2 + 1j):
        expected = jnp.autojit(fn)(x, 2.0, False)
        same(served(fn, x, 2.0, False)(x, 2.0, False), expected)
    with jnp.default_dtype("float64"):
        x = np.ones(3) / 3
        run = served(fn, x, 2.0, False)
        same(run(x, 2.0, False), jnp.autojit(fn)(x, 2.0, False))
        assert run(x, 2.0, False)[0].dtype == jnp.float64


def test_methods_write_and_draws_go_on(base):
    class Model:
        def __init__(self):
            self.w, self.seen = jnp.ones(2), []

        def step(self, x):
            self.w = self.w * x + jnp.randn(2)
            self.seen.append(x + 1)
            return "done", self.w.sum()

    def run(step):
        jnp.manual_seed(0)
        model = Model()
        found = [step(model, float(k)) for k in range(3)]
        return found, model.w, model.seen, jnp.randn(2)

    expected = run(jnp.autojit(Model.step))
    run(jnp.persistent(Model.step, mode="disk"))
    before = calls(base)
    found = run(jnp.persistent(Model.step, mode="server"))
    assert calls(base) > before
    assert str(found) == str(expected)


def test_rules_of_custom_arrays_travel_with_their_class(base):
    class Diagonal(jnp.CustomArray):
        def __init__(self, diagonal):
            self.diagonal = diagonal

    def fn(x, v):
        return jnp.exp(x), x @ v

    x, v = Diagonal(jnp.arange(2.0)), jnp.ones(2)
    jnp.register_function(Diagonal, "exp", lambda x: Diagonal(jnp.exp(x.diagonal)))
    for factor in (1.0, 2.0):  # a new rule is another program

        @jnp.implements("matmul", Diagonal)
        def matmul(x, v, factor=factor):
            return factor * x.diagonal * v

        run, before = served(fn, x, v), calls(base)
        same(run(x, v), fn(x, v))
        assert type(run(x, v)[0]) is Diagonal
        assert calls(base) == before + 2


def test_committed_arrays_stay_committed(base):
    x = jax.device_put(jnp.ones(2), jax.devices()[0])
    same(served(lambda x: x * 2, x)(x), jax.jit(lambda x: x * 2)(x))


def test_numpy_results(base):
    out = served(lambda x: {"a": x * 2, "b": None}, 1.0, returns="numpy")(1.0)
    assert type(out["a"]) is np.ndarray
    assert out["b"] is None


def test_a_program_that_is_called_often_moves_into_this_process(base):
    run = served(lambda x: x * 3, 1.0, mode="auto")
    before = calls(base)
    found = [float(run(float(k))) for k in range(200)]
    assert found == [3.0 * k for k in range(200)]
    assert before < calls(base) < before + 200


def test_mode_server_starts_one(monkeypatch, tmp_path):
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as name:
        base = Path(name)
        monkeypatch.setenv("JFI_SERVER_DIR", name)
        monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path))
        try:
            run = served(lambda x: x + 1, 1.0)
            assert status(base) is None
            assert float(run(1.0)) == 2.0
            assert calls(base) == 1
        finally:
            control.stop(server_folder(base, digest()))


def test_a_server_that_can_not_be_started_is_told_once(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("JFI_SERVER_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path / "cache"))
    run = served(lambda x: x + 6, 1.0)
    with pytest.warns(LocalFallbackWarning, match="is not a folder") as told:
        assert [float(run(1.0)), float(run(2.0))] == [7.0, 8.0]
    (warning,) = told
    assert warning.filename == __file__


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_is_lost_is_told_once_and_calls_run_here(own, impatient, fault):
    run = served(lambda x: x * 5, 1.0)
    assert float(run(1.0)) == 5.0
    pid = status(own)["pid"]
    os.kill(pid, fault)
    wait_until(lambda: state(pid) in "TZ")
    with pytest.warns(LocalFallbackWarning, match="run in this process") as told:
        assert float(run(2.0)) == 10.0
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(run(3.0)) == 15.0


def test_a_new_process_neither_compiles_nor_loads(base):
    script = """
import jfi as jnp
@jnp.persistent
def plan(x, steps=5):
    for _ in range(steps):
        x = x + 0.1 * jnp.sin(x)
    return {"x": x, "steps": steps}
print(plan(jnp.ones(3)))
report = jnp.cache_report()
print(report.hits, report.misses, plan.cache_info().traces)
"""
    before = calls(base)
    first, second = (output_of(script).splitlines() for _ in range(2))
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("0 1 1", "1 0 0")
    assert calls(base) == before + 1
    rows = control.ask(server_folder(base, digest()), "list")["programs"]
    assert [row["calls"] for row in rows if row["name"] == "plan"] == [1]


def test_a_new_server_has_what_the_last_one_had(own):
    run = served(lambda x: x - 1, 1.0)
    assert float(run(1.0)) == 0.0
    control.stop(server_folder(own, digest()))
    control.start_server(own)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(run(2.0)) == 1.0
    assert calls(own) == 1


@pytest.mark.parametrize(
    "answer",
    [
        lambda arrays: [],
        lambda arrays: arrays * 2,
        lambda arrays: [a[:1] for a in arrays],
        lambda arrays: [a.astype(np.int8) for a in arrays],
    ],
)
def test_an_answer_that_is_no_result_is_not_believed(base, monkeypatch, answer):
    run = served(lambda x, key: (x * 7, key), x := jnp.ones(2), jax.random.key(3))
    real = Client.run

    def forged(client, *args, **options):
        return answer(real(client, *args, **options))

    monkeypatch.setattr(Client, "run", forged)
    with pytest.warns(LocalFallbackWarning, match="something else than the results"):
        same(run(x, jax.random.key(3)), (x * 7, jax.random.key(3)))


def test_a_server_that_can_not_answer_is_not_waited_for_twice(monkeypatch, tmp_path):
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as name:
        monkeypatch.setenv("JFI_SERVER_DIR", name)
        monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path))
        folder = server_folder(Path(name), digest())
        folder.mkdir(mode=0o700)
        run = served(lambda x: x + 9, 1.0)
        with socket.socket(socket.AF_UNIX) as listener:  # as one without free files
            listener.bind(str(folder / "socket"))
            listener.listen()
            start = time.monotonic()
            with pytest.warns(LocalFallbackWarning, match="does not answer") as told:
                assert float(run(1.0)) == 10.0
            assert (
                time.monotonic() - start < 4 + 3
            )  # the patience, and what compiling takes
        assert len(told) == 1


def test_what_changes_is_compiled_anew(base):
    gain = [2.0]
    run = served(lambda x: x * gain[0], 1.0)
    assert float(run(1.0)) == 2.0
    gain[0] = 3.0
    assert float(run(1.0)) == 3.0
    gain.append(1)
    assert float(run(2.0)) == 6.0
