"""What `autojit` refuses, and what it says."""

import functools
import io
import multiprocessing
import queue
import sqlite3
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from autojitting import Box, Counted

import jfi
from jfi import AutoJitError, DefaultsError, autojit
from jfi._values import mark_static


pytestmark = pytest.mark.usefixtures("way")


# -------------------------------------------------------------------- refusals


class Closing:
    def __del__(self):
        pass


class Reference(weakref.ref):
    pass


KEPT = Box(1.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            lambda: (k for k in ()),
            r"an iterator for p\['v'\] \(a generator\), which can",
        ),
        (lambda: iter([1]), r"p\['v'\] = list\(p\['v'\]\)"),
        (lambda: map(abs, [1]), r"\(a map\)"),
        (
            io.StringIO,
            r"the file p\['v'\] \(a StringIO\).*once.*\n.*jax.debug.callback",
        ),
        (lambda: np.array([None]), r"Python objects for p\['v'\]"),
        (lambda: np.ma.masked_array([1.0]), r"a MaskedArray for p\['v'\]"),
        (
            lambda: np.random.default_rng(0),
            r"random generator p\['v'\] \(a Generator\)",
        ),
        (lambda: __import__("random").Random(0), "whose draws would be constants"),
        (threading.Event, r"the Event p\['v'\],.*\n.*before the call.*after"),
        (queue.Queue, "the Queue p.* threads"),
        (lambda: ThreadPoolExecutor(1), "the ThreadPoolExecutor p"),
        (lambda: [].append, "a method of a list"),
        (lambda: {}.keys(), "a dict_keys for"),
        (lambda: memoryview(b"a"), "memoryview for"),
        (lambda: sqlite3.connect(":memory:"), "a Connection for .* can't be copied"),
        (
            lambda: Reference(Closing),
            r"a weak reference .* for p\['v'\] \(a Reference\).*\n.*: p\['v'\]\(\)",
        ),
        (lambda: weakref.proxy(KEPT), "a weak proxy for .*\n.*the object itself"),
        (lambda: Closing(), "a Closing for .* __del__"),
        (lambda: type("Metres", (float,), {})(1.0), "a Metres for .* attributes"),
    ],
)
def test_refused_arguments(value, text):
    @autojit
    def solve(p):
        return 1.0

    made = value()
    if type(made).__name__ == "Metres":
        made.unit = "m"
    for _ in range(2):
        with pytest.raises(AutoJitError, match=text) as info:
            solve({"v": made})
        assert str(info.value).startswith("solve() got ")
    if isinstance(made, sqlite3.Connection):
        made.close()  # Python 3.13 warns of one that is left open


def test_what_cannot_be_opened_is_refused_where_the_body_uses_it():
    torch = pytest.importorskip("torch")

    class Task:
        def __init__(self):
            self.w, self.log = 2.0, {"file": io.StringIO()}
            self.rng, self.tensor = np.random.default_rng(0), torch.ones(2)

        def __getattr__(self, name):  # so that all attributes count
            raise AttributeError(name)

    task, model = Task(), torch.nn.Linear(1, 1)
    step = autojit(lambda t, x, name, *rest: t.w * x + len(name))
    assert step(task, 3.0, "ab", model) == 8
    task.w, task.log = 1.0, iter([])
    assert step(task, 3.0, "ab", model) == 5
    task.log = {"file": io.StringIO()}
    read = autojit(lambda t, x, name: getattr(t, name) * x)
    assert read(task, 3.0, "w") == 3
    for name in ("log", "rng", "tensor"):
        with pytest.raises(AutoJitError, match=r"t\.(log|rng|tensor)"):
            read(task, 3.0, name)
        assert read(task, 3.0, "w") == 3
    named = autojit(lambda t, x: t.w * x + len(t.log))
    with pytest.raises(AutoJitError, match=r"the file t\.log") as info:
        named(task, 3.0)
    assert "unused" not in str(info.value)
    for uses in (
        lambda t: t.rng.normal(), lambda t: (t.rng, 1), lambda t: t.rng is None,
        lambda t: setattr(t, "own", t.rng), lambda t: callable(getattr(t, "r" + "ng")),
        lambda t: [type(value).__name__ for value in vars(t).values()],
    ):  # fmt: skip
        with pytest.raises(AutoJitError, match=r"t\.(log|rng|tensor)"):
            autojit(uses)(task)


def test_what_a_partial_holds_is_refused_where_the_body_calls_it():
    class Task:
        def __init__(self):
            self.w, self.feed = 2.0, functools.partial(next, (i for i in (4.0, 5.0)))

    task = Task()
    step = autojit(lambda t, x, name: getattr(t, name) * x)  # so that all count
    assert step(task, 3.0, "w") == 6
    task.w = 5.0
    assert (step(task, 3.0, "w"), task.feed()) == (15, 4)
    with pytest.raises(AutoJitError, match=r"t\.feed\.args\[0\] \(a generator"):
        autojit(lambda t, name: getattr(t, name)())(task, "feed")
    assert task.feed() == 5


