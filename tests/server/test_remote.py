"""Persistent functions in a server on the network, compared with plain Python's."""

import contextlib
import json
import os
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from jfi_server import control
from jfi_server._remote_client import RemoteClient
from jfi_server.addresses import parsed
from jfi_server.environment import digest
from jfi_server.errors import ServerLost
from jfi_server.folders import server_folder
from jfi_server.limits import Limits
from library_states import MYLIB
from subprocesses import output_of

import jfi as jnp
from jfi import LocalFallbackWarning, RemoteError
from jfi._persistent import RemoteStore
from jfi._persistent._exported import compiled_from
from jfi._persistent._remote import client_of, server_at

from .conftest import free_port
from .test_persistent_served import all_types, same


@contextlib.contextmanager
def a_server(base, url=None, *options):
    """A server that listens, with a store of its own; its address."""
    url = url or f"rpyc://127.0.0.1:{free_port()}"
    words = "--listen", url.removeprefix("rpyc://"), "--store", str(base / "store")
    control.start_server(base, *words, *options)
    try:
        yield url
    finally:
        with contextlib.suppress(TypeError, ProcessLookupError):
            os.kill(control.ask(folder(base), "status")["pid"], signal.SIGCONT)
        control.stop(folder(base))


KEY = "a" * 64


def folder(base):
    return server_folder(base, digest())


def calls(base):
    return control.ask(folder(base), "status")["calls"]


@pytest.fixture(scope="module")
def module_base(tmp_path_factory):
    return tmp_path_factory.mktemp("base", numbered=True)


@pytest.fixture(scope="module")
def shared(module_base):
    with a_server(module_base) as url:
        yield url


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def there(monkeypatch, module_base, shared):
    """Run a persistent function in the server; it must have run there."""
    base = module_base

    def run(fn, *args, **options):
        before = calls(base)
        result = jnp.persistent(fn, server=shared, **options)(*args)
        assert calls(base) == before + 1, "it did not run in the server"
        return result

    return run


def test_values_of_all_types_go_there_and_back(there):
    args = jnp.arange(3.0), jax.random.key(1), 1.5
    same(there(all_types, *args), jax.jit(all_types)(*args))


def test_settings_are_settings_and_data_is_data(there):
    def fn(problem, steps):
        x = problem["x"]
        for _ in range(steps):
            x = x * problem["gain"] if problem["mode"] == "scale" else -x
        return x, problem["mode"]

    problem = {"x": jnp.ones(2), "gain": 3.0, "mode": "scale"}
    assert there(fn, problem, 2)[0].tolist() == [9, 9]
    assert there(fn, {**problem, "mode": "flip"}, 3)[0].tolist() == [-1, -1]


def test_the_64_bit_world(there):
    with jnp.default_dtype("float64"):
        result = there(lambda x: x / 3, jnp.ones(2))
    assert result.dtype == "float64"
    assert np.asarray(result)[0] == 1 / 3


def test_linear_algebra_calls_lapack_there(there):
    matrix = jnp.array([[2.0, 1.0], [1.0, 3.0]])
    result = there(lambda a: jnp.linalg.inv(a) @ jnp.linalg.qr(a)[1], matrix)
    expected = np.linalg.inv(matrix) @ np.linalg.qr(matrix)[1]
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_draws_are_those_of_this_process(there):
    def fn(x):
        return x + jnp.randn(3), jnp.rand(2)

    jnp.manual_seed(5)
    expected = [jnp.autojit(fn)(jnp.ones(3)) for _ in range(2)]
    jnp.manual_seed(5)
    for values in expected:
        same(there(fn, jnp.ones(3)), values)


def test_what_the_body_changes_is_written_back(there):
    class Model:
        def __init__(self):
            self.w, self.steps = jnp.zeros(2), 0

        def step(self, x):
            self.w = self.w + x
            self.steps += 1
            return self.w.sum()

    model = Model()
    assert there(model.step, jnp.ones(2)) == 2
    assert there(model.step, jnp.ones(2)) == 4
    assert model.w.tolist() == [2, 2]
    assert model.steps == 2


def test_errors_of_the_function_are_raised_here(shared):
    def fn(x):
        return jnp.ones(3) @ x

    with pytest.raises(TypeError, match="shape"):
        jnp.persistent(fn, server=shared)(jnp.ones(4))


def test_gradients_of_what_runs_there_are_taken_here(shared):
    fn = jnp.persistent(lambda x: jnp.sum(x**3), server=shared)
    assert jax.grad(fn)(jnp.ones(2)).tolist() == [3, 3]


