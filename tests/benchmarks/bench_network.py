"""Calls of a server on the network, to a plain socket that echoes the same bytes.

python tests/benchmarks/bench_network.py

Both go over TCP on this machine. rpyc as its documentation has it is shown beside: with
compression, remote references and pieces of 64 KB. The two ends are on different cores.
Before it are a step of training whose parameters stay on the server, and what a second
client saves: the time to its first result, in that of the first one.
"""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import rpyc
from harness import Case, ratios, report
from jfi_server._remote import Listening
from jfi_server._remote_client import RemoteClient
from jfi_server.addresses import parsed
from jfi_server.control import ask, start_server, stop
from jfi_server.environment import digest
from jfi_server.folders import server_folder
from jfi_server.programs import Program
from jfi_server.server import Options, run
from rpyc.utils.server import ThreadedServer

import jfi as jnp


KEY = "a" * 64
# Small ones take the time of Python at both ends: six times that of a plain socket.
SIZES = [("1 KB", 1 << 10, 3.0, 300), ("1 MB", 1 << 20, 2.0, 100),
         ("100 MB", 100 << 20, 1.5, 7)]  # fmt: skip
SLOWEST = 1 << 20  # bytes for which rpyc's own way is measured: then it takes a minute


class Echo:
    """A program that returns its arrays."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {"name": "echo", "bytes": 0}

    def run(self, arrays: list[Any]) -> list[Any]:
        """Return them."""
        return arrays


class Echoes:
    """A store in which each program is an echo."""

    folder = Path("/")

    def __init__(self, limits: object) -> None:
        """Without limits."""

    def find(self, client: str, key: str) -> tuple[str, bytes] | None:
        """The echo."""
        return key, b""


class EchoService(rpyc.Service):
    """rpyc, as its documentation has it."""

    def exposed_echo(self, data: bytes) -> bytes:
        """Return it."""
        return data


def hosted(store: Path, key: str) -> Program:
    """Stands in the place of the store."""
    return Echo()


def free_port() -> int:
    """A port of this machine."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def serve(base: str, port: str) -> None:
    """A server of echoes; beside it a plain one, and rpyc's."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    threading.Thread(target=echo_plainly, args=(int(port) + 1,), daemon=True).start()
    stock = ThreadedServer(EchoService, hostname="127.0.0.1", port=int(port) + 2)
    threading.Thread(target=stock.start, daemon=True).start()
    run(
        Options(Path(base), listening=Listening("127.0.0.1", int(port))),
        hosted,
        Echoes,  # type: ignore[arg-type]   # it is only asked for what it has
    )


def echo_plainly(port: int) -> None:
    """The other end of a plain socket: buffers that are there, nothing else."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while size := int.from_bytes(sock.recv(8), "big"):
                view = memoryview(buffer(size))
                receive(sock, view)
                sock.sendall(view)


_buffers: dict[int, bytearray] = {}


def buffer(size: int) -> bytearray:
    """Memory of a size, made once."""
    return _buffers.setdefault(size, bytearray(size))


def receive(sock: socket.socket, view: memoryview) -> None:
    """Fill a buffer."""
    while view:
        view = view[sock.recv_into(view) :]


@contextmanager
def server() -> Generator[int]:
    """A process of servers; their first port."""
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as name:
        folder, port = server_folder(Path(name), digest()), free_port()
        subprocess.Popen([sys.executable, __file__, "--serve", name, str(port)])
        while ask(folder, "ping") is None:
            time.sleep(0.05)
        try:
            yield port
        finally:
            stop(folder)


def echoes() -> list[tuple[Case, dict[str, float]]]:
    """An array there and back."""
    results = []
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with server() as port:
        client = RemoteClient(parsed(f"rpyc://127.0.0.1:{port}"))
        plain = socket.create_connection(("127.0.0.1", port + 1))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stock = rpyc.connect("127.0.0.1", port + 2)
        for name, size, limit, rounds in SIZES:
            data = np.random.default_rng(0).bytes(size)
            array = np.frombuffer(data, np.uint8)

            def ours(array: Any = array) -> None:
                client.run(KEY, [array])

            def base(data: bytes = data) -> None:
                plain.sendall(len(data).to_bytes(8, "big"))
                plain.sendall(data)
                receive(plain, memoryview(buffer(len(data))))

            def as_documented(data: bytes = data) -> None:
                stock.root.echo(data)

            others: dict[str, Callable[[], object]] = {}
            if size <= SLOWEST:
                others["rpyc as it comes"] = as_documented
            case = Case(f"array of {name}", ours, base, limit, others)
            results.append((case, ratios(case, rounds=rounds, calls=3)))
        client.close()
        stock.close()
    return results


