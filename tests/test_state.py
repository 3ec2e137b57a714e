"""`save_state` and `load_state`: what comes back, what is refused, damage and kills."""

import collections
import dataclasses
import enum
import errno
import functools
import json
import random
import zipfile
from typing import NamedTuple

import jax
import numpy as np
import pytest
from subprocesses import output_of

import jfi as jnp
from jfi._state._files import write


class Phase(enum.Enum):
    WARM_UP = 1
    TRAIN = 2


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float = 0.5
    activation: object = jnp.tanh


class Point(NamedTuple):
    x: object
    name: str


class Layer:
    __slots__ = ("bias", "weight")

    def __init__(self, n):
        self.weight, self.bias = jnp.ones((n, n)), jnp.zeros(n, "bfloat16")


class Counts(dict):
    def __init__(self, unit):
        self.unit = unit


class Model:
    def __init__(self, n=2):
        self.layers = [Layer(n), Layer(n)]
        self.tied, self.itself = self.layers[0], self
        self.settings, self.phase, self.best = Settings(), Phase.WARM_UP, None
        self.losses, self.counts = [], Counts("steps")
        self.apply = lambda weight, x: weight @ x
        self.recent = collections.deque(maxlen=3)
        self.groups = collections.defaultdict(list)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.npz"


def again(path, state, like):
    jnp.save_state(path, state)
    return jnp.load_state(path, like)


def same(a, b):
    return type(a) is type(b) and a.dtype == b.dtype and bool((a == b).all())


ARRAYS = {
    "float32": jnp.arange(6.0).reshape(2, 3),
    "bfloat16": jnp.ones(3, "bfloat16") / 3,
    "float8": jnp.ones(3, "float8_e4m3fn"),
    "another float8": jnp.ones(3, "float8_e5m2"),
    "int4": jnp.ones(3, "int4"),
    "complex": jnp.ones(2) * 1j,
    "bool": jnp.array([True, False]),
    "empty": jnp.zeros((0, 3)),
    "number": jnp.float32(3),
    "numpy": np.arange(3, dtype=">i2"),
    "float64 of NumPy": np.arange(3.0)[::2],
    "bfloat16 of NumPy": np.asarray(jnp.ones(3, "bfloat16")),
    "dates": np.array(["2026-01-01"], "datetime64[D]"),
    "fields": np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]),
    "NumPy's number": np.float32(0.1),
}


def test_arrays_come_back_as_they_were(path):
    found = again(path, ARRAYS, ARRAYS)
    assert [name for name in ARRAYS if not same(found[name], ARRAYS[name])] == []
    assert list(np.load(path)) == [f"state[{name!r}]" for name in ARRAYS] + [
        "state.json"
    ]
    without_like = jnp.load_state(path)
    assert [n for n in ARRAYS if not same(without_like[n], ARRAYS[n])] == []


def test_weak_types_and_keys_come_back(path):
    state = [jnp.asarray(2.0), jax.random.key(3), jax.random.split(jax.random.key(1))]
    weak, key, keys = again(path, state, state)
    assert weak.weak_type
    assert jax.random.bits(key) == jax.random.bits(jax.random.key(3))
    assert (jax.random.key_data(keys) == jax.random.key_data(state[2])).all()


