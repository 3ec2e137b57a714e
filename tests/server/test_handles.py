"""Arrays that stay in a server on the network: `on_server`."""

import copy
import gc
import os
import pickle
import signal
import time

import jax
import numpy as np
import pytest
from jfi_server import control, watch
from jfi_server._remote_client import RemoteClient
from jfi_server.errors import ServerLost
from subprocesses import output_of

import jfi as jnp
from jfi import RemoteError
from jfi._persistent._handles import ServerArray
from jfi._persistent._remote import client_of, server_at

from .conftest import free_port, wait_until
from .test_remote import a_server, calls, folder


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
def fetched(monkeypatch):
    """The numbers of the arrays that come from the server."""
    numbers, fetch = [], RemoteClient.fetch

    def noted(self, number):
        numbers.append(number)
        return fetch(self, number)

    monkeypatch.setattr(RemoteClient, "fetch", noted)
    return numbers


def stored(base):
    """How many arrays are there, and their bytes."""
    clients = control.ask(folder(base), "status")["clients"]
    return sum(c["arrays"] for c in clients), sum(c["stored"] for c in clients)


def loss_of(params, batch):
    x, y = batch
    return jnp.mean((jnp.tanh(x @ params["w"]) + params["b"] - y) ** 2)


def train_step(params, batch, rate=0.1):
    loss, slopes = jax.value_and_grad(loss_of)(params, batch)
    return jax.tree.map(lambda p, s: p - rate * s, params, slopes), loss


PARAMS = {"w": np.full((3, 2), 0.1, np.float32), "b": np.zeros(2, np.float32)}
BATCH = np.ones((4, 3), np.float32), np.full((4, 2), 0.5, np.float32)


def test_training_steps_send_the_batch_and_get_the_loss(shared, module_base, fetched):
    step = jnp.persistent(train_step, server=shared)
    params, before = jnp.on_server(PARAMS, server=shared), calls(module_base)
    expected, losses, plain = PARAMS, [], []
    for _ in range(4):
        params, loss = step(params, BATCH)
        expected, plain_loss = train_step(expected, BATCH)
        losses.append(float(loss))
        plain.append(float(plain_loss))
    assert calls(module_base) == before + 4
    assert fetched == []
    assert type(loss) is type(jnp.ones(()))
    assert {type(x) for x in params.values()} == {ServerArray}
    np.testing.assert_allclose(losses, plain, rtol=1e-5)
    for name in PARAMS:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-5)
    assert len(fetched) == 2


def test_a_handle_is_an_array_of_its_type(shared, fetched):
    x = jnp.on_server(np.arange(6.0, dtype=np.float32).reshape(2, 3), server=shared)
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes) == ((2, 3), "float32", 2, 6, 24)
    assert repr(x) == str(x) == f"ServerArray(float32[2,3] at {shared})"
    assert isinstance(x, jax.Array)
    assert jax.eval_shape(lambda x: x.sum(), x).shape == ()
    assert jax.typeof(x).shape == (2, 3)
    assert jax.block_until_ready(x) is x is copy.copy(x) is copy.deepcopy([x])[0]
    assert fetched == []


ARRAY = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
LOCALLY = {
    "numpy": lambda x: np.asarray(x) + np.array(x, "float64"),
    "operators": lambda x: [x + 1, 1 + x, x @ x.T, -x, x > 2, x == x, abs(x), x**2],
    "indexing": lambda x: [x[0], x[:, 1:], x.at[0].set(0), list(x), len(x)],
    "methods": lambda x: [x.sum(), x.T, x.astype(int), x.tolist(), x.mean(axis=0)],
    "numbers": lambda x: [float(x[0, 0]), int(x[1, 1]), f"{x[0, 0]:.2f}"],
    "jax": lambda x: [jax.numpy.sin(x), jax.jit(lambda x: x * 2)(x), jax.vmap(sum)(x)],
    "closed over": lambda x: jax.jit(lambda y: y * x)(2.0),
    "loops": lambda x: jax.lax.scan(lambda c, row: (c + row.sum(), row * 2), 0.0, x),
    "gradients": lambda x: jax.grad(lambda x: jnp.sum(x**3))(x),
    "jfi": lambda x: [jnp.cat([x, x]), jnp.norm(x), jnp.vmap_automatically(jnp.sum, x)],
    "autojit": lambda x: jnp.autojit(lambda p: p["x"] * 2)({"x": x}),
    "disk": lambda x: jnp.persistent(lambda x: x * 3, mode="disk")(x),
    "pickles": lambda x: pickle.loads(pickle.dumps(x)),
    "trees": lambda x: jax.tree.map(lambda x: x * 2, {"x": x}),
    "stacks": lambda x: jnp.stack([x, x]),
}  # fmt: skip


