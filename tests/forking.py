"""Pieces of Python in processes that have imported JAX already.

A new interpreter needs most of a second to import JAX. Here one process imports NumPy
and JAX, starts no backend and no thread, and forks a child for every piece of Python,
which takes milliseconds. To the piece all looks as under `python -c`: it has its own
`__main__`, environment, folder, streams and exit status.

What Python and JAX read as they start (`PYTHON...`, `JAX_...`, options such as `-W`) is
that of the forking process: `subprocesses.py` starts a new interpreter for those.
"""

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from pathlib import Path


# JAX, and what of it comes with jfi and with the first program.
IMPORTED = [
    "jax.numpy",
    "jax.extend",
    "jax.experimental.buffer_callback",
    "jax.experimental.shard_map",
    "jaxlib.mlir.dialects.builtin",
    "jaxlib.mlir.dialects.mhlo",
]


# ------------------------------------------------------------- in the tests' process


class ForkServer:
    """A process that has imported JAX and forks on demand.

    Args:
        python: the command of its interpreter, with the options that all children have.
        env: its environment.
    """

    def __init__(self, python, env):
        self._sending = threading.Lock()  # tests may run several at a time
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*python, __file__, str(theirs.fileno())],
                # No threads of OpenBLAS: a fork has the main thread alone.
                env={**env, "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # pytest-xdist speaks over its own
            )

    def run(self, code, *, env, cwd=None, timeout=None):
        """Run code as `subprocess.run([sys.executable, "-c", code])` would.

        Args:
            code: what the child runs as its `__main__`.
            env: the child's whole environment.
            cwd: the folder it runs in; that of the tests without.
            timeout: the seconds after which it is killed, and TimeoutExpired is raised.

        Returns:
            a CompletedProcess with the text of stdout and stderr.
        """
        request = {"code": code, "env": env, "cwd": str(cwd or Path.cwd())}
        with contextlib.ExitStack() as stack:
            stdin = stack.enter_context(open(os.devnull))
            # Files, not pipes: nothing has to be read while the child runs.
            out, err = (
                stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
                for _ in range(2)
            )
            reply, theirs = map(stack.enter_context, socket.socketpair())
            with self._sending:
                self._send(request, stdin, out, err, theirs)
            theirs.close()
            pid = _read_number(reply)
            try:
                reply.settimeout(timeout)
                status = _read_number(reply)
            except BaseException as error:  # as subprocess.run: Ctrl-C ends it, too
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)
                reply.settimeout(None)
                _read_number(reply)
                if isinstance(error, TimeoutError):
                    texts = _text(out), _text(err)
                    raise subprocess.TimeoutExpired(code, timeout, *texts) from None
                raise
            return subprocess.CompletedProcess(code, status, _text(out), _text(err))

    def close(self):
        """End the process."""
        self._socket.close()
        self._process.wait()

    def _send(self, request, *files):
        """One connection's request: its length, the files, the text."""
        data = json.dumps(request).encode()
        numbers = array.array("i", [file.fileno() for file in files])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)]
        self._socket.sendmsg([len(data).to_bytes(8, "big")], rights)
        self._socket.sendall(data)


def start(python, env):
    """A ForkServer that ends with this process."""
    server = ForkServer(python, env)
    atexit.register(server.close)
    return server


def _read_number(connection):
    """A number and the end of its line."""
    line = b""
    while not line.endswith(b"\n"):
        if not (part := connection.recv(1)):
            raise RuntimeError("The process that forks has ended: see its error above.")
        line += part
    return int(line)


def _text(file):
    file.seek(0)
    return file.read()


# ----------------------------------------------------------- in the process that forks


def _serve(connection):
    """Fork for each request; returns in the children alone, with what they run.

    A child has a parent of its own, which waits for it and answers how it ended: so
    several can run at a time, and the process that forks has one thing to do.
    """
    ctrl_c = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key for the tests
    while (received := _receive(connection)) is not None:
        request, files = received
        if os.fork() == 0:
            connection.close()
            *streams, reply = files
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGINT, ctrl_c)
                os.close(reply)
                return _become(request, streams)
            os.write(reply, b"%d\n" % pid)
            _, status = os.waitpid(pid, 0)
            os.write(reply, b"%d\n" % os.waitstatus_to_exitcode(status))
            os._exit(0)
        for file in files:
            os.close(file)
    # Waiting counts their CPU time as that of the tests.
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    sys.exit()


def _receive(connection):
    """The next request and its files; None when the tests have ended."""
    numbers = array.array("i")
    room = socket.CMSG_SPACE(4 * numbers.itemsize)
    head, ancillary, _, _ = connection.recvmsg(8, room)
    if not head:
        return None
    for _, _, data in ancillary:
        numbers.frombytes(data)
    length = int.from_bytes(head, "big")
    data = b""
    while len(data) < length:
        data += connection.recv(length - len(data))
    return json.loads(data), list(numbers)


def _become(request, streams):
    """Be the process of a request; returns the code to run."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    np.random.seed()  # as a new process: its numbers are not those of another child
    sys.argv[:] = ["-c"]
    sys.path[0] = ""
    return request["code"]


class _Ending:
    """How a child ends: as an interpreter does, but that modules are not taken apart.

    Python takes a third of a second to take those of JAX apart, in memory that the
    child shares until then.
    """

    status = 0

    def run(self, code, names):
        """Run code, and remember what status it leaves."""
        try:
            exec(code, names)
        except SystemExit as error:
            is_text = error.code is not None and not isinstance(error.code, int)
            self.status = 1 if is_text else error.code or 0
            raise
        except KeyboardInterrupt:
            self.status = None  # by its signal
            raise
        except BaseException:
            self.status = 1
            raise

    def leave(self):
        """The last function at exit: threads have ended, the streams are written."""
        if self.status is not None:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(self.status & 0xFF)


if __name__ == "__main__":
    ending = _Ending()
    atexit.register(ending.leave)  # before those of JAX: it runs after them

    import numpy as np
    from quicker_jax import share_contexts

    for name in IMPORTED:
        importlib.import_module(name)
    share_contexts()
    gc.collect()
    gc.freeze()  # a child's collections leave the shared memory as it is

    # A module of its own: what is in this file is none of the names of the code.
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        code = compile(_serve(connection), "<string>", "exec")
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    ending.run(code, vars(main))