PLAIN = [
    None, True, 0, -(10**30), "", "é\ud800\0", b"\xff", 0.1, -0.0, float("inf"), 1e-320,
    complex(-0.0, 2), (), [[]], {}, {1, 2}, frozenset("a"),
    {1: "a", "1": "b", (1, 2.5): None, None: 0}, (1, [2, {"x": (3,)}]),
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_come_back_without_like(path, value):
    jnp.save_state(path, value)
    assert repr(jnp.load_state(path)) == repr(value)


def test_an_object_comes_back_with_its_code_from_like(path):
    model = Model()
    model.layers[0].weight *= 3
    model.phase, model.best, model.losses = Phase.TRAIN, 0.25, [2.0, 1.0]
    model.settings = Settings(0.1)
    model.counts["train"] = 7
    model.recent.extend([1, 2])
    model.groups["a"].append("b")
    like = Model()
    found = again(path, model, like)
    assert found is not like
    assert same(found.layers[0].weight, model.layers[0].weight)
    assert found.tied is found.layers[0]
    assert found.itself is found
    assert found.apply is like.apply
    assert (found.phase, found.best, found.losses) == (Phase.TRAIN, 0.25, [2.0, 1.0])
    assert found.settings == Settings(0.1)
    assert (found.counts, found.counts.unit) == ({"train": 7}, "steps")
    assert (list(found.recent), found.recent.maxlen) == ([1, 2], 3)
    assert found.groups["new"] == []
    assert (like.losses, like.layers[0].weight[0, 0]) == ([], 1)


def test_random_numbers_go_on(path):
    def generators():
        return [
            jnp.Generator(1), np.random.default_rng(2), np.random.RandomState(3),
            random.Random(4), jnp.random.default_rng(5),
        ]  # fmt: skip

    def draws(ours, numpys, legacy, pythons, like_numpy):
        return [
            float(jnp.rand()), float(ours.rand()), numpys.random(), legacy.rand(),
            pythons.random(), float(like_numpy.random()),
        ]  # fmt: skip

    jnp.manual_seed(0)
    state = generators()
    draws(*state)
    jnp.save_state(path, state)
    expected = draws(*state)
    jnp.manual_seed(1)
    assert draws(*jnp.load_state(path, generators())) == expected


def test_a_generator_of_the_system_has_no_state(path):
    jnp.save_state(path, {"rng": random.SystemRandom(), "w": 1.0})
    like = {"rng": random.SystemRandom(), "w": 0.0}
    found = jnp.load_state(path, like)
    assert found["w"] == 1
    assert 0 <= found["rng"].random() < 1


def test_random_numbers_are_left_alone_if_asked(path):
    jnp.manual_seed(0)
    jnp.save_state(path, 0, random=False)
    expected = [float(jnp.rand()), float(jnp.rand())]
    jnp.manual_seed(0)
    first = float(jnp.rand())
    jnp.load_state(path)
    assert [first, float(jnp.rand())] == expected


def test_a_run_goes_on_with_the_same_numbers(path):
    optax = pytest.importorskip("optax")
    optimizer = optax.adam(0.1)

    @jnp.jit
    def step(w, memory):
        gradient = jnp.grad(lambda w: jnp.sum((w - jnp.randn(3)) ** 2))(w)
        updates, memory = optimizer.update(gradient, memory)
        return optax.apply_updates(w, updates), memory

    def run(state, steps):
        for _ in range(steps):
            state = step(*state)
        return state

    start = jnp.zeros(3), optimizer.init(jnp.zeros(3))
    jnp.manual_seed(0)
    straight = run(start, 5)
    jnp.manual_seed(0)
    jnp.save_state(path, run(start, 2))
    jnp.manual_seed(7)
    resumed = run(jnp.load_state(path, like=start), 3)
    assert jax.tree.structure(resumed) == jax.tree.structure(straight)
    assert all(jax.tree.leaves(jax.tree.map(same, resumed, straight)))


def test_modules_of_libraries_come_back(path):
    equinox = pytest.importorskip("equinox")
    linen = pytest.importorskip("flax.linen")
    train_state = pytest.importorskip("flax.training.train_state")
    optax = pytest.importorskip("optax")
    net = linen.Dense(2)

    def states(key):
        params = net.init(key, jnp.ones(3))
        return {
            "equinox": equinox.nn.MLP(2, 2, 4, 1, key=key),
            "flax": train_state.TrainState.create(
                apply_fn=net.apply, params=params, tx=optax.sgd(0.1, momentum=0.9)
            ),
        }

    state = states(jax.random.key(0))
    found = again(path, state, states(jax.random.key(1)))
    assert all(
        same(a, b)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(state), strict=True)
        if isinstance(a, jax.Array)
    )
    x = jnp.ones(2)
    assert same(found["equinox"](x), state["equinox"](x))


def test_arrays_go_to_the_devices_of_like(path):
    device = jax.devices()[0]
    like = [jax.device_put(jnp.zeros(2), device), jax.ShapeDtypeStruct((2,), "float32")]
    jnp.save_state(path, [jnp.ones(2), jnp.ones(2)])
    committed, free = jnp.load_state(path, like)
    assert (committed.committed, free.committed) == (True, False)


