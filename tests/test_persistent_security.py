"""What others put into the way of the store: none of their code runs."""

import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from subprocesses import output_of

import jfi
from jfi._persistent._records import loads
from jfi._persistent._store import Store
from jfi._persistent._structures import UnwritableError, load_tree


KEY = "ab" * 32

# ---- another user ----

VICTIM, ATTACKER = 12001, 12002

# What is imported late is imported before: others may not read the files of Python.
SCRIPT = """
import os, pathlib, sys, tempfile, time, warnings
import numpy as np
import jfi
import jax, jaxlib.mlir.dialects.mhlo, jaxlib.mlir.passmanager, numpy.testing
warnings.simplefilter("ignore", jfi.JfiWarning)
base, x = pathlib.Path(os.environ["BASE"]), np.ones(3, np.float32)
cache = os.environ.pop("JFI_CACHE_DIR", None)
os.environ["JFI_CACHE_DIR"] = f"{base}/warm"
for _ in range(2):
    jfi.persistent(lambda x: jfi.cos(x), mode="disk")(x)

@jfi.persistent(mode="disk")
def first(x):
    return jfi.sin(x) + 1

@jfi.persistent(mode="disk")
def second(x):
    return jfi.sin(x) * 2

if cache is None:
    del os.environ["JFI_CACHE_DIR"], os.environ["HOME"]
else:
    os.environ["JFI_CACHE_DIR"] = cache
if "USER_ID" in os.environ:
    tempfile.tempdir = f"{base}/tmp"
    number = int(os.environ["USER_ID"])
    os.setgroups([]), os.setgid(number), os.setuid(number)
first(x)
if "WAITS" in os.environ:
    (base / "marks" / "ready").touch()
    while not (base / "marks" / "go").exists():
        time.sleep(0.01)
print(np.allclose(second(x), np.sin(x) * 2))
"""


class Payload:
    """A pickle that runs a command where it is read."""

    def __init__(self, marks):
        self.marks = marks

    def __reduce__(self):
        return os.system, (f"id -u > {self.marks}/owned",)


class Attack:
    """A folder in which a victim has its store, and an attacker tries.

    Attributes:
        base: The folder.
        evil: A store with the programs of `SCRIPT`, which the attacker has written.
    """

    def __init__(self, base, payload):
        self.base, self.evil = base, base / "evil"
        base.chmod(0o755)
        for name, mode in (("marks", 0o777), ("tmp", 0o1777), ("shared", 0o777)):
            (base / name).mkdir()
            (base / name).chmod(mode)
        # Keys and formats are no secret: who runs the same script has them.
        self.run(JFI_CACHE_DIR=str(base / "honest"))
        honest, own = (Store(base / name / "programs") for name in ("honest", "own"))
        code = pickle.dumps(Payload(base / "marks"))
        for path in entries(honest.folder):
            record = honest.read(path.name).record
            content = (code, b"") if payload == "record" else (record, code)
            own.write(path.name, *content)
            (forged,) = [p for p in entries(own.folder) if p.name == path.name]
            for name in (path.name, f"{path.name[:2]}/{path.name}"):
                target = self.evil / "programs" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(forged.read_bytes())
        self.by_attacker("true")
        for path in (self.evil, *self.evil.rglob("*")):
            os.chown(path, ATTACKER, ATTACKER)

    def run(self, **env):
        env = {name: value for name, value in env.items() if value is not None}
        return output_of(SCRIPT, env={"BASE": str(self.base), **env})

    def by_attacker(self, lines):
        shell = ["/bin/sh", "-c", f"cd {self.base}; {lines}"]
        subprocess.run(shell, user=ATTACKER, group=ATTACKER, extra_groups=[])

    def during(self, lines, cache):
        """What the victim's script prints where the attacker comes in between."""
        results = []
        env = {"JFI_CACHE_DIR": cache, "USER_ID": str(VICTIM), "WAITS": "1"}
        thread = threading.Thread(target=lambda: results.append(self.run(**env)))
        thread.start()
        while thread.is_alive() and not (self.base / "marks" / "ready").exists():
            time.sleep(0.01)
        self.by_attacker(lines)
        (self.base / "marks" / "go").touch()
        thread.join()
        return results


def entries(folder):
    return [path for path in folder.rglob("*") if len(path.name) == 64]


