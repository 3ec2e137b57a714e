"""A server on a machine to which the user has a login: through the user's own ssh.

`ssh` starts `jfi-server bridge` there, which copies bytes between its own streams and
the server's unix socket. Nothing listens on the network, and passwords, keys, agents,
jump hosts and names of machines are ssh's business.
"""

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from . import control
from ._network import RpycLink
from .addresses import Address
from .environment import digest
from .errors import ServerError
from .folders import server_folder
from .transport import connect


_MARK = b"\njfi-server bridge 1\n"  # what a shell says before is left out
_LOGIN = 60.0  # seconds, in which the user may type a password
_MOST_SAID = 1 << 16
_CHUNK = 1 << 20


class SshLink(RpycLink):
    """A client's end of a connection through ssh, which ends with it."""

    process: "subprocess.Popen[bytes]"
    owner: int

    def close(self) -> None:
        """Hang up, and end ssh; but not that of a parent process."""
        super().close()
        if os.getpid() == self.owner and self.process.returncode is None:
            self.process.terminate()
            self.process.wait()


def connected(address: Address) -> SshLink:
    """Start ssh.

    Raises:
        ServerError: There is no ssh, or it ended; the message is its own.
    """
    ours, theirs = socket.socketpair()
    with theirs, tempfile.TemporaryFile() as errors:
        try:
            end = theirs.fileno()
            process = subprocess.Popen(
                _command(address), stdin=end, stdout=end, stderr=errors
            )
        except OSError as error:
            ours.close()
            raise ServerError(f"ssh can't be started ({error})") from error
        theirs.close()
        try:
            is_there = _found(ours)
        except BaseException:
            _end(process, ours)
            raise
        if not is_there:
            _end(process, ours)
            errors.seek(0)
            raise ServerError(_why(address, errors.read().decode(errors="replace")))
    link = SshLink.over(ours)
    link.process, link.owner = process, os.getpid()
    return link


def _command(address: Address) -> list[str]:
    folder = f"{address.environment}/bin/" if address.environment else ""
    port = [] if address.port is None else ["-p", str(address.port)]
    user = ["-l", address.user] if address.user else []
    there = f"{shlex.quote(folder + 'jfi-server')} bridge"
    return ["ssh", "-T", *port, *user, "--", address.host, there]


def _found(sock: socket.socket) -> bool:
    """Whether the bridge is there; False: ssh has ended."""
    said, end = b"\n", time.monotonic() + _LOGIN
    while not said.endswith(_MARK):
        sock.settimeout(max(end - time.monotonic(), 0.01))
        byte = sock.recv(1)  # one: what follows is the server's
        said = (said + byte)[-_MOST_SAID:]
        if not byte:
            return False
    return True


def _end(process: "subprocess.Popen[bytes]", sock: socket.socket) -> None:
    sock.close()
    process.terminate()
    process.wait()


def _why(address: Address, said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    why = f"ssh {address.host}: {lines[-1].strip() if lines else 'it ended'}"
    if "not found" in why or "No such file" in why:
        why += (
            ". Name the Python environment there that has jfi: "
            f"ssh://{address.host}/home/me/venv"
        )
    return why


def bridge(base: Path) -> int:
    """Copy bytes between this process and the server, which is started if none runs.

    Args:
        base: The base folder of the servers.
    """
    control.start(base, [])
    link = connect(server_folder(base, digest()), _LOGIN)
    link.send({"op": "bridge"})
    reply, _ = link.receive()
    if reply.get("is") != "ok":
        raise ServerError(str(reply.get("reason", "the server refuses")))
    sock = link.detach()
    os.write(1, _MARK)
    threading.Thread(target=_copy_in, args=(sock,), daemon=True).start()
    while data := sock.recv(_CHUNK):
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]
    return 0


def _copy_in(sock: socket.socket) -> None:
    try:
        while data := os.read(0, _CHUNK):
            sock.sendall(data)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
    os._exit(0)  # the client is gone; the other thread waits for the server
