"""Calls of the compilation server, to the ways they can be compared with.

python tests/benchmarks/bench_transport.py

A row's limit is that of its first column. The functions run in a server of this
script's own, in a folder of its own. The two ends are on different cores, as where both
have work to do: where the system puts them on one, now this pair and now that, a
round trip takes a quarter of the time, and ratios are a matter of chance.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing.connection import Client as connect, Listener
from pathlib import Path
from typing import Any

import numpy as np
from harness import Case, ratios, report
from jfi_server.client import Client
from jfi_server.control import ask, stop
from jfi_server.environment import digest
from jfi_server.folders import server_folder
from jfi_server.programs import Program
from jfi_server.server import Options, run
from jfi_server.transport import connect as connect_to_server


CORES = sorted(os.sched_getaffinity(0))


@contextmanager
def on_core(which: int) -> Generator[None]:
    """Keep this process, and the threads that it starts, on one core."""
    os.sched_setaffinity(0, {CORES[which % len(CORES)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, CORES)


class Echo:
    """A program that returns its arrays: what is left is the way there and back."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {"name": "echo", "bytes": 0}

    def run(self, arrays: list[Any]) -> list[Any]:
        """Return them."""
        return arrays


def hosted(store: Path, key: str) -> Program:
    """Stands in the place of the store."""
    return Echo()


@contextmanager
def server() -> Generator[tuple[Path, Client]]:
    """A server of echoes; its folder, and a client."""
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as name:
        base = Path(name)
        folder = server_folder(base, digest())
        subprocess.Popen([sys.executable, __file__, "--serve", name])
        while ask(folder, "ping") is None:
            time.sleep(0.05)
        try:
            yield folder, Client(base, digest(), base)
        finally:
            stop(folder)


def echo_bytes(address: str) -> None:
    """The other end of multiprocessing.connection."""
    with (
        on_core(1),
        Listener(address, "AF_UNIX") as listener,
        listener.accept() as link,
    ):
        while data := link.recv_bytes():
            link.send_bytes(data)


def echo_arrays(address: str) -> None:
    """The other end of multiprocessing.connection, with pickled arrays."""
    with (
        on_core(1),
        Listener(address, "AF_UNIX") as listener,
        listener.accept() as link,
    ):
        while (array := link.recv()) is not None:
            link.send(array)


@contextmanager
def plain(target: Callable[[str], None], end: object) -> Generator[Any]:
    """A process at the other end of a plain connection."""
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as folder:
        address = os.path.join(folder, "socket")
        process = multiprocessing.get_context("spawn").Process(
            target=target, args=(address,)
        )
        process.start()
        while not os.path.exists(address):
            time.sleep(0.05)
        with connect(address, "AF_UNIX") as link:
            yield link
            link.send_bytes(b"") if end == b"" else link.send(end)
        process.join()


def round_trips() -> list[tuple[Case, dict[str, float]]]:
    """256 bytes there and back."""
    data = bytes(256)
    array = np.zeros(256, np.uint8)
    with server() as (folder, client), plain(echo_bytes, b"") as link, on_core(0):
        own = connect_to_server(folder, 10)

        def message() -> None:
            own.send({"op": "ping"}, [data])
            own.receive()

        def base() -> None:
            link.send_bytes(data)
            link.recv_bytes()

        def call() -> None:
            client.run("echo", [array])

        message_row = Case("message of 256 bytes", message, base, 2.0, {"A/A": base})
        call_row = Case("call with 256 bytes", call, base, None, {"A/A": base})
        return [
            (case, ratios(case, rounds=300, calls=10))
            for case in (message_row, call_row)
        ]


def arrays() -> list[tuple[Case, dict[str, float]]]:
    """One array there and back, to pickling it, and to copying it twice."""
    results = []
    with server() as (_, client), plain(echo_arrays, None) as link, on_core(0):
        for name, size, rounds in (
            ("1 KB", 1 << 10, 300), ("64 KB", 1 << 16, 200),
            ("1 MB", 1 << 20, 100), ("100 MB", 100 << 20, 7),
        ):  # fmt: skip
            array = np.zeros(size, np.uint8)

            def ours(array: Any = array) -> None:
                client.run("echo", [array])

            def base(array: Any = array) -> None:
                link.send(array)
                link.recv()

            def copies(array: Any = array) -> None:
                array.copy().copy()

            # Small ones are 2 microseconds of copying: their cost is the round trip.
            limit = 1.0 if size >= 1 << 20 else None
            case = Case(f"array of {name}", ours, base, limit, {"2 copies": copies})
            results.append((case, ratios(case, rounds=rounds, calls=3)))
    return results


def served_calls() -> list[tuple[Case, dict[str, float]]]:
    """A persistent function, to the same function under `jax.jit`; NumPy in and out.

    In mode "auto" a program that is called again and again moves into the process; in
    mode "server" it stays where it is.
    """
    import jax

    import jfi

    def function(x: jax.Array) -> jax.Array:
        return x * 2 + 1

    results = []
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as folder:
        os.environ.update(JFI_CACHE_DIR=f"{folder}/store", JFI_SERVER_DIR=folder)
        jitted = jax.jit(function)
        stays = jfi.persistent(function, mode="server", returns="numpy")
        moves = jfi.persistent(function, returns="numpy")
        try:
            for name, size, limit, rounds in (
                ("1 KB", 1 << 8, 5.0, 300), ("1 MB", 1 << 18, 2.0, 100),
                ("100 MB", 25 << 20, 1.3, 9),
            ):  # fmt: skip
                x = np.ones(size, np.float32)

                def local(x: np.ndarray = x) -> object:
                    return np.asarray(jitted(x))

                def served(x: np.ndarray = x) -> object:
                    return stays(x)

                def auto(x: np.ndarray = x) -> object:
                    return moves(x)

                jfi.persistent(function, mode="disk")(x)  # compiles, and keeps
                for _ in range(6):
                    served()
                    auto()
                time.sleep(1)  # it is loaded meanwhile
                case = Case(f"{name}, auto", auto, local, limit, {"server": served})
                results.append((case, ratios(case, rounds=rounds, calls=3)))
        finally:
            stop(server_folder(Path(folder), digest()))
    return results


if __name__ == "__main__":
    if "--serve" in sys.argv:
        with on_core(1):
            run(Options(Path(sys.argv[-1])), hosted)
    report(
        "Ratios to multiprocessing.connection, and of calls to jax.jit (medians)",
        [*round_trips(), *arrays(), *served_calls()],
    )