@pytest.fixture(params=["record", "code"])
def attack(request, monkeypatch):
    if not hasattr(os, "getuid") or os.getuid() != 0:
        pytest.skip("it takes root to act as two other users")
    monkeypatch.delenv("JFI_CACHE_DIR", raising=False)
    base = Path(tempfile.mkdtemp(prefix="jfi", dir="/tmp"))
    yield Attack(base, request.param)
    shutil.rmtree(base)


def test_entries_that_others_could_write_run_no_code(attack):
    cache = attack.base / "cache"
    cache.mkdir()
    os.chown(cache, VICTIM, VICTIM)
    assert attack.run(JFI_CACHE_DIR=str(cache), USER_ID=str(VICTIM)) == "True"
    # `chmod -R a+rwX`, mended at the top alone.
    for path in cache.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    for path in (cache, cache / "programs"):
        path.chmod(0o755)
    lines = """
    for name in $(cd evil/programs; ls); do
        for place in $(find cache -name $name -type f); do
            cat evil/programs/$name > $place
            cp evil/programs/$name $place.new && mv -f $place.new $place
        done
    done
    """
    assert attack.during(lines, str(cache)) == ["True"]
    assert not (attack.base / "marks" / "owned").exists()


def test_a_folder_that_is_swapped_runs_no_code(attack):
    (attack.base / "shared" / "cache").mkdir()
    os.chown(attack.base / "shared" / "cache", VICTIM, VICTIM)
    lines = (
        "mv shared/cache shared/old; cp -r evil shared/cache; chmod -R go-w shared/*"
    )
    cache = str(attack.base / "shared" / "cache")
    assert attack.during(lines, cache) == ["True"]
    assert not (attack.base / "marks" / "owned").exists()


def test_a_user_without_a_home_runs_no_code_of_who_was_there_before(attack):
    attack.by_attacker(f"mkdir tmp/jfi-{VICTIM}; chmod 777 tmp/jfi-{VICTIM}")
    lines = f"cd tmp/jfi-{VICTIM}; mv jfi old; cp -r ../../evil jfi; chmod -R go-w jfi"
    assert attack.during(lines, None) == ["True"]
    assert not (attack.base / "marks" / "owned").exists()


# ---- the same user: a broken disk, a restored backup, a joke ----


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "programs")


def a_pipe(path):
    os.mkfifo(path)


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(path.parent, os.O_RDONLY)  # its path may be too long
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
        os.close(folder)


def a_folder(path):
    path.mkdir()


def a_link(path):
    path.symlink_to(path.with_name("elsewhere"))


def a_link_to_nothing(path):
    path.symlink_to("nothing")


@pytest.mark.parametrize("put", [a_pipe, a_socket, a_folder, a_link, a_link_to_nothing])
def test_what_is_no_file_in_the_place_of_an_entry_is_a_miss_with_a_warning(store, put):
    store.write(KEY, b"record", b"code")
    path = store.folder / KEY
    path.rename(path.with_name("elsewhere"))
    put(path)
    with pytest.warns(jfi.CacheWarning, match=r"is not a file.* compiled again\.$"):
        assert store.read(KEY) is None
    assert store.write(KEY, b"record", b"code")
    assert store.code(KEY, store.read(KEY)) == b"code"


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_an_entry_that_others_can_write_is_not_read(store, mode):
    store.write(KEY, b"record", b"code")
    (store.folder / KEY).chmod(mode)
    with pytest.warns(jfi.CacheWarning, match="is not this user's alone"):
        assert store.read(KEY) is None


def test_an_entry_signed_with_another_key_is_not_read(store, tmp_path):
    other = Store(tmp_path / "other")
    other.write(KEY, b"record", b"code")
    assert store.is_usable()
    shutil.copy(other.folder / KEY, store.folder / KEY)
    with pytest.warns(jfi.CacheWarning, match="was not written by you"):
        assert store.read(KEY) is None


