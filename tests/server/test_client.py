"""A persistent function whose server is another process, as its caller sees it."""

import dataclasses
import importlib
import os
import signal
import socket
import threading
import time
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.experimental
import jax.numpy as jnp
import jfi_server.client
import numpy as np
import pytest
from subprocesses import output_of

from jfi._arrays._config import default_dtype
from jfi._autojit import autojit
from jfi._errors import LocalFallbackWarning
from jfi._persistent import persistent


pytestmark = pytest.mark.usefixtures("client")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    x: Any
    n: int = dataclasses.field(metadata={"static": True}, default=3)


@jax.tree_util.register_pytree_node_class
class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def tree_flatten(self):
        return (self.a, self.b), "aux"

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


class Point(NamedTuple):
    x: Any
    y: Any


class SolverError(Exception):
    def __init__(self, code, where):
        super().__init__(f"code {code}")
        self.code, self.where = code, where


def alike(expected, found):
    assert jax.tree.structure(expected) == jax.tree.structure(found)
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        assert isinstance(b, jax.Array)
        assert (a.dtype, a.shape, a.committed) == (b.dtype, b.shape, b.committed)
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        assert a.weak_type == b.weak_type
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "make",
    [
        lambda: 1.5,
        lambda: 2 + 3j,
        lambda: np.float32(1.5),
        lambda: np.arange(3),
        lambda: np.zeros((0, 2)),
        lambda: jnp.ones(3),
        lambda: jnp.asarray(2.0),
        lambda: jnp.broadcast_to(jnp.asarray(2.0), (2, 2)),
        lambda: np.ones(2, jnp.bfloat16),
        lambda: np.array([True, False]),
        lambda: jnp.arange(4, dtype=jnp.int4),
        lambda: jnp.ones(2, jnp.float8_e4m3fn),
    ],
)
@pytest.mark.parametrize("x64", [True, False])
def test_results_are_those_of_jit(make, x64):
    def f(x):
        weak = jnp.asarray(2.0)
        wide = jnp.broadcast_to(weak, (2,))
        return {"a": x, "b": [x == x, weak, wide], "c": (jnp.ravel(x),)}

    with jax.enable_x64(x64):
        alike(jax.jit(f)(make()), persistent(f)(make()))


def test_python_floats_stay_weak():
    def f(x, y):
        return x * y, x

    alike(jax.jit(f)(2.0, np.ones(2, np.float32)), persistent(f)(2.0, np.ones(2, "f4")))


def test_random_keys_travel():
    def f(key):
        return jax.random.normal(key, (3,)), jax.random.split(key)

    for impl in ("threefry2x32", "rbg"):
        key = jax.random.key(1, impl=impl)
        alike(jax.jit(f)(key), persistent(f)(key))


def test_committed_arrays_give_committed_results():
    x = jax.device_put(jnp.ones(2), jax.devices()[0])
    alike(jax.jit(lambda x: x * 2)(x), persistent(lambda x: x * 2)(x))


@persistent
def step(tree, scale, kind="plain"):
    moved = jax.tree.map(lambda x: x * scale, tree)
    if kind == "dict":
        return {"b": moved, "a": Point(scale, None)}
    return moved


@pytest.mark.parametrize(
    "tree",
    [
        State(jnp.ones(2)),
        State([jnp.ones(2), Pair(1.0, np.ones(3))], n=5),
        Point(np.ones(2), {"k": (1.0, [])}),
        [],
        {"z": 1.0, "a": {"n": None}},
    ],
    ids=["array", "pair", "named tuple", "empty", "nested"],
)
def test_trees_keep_their_classes(tree):
    def plain(tree, scale, kind):
        return step.__wrapped__(tree, scale, kind)

    for kind in ("plain", "dict"):
        found = step(tree, 2.0, kind=kind)
        alike(jax.jit(plain, static_argnames="kind")(tree, 2.0, kind), found)
    assert type(step(tree, 2.0)) is type(tree)