@pytest.mark.parametrize("use", LOCALLY)
def test_all_else_takes_a_handle_as_an_array(shared, use):
    x = jnp.on_server(ARRAY, server=shared)
    found, expected = LOCALLY[use](x), LOCALLY[use](jnp.array(ARRAY))
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "bool", "complex64"])
def test_values_are_those_that_were_put_there(shared, dtype):
    x = jnp.array([0, 1, 3]).astype(dtype)
    there = jnp.on_server(x, server=shared)
    assert there.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(there), np.asarray(x))
    identity = jnp.persistent(lambda x: x, server=shared)(there)
    for _ in range(3):  # what was read into one buffer
        jnp.on_server(x + x, server=shared)
    np.testing.assert_array_equal(np.asarray(identity), np.asarray(x))


def test_the_64_bit_world(shared):
    with jnp.default_dtype("float64"):
        x = jnp.on_server(np.array([1.0, 3.0]) / 3, server=shared)
        result = jnp.persistent(lambda x: x / 7, server=shared)(x)
    assert result.dtype == "float64"
    np.testing.assert_array_equal(np.asarray(result), np.array([1.0, 3.0]) / 3 / 7)


def test_other_leaves_stay_and_what_is_there_stays_there(shared):
    there = jnp.on_server(jnp.ones(2), server=shared)
    tree = jnp.on_server({"x": there, "n": 3, "name": "a"}, server=shared)
    assert tree["x"] is there
    assert (tree["n"], tree["name"]) == (3, "a")


def test_objects_of_the_users_own_keep_handles_in_attributes(shared, fetched):
    class Model:
        def __init__(self):
            self.w = jnp.on_server(jnp.zeros(2), server=shared)

        def step(self, x):
            self.w = self.w + x
            return self.w.sum()

    model = Model()
    step = jnp.persistent(model.step, server=shared)
    assert [float(step(jnp.ones(2))) for _ in range(3)] == [2, 4, 6]
    assert type(model.w) is ServerArray
    assert fetched == []
    assert np.asarray(model.w).tolist() == [3, 3]


def test_draws_beside_handles_are_those_of_this_process(shared):
    def fn(x):
        return x + jnp.randn(3), jnp.rand(())

    jnp.manual_seed(5)
    expected = [jnp.autojit(fn)(jnp.ones(3)) for _ in range(2)]
    jnp.manual_seed(5)
    run, x = (
        jnp.persistent(fn, server=shared),
        jnp.on_server(jnp.ones(3), server=shared),
    )
    for values in expected:
        jax.tree.map(np.testing.assert_array_equal, run(x), values)


def test_what_can_not_run_there_gets_the_values_here(shared):
    def fn(x):
        jax.debug.callback(lambda x: None, x)
        return x + 1

    x = jnp.on_server(jnp.ones(2), server=shared)
    with pytest.warns(jnp.LocalFallbackWarning, match="calls back to Python"):
        result = jnp.persistent(fn, server=shared)(x)
    assert result.tolist() == [2, 2]


def test_no_compilation_for_a_handle_in_the_place_of_an_array(shared):
    run = jnp.persistent(lambda x: x * 5, server=shared)
    run(jnp.ones(3))
    before = jnp.cache_report()
    for _ in range(3):
        run(jnp.on_server(jnp.ones(3), server=shared))
    report = jnp.cache_report()
    assert (report.misses, report.hits) == (before.misses, before.hits)


# --- How long they are there


def test_an_array_goes_when_no_handle_is_left(shared, module_base):
    large = 500_000  # the others are small
    x = jnp.on_server(jnp.ones(large), server=shared)
    y = jnp.persistent(lambda x: (x + 1, x.sum()), server=shared)(x)
    assert stored(module_base)[1] >= 2 * 4 * large
    del x, y
    gc.collect()
    wait_until(lambda: stored(module_base)[1] < 4 * large)


def test_arrays_go_with_their_client(shared, module_base):
    before = stored(module_base)[0]
    script = f"""
import os, jfi as jnp
x = jnp.on_server(jnp.ones(1000), server={shared!r})
print(x.shape, flush=True)
os.kill(os.getpid(), 9)
"""
    with pytest.raises(AssertionError):
        output_of(script)
    assert stored(module_base)[0] == before + 1
    wait_until(lambda: stored(module_base)[0] == before)