def test_methods_of_what_cannot_be_opened_are_left_out_as_well():
    class Task:
        def __init__(self):
            self.w, self.write = 2.0, io.StringIO().write
            self.queue = multiprocessing.Queue()

        def __getattr__(self, name):  # so that all attributes count
            raise AttributeError(name)

    task = Task()
    for x in (3.0, 4.0):
        assert autojit(lambda t, x: t.w * x)(task, x) == 2 * x
    has_queue = autojit(lambda t, x: x if t.queue is None else t.w * x)
    assert has_queue(task, 3.0) == 6
    with pytest.raises(AutoJitError, match=r"t\.write"):
        autojit(lambda t, x: (t.write("text"), x))(task, 3.0)


def test_refusals_name_the_place():
    class Model:
        def __init__(self):
            self.w = {"a": [0, iter([])]}

        @autojit
        def step(self, *xs, **kw):
            return 1.0 if self.w else 0.0

    bad = iter([])
    with pytest.raises(AutoJitError, match=r"self\.w\['a'\]\[1\]"):
        Model().step()
    model = Model()
    model.w = None
    with pytest.raises(AutoJitError, match=r"for xs\[1\] "):
        model.step(1.0, bad)
    with pytest.raises(AutoJitError, match=r"for k\[3\] "):
        model.step(k={3: bad})
    with pytest.raises(AutoJitError, match=r"for bad \("):
        autojit(lambda: bad)()


def test_torch_tensors_are_refused():
    torch = pytest.importorskip("torch")
    f = autojit(lambda m, x: x)
    with pytest.raises(AutoJitError, match=r"jnp\.asarray\(m\)"):
        f(torch.ones(2), 1.0)
    f = autojit(lambda m, x: m(x))
    with pytest.raises(AutoJitError, match=r"m\._parameters\['(weight|bias)'\]"):
        f(torch.nn.Linear(1, 1), 1.0)


def test_opaque_objects_are_settings_by_identity():
    spatial = pytest.importorskip("scipy.spatial")
    f = Counted(lambda tree, x: x * tree.n)
    trees = [spatial.cKDTree(np.zeros((n, 2))) for n in (3, 4)]
    assert [float(f(t, 1.0)) for t in trees * 2] == [3, 4, 3, 4]
    assert f.traces == 2
    lock = threading.Lock()
    assert autojit(lambda lk, x: x * (lk is lock))(lock, 2.0) == 2


def test_opaque_objects_that_can_be_written_are_refused():
    class Handle(Exception):  # an exception can't be made empty, as a C++ object
        value = property(lambda self: 1, lambda self, v: None)

    text = "(?s)a tests Handle for h, whose contents .*settings that you need"
    with pytest.raises(AutoJitError, match=text):
        autojit(lambda h, x: x)(Handle(), 1.0)


def test_marked_functions_pass_as_they_are():
    net = iter([])  # what can't be opened

    def host(x):
        return x * (net is not None)

    with pytest.raises(AutoJitError, match="an iterator for net"):
        autojit(lambda x: host(x))(1.0)
    mark_static(host)
    assert autojit(lambda x: host(x))(1.0) == 1

    @functools.wraps(host)  # copies the mark
    def wrapper(x):
        return host(x) * len(names)

    names = ["a"]
    f = autojit(lambda fn, x: fn(x))
    assert f(wrapper, 1.0) == 1
    names.append("b")
    assert f(wrapper, 1.0) == 2


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (Box, "the class Box"),
        (property(lambda self: 1), "@property first"),
        (functools.cached_property(lambda self: 1), "cached_property"),
        (3, r"got 3 \(a int\)"),
        ("text", "'text'"),
    ],
)
def test_refused_at_decoration(fn, text):
    with pytest.raises(AutoJitError, match=text):
        autojit(fn)


def test_generators_and_coroutines_are_refused_at_decoration():
    def generate():
        yield 1

    async def wait():
        return 1

    async def both():
        yield 1

    with pytest.raises(AutoJitError, match=r"generator function generate\(\)"):
        autojit(generate)
    for fn in (wait, both):
        with pytest.raises(AutoJitError, match="async function"):
            autojit(fn)


def test_numpys_own_functions_take_numbers_that_are_settings():
    assert autojit(np.add)(1, 2) == 3
    with pytest.raises(TypeError, match=r"write jnp.f\(x\)"):
        autojit(np.sin)(np.ones(2))


@pytest.mark.parametrize(
    "wide",
    [
        np.array([1, 2**40]),
        np.int64(-(2**31) - 1),
        np.array([2**32], np.uint64),
        {"at": [np.array([2**31])]},
    ],
)
def test_integers_that_jax_would_cut_are_refused(wide):
    f = autojit(lambda x: x, max_traces=8)
    f(jax.tree.map(lambda x: x * 0, wide))
    f(jax.tree.map(lambda x: x * 0, wide))
    for _ in range(2):
        with pytest.raises(DefaultsError, match=r"<lambda>\(\) got u?int64 data from"):
            f(wide)
    with jax.enable_x64(True):
        assert jax.tree.all(jax.tree.map(np.array_equal, f(wide), wide))


def test_so_are_those_of_loops_and_batches():
    wide = np.array([1, 2**40])
    with pytest.raises(DefaultsError, match=r"scan\(\) got int64 data"):
        jfi.scan(lambda c, x: (c + x, None), 0, wide)
    with pytest.raises(DefaultsError, match="got int64 data"):
        jfi.vmap_automatically(lambda x: x + 1, wide)