def test_it_is_compiled_once_and_again_after_a_change(client):
    weights = np.ones(2)
    f = persistent(lambda x: jnp.cos(x) * weights.sum())
    before = client.report().compiled
    for _ in range(3):
        np.testing.assert_allclose(f(1.0), 2 * np.cos(1.0), rtol=1e-6)
    assert client.report().compiled == before + 1
    weights[0] = 5.0
    np.testing.assert_allclose(f(1.0), 6 * np.cos(1.0), rtol=1e-6)
    assert client.report().compiled == before + 2
    weights[0] = 1.0
    np.testing.assert_allclose(f(1.0), 2 * np.cos(1.0), rtol=1e-6)
    assert client.report().compiled == before + 2
    f(np.ones(3))  # another shape
    assert client.report().compiled == before + 3


def test_settings_are_part_of_the_identity(client):
    @persistent
    def f(x, n, name="a"):
        return x * n if name == "a" else x + n

    assert f(2.0, 3) == 6
    before = client.report().compiled
    assert f(2.0, 4) == 8
    assert f(2.0, 4, name="b") == 6
    assert f(2.0, True) == 2
    assert f(3.0, 4) == 12
    assert client.report().compiled == before + 3


def test_functions_among_the_arguments(client):
    f = persistent(lambda g, x: g(x))
    assert f(jnp.negative, 2.0) == -2
    assert f(lambda x: x + 1, 2.0) == 3
    assert f(lambda x: x + 2, 2.0) == 4
    before = client.report().compiled
    assert f(lambda x: x + 2, 3.0) == 5
    assert client.report().compiled == before


def test_a_class_changed_in_place_leaves_older_programs_as_they_are():
    class Model:
        def go(self, x):
            return x + 1

    model = Model()
    f = persistent(lambda x: model.go(x))
    old = Model.go
    assert f(1.0) == 2
    Model.go = lambda self, x: x + 100
    assert f(1.0) == 101
    Model.go = old
    # Another shape is traced anew, in the program that was sent first.
    np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 2.0))


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))


@jax.custom_jvp
def doubled(x):
    return x


doubled.defjvp(lambda p, t: (p[0], 2 * t[0]))


@lru_cache
def table(n):
    return tuple(range(n))


@jax.jit
def jitted(x):
    return x * 2


@autojit
def automatic(x, name):
    return x + 1 if name == "one" else x


@persistent
def inner(x, n):
    return x * n


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@pytest.mark.filterwarnings("error::jfi.LocalFallbackWarning")
def test_helpers_of_many_kinds_run_in_the_server():
    @persistent
    def f(x):
        slope = jax.grad(lambda x: clipped(5.0 * x) + doubled(x))(x)
        return slope + jitted(x) + sum(table(4)) + inner(x, 2) + factorial(3)

    assert f(1.0) == 5 + 2 + 2 + 6 + 2 + 6


@pytest.mark.filterwarnings("error::jfi.LocalFallbackWarning")
def test_autojit_within():
    assert persistent(lambda x: automatic(x, "one"))(1.0) == 2


@pytest.mark.parametrize("kind", ["attributes", "value", "jax", "system", "keyboard"])
def test_exceptions_arrive_with_their_class(kind, client):
    @persistent
    def f(x, kind):
        if kind == "attributes":
            raise SolverError(7, Point(1, ["here"]))
        if kind == "value":
            raise ValueError("odd", 3)
        if kind == "jax" and x > 0:
            return x
        raise SystemExit(4) if kind == "system" else KeyboardInterrupt

    expected = {
        "attributes": SolverError,
        "value": ValueError,
        "jax": jax.errors.TracerBoolConversionError,
        "system": SystemExit,
        "keyboard": KeyboardInterrupt,
    }[kind]
    with pytest.raises(expected) as caught:
        f(1.0, kind)
    error = caught.value
    assert type(error) is expected
    note = error.__notes__[-1]
    assert note.startswith("--- traceback in the jfi server ---\nTraceback")
    assert "in f\n" in note
    if kind == "attributes":
        assert (str(error), error.code) == ("code 7", 7)
        assert type(error.where) is Point
        assert error.where == (1, ["here"])
    if kind == "value":
        assert error.args == ("odd", 3)
    assert client.report() is not None


def test_an_error_at_run_time():
    def fail(x):
        raise RuntimeError("from the host")

    @persistent
    def f(x):
        return jax.pure_callback(fail, jax.ShapeDtypeStruct((), jnp.float32), x)

    with pytest.raises(jax.errors.JaxRuntimeError, match="from the host"):
        f(1.0)


