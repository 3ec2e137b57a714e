"""The store of compiled programs: damage, limits, several processes, `enable_cache`."""

import os
import shutil
import signal
import subprocess
import threading
import time
import warnings

import jax.numpy as jnp
import pytest
from subprocesses import PYTHON, environment, output_of

import jfi
from jfi._persistent._store import Store


KEY, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "programs")


def only_file(folder):
    (found,) = [path for path in folder.rglob("*") if len(path.name) == 64]
    return found


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


# ---- files ----


def test_what_is_written_is_read(store):
    assert store.read(KEY) is None
    assert store.write(KEY, b"record", b"code" * 1000)
    entry = Store(store.folder).read(KEY)
    assert entry.record == b"record"
    assert store.code(KEY, entry) == b"code" * 1000
    assert store.read(OTHER) is None
    assert [key for key, _ in store.entries()] == [KEY]
    assert store.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["key", "../key", "", KEY.upper(), KEY + ".lock"])
def test_what_is_no_key_of_a_program_is_not_read(store, name):
    assert store.write(KEY, b"record", b"code")
    secret = (store.folder / "key").read_bytes()
    assert store.read(name) is None
    assert (store.folder / "key").read_bytes() == secret


def cut(data):
    return data[:-1]


def grown(data):
    return data + b"x"


def flipped_record(data):
    at = data.index(b"record")
    return data[:at] + b"R" + data[at + 1 :]


def flipped_code(data):
    return data[:-1] + bytes([data[-1] ^ 1])


def of_an_older_jfi(data):
    return data.replace(b"jfi store 3", b"jfi store 2")


def nothing(data):
    return b""


def foreign(data):
    return b"PK\x03\x04" + b"\0" * 500


DAMAGE = [cut, grown, flipped_record, flipped_code, of_an_older_jfi, nothing, foreign]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_dropped_told_once_and_written_anew(store, damage):
    store.write(KEY, b"record", b"code")
    store.write(OTHER, b"record", b"code")
    for key in (KEY, OTHER):
        path = store.folder / key
        path.write_bytes(damage(path.read_bytes()))
    told = pytest.warns(jfi.CacheWarning, match=r"compiled again\.$")
    with told as caught:
        for key in (KEY, OTHER):
            entry = store.read(key)
            assert entry is None or store.code(key, entry) is None
            assert not (store.folder / key).exists()
    assert len(caught) == 1
    assert store.write(KEY, b"record", b"code")
    assert store.code(KEY, store.read(KEY)) == b"code"


def test_a_program_under_the_name_of_another_is_not_used(store):
    store.write(KEY, b"record", b"code")
    path = store.folder / OTHER
    path.write_bytes((store.folder / KEY).read_bytes())
    with pytest.warns(jfi.CacheWarning):
        assert store.read(OTHER) is None


def test_code_that_goes_while_it_is_read_is_none(store):
    store.write(KEY, b"record", b"code")
    entry = store.read(KEY)
    store.drop(KEY)
    assert store.code(KEY, entry) is None


def test_the_least_recently_used_go_first(tmp_path):
    store = Store(tmp_path, limit=3500)
    keys = [f"{k:02x}" * 32 for k in range(4)]
    for age, key in enumerate(keys[:3]):
        store.write(key, b"record", bytes(900))
        os.utime(store.folder / key, (1000 + age, 1000 + age))
    assert store.read(keys[0])  # used now
    store.write(keys[3], b"record", bytes(900))
    assert [store.read(key) is not None for key in keys] == [True, False, True, True]


def test_what_is_larger_than_the_store_is_not_kept(tmp_path):
    store = Store(tmp_path, limit=1000)
    store.write(KEY, b"record", bytes(100))
    assert not store.write(OTHER, b"record", bytes(1001))
    assert store.read(KEY)


def test_it_is_cleared(store):
    store.write(KEY, b"record")
    store.write(OTHER, b"record")
    assert store.clear() == 2
    assert list(store.entries()) == []


def test_remains_of_killed_writers_go_in_time(store):
    store.write(KEY, b"record")
    part = store.folder / "tmpx.part"
    part.write_bytes(b"half")
    store.write(KEY, b"record")
    assert part.exists()  # it may be another writer's
    os.utime(part, (1000, 1000))
    store.write(KEY, b"record")
    assert not part.exists()