def test_code_beside_the_record_of_another_program_is_not_loaded(store):
    other = "cd" * 32
    store.write(KEY, b"record", b"code")
    store.write(other, b"record", b"evil")
    whole, changed = ((store.folder / k).read_bytes() for k in (KEY, other))
    (store.folder / KEY).write_bytes(whole.replace(b"code", b"evil"))
    with pytest.warns(jfi.CacheWarning, match="is damaged"):
        assert store.code(KEY, store.read(KEY)) is None
    assert changed.endswith(b"evil")


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o666])
def test_a_key_that_others_could_read_signs_nothing_any_more(store, mode):
    store.write(KEY, b"record", b"code")
    (store.folder / "key").chmod(mode)
    before = (store.folder / "key").read_bytes()
    fresh = Store(store.folder)
    with pytest.warns(jfi.CacheWarning, match="was not written by you"):
        assert fresh.read(KEY) is None
    assert (store.folder / "key").read_bytes() != before
    assert (store.folder / "key").stat().st_mode & 0o077 == 0


def test_a_record_is_data(store):
    marks = store.folder.parent
    payload = pickle.dumps(Payload(marks))
    with pytest.raises(ValueError, match="decode"):
        loads(payload)
    assert not (marks / "owned").exists()


SYSTEM = ["named", "os", "system"]
LAZY = ["object", ["named", "builtins", "map"], ["tuple", SYSTEM, ["list", "exit 7"]]]
RUNS_SOMETHING = {
    "a map, which a deque reads": ["made", "deque", [*LAZY, ["dict"], ["dict"]], None],
    "a partial": [
        "object", ["named", "functools", "partial"], ["tuple", SYSTEM, "exit 7"],
        ["dict"], ["dict"],
    ],
    "a function": ["object", ["type", "FunctionType"], ["tuple"], ["dict"], ["dict"]],
    "a number of an object": [
        "object", ["named", "builtins", "int"], ["tuple", ["shared", 0]], ["dict"],
        ["dict"],
    ],
    "a slot that is a property": [
        "object", ["shared", 1], ["tuple"], ["dict"], ["dict", ["run", SYSTEM]],
    ],
}  # fmt: skip


class WithProperty:
    @property
    def run(self):
        return self

    @run.setter
    def run(self, value):
        raise AssertionError("it is called")

    __int__ = run


@pytest.mark.parametrize("case", RUNS_SOMETHING)
def test_no_name_in_a_record_is_called(case):
    with pytest.raises(UnwritableError):
        load_tree(RUNS_SOMETHING[case], [WithProperty(), WithProperty])


def test_a_record_from_elsewhere_imports_nothing():
    assert "antigravity" not in sys.modules
    load_tree(["named", "antigravity", "fly"], (), imports=False)
    assert "antigravity" not in sys.modules


def test_a_folder_that_is_moved_away_is_still_the_one_that_was_checked(store):
    store.write(KEY, b"record", b"code")
    moved = store.folder.with_name("moved")
    store.folder.rename(moved)
    store.folder.mkdir()
    (store.folder / KEY).write_bytes(b"evil")
    assert store.code(KEY, store.read(KEY)) == b"code"
    assert (moved / KEY).exists()


@pytest.mark.parametrize("mode", [0o777, 0o772])
def test_enable_cache_in_a_folder_that_others_can_write_is_refused(tmp_path, mode):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    code = f"""
import warnings, jax, jfi, numpy as np
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    jfi.enable_cache({str(folder)!r})
    print(jfi.autojit(lambda x: x + 1)(np.float32(1)))
print([str(w.message) for w in told if w.category is jfi.CacheWarning])
print(repr(jax.config.jax_compilation_cache_dir))
"""
    result, told, chosen = output_of(
        code, env={"JAX_COMPILATION_CACHE_DIR": ""}
    ).splitlines()
    assert result == "2.0"
    assert told.count("others can write in") == 2
    assert f"chmod go-w {folder}" in told
    assert chosen in ("None", "''")
    assert list(folder.iterdir()) == []


def test_jax_gets_no_folder_with_a_file_that_others_could_write(tmp_path):
    code = f"""
import pathlib, warnings, jax, jfi
(folder := pathlib.Path({str(tmp_path)!r}) / "jax").mkdir()
folder.chmod(0o700)
(folder / "entry").touch()
(folder / "entry").chmod(0o666)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    jfi.enable_cache({str(tmp_path)!r})
print([str(w.message) for w in told if w.category is jfi.CacheWarning])
print(repr(jax.config.jax_compilation_cache_dir))
"""
    told, chosen = output_of(code, env={"JAX_COMPILATION_CACHE_DIR": ""}).splitlines()
    assert "others have written" in told
    assert chosen in ("None", "''")