LIKE = {"w": jnp.zeros(2), "layers": [jnp.zeros(1)], "n": 3, "p": Point(1, "a")}
MISFITS = [
    ({"w": jnp.zeros(3)}, r"state\['w'\] is float32\[3\] .* float32\[2\]"),
    ({"w": jnp.zeros(2, int)}, r"state\['w'\] is int32\[2\] .* float32\[2\]"),
    ({"w": np.zeros(2)}, r"state\['w'\] is float64\[2\]"),
    ({"w": 3}, r"state\['w'\] is 3 .* float32\[2\]"),
    ({"layers": [jnp.zeros(1)] * 2}, r"state\['layers'\] has 2 items .* and 1 in"),
    ({"layers": (jnp.zeros(1),)}, r"state\['layers'\] is tuple of 1 .* builtins.list"),
    ({"n": jnp.zeros(2)}, r"state\['n'\] is float32\[2\] .* there is 3"),
    ({"n": jnp.tanh}, r"state\['n'\] is .*tanh in the file"),
    ({"p": Settings()}, r"state\['p'\] is .*Settings .* a .*Point"),
    ({"p": Point(1, "a")._replace(x=[2])}, r"state\['p'\].x is list of 1 .* 1 in"),
    ({"more": jnp.zeros(2)}, r"state has 5 items .* and 4 in"),
]


@pytest.mark.parametrize(("change", "message"), MISFITS)
def test_what_does_not_fit_is_named(path, change, message):
    jnp.manual_seed(0)
    jnp.save_state(path, {**LIKE, **change})
    jnp.manual_seed(1)
    before = jnp.get_rng_state()
    with pytest.raises(jnp.StateError, match=message):
        jnp.load_state(path, like=LIKE)
    assert jnp.get_rng_state() == before


def test_a_new_attribute_is_named(path):
    jnp.save_state(path, Model())
    like = Model()
    like.momentum = jnp.zeros(2)
    with pytest.raises(jnp.StateError, match=r"state.momentum is not in the file"):
        jnp.load_state(path, like=like)


def test_classes_are_not_made_without_like(path):
    jnp.save_state(path, {"model": Settings()})
    with pytest.raises(jnp.StateError, match=r"state\['model'\] is .*Settings.*like="):
        jnp.load_state(path)


def test_64_bits_are_never_cut(path):
    with jax.enable_x64(True):
        jnp.save_state(path, {"w": jnp.ones(2, "float64")})
        assert jnp.load_state(path)["w"].dtype == np.float64
    with pytest.raises(jnp.StateError, match=r"state\['w'\] is float64 .*set_default"):
        jnp.load_state(path)