CLIENT = """
import time
start = time.perf_counter()
import jax, jfi as jnp

@jnp.persistent
def plan(x, goal, steps=40):
    for _ in range(steps):
        x = x + 0.1 * jnp.tanh(goal @ x) - jnp.linalg.solve(goal, x)
    return x, jnp.sum(x**2)

jax.block_until_ready(plan(jnp.ones(8), jnp.eye(8) * 2))  # compiled for the server
print(time.perf_counter() - start, jnp.cache_report().misses)
"""


# A step of training, with its parameters there.
LAYERS, WIDTH = 4, 512


def step(params: Any, batch: Any) -> Any:
    """One step; the batch and the loss travel."""

    def loss_of(params: Any) -> Any:
        x = batch
        for w in params:
            x = jnp.tanh(x @ w)
        return jnp.mean((x - batch) ** 2)

    loss, slopes = jax.value_and_grad(loss_of)(params)
    return [w - 0.1 * s for w, s in zip(params, slopes, strict=True)], loss


IN_THE_SERVERS_PROCESS = """
import sys, time
sys.path.insert(0, {folder!r})
import jax, numpy as np, bench_network as bench
params, batch = bench.start()
run = jax.jit(bench.step)
for k in range(60):
    if k == 10:
        start = time.perf_counter()
    params, loss = run(params, np.asarray(batch))
    float(loss)
print((time.perf_counter() - start) / 50)
"""


def start() -> tuple[Any, Any]:
    """Parameters, and a batch."""
    rng = np.random.default_rng(0)
    params = [rng.normal(size=(WIDTH, WIDTH)).astype("f4") / 30 for _ in range(LAYERS)]
    return params, rng.normal(size=(64, WIDTH)).astype("f4")


def training() -> bool:
    """Steps with the parameters there, to the same in one process and a round trip.

    Returns:
        Whether the target is missed.
    """
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as name:
        port = free_port()
        options = "--listen", f"127.0.0.1:{port}", "--store", f"{name}/store"
        start_server(Path(name), *options)
        try:
            jnp.use_server(f"rpyc://127.0.0.1:{port}")
            run, (params, batch) = jnp.persistent(step, fallback=False), start()
            client = RemoteClient(parsed(f"rpyc://127.0.0.1:{port}"))
            there, travelling = jnp.on_server(params), params

            def with_handles() -> None:
                nonlocal there
                there, loss = run(there, batch)
                float(loss)

            def without() -> None:
                nonlocal travelling
                travelling, loss = run(travelling, batch)
                float(loss)

            def trip() -> None:
                client._ask({"op": "ping"})

            times = {f.__name__: seconds(f) for f in (with_handles, without, trip)}
        finally:
            stop(server_folder(Path(name), digest()))
    code = IN_THE_SERVERS_PROCESS.format(folder=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    alone = float(done.stdout)
    wanted = 1.2 * alone + times["trip"]
    for name, time_ in times.items():
        print(f"{name.replace('_', ' ')}: {time_ * 1e3:.2f} ms")
    print(f"in one process: {alone * 1e3:.2f} ms")
    print(
        f"training step with handles, to one process and a round trip: "
        f"{times['with_handles'] / wanted * 1.2:.2f} (wanted: 1.2)"
    )
    return times["with_handles"] > wanted


def seconds(run: Callable[[], object]) -> float:
    """The median time of a call."""
    for _ in range(10):
        run()
    times = []
    for _ in range(50):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def clients() -> None:
    """The first and the second client, each in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as name:
        port = free_port()
        options = "--listen", f"127.0.0.1:{port}", "--store", f"{name}/store"
        start_server(Path(name), *options)
        try:
            found = []
            for k in range(2):
                own = {"JFI_SERVER": f"rpyc://127.0.0.1:{port}",
                       "JFI_CACHE_DIR": f"{name}/{k}"}  # fmt: skip
                words = [sys.executable, "-c", CLIENT]
                done = subprocess.run(
                    words, env={**os.environ, **own}, capture_output=True, check=True
                )
                found.append([float(word) for word in done.stdout.split()])
        finally:
            stop(server_folder(Path(name), digest()))
    (first, sent), (second, again) = found
    print(f"first client {first:.2f} s, programs sent {sent:.0f}")
    print(f"second client {second:.2f} s ({second / first:.2f}), sent {again:.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    missed = training()
    clients()
    try:
        report("Calls over the network, to a plain socket (medians)", echoes())
    finally:
        if missed:
            sys.exit("Over the limit: a training step with handles")