def test_a_cut_connection_loses_nothing(shared):
    x = jnp.on_server(jnp.ones(3), server=shared)
    x._client.close()
    assert float(jnp.persistent(lambda x: x.sum(), server=shared)(x)) == 3
    assert np.asarray(x).tolist() == [1, 1, 1]


def test_a_server_that_was_started_anew_is_told(tmp_path):
    url = f"rpyc://127.0.0.1:{free_port()}"
    run = jnp.persistent(lambda x: x * 2, server=url)
    with a_server(tmp_path, url):
        x = jnp.on_server({"w": jnp.ones(2)}, server=url)["w"]
        known = run(x)
        assert np.asarray(known).tolist() == [2, 2]  # fetched
    with a_server(tmp_path, url):
        message = r"has no float32\[2\] .*params = jfi\.on_server\(params\)"
        for use in (run, np.asarray, jnp.sum):
            with pytest.raises(RemoteError, match=message):
                use(x)
        x = jnp.on_server(jnp.ones(2), server=url)
        assert np.asarray(run(x)).tolist() == [2, 2]
    with pytest.raises(RemoteError, match=r"can't be had: .*on_server\(params\)"):
        run(x)
    with pytest.raises(RemoteError, match="can't be put there: no server runs"):
        jnp.on_server(jnp.ones(2), server=f"rpyc://127.0.0.1:{free_port()}")


def test_a_client_stores_no_more_than_it_may(tmp_path):
    with a_server(
        tmp_path, None, "--limit", "arrays=3", "--limit", "stored=1KB"
    ) as url:
        kept = [jnp.on_server(jnp.ones(2), server=url) for _ in range(3)]
        with pytest.raises(RemoteError, match="may store 3 arrays"):
            jnp.on_server(jnp.ones(2), server=url)
        # A result that has no room there comes back.
        with pytest.warns(jnp.LocalFallbackWarning, match="may store 3 arrays"):
            result = jnp.persistent(lambda x: x + 1, server=url)(kept[0])
        assert result.tolist() == [2, 2]
        del kept
        wait_until(lambda: stored(tmp_path)[0] == 0)
        with pytest.raises(RemoteError, match="of 1000 bytes"):
            jnp.on_server(jnp.ones(1000), server=url)


def test_a_program_that_nobody_waits_for_costs_nobody_an_array(tmp_path):
    def forever(x, n):
        return jax.lax.fori_loop(0, n, lambda i, y: y + jnp.sin(y), x)

    with a_server(tmp_path) as url:
        x = jnp.on_server(jnp.ones(2), server=url)
        run = jnp.persistent(forever, server=url, timeout=20)
        run(x, jnp.int32(0))
        program = next(iter(control.ask(folder(tmp_path), "list")["programs"]))["key"]
        pid = control.ask(folder(tmp_path), "status")["pid"]
        client, arrays = (
            client_of(server_at(url)),
            [x.number, np.array(2**31 - 1, "i4")],
        )
        with pytest.raises(ServerLost, match="longer than the timeout"):
            client.run(program, arrays, timeout=0.3)
        time.sleep(watch.PATIENCE + 1)
        assert np.asarray(x).tolist() == [1, 1]
        assert control.ask(folder(tmp_path), "status")["pid"] == pid
        os.kill(pid, signal.SIGKILL)


# --- Words


def test_a_tree_without_arrays_is_an_error(shared):
    class Model:
        pass

    for tree in (Model(), 3, [], "a"):
        with pytest.raises(TypeError, match=r"found no array .*model\.params = "):
            jnp.on_server(tree, server=shared)


def test_without_a_server_the_line_to_write(monkeypatch):
    monkeypatch.delenv("JFI_SERVER", raising=False)
    with pytest.raises(ValueError, match=r"Write, before: jfi\.use_server"):
        jnp.on_server(jnp.ones(2))
    with pytest.raises(ValueError, match="no address"):
        jnp.on_server(jnp.ones(2), server="gpu-box")


def test_without_its_piece_of_jax_it_is_refused(shared, monkeypatch):
    from jfi import _jax_internals
    from jfi._persistent import _handles

    monkeypatch.setattr(_handles, "_register", _handles._register.__wrapped__)
    with (
        _jax_internals.without("array_classes"),
        pytest.raises(RemoteError, match="leave params as they are"),
    ):
        jnp.on_server(jnp.ones(2), server=shared)