@pytest.mark.parametrize(
    "value",
    [
        iter([1]), (n for n in ()), np.ma.array([1]), np.array([None]), open,
        functools.partial(iter, iter([1])), OSError("x"), type("N", (int,), {})(3),
        zipfile.ZipFile.__new__(zipfile.ZipFile).__init__,
    ],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_what_is_no_data_is_refused_or_comes_from_like(path, value):
    jnp.save_state(path, 1)
    if callable(value) and not isinstance(value, functools.partial):
        assert again(path, [value], [value]) == [value]
        return
    with pytest.raises(jnp.StateError, match=r"state\.?\[0\]"):
        jnp.save_state(path, [value])
    assert jnp.load_state(path) == 1  # as it was


def test_other_keys_are_refused_by_name(path):
    jnp.save_state(path, {"w": jnp.ones(2), "step": 3})
    told = r"Only the file has 'step'\. Only like= has 'count'\."
    with pytest.raises(jnp.StateError, match=told):
        jnp.load_state(path, like={"w": jnp.ones(2), "count": 0})


def test_a_traced_state_is_refused(path):
    with pytest.raises(jnp.StateError, match=r"state\[0\] is traced"):
        jnp.jit(lambda x: jnp.save_state(path, [x]))(1.0)


def test_deep_and_endless_states_are_refused(path):
    endless = ([],)
    endless[0].append(endless)
    with pytest.raises(jnp.StateError, match="contains itself"):
        jnp.save_state(path, endless)
    deep = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(jnp.StateError, match="nested too deeply"):
        jnp.save_state(path, deep)


def test_a_damaged_file_is_refused(path):
    state = {"w": jnp.arange(3.0), "n": [1, "two"]}
    jnp.save_state(path, state)
    good = path.read_bytes()
    for cut in range(0, len(good), 7):
        path.write_bytes(good[:cut])
        with pytest.raises(jnp.StateError, match="damaged"):
            jnp.load_state(path)
    for k in range(len(good)):
        path.write_bytes(good[:k] + bytes([good[k] ^ 0x55]) + good[k + 1 :])
        with pytest.raises(jnp.StateError, match="damaged"):
            jnp.load_state(path)
    for added in (b"x", b"x" * 100):
        path.write_bytes(good + added)
        with pytest.raises(jnp.StateError, match="damaged"):
            jnp.load_state(path)
    path.write_bytes(good)
    assert same(jnp.load_state(path)["w"], state["w"])


def test_another_file_is_refused(path):
    np.savez(path, w=np.ones(2))
    with pytest.raises(jnp.StateError, match="no file of save_state"):
        jnp.load_state(path)
    with pytest.raises(FileNotFoundError):
        jnp.load_state(path.with_name("none"))


def test_a_path_that_can_not_be_a_file_is_named(path):
    with pytest.raises(
        jnp.StateError, match=r"a dict for the path.*save_state\(path, "
    ):
        jnp.save_state({"w": 1}, path)
    with pytest.raises(FileNotFoundError, match=f"no such folder: '{path}'"):
        jnp.save_state(path / "run.npz", 1)
    with pytest.raises(IsADirectoryError, match=f"a folder: '{path.parent}'"):
        jnp.save_state(path.parent, 1)


def test_a_full_disk_leaves_the_old_file(path, monkeypatch):
    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    jnp.save_state(path, 1)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        jnp.save_state(path, 2)
    assert jnp.load_state(path) == 1
    assert [file.name for file in path.parent.iterdir()] == [path.name]


KILLED = """
import os, random, signal, time
import numpy as np
import jfi as jnp
from jfi._state._files import write

path = {path!r}
folder = os.path.dirname(path)

def start():
    return dict(step=0, x=np.zeros(50_000), noise=np.random.default_rng(0))

def advance(state):
    state["step"] += 1
    state["x"] = state["x"] * 0.5 + state["noise"].normal(size=50_000)

reference, partial = start(), 0
jnp.save_state(path, start(), random=False)
for kill in range(30):
    pid = os.fork()
    if pid == 0:
        state = jnp.load_state(path, like=start())
        while True:
            advance(state)
            jnp.save_state(path, state, random=False)
    while not any(name.endswith(f"-{{pid}}.partial") for name in os.listdir(folder)):
        time.sleep(0.0003)  # until it saves
    time.sleep(random.uniform(0, 0.02))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    state = jnp.load_state(path, like=start())
    while reference["step"] < state["step"]:
        advance(reference)
    assert (state["x"] == reference["x"]).all(), kill
    partial += len(os.listdir(folder)) - 1
    assert len(os.listdir(folder)) <= 2
jnp.save_state(path, state, random=False)
print(state["step"] > 0, partial > 2, os.listdir(folder))
"""


def test_a_killed_run_goes_on(path):
    printed = output_of(KILLED.format(path=str(path)))
    assert printed.splitlines()[-1] == f"True True ['{path.name}']"


def changed_texts(text):
    """A text of a file with each of its parts replaced, one at a time."""
    junk = None, 3, -1, "x", [], {}, [[]], 1e999

    def changed(part):
        yield from junk
        pairs = list(enumerate(part) if isinstance(part, list) else ())
        pairs += list(part.items() if isinstance(part, dict) else ())
        for key, below in pairs:
            for other in changed(below):
                copied = part.copy()
                copied[key] = other
                yield copied
        if isinstance(part, dict):
            yield from ({k: v for k, v in part.items() if k != key} for key in part)

    return changed(text)


def test_a_forged_file_with_the_right_checksum_is_a_state_error(path):
    state = {"w": jnp.arange(3.0), "n": [1, "two"], "rng": np.random.default_rng(1)}
    jnp.manual_seed(5)
    jnp.save_state(path, state)
    with zipfile.ZipFile(path) as archive:
        text = json.loads(archive.read("state.json"))
    arrays = {"0": np.arange(3.0, dtype=np.float32)}
    before = jnp.get_rng_state()
    for forged in changed_texts({k: v for k, v in text.items() if k != "format"}):
        if not isinstance(forged, dict):
            continue
        write(path, forged, arrays)
        numbers = state["rng"].bit_generator.state
        try:
            jnp.load_state(path, like=state)
        except jnp.StateError:
            assert state["rng"].bit_generator.state == numbers
            assert str(jnp.get_rng_state()) == str(before)
        state["rng"].bit_generator.state = numbers
        jnp.set_rng_state(before)
