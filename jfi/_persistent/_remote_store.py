"""What a server on the network keeps: programs that clients sent, compiled here."""

import hashlib
import time
from pathlib import Path
from typing import Any

import jax

from .._jax_internals import serialized
from ._asked_for import kind_of_key
from ._environment import device_in_force, surroundings
from ._exported import compiled_from
from ._records import Record, Result, dumps
from ._store import Store, default_folder, server_module


LARGEST_RECORD = 1 << 20


class RemoteStore:
    """Two stores: what each client has sent, and what was compiled of all that.

    A client finds by its key what it has sent itself. A compiled program has the digest
    of its code as its key: clients share it, and none can put other code in its place.

    Args:
        folder: Where they are; None: in that of this user.
        limits: What a client may have: `jfi_server.limits.Limits`.

    Attributes:
        folder: That of compiled programs.
    """

    def __init__(self, folder: Path | None = None, limits: Any = None) -> None:
        self._limits = limits or server_module("limits").Limits()
        self._base = (folder or default_folder()) / "remote"
        self.folder: Path = self._base / "programs"
        self._programs = Store(self.folder)

    def describe(self) -> dict[str, Any]:
        """What a client must know to send a program."""
        from jax import export

        device = device_in_force()
        return {
            "platform": export.default_export_platform(),
            "device": device.device_kind,
            "jax": jax.__version__,
        }

    def find(self, client: str, key: str) -> tuple[str, bytes] | None:
        """What a client has kept under a key; None: nothing.

        Returns:
            The key of the compiled program ("" for a mere note), and the record.
        """
        sent = self._of(client)
        entry = sent.read(key)
        code = entry and sent.code(key, entry)
        if entry is None or code is None:
            return None
        return self._compiled(code), entry.record

    def keep(self, client: str, key: str, record: bytes, code: bytes) -> str:
        """Compile and keep a program, in the place of what this client had there.

        Returns:
            Its key in the store of compiled programs.

        Raises:
            ValueError: It is not to be run here, or can't be kept, and why.
        """
        if len(code) > self._limits.code or len(record) > LARGEST_RECORD:
            raise ValueError(f"a program of {len(code)} bytes is too large")
        program = self._compiled(code)
        if not self._of(client).write(key, record, code):
            raise ValueError("the server can't write to its store")
        return program

    def _of(self, client: str) -> Store:
        # By name, not by what a client could choose.
        name = hashlib.sha256(client.encode()).hexdigest()[:32]
        limits = self._limits
        return Store(self._base / "clients" / name, limits.kept, limits.programs)

    def count(self, client: str) -> int:
        """How many programs of a client are kept."""
        return sum(1 for _ in self._of(client).entries())

    def _compiled(self, code: bytes) -> str:
        """The key of the compiled program; it is compiled by the first who asks."""
        if not code:
            return ""
        around = surroundings(device_in_force())
        program = hashlib.sha256(around + hashlib.sha256(code).digest()).hexdigest()
        if self._programs.read(program) is not None:
            return program
        with self._programs.claim(program):
            if self._programs.read(program) is None:
                self._compile(program, code)
        return program

    def _compile(self, program: str, code: bytes) -> None:
        start = time.perf_counter()
        compiled, made = compiled_from(code)
        written = serialized(compiled)
        if written is None:
            raise ValueError("XLA can't write its code to a file")
        with jax.enable_x64(True):  # types of random keys are asked for their numbers
            record = Record(
                _shown(made.fun_name),
                "",
                time.perf_counter() - start,
                arguments=tuple(map(kind_of_key, made.in_avals)),
                results=tuple(Result.of(x, kind_of_key(x)) for x in made.out_avals),
            )
        if not self._programs.write(program, dumps(record), written):
            raise ValueError("the server can't write to its store")


def _shown(name: str) -> str:
    """A client's text as it may go to the terminal of the server's owner."""
    return "".join(filter(str.isprintable, name))[:80]