def test_transformations_run_here(client):
    f = persistent(lambda x: x**2)
    calls = client.report().calls
    assert jax.grad(f)(3.0) == 6
    np.testing.assert_array_equal(jax.vmap(f)(jnp.arange(3.0)), [0, 1, 4])
    assert client.report().calls == calls


def local_twice(f, *args):
    """Call twice; the messages of the warnings, of which there must be one."""
    with pytest.warns(LocalFallbackWarning) as caught:
        results = [f(*args), f(*args)]
    (warning,) = caught
    return results, str(warning.message)


def test_what_prints_or_calls_back_runs_here(capfd):
    @persistent
    def f(x):
        jax.debug.print("value {}", x)
        return x * 2

    results, said = local_twice(f, 2.0)
    assert results == [4, 4]
    assert "f() runs in this process: it draws random numbers, prints" in said
    jax.effects_barrier()
    assert capfd.readouterr().out == "value 2.0\n" * 2


def test_side_effects_of_a_host_call_happen_here():
    seen = []

    def note(x):
        seen.append(float(x))
        return x

    @persistent
    def f(x):
        return jax.experimental.io_callback(
            note, jax.ShapeDtypeStruct((), "float32"), x
        )

    # `seen` is in the closure: it is another program after each call.
    with pytest.warns(LocalFallbackWarning, match="calls back"):
        assert f(np.float32(2)) == 2
    assert seen == [2.0]


def test_a_ref_lives_here():
    ref = jax.new_ref(jnp.float32(1))

    @persistent
    def f(x):
        ref[...] += x
        return ref[...]

    with pytest.warns(LocalFallbackWarning):
        assert [float(f(np.float32(1))) for _ in range(3)] == [2, 3, 4]


counter = {"calls": 0}


def test_what_writes_to_globals_runs_here():
    @persistent
    def f(x):
        counter["calls"] += 1
        return x + counter["calls"]

    with pytest.warns(LocalFallbackWarning, match="writes to variables outside"):
        found = [float(f(0.0)) for _ in range(3)]
    assert found == [1, 2, 3]
    assert counter["calls"] == 3