def test_use_server_and_its_end(shared, module_base):
    fn = jnp.persistent(lambda x: x * 7, mode="auto")
    before = calls(module_base)
    jnp.use_server(shared)
    try:
        assert fn(jnp.ones(2)).tolist() == [7, 7]
        assert calls(module_base) == before + 1
        assert jnp.persistent(lambda x: x * 8, mode="disk")(jnp.ones(())) == 8
    finally:
        jnp.use_server(None)
    assert jnp.persistent(lambda x: x * 9, mode="disk")(jnp.ones(())) == 9
    assert calls(module_base) == before + 1


SCRIPT = """
import jfi as jnp

@jnp.persistent
def plan(x, goal, steps=5):
    for _ in range(steps):
        x = x + 0.1 * jnp.tanh(goal - x)
    return {"x": x, "cost": jnp.sum((x - goal) ** 2)}

print(plan(jnp.zeros(3), jnp.ones(3))["cost"].round(3))
report = jnp.cache_report()
print(report.hits, report.misses)
"""


def test_a_second_process_and_the_next_day_compile_nothing(tmp_path):
    """Two processes, one after the other; then another server, too."""
    environment = {"JFI_SERVER": f"rpyc://127.0.0.1:{free_port()}"}

    def run(store):
        own = {"JFI_CACHE_DIR": str(tmp_path / store), **environment}
        return output_of(SCRIPT, env=own).split()

    with a_server(tmp_path, environment["JFI_SERVER"]):
        first = run("one")
        programs = sorted((tmp_path / "store/remote/programs").rglob("*"))
        second = run("two")
    with a_server(tmp_path, environment["JFI_SERVER"]):
        third = run("three")
    assert first[0] == second[0] == third[0]
    assert first[1:] == ["0", "1"]
    assert second[1:] == third[1:] == ["1", "0"]
    assert sorted((tmp_path / "store/remote/programs").rglob("*")) == programs


def test_many_clients_of_one_program_have_it_compiled_once(tmp_path, monkeypatch):
    compiled = []

    def counted(code):
        compiled.append(code)
        return compiled_from(code)

    monkeypatch.setattr("jfi._persistent._remote_store.compiled_from", counted)
    store, code = RemoteStore(tmp_path), code_of(lambda x: x + 1, jnp.ones(2))
    with ThreadPoolExecutor(8) as pool:
        names = [f"client {k}" for k in range(8)]
        kept = [pool.submit(store.keep, name, KEY, b"", code) for name in names]
        programs = {call.result() for call in kept}
    assert len(programs) == 1
    other = RemoteStore(tmp_path)
    assert other.find("client 3", KEY)[0] in programs
    assert other.find("a stranger", KEY) is None
    assert len(compiled) == 1


def test_a_client_replaces_what_it_has_sent_itself_alone(tmp_path):
    store = RemoteStore(tmp_path)
    first = store.keep("ann", KEY, b"one", code_of(lambda x: x + 1, jnp.ones(2)))
    code = code_of(lambda x: x + 2, jnp.ones(2))
    other = store.keep("bob", KEY, b"two", code)
    assert store.find("ann", KEY) == (first, b"one")
    assert store.find("bob", KEY) == (other, b"two")
    assert store.keep("ann", KEY, b"three", code) == other != first
    assert store.find("ann", KEY) == (other, b"three")


def test_the_owner_sees_which_programs_there_are(there, module_base):
    def a_name_to_see(x):
        return x - 1

    there(a_name_to_see, jnp.ones(2))
    rows = control.ask(folder(module_base), "list")["programs"]
    assert "a_name_to_see" in [row["name"] for row in rows]


LIBRARY = """
import sys
sys.path.insert(0, {folder!r})
import mylib
import jfi as jnp
mylib.rate = {rate}

@jnp.persistent(server={url!r})
def f(x):
    return mylib.by_global(x)

print(float(f(2.0)), jnp.cache_report().misses)
"""


def test_what_is_set_in_a_library_between_two_starts_is_seen(tmp_path, shared):
    libraries = tmp_path / "site-packages"
    libraries.mkdir()
    (libraries / "mylib.py").write_text(MYLIB)

    def start(rate):
        code = LIBRARY.format(folder=str(libraries), rate=rate, url=shared)
        return output_of(code, env={"PYTHONDONTWRITEBYTECODE": "1"})

    assert [start(rate) for rate in (2, 3, 3)] == ["4.0 1", "6.0 1", "6.0 0"]


# --- What can't be done there is done here


def test_what_calls_back_runs_here_with_one_warning(shared):
    def fn(x):
        jax.debug.callback(lambda x: None, x)
        return x + 1

    run = jnp.persistent(fn, server=shared)
    with pytest.warns(LocalFallbackWarning) as caught:
        results = [run(jnp.ones(2)).tolist() for _ in range(3)]
    assert results == [[2, 2]] * 3
    assert len(caught) == 1
    assert (
        "fn() runs in this process, not in the server: it calls back to Python"
        in str(caught[0].message)
    )