# ---- folders ----


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_is_not_used(tmp_path, mode):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    store = Store(folder)
    with pytest.warns(jfi.CacheWarning, match=r"others can write.*chmod 700") as caught:
        found = store.write(KEY, b"record"), store.read(KEY)
    with store.claim(KEY):
        pass
    assert found == (False, None)
    assert len(caught) == 1
    assert list(folder.iterdir()) == []


def test_a_file_in_its_place_is_told_once(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        store = Store(folder)
        with pytest.warns(jfi.CacheWarning, match="is not used") as caught:
            found = store.write(KEY, b"record"), store.read(KEY)
        assert found == (False, None)
        assert len(caught) == 1


def test_a_folder_that_goes_away_comes_back(store):
    store.write(KEY, b"record")
    shutil.rmtree(store.folder)
    with store.claim(KEY):
        assert store.write(KEY, b"record")
    assert store.read(KEY)
    assert store.folder.stat().st_mode & 0o022 == 0


# ---- several at once ----


def test_a_thread_opens_it_while_another_asks_for_it(store, monkeypatch):
    fstat, other = os.fstat, Store(store.folder)

    def fstat_late(fd):  # the other has opened it while this thread asks for it
        store._files = other._files
        return fstat(fd)

    assert store.is_usable()
    assert other.is_usable()
    monkeypatch.setattr(os, "fstat", fstat_late)
    assert store.write(KEY, b"record", b"code")


def test_who_needs_the_same_program_waits_for_who_compiles_it(store):
    inside, order = threading.Event(), []

    def second():
        inside.wait()
        with store.claim(KEY):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with store.claim(KEY):
        inside.set()
        with store.claim(OTHER):
            order.append("first")
        assert order == ["first"]
    thread.join()
    assert order == ["first", "second"]
    assert not list(store.folder.rglob("*.lock"))


def test_a_claim_ends_where_compiling_fails(store):
    with pytest.raises(ZeroDivisionError), store.claim(KEY):
        raise ZeroDivisionError
    assert not list(store.folder.rglob("*.lock"))
    with store.claim(KEY):
        pass


def lose_a_process(store, number):
    """A process that ends by a signal while it loads a program."""
    code = f"""
import os, pathlib, signal
from jfi._persistent._store import Store
if {int(number)} != signal.SIGKILL:  # which can't be ignored, as under nohup
    signal.signal({int(number)}, signal.SIG_DFL)
with Store(pathlib.Path({str(store.folder)!r})).loading({KEY!r}):
    os.kill(os.getpid(), {int(number)})
"""
    done = subprocess.run([*PYTHON, "-c", code], env=environment(), check=False)
    assert done.returncode == -number


def test_code_that_ended_two_processes_that_loaded_it_is_dropped(store):
    store.write(KEY, b"record", b"code")
    for _ in range(2):
        lose_a_process(store, signal.SIGKILL)
        assert (store.folder / KEY).exists()
    told = pytest.warns(jfi.CacheWarning, match="has ended the processes that loaded")
    with told, store.loading(KEY) as safe:
        assert not safe
    assert [path.name for path in store.folder.iterdir()] == ["key"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_process_that_a_signal_ended_while_it_loaded_leaves_the_program(
    store, number
):
    store.write(KEY, b"record", b"code")
    for _ in range(3):
        lose_a_process(store, number)
        with store.loading(KEY) as safe:  # and this one has loaded it
            assert safe
    assert store.read(KEY)


def test_others_may_load_it_at_the_same_time(store):
    store.write(KEY, b"record", b"code")
    for _ in range(3):
        with store.loading(KEY) as safe, store.loading(KEY) as also:
            assert safe
            assert also
    assert store.read(KEY)


WRITER = """
import pathlib, sys
from jfi._persistent._store import Store
store = Store(pathlib.Path(sys.argv[1]), limit=2_000_000)
print("ready", flush=True)
k = 0
while True:
    k += 1
    key = f"{k % 50:02x}" * 32
    store.write(key, b"record", bytes([k % 50]) * 50_000)
    entry = store.read(key)
    if entry is not None and (code := store.code(key, entry)) is not None:
        assert code == bytes([k % 50]) * 50_000
"""


def test_killed_writers_leave_no_half_of_a_program(tmp_path):
    writers = [
        subprocess.Popen(
            [*PYTHON, "-c", WRITER, str(tmp_path)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    for writer in writers:
        writer.stdout.readline()
    store = Store(tmp_path, limit=2_000_000)
    wait_for(lambda: len(list(store.entries())) > 30)
    for writer in writers:
        assert writer.poll() is None, writer.stderr.read()
        writer.kill()
        writer.communicate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [key for k in range(50) if store.read(key := f"{k:02x}" * 32)]
        for key in found:
            assert store.code(key, store.read(key)) == bytes.fromhex(key[:2]) * 50_000
    assert len(found) > 20
    assert store.write(KEY, b"record")


# ---- with compiled programs ----

SCRIPT = """
import sys, time, warnings
import numpy as np
import jfi
@jfi.persistent
def f(x):
    for _ in range({steps}):
        x = jfi.sin(x) + 1
    return x
expected = f.__wrapped__.__wrapped__(np.ones(3, np.float32))
np.testing.assert_allclose(f(np.ones(3, np.float32)), expected, rtol=1e-5)
report = jfi.cache_report()
print(report.hits, report.misses, f.cache_info().traces)
"""


def run(tmp_path, *, steps=5, script=SCRIPT, **options):
    env = {"JFI_CACHE_DIR": str(tmp_path / "cache")}
    return output_of(script.replace("{steps}", str(steps)), env=env, **options)


def start(tmp_path, steps, script=SCRIPT):
    return subprocess.Popen(
        [*PYTHON, "-c", script.replace("{steps}", str(steps))],
        env=environment({"JFI_CACHE_DIR": str(tmp_path / "cache")}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_several_processes_compile_a_program_once(tmp_path):
    several = [start(tmp_path, 150) for _ in range(3)]
    found = []
    for process in several:
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
        found.append(out.strip())
    assert sorted(found) == ["0 1 1", "1 0 0", "1 0 0"]


CLAIMER = """
import pathlib, sys, time
from jfi._persistent._store import Store
with Store(pathlib.Path(sys.argv[1])).claim(sys.argv[2]):
    print("ready", flush=True)
    time.sleep(1000)
"""


def test_who_waits_for_a_killed_process_goes_on(store):
    claimer = subprocess.Popen(
        [*PYTHON, "-c", CLAIMER, str(store.folder), KEY],
        env=environment(),
        stdout=subprocess.PIPE,
    )
    assert claimer.stdout.readline() == b"ready\n"
    done = threading.Event()

    def wait():
        with store.claim(KEY):
            done.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not done.wait(0.2)
    claimer.kill()
    claimer.communicate()
    assert done.wait(60)
    thread.join()


def test_a_damaged_program_is_compiled_again(tmp_path):
    assert run(tmp_path) == "0 1 1"
    path = only_file(tmp_path)
    path.write_bytes(flipped_code(path.read_bytes()))
    telling = SCRIPT.replace("import jfi\n", TOLD, 1)
    assert run(tmp_path, script=telling) == "0 1 1\ntold 1"
    assert run(tmp_path) == "1 0 0"


TOLD = """import jfi, atexit
caught = warnings.catch_warnings(record=True)
told = caught.__enter__()
warnings.simplefilter("always")
kinds = lambda: [warning.category for warning in told]
atexit.register(lambda: print("told", kinds().count(jfi.CacheWarning)))
"""


# What is imported late is imported before: others may not read the files of Python.
READ_ONLY = SCRIPT.replace("import jfi\n", TOLD, 1).replace(
    "@jfi",
    """
import os
import jax, jaxlib.mlir.dialects.mhlo, numpy.testing
jax.jit(lambda x: jax.numpy.sin(x) + 1).lower(np.ones(3, np.float32)).compile()
cache = os.environ["JFI_CACHE_DIR"]
os.environ["JFI_CACHE_DIR"] = cache + "-before"
for _ in range(2):
    jfi.persistent(lambda x: jfi.sin(x))(np.ones(3, np.float32))
os.environ["JFI_CACHE_DIR"] = cache
os.setgid(65534)
os.setuid(65534)  # root may write anywhere
@jfi""",
    1,
)


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user to become")
def test_a_read_only_folder_is_read(tmp_path):
    cache = tmp_path / "cache"
    assert run(tmp_path) == "0 1 1"
    for path in (cache, *cache.rglob("*")):
        os.chown(path, 65534, 65534)
        path.chmod(0o500 if path.is_dir() else 0o400)
    for path in list(tmp_path.parents)[:3]:
        path.chmod(path.stat().st_mode | 0o055)
    tmp_path.chmod(0o755)
    assert run(tmp_path, script=READ_ONLY) == "2 1 0\ntold 0"
    assert run(tmp_path, script=READ_ONLY, steps=6) == "2 1 1\ntold 1"


FULL = SCRIPT.replace("import jfi\n", TOLD, 1).replace(
    "@jfi",
    """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
@jfi""",
    1,
)


def test_a_full_disk_is_told_once(tmp_path):
    env = {"JAX_COMPILATION_CACHE_DIR": ""}
    full = FULL + "f(np.ones(4, np.float32)); f(np.ones(5, np.float32))\n"
    found = output_of(
        full.replace("{steps}", "5"),
        env={"JFI_CACHE_DIR": str(tmp_path / "cache"), **env},
    )
    assert found == "0 1 1\ntold 1"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["key"]
    assert run(tmp_path) == "0 1 1"


ENABLED = """
import sys
import jfi
import numpy as np
jfi.enable_cache(sys.argv[1] if len(sys.argv) > 1 else None)
@jfi.autojit
def step(x, n):
    return x * n
batch = jfi.vmap_automatically(lambda d: d["x"] * d["n"], {"x": np.ones(3), "n": 2})
last = jfi.scan_while(lambda c: c < 2, lambda c: (c + 1, c), 0.0, max_steps=4)
print(step(np.ones(2), 3).tolist(), batch.tolist())
report = jfi.cache_report()
print(report.hits, report.misses, step.cache_info().traces, report.folder)
"""


def test_enable_cache_keeps_what_jfi_compiles(tmp_path):
    env = {"JFI_CACHE_DIR": str(tmp_path), "JAX_COMPILATION_CACHE_DIR": ""}
    cold = output_of(ENABLED, env=env).splitlines()
    warm = output_of(ENABLED, env={**env, "PYTHONHASHSEED": "5"}).splitlines()
    assert cold[0] == warm[0] == "[3.0, 3.0] [2.0, 2.0, 2.0]"
    hits, misses, traces, folder = cold[1].split()
    assert (hits, traces, folder) == ("0", "1", f"{tmp_path}/programs")
    assert int(misses) >= 2
    assert warm[1].split() == [misses, "0", "0", folder]
    assert list((tmp_path / "jax").iterdir())


def test_enable_cache_refuses_what_is_no_folder():
    with pytest.raises(TypeError):
        jfi.enable_cache(3)


def test_jax_gets_no_folder_that_others_can_write(tmp_path):
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax").chmod(0o777)
    code = f"""
import warnings, jax, jfi
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    jfi.enable_cache({str(tmp_path)!r})
print([str(w.message) for w in told if w.category is jfi.CacheWarning])
print(repr(jax.config.jax_compilation_cache_dir))
"""
    env = {"JAX_COMPILATION_CACHE_DIR": ""}
    told, folder = output_of(code, env=env).splitlines()
    assert "others can write" in told
    assert folder in ("None", "''")


def test_the_home_of_a_user_who_is_not_there_is_a_name_like_others(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JFI_CACHE_DIR", "~nobody_here/store")
    assert float(jfi.persistent(lambda x: x + 41, mode="disk")(1.0)) == 42.0
    assert (tmp_path / "~nobody_here" / "store" / "programs").is_dir()


def test_the_report_prints_as_a_text(tmp_path):
    jfi.enable_cache(tmp_path)
    step = jfi.autojit(lambda x, n: x - n)
    before = jfi.cache_report()
    step(jnp.ones(7), 3)
    after = jfi.cache_report()
    assert after.misses == before.misses + 1
    assert after.programs == 1
    assert after.bytes == sum(
        info.st_size for _, info in Store(tmp_path / "programs").entries()
    )
    assert f"compiled programs in {tmp_path}/programs: 1, 0.0 MB" in repr(after)


def test_forked_processes_use_the_store(tmp_path):
    script = """
import multiprocessing, sys
import numpy as np
import jfi
f = jfi.persistent(lambda x: x + 2)
def child():
    assert f(np.ones(2)).tolist() == [3.0, 3.0]
    report = jfi.cache_report()
    print(report.hits, report.misses, flush=True)
for _ in range(2):
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == 0
"""
    assert run(tmp_path, script=script) == "0 1\n1 0"