def test_what_writes_to_a_module_or_a_class_runs_here(tmp_path, monkeypatch):
    (tmp_path / "jfi_case_state.py").write_text("n = 0\nclass Count:\n    n = 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    state = importlib.import_module("jfi_case_state")
    count = state.Count

    @persistent
    def to_module(x):
        state.n += 1
        return x + state.n

    @persistent
    def to_class(x):
        count.n += 1
        return x + count.n

    for f in (to_module, to_class):
        with pytest.warns(LocalFallbackWarning, match="writes to variables outside"):
            assert [float(f(0.0)) for _ in range(3)] == [1, 2, 3]
    assert (state.n, count.n) == (3, 3)


def test_attributes_of_the_function_are_written_here():
    @persistent
    def f(x):
        f.calls += 1
        return x + f.calls

    f.calls = 0
    with pytest.warns(LocalFallbackWarning, match="writes to variables outside"):
        assert [float(f(0.0)) for _ in range(3)] == [1, 2, 3]
    assert f.calls == 3


@jax.tree_util.register_pytree_node_class
class Checked:
    def __init__(self, x):
        if not hasattr(x, "dtype"):
            raise ValueError("no array")
        self.x = x

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


def test_a_class_that_takes_only_arrays_runs_here():
    results, said = local_twice(persistent(lambda c: c.x + 1), Checked(jnp.float32(1)))
    assert results == [2, 2]
    assert "it can't be pickled (ValueError: no array)" in said


@pytest.mark.filterwarnings("error::jfi.LocalFallbackWarning")
def test_haiku_networks():
    hk = pytest.importorskip("haiku")

    class Net(hk.Module):
        def __call__(self, x):
            return hk.nets.MLP([4, 2])(x)

    net = hk.without_apply_rng(hk.transform(lambda x: Net()(x)))
    x = jnp.ones((2, 3), jnp.float32)
    params = net.init(jax.random.key(0), x)
    found = persistent(lambda params, x: net.apply(params, x))(params, x)
    np.testing.assert_allclose(found, net.apply(params, x), rtol=1e-5)


def test_a_class_whose_copy_registers_itself_otherwise_runs_here():
    eqx = pytest.importorskip("equinox")

    class Linear(eqx.Module):
        w: jax.Array

        def __call__(self, x):
            return self.w @ x

    f = persistent(lambda layer, x: layer(x))
    results, said = local_twice(f, Linear(jnp.ones((1, 2))), jnp.ones(2))
    assert results == [2, 2]
    assert "pytree class" in said


def test_what_can_not_be_pickled_runs_here():
    class Loads:
        def __reduce__(self):
            return int, ("no number",)

    odd = Loads()
    f = persistent(lambda x: (x, odd)[0])
    results, said = local_twice(f, 2.0)
    assert results == [2, 2]
    assert "the server could not read it (ValueError: invalid literal" in said


def test_debugging_runs_here():
    f = persistent(lambda x: jnp.log(x))
    with jax.debug_nans(True):
        with pytest.warns(LocalFallbackWarning, match="jax_debug_nans is on"):
            f(1.0)
        with pytest.raises(FloatingPointError):
            f(-1.0)


@pytest.mark.filterwarnings("error::jfi.LocalFallbackWarning")
def test_settings_of_this_thread_are_taken_on():
    @persistent
    def f(x):
        return jnp.dot(x, x) + jnp.zeros((2, 2), jax.dtypes.canonicalize_dtype(float))

    x = np.ones((2, 2), np.float32)
    for x64 in (True, False):
        with jax.enable_x64(x64), jax.default_matmul_precision("float32"):
            assert f(x).dtype == (jnp.float64 if x64 else jnp.float32)


def test_an_option_that_differs_runs_here():
    f = persistent(lambda x: jax.nn.softmax(x))
    before = jax.config.jax_softmax_custom_jvp
    jax.config.update("jax_softmax_custom_jvp", not before)
    try:
        with pytest.warns(LocalFallbackWarning, match="jax_softmax_custom_jvp is"):
            f(np.ones(2))
    finally:
        jax.config.update("jax_softmax_custom_jvp", before)


def test_the_default_dtype_is_part_of_the_key():
    import jfi as jnp

    f = persistent(lambda x: jnp.zeros(2) + x.astype(jnp.zeros(2).dtype))
    with jax.enable_x64(True):
        for name in ("float32", "float64", "float32"):
            with default_dtype(name):
                assert f(np.ones(2)).dtype == name


def test_another_version_runs_here(monkeypatch):
    real = jfi_server.client.environment
    jfi_server.client._pool.close()
    monkeypatch.setattr(
        jfi_server.client, "environment", lambda: {**real(), "jaxlib": "0.0.1"}
    )
    f = persistent(lambda x: x + 1)
    results, said = local_twice(f, 1.0)
    assert results == [2, 2]
    assert "the server has jaxlib " in said
    assert "this process '0.0.1'; restart it here: jfi-server stop" in said
    jfi_server.client._pool._unlike = None


def test_another_version_of_a_library_runs_here(monkeypatch):
    f = persistent(lambda x: jnp.sin(x) + np.pi)
    monkeypatch.setattr(np, "__version__", "99.0")
    with pytest.warns(LocalFallbackWarning, match=r"server has numpy.*process '99\.0'"):
        f(1.0)


def test_many_threads(client):
    f = persistent(lambda x, n: jnp.sin(x) * n)
    before = client.report().compiled
    found = {}

    def work(n):
        found[n] = [float(f(float(k), n % 2)) for k in range(10)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(6):
        np.testing.assert_allclose(found[n], np.sin(np.arange(10)) * (n % 2), rtol=1e-6)
    assert client.report().compiled == before + 2


def test_others_are_served_during_a_long_compilation():
    quick = persistent(lambda x: x + 1)
    quick(1.0)
    begun = threading.Event()

    @persistent
    def slow(x):
        for k in range(400):
            x = jnp.sin(x) + k * jnp.cos(x)
        return x

    def run():
        begun.set()
        slow(np.ones((3, 3)))

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    answered = 0
    while thread.is_alive():
        quick(1.0)
        answered += 1
    thread.join()
    assert answered > 10


@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_takes_no_connection_along(client):
    f = persistent(lambda x: x * 3)
    assert f(2.0) == 6
    (idle,) = jfi_server.client._pool._idle[:1]
    child = os.fork()
    if child == 0:
        # Only what needs no JAX: its threads are not in the child.
        os._exit(0 if jfi_server.client._pool._idle == [] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert jfi_server.client._pool._idle[:1] == [idle]
    assert f(3.0) == 9


INTERRUPTED = """
import signal, threading, time
from jfi._persistent import persistent

# A shell's background processes ignore it, and so do those that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
f = persistent(lambda x: x + 1)
assert f(1.0) == 2

@persistent
def slow(x):
    threading.Event().wait(2)
    return x

main = threading.get_ident()
threading.Timer(0.7, signal.pthread_kill, (main, signal.SIGINT)).start()
begin = time.monotonic()
try:
    slow(5.0)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 1.9)
print([float(f(float(k))) for k in range(3)])
"""


def test_ctrl_c_leaves_no_answer_behind(client):
    # In a process with few objects. In one with many, Python is at times collecting
    # garbage when the signal comes, and loses what is raised meanwhile.
    printed = output_of(INTERRUPTED, env={"JFI_SERVER_DIR": str(client.folder)})
    assert printed == "interrupted True\n[1.0, 2.0, 3.0]"


def test_a_program_changed_while_it_is_sent_is_not_kept(client, monkeypatch):
    gain = {"k": 2.0}
    f = persistent(lambda x: gain["k"] * x)
    dumps = jfi_server.client.dumps_program

    def changed_meanwhile(program):
        gain["k"] = 5.0  # as another thread would
        return dumps(program)

    monkeypatch.setattr(jfi_server.client, "dumps_program", changed_meanwhile)
    with pytest.warns(LocalFallbackWarning, match="changed by another thread"):
        f(1.0)
    monkeypatch.undo()
    monkeypatch.setenv("JFI_SERVER_DIR", str(client.folder))
    gain["k"] = 2.0
    assert persistent(f.__wrapped__)(1.0) == 2


def test_a_new_server_is_found_past_many_old_connections(stopped_server, monkeypatch):
    monkeypatch.setenv("JFI_SERVER_DIR", str(stopped_server.folder))
    assert stopped_server.command("start").returncode == 0
    f = persistent(lambda x: x + 1)
    links = [jfi_server.client._pool.take()[0] for _ in range(4)]
    for link in links:
        jfi_server.client._pool.give(link)
    stopped_server.command("stop")
    assert stopped_server.command("start").returncode == 0
    assert f(1.0) == 2  # a warning would be an error
    assert stopped_server.report().calls == 1


def test_a_silent_server_is_waited_for_once(stopped_server, monkeypatch):
    folder = stopped_server.folder
    monkeypatch.setenv("JFI_SERVER_DIR", str(folder))
    monkeypatch.setattr(jfi_server.client, "_PATIENCE", 0.5)
    f = persistent(lambda x: x + 1)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "socket"))
        silent.listen()
        with pytest.warns(LocalFallbackWarning, match="does not answer"):
            f(1.0)
        begin = time.monotonic()
        assert f(2.0) == 3
        assert time.monotonic() - begin < 0.4


def test_a_server_killed_during_a_call(stopped_server, monkeypatch):
    monkeypatch.setenv("JFI_SERVER_DIR", str(stopped_server.folder))
    assert stopped_server.command("start").returncode == 0
    first = stopped_server.report().pid

    @persistent
    def slow(x):
        threading.Event().wait(1)
        return x + 1

    @persistent
    def quick(x):
        return x * 2

    assert quick(1.0) == 2
    timer = threading.Timer(0.5, os.kill, (first, signal.SIGKILL))
    timer.start()
    with pytest.warns(LocalFallbackWarning, match="runs in this process: (the|no)"):
        assert slow(1.0) == 2
    timer.join()
    with pytest.warns(LocalFallbackWarning, match="no compilation server"):
        assert quick(2.0) == 4
    # A new one is found by itself.
    assert stopped_server.command("start").returncode == 0
    assert quick(3.0) == 6
    assert stopped_server.report().calls == 1
    # So it is when the server was ended between two calls.
    assert stopped_server.command("stop").returncode == 0
    assert stopped_server.command("start").returncode == 0
    assert quick(4.0) == 8
    assert stopped_server.report().calls == 1