def test_no_server_no_wait_and_one_warning():
    run = jnp.persistent(lambda x: x + 1, server=f"rpyc://127.0.0.1:{free_port()}")
    other = jnp.persistent(lambda x: x + 2, server=f"rpyc://127.0.0.1:{free_port()}")
    with pytest.warns(LocalFallbackWarning, match="no server runs at rpyc://127"):
        assert run(jnp.ones(2)).tolist() == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(jnp.ones(2)).tolist() == [2, 2]
        assert run(jnp.ones(3)).tolist() == [2, 2, 2]
    with pytest.warns(LocalFallbackWarning):
        assert other(jnp.ones(2)).tolist() == [3, 3]


def test_the_end_of_the_server_is_a_run_here(tmp_path):
    with a_server(tmp_path) as url:
        run = jnp.persistent(lambda x: x * 2, server=url)
        assert run(jnp.ones(2)).tolist() == [2, 2]
    with pytest.warns(LocalFallbackWarning, match="run in this process: .*server"):
        assert run(jnp.ones(2)).tolist() == [2, 2]


def test_the_timeout_holds_once_for_a_call_and_for_what_is_compiled_there(
    tmp_path, monkeypatch
):
    def fn(x, n):
        return jax.lax.fori_loop(0, n, lambda i, y: y + jnp.sin(y), x)

    asked = []
    whole = RemoteClient.run

    def counted(self, *args, **kwargs):
        asked.append(1)
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(RemoteClient, "run", counted)
    with a_server(tmp_path) as url:
        run = jnp.persistent(fn, server=url, timeout=30)
        run(jnp.ones(100), jnp.int32(1))
        quick = jnp.persistent(fn, server=url, timeout=0.2)
        quick(jnp.ones(100), jnp.int32(1))
        asked.clear()
        with pytest.warns(LocalFallbackWarning, match="longer than the timeout"):
            quick(jnp.ones(100), jnp.int32(1_000_000))
        assert len(asked) == 1
        slow = jnp.persistent(lambda x: x @ x + 0.123, server=url, timeout=1e-4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert slow(jnp.ones((2, 2)))[0, 0] == np.float32(2.123)


@pytest.mark.parametrize(
    "tree",
    [
        ["named", "os", "nonsense"], ["shared", 99], {"a": 1}, [["seen", 3]], [],
        ["object", ["named", "builtins", "map"], ["tuple"], ["dict"], ["dict"]],
        ["made", "deque", ["object", ["named", "builtins", "map"],
         ["tuple", ["named", "os", "system"], ["list", "exit 7"]],
         ["dict"], ["dict"]], None],
    ],
)  # fmt: skip
def test_a_record_that_is_none_is_traced_anew(there, monkeypatch, tree):
    def fn(x):
        return {"y": x * 3}

    there(fn, jnp.ones(2))
    found = RemoteClient.find

    def of_another(self, *args):
        name, text = found(self, *args)
        fields = json.loads(text)
        return name, json.dumps([*fields[:-2], tree, fields[-1]]).encode()

    monkeypatch.setattr(RemoteClient, "find", of_another)
    assert there(fn, jnp.ones(2))["y"].tolist() == [3, 3]


def test_a_server_that_comes_back_is_used_again(tmp_path, monkeypatch):
    monkeypatch.setattr("jfi._persistent._remote.RETRY", 0.0)
    monkeypatch.setattr("jfi_server.client._PAUSE", 0.0)
    with a_server(tmp_path) as url:
        run = jnp.persistent(lambda x: x * 2, server=url)
        assert run(jnp.ones(2)).tolist() == [2, 2]
    with pytest.warns(LocalFallbackWarning):
        assert run(jnp.ones(2)).tolist() == [2, 2]
    with a_server(tmp_path, url):
        assert run(jnp.ones(2)).tolist() == [2, 2]
        assert calls(tmp_path) == 1


def test_a_full_disk_of_the_server_is_a_run_here(tmp_path):
    store = tmp_path / "store" / "remote"
    store.mkdir(parents=True)
    (store / "clients").write_text("no folder")
    with a_server(tmp_path) as url:
        run = jnp.persistent(lambda x: x * 2, server=url)
        with pytest.warns(LocalFallbackWarning, match="can't write to its store"):
            assert run(jnp.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize("address", ["gpu-box", "http://a:1", 3, "rpyc://gpu-box:1"])
def test_an_address_that_is_none_is_an_error(address):
    with pytest.raises(ValueError, match=r"Write (ssh|tls)://"):
        jnp.use_server(address)
    with pytest.raises(ValueError, match=r"Write (ssh|tls)://"):
        jnp.persistent(lambda x: x, server=address)


# --- What the server does not run


def code_of(fn, *args, **options):
    return bytes(jax.export.export(jax.jit(fn), **options)(*args).serialize())


def test_code_that_is_not_of_this_room_is_refused(shared):
    client = RemoteClient(parsed(shared))
    x = jnp.ones(2)
    (n,) = jax.export.symbolic_shape("n")
    cases = {
        "no program of arrays one by one": code_of(lambda d: d["x"], {"x": x}),
        "was exported for": code_of(lambda x: x, x, platforms=["cuda"]),
        "shapes without numbers": code_of(
            lambda x: x, jax.ShapeDtypeStruct((n,), "float32")
        ),
        "can't read the program": b"no program" * 20,
        "can't read the program .*": code_of(lambda x: x + 1, x)[:-400],
    }
    for k, (why, code) in enumerate(cases.items()):
        with pytest.raises(ServerLost, match=f"refuses: .*{why}"):
            client.keep(f"{k:064}", b"", code)
    client.close()


@pytest.mark.parametrize(
    "name", ["xla_ffi_python_cpu_callback", "xla_python_cpu_callback", "any thing"]
)
def test_calls_of_python_and_of_unknown_libraries_are_refused(shared, name):
    def fn(x):
        return jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    skipped = [jax.export.DisabledSafetyCheck.custom_call(name)]
    code = code_of(fn, np.ones(2, np.float32), disabled_checks=skipped)
    with pytest.raises(
        ValueError, match=f"it calls ({name}|.custom_call), which is not"
    ):
        compiled_from(code)
    client = RemoteClient(parsed(shared))
    with pytest.raises(ServerLost, match="which is not allowed"):
        client.keep("f" * 64, b"", code)
    client.close()


# --- fallback=False


def test_without_fallback_the_end_of_the_server_is_an_error(tmp_path):
    strict = {"fallback": False}
    with a_server(tmp_path) as url:
        run = jnp.persistent(lambda x: x * 2, server=url, **strict)
        assert run(jnp.ones(2)).tolist() == [2, 2]
    for size in (2, 3):
        with pytest.raises(
            RemoteError, match=f"server at {url} can't run it: .*server"
        ):
            run(jnp.ones(size))
    with a_server(tmp_path, url):
        client_of(server_at(url))._avoided = None
        assert run(jnp.ones(2)).tolist() == [2, 2]


def test_without_fallback_what_can_not_be_sent_is_an_error(shared):
    def fn(x):
        jax.debug.callback(lambda x: None, x)
        return x + 1

    run = jnp.persistent(fn, server=shared, fallback=False)
    with pytest.raises(RemoteError, match=r"it calls back to Python\. Without"):
        run(jnp.ones(2))


def test_without_fallback_and_without_a_server_the_line_to_write():
    with pytest.raises(RemoteError, match=r"no server to run on.*jfi\.use_server"):
        jnp.persistent(lambda x: x + 1, fallback=False)(jnp.ones(2))


# ------------------------------------------------------------ what a client may have


def test_a_client_keeps_no_more_programs_than_it_may(tmp_path):
    store = RemoteStore(tmp_path, Limits(programs=2))
    code = code_of(lambda x: x + 1, jnp.ones(2))
    keys = [letter * 64 for letter in "abc"]
    for key in keys:
        store.keep("ann", key, b"", code)
    assert store.count("ann") == 2
    assert store.find("ann", keys[-1]) is not None
    assert store.keep("bob", KEY, b"", code)  # each has programs of its own
    assert store.count("bob") == 1


def test_a_client_keeps_no_more_bytes_than_it_may(tmp_path):
    codes = [code_of(lambda x, k=k: x + k, jnp.ones(2)) for k in range(3)]
    most = 2 * max(map(len, codes)) + 1000
    store = RemoteStore(tmp_path, Limits(kept=most))
    for letter, code in zip("abc", codes, strict=True):
        store.keep("ann", letter * 64, b"", code)
    assert store.count("ann") == 2


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("code=10B", "is too large"),
        ("compile=0.001s", "longer than 0.001 s to compile"),
    ],
)
def test_what_a_client_may_not_send_runs_here_and_says_why(tmp_path, limit, why):
    with a_server(tmp_path, None, "--limit", limit) as url:
        run = jnp.persistent(lambda x: jnp.sin(x) + 1, server=url)
        with pytest.warns(LocalFallbackWarning, match=why):
            assert run(jnp.zeros(2)).tolist() == [1, 1]
        strict = jnp.persistent(lambda x: jnp.cos(x), server=url, fallback=False)
        with pytest.raises(RemoteError, match=why):
            strict(jnp.zeros(2))
