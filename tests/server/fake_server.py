"""A server whose programs are Python functions.

Its arguments: the base folder, and options as `name=value`. A store is a folder with
a file for each key, which says what the program is.
"""

import hashlib
import json
import logging
import os
import resource
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from jfi_server import watch
from jfi_server._remote import Listening
from jfi_server.addresses import Certificates
from jfi_server.limits import parsed
from jfi_server.server import Options, run


def forever(arrays):
    while True:
        time.sleep(0.05)


def slowly(arrays):
    time.sleep(0.6)
    return arrays


def exhausted(arrays):
    raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes")


def exiting(arrays):
    raise SystemExit(3)


def missing(arrays):
    return {}["a key of its own"]


def crashing(arrays):
    os.abort()


RUN = {
    "echo": lambda arrays: arrays,
    "double": lambda arrays: [a + a for a in arrays],
    "objects": lambda arrays: [np.array([None])],
    "forever": forever,
    "slowly": slowly,
    "exhausted": exhausted,
    "exiting": exiting,
    "missing": missing,
    "crashing": crashing,
}


class Program:
    def __init__(self, about):
        self.about = about
        self.run = RUN[about["name"]]


def hosted(store, key):
    path = store / key
    if not path.exists():
        raise KeyError(key)
    with open(store / "loads", "a") as file:
        file.write(f"{key}\n")
    about = json.loads(path.read_text())
    time.sleep(about.get("loading", 0))
    if about["name"] == "crashing at load":
        os.abort()
    if about["name"] == "damaged":
        raise ValueError("the entry is damaged")
    return Program(about)


class RemoteStore:
    """Programs that clients send: their code is a name of RUN."""

    def __init__(self, folder, limits):
        self.folder, self.kept = folder / "sent", {}
        self.folder.mkdir(exist_ok=True)

    def describe(self):
        return {"platform": "fake"}

    def find(self, client, key):
        return self.kept.get((client, key))

    def count(self, client):
        return sum(1 for name, _ in self.kept if name == client)

    def keep(self, client, key, record, code):
        name = code.decode()
        if name == "compiled for long":
            time.sleep(3)
        if name not in RUN:
            raise ValueError(f"there is no {name}")
        program = hashlib.sha256(code).hexdigest()
        about = {"name": name, "source": "there.py:1", "seconds": 1, "bytes": 1}
        (self.folder / program).write_text(json.dumps(about))
        self.kept[client, key] = program, record
        return program


if __name__ == "__main__":
    logging.basicConfig(level="INFO")
    base, *words = sys.argv[1:]
    given = dict(word.split("=") for word in words)
    if files := given.pop("files", None):
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), int(files)))
    watch.PATIENCE = float(given.pop("patience", watch.PATIENCE))
    kinds = {"store": Path, "memory": int, "idle_timeout": float}
    listening = None
    if port := given.pop("port", None):
        limits = {"connections": int(given.pop("connections", 256))}
        files = [given.pop(name, None) for name in ("tls", "key", "clients")]
        certificates = Certificates(*map(Path, files)) if all(files) else None
        listening = Listening("127.0.0.1", int(port), certificates, **limits)
    chosen = [f"{n}={given.pop(n)}" for n in ("message", "compile") if n in given]
    options = {name: kinds[name](value) for name, value in given.items()}
    store = partial(RemoteStore, Path(base))
    run(
        Options(Path(base), **options, listening=listening, limits=parsed(chosen)),
        hosted,
        store,
    )
