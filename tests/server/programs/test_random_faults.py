"""A server on the network, and the way to it, fail at random while clients call it.

No wrong result, no call that hangs, nothing lost. JFI_FAULTS=300 in the environment
lets it go on for five minutes.
"""

import contextlib
import os
import random
import signal
import socket
import threading
import time
import warnings

import numpy as np
import pytest
from jfi_server import control

import jfi as jnp
from jfi._persistent._handles import ServerArray

from ..conftest import free_port, later, wait_until
from ..test_remote import a_server, folder


SECONDS = float(os.environ.get("JFI_FAULTS", "20"))
# A stopped server is given up after 4.5 s; the rest is for what then runs here.
LONGEST = 5.0 + 3.0


class Way:
    """A port from which bytes go to another one and back, when they can."""

    def __init__(self, port):
        self._port, self._socks = port, set()
        self.delay, self.is_open = 0.0, True
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                try:
                    theirs = socket.create_connection(("127.0.0.1", self._port), 5)
                except OSError:
                    ours.close()
                    continue
                self._socks |= {ours, theirs}
                for ends in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self._copy, args=ends, daemon=True).start()

    def _copy(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 14):
                time.sleep(self.delay)
                target.sendall(data)
        self._hang_up(source, target)

    def cut(self):
        """Cut all connections, wherever they are."""
        self._hang_up(*list(self._socks))

    def _hang_up(self, *socks):
        for sock in socks:
            self._socks.discard(sock)
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def close(self):
        self._listener.close()
        self.cut()


def pid_of(base):
    with contextlib.suppress(TypeError):
        return control.ask(folder(base), "status")["pid"]


def fail(base, way, numbers, end, start):
    """What goes wrong, until a moment; return how often the server was killed."""
    killed = 0
    while time.monotonic() < end:
        time.sleep(numbers.uniform(0.1, 1.5))
        kind = numbers.choice(["cut", "cut", "cut", "slow", "slow", "stop", "kill"])
        if kind == "cut":
            way.cut()
        elif kind == "slow":
            way.delay = numbers.uniform(0.001, 0.05)
            time.sleep(numbers.uniform(0.1, 1))
            way.delay = 0.0
        elif kind == "stop" and (pid := pid_of(base)):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(numbers.choice([0.2, 1, 6]))
            os.kill(pid, signal.SIGCONT)
        elif kind == "kill" and (pid := pid_of(base)):
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}/fd/0"))
            start()
            killed += 1
    return killed


def move(w, x):
    return w + x, (w * x).sum()


def works_until(end, seed, url, times):
    """Call functions of arrays that travel and of arrays that stay; count results."""
    numbers, run = random.Random(seed), jnp.persistent(move, server=url)
    counts = {"here": 0, "there": 0, "lost": 0}
    w, expected = np.zeros(8, np.float32), np.zeros(8, np.float32)
    while time.monotonic() < end:
        size = numbers.choice([8, 30_000])
        x = np.full(size, float(seed), np.float32)
        start = time.monotonic()
        try:
            if size == 8:
                w = w if isinstance(w, ServerArray) else jnp.on_server(w, server=url)
                w, total = run(w, x)
                assert float(total) == (expected * x).sum()
                expected = expected + x
                if numbers.random() < 0.1:
                    assert np.array_equal(w, expected)
                counts["there" if isinstance(w, ServerArray) else "here"] += 1
            else:
                moved, _ = run(x, x)
                assert np.array_equal(moved, 2 * x)
        except jnp.RemoteError:
            w, expected = np.zeros(8, np.float32), np.zeros(8, np.float32)
            counts["lost"] += 1
            time.sleep(0.1)
        times.append(time.monotonic() - start)
    return counts


@pytest.fixture
def hasty(monkeypatch, tmp_path):
    """A server that was lost is asked again at once."""
    monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("jfi._persistent._remote.RETRY", 0.3)
    monkeypatch.setattr("jfi_server.client._PAUSE", 0.3)


def test_no_wrong_result_no_hang_nothing_lost(hasty, tmp_path):
    port, times, numbers = free_port(), [], random.Random(1)
    words = "--listen", f"127.0.0.1:{port}", "--store", str(tmp_path / "store")
    with (
        warnings.catch_warnings(),
        a_server(tmp_path, f"rpyc://127.0.0.1:{port}"),
        contextlib.closing(Way(port)) as way,
    ):
        warnings.simplefilter("ignore", jnp.LocalFallbackWarning)
        url = f"rpyc://127.0.0.1:{way.port}"
        for size in (8, 30_000):  # compiled before, here and there
            x = np.ones(size, np.float32)
            jnp.persistent(move, mode="disk")(x, x)
            jnp.persistent(move, server=url)(x, x)
        end = time.monotonic() + SECONDS
        calls = [later(works_until, end, seed, url, times) for seed in (1, 2, 3)]
        killed = fail(
            tmp_path, way, numbers, end, lambda: control.start_server(tmp_path, *words)
        )
        for thread, _ in calls:
            thread.join(60)
            assert not thread.is_alive()
        counts = [found[0] for _, found in calls]
        for one in counts:
            if isinstance(one, BaseException):
                raise one
        # All is as before.
        kept = jnp.on_server(np.ones(8, np.float32), server=url)
        moved, total = jnp.persistent(move, server=url, fallback=False)(kept, kept)
    print(f"{len(times)} calls, {killed} kills, {counts}, longest {max(times):.1f} s")
    assert float(total) == 8
    assert isinstance(moved, ServerArray)
    assert sum(one["there"] for one in counts) > 10
    assert max(times) < LONGEST
