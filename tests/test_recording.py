"""What a trace is known to have read: calls that read what is not in the program."""

import functools
import gc
import os
import random
import sys
import threading
import time
import warnings
import weakref

import numpy as np
import pytest

import jfi
from jfi import autojit


HOLDERS = """
import functools, operator, os, random, time, types
import importlib
import numpy as np

class Held:
    dice = random
    draw = staticmethod(random.random)
    def __init__(self): self.dice = random
    @property
    def more(self): return random
    def method(self): return self.dice.random()

held, table = Held(), {"dice": random}
tools = types.SimpleNamespace(np=np, inner=table)
again = functools.partial(random.gauss, 0, 1)
def by_default(dice=random): return dice.random()
def closure():
    import random as dice
    return lambda: dice.random()
closed = closure()
def chooses(): return random
"""
WAYS = {
    "an attribute of an object": "held.dice.random()",
    "an attribute of a class": "Held.draw()",
    "a class attribute": "Held.dice.random()",
    "a property": "held.more.random()",
    "a method": "held.method()",
    "a dict": "table['dice'].random()",
    "a namespace": "tools.inner['dice'].random()",
    "NumPy in a namespace": "tools.np.random.rand()",
    "getattr": "getattr(held, 'di' + 'ce').random()",
    "a name made up": "getattr(random, 'ran' + 'dom')()",
    "attrgetter": "operator.attrgetter('dice.random')(held)()",
    "a partial": "again()",
    "a partial in the body": "functools.partial(random.gauss, 0)(1)",
    "a default": "by_default()",
    "a closure": "closed()",
    "a result": "chooses().random()",
    "a lambda in the body": "(lambda d: d.random())(random)",
    "a list": "[random][0].random()",
    "sys.modules": "__import__('random').random()",
    "import_module": "importlib.import_module('random').random()",
    "the clock": "(held.dice and time.perf_counter())",
    "an alias of the clock": "getattr(time, 'perf' + '_counter')()",
    "another module's": "os.urandom(3)[0] + os.urandom(3)[1] / 1e3",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_draw_is_fresh_however_the_code_comes_to_it(way):
    names: dict = {"__name__": "a_script"}
    exec(HOLDERS, names)
    names["x"] = None
    exec(f"def f(x): return x + {way}", names)
    f = autojit(names["f"])
    random.seed(0), np.random.seed(0)
    with pytest.warns(jfi.UncompiledWarning, match=r"f\(\) uses .*\n.*uncompiled"):
        found = [float(f(0.0)) for _ in range(4)]
    assert len(set(found)) > 1
    if "rand" in way and "os." not in way:
        random.seed(0), np.random.seed(0)
        assert found == [float(names["f"](0.0)) for _ in range(4)]


SURROUNDINGS = """
argparse.ArgumentParser().parse_args([])  decimal.getcontext().prec
decimal.localcontext()  inspect.findsource(json.load)  inspect.getcomments(json.load)
inspect.getsourcelines(json.load)  jax.numpy.load(FILE)  linecache.getlines(FILE)
locale.getlocale()  multiprocessing.current_process()  os.environ.get("HOME")
os.getcwd()  pathlib.Path(FILE).exists()  platform.node()  resource.getrusage(0)
socket.gethostname()  socket.socket().close()  sys._getframe()  sys.argv  sys.path
sys.stdin  tempfile.gettempdir()  threading.get_ident()  time.time()  uuid.uuid1()
""".replace("\n", "  ").split("  ")[1:-1]


@pytest.mark.parametrize("place", ["outside", "inside"])
@pytest.mark.parametrize("read", SURROUNDINGS)
def test_what_is_around_the_process_is_read_at_each_call(tmp_path, read, place):
    np.save(tmp_path / "a.npy", np.ones(2))
    names: dict = {"__name__": "a_script", "FILE": str(tmp_path / "a.npy")}
    imports = f"import json, {read.partition('(')[0].rpartition('.')[0]}"
    imports = imports.replace(".Path", "").replace(".ArgumentParser", "")
    imports = imports.replace("os.environ", "os")
    outside, inside = (imports, "") if place == "outside" else ("", imports)
    exec(f"{outside}\ndef f(x):\n    {inside}\n    {read}\n    return x", names)
    with pytest.warns(jfi.UncompiledWarning, match="can change without being seen"):
        autojit(names["f"])(1.0)


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_a_draw_that_python_has_kept_from_the_one_before_is_fresh():
    def noise(x):
        return x + random.gauss(0, 1)

    def two_of_its_own(x):
        dice = random.Random(7)
        return x + dice.gauss(0, 1) * dice.gauss(0, 1)

    for fn in (noise, two_of_its_own):
        drawn = []
        for run in (fn, autojit(fn)):
            random.seed(0)
            random.gauss(0, 1)  # it has made two numbers, and kept one
            drawn.append([float(run(1.0)) for _ in range(4)])
        np.testing.assert_allclose(*drawn, rtol=1e-6)
    with warnings.catch_warnings(action="error"):  # what follows from a seed is no draw
        autojit(two_of_its_own)(1.0)


def test_the_warning_names_the_call_and_the_line():
    f = autojit(lambda x: x + time.perf_counter())
    line = sys._getframe().f_lineno - 1
    with pytest.warns(
        jfi.UncompiledWarning,
        match=rf"uses time\.perf_counter \(test_recording\.py:{line}\)",
    ):
        f(1.0)


def test_a_path_that_reads_nothing_is_compiled():
    @autojit
    def f(x, timed):
        return x + (time.perf_counter() if timed else 0)

    assert float(f(1.0, False)) == 1.0
    with pytest.warns(jfi.UncompiledWarning):
        assert f(1.0, True) != f(1.0, True)
    assert f.cache_info().traces == 1


def test_what_the_trace_came_to_before_the_call_is_undone():
    class Model:
        def __init__(self):
            self.n, self.log = 0, []

        @autojit
        def step(self, x):
            self.n = self.n + 1
            self.log.append(x)
            return x * random.random()

    model = Model()
    with pytest.warns(jfi.UncompiledWarning):
        model.step(1.0)
    model.step(1.0)
    assert (model.n, model.log) == (2, [1.0] * 2)


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_whoever_catches_everything_does_not_hide_a_call():
    @autojit
    def f(x):
        try:
            t = random.random()
        except BaseException:
            t = 0.0
        return x + t

    assert f(0.0) != f(0.0)


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_a_call_in_an_inner_function_that_is_compiled_too():
    inner = autojit(lambda x: x + random.random())
    outer = autojit(lambda x: inner(x) * 2)
    assert outer(0.0) != outer(0.0)
    assert inner(0.0) != inner(0.0)


def test_a_report_of_the_time_is_no_reading_of_it(caplog):
    import logging

    @autojit
    def f(x):
        logging.getLogger("a_script").warning("traced")
        warnings.warn("traced", stacklevel=1)
        return x * 2

    with pytest.warns(UserWarning, match="traced"):
        f(1.0)
    assert f.cache_info().traces == 1


def test_a_profiler_goes_on():
    seen = set()

    def profile(frame, event, arg):
        seen.add(frame.f_code.co_name)

    def seen_body(x):
        return x * 3

    sys.setprofile(profile)
    try:
        autojit(seen_body)(1.0)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert "seen_body" in seen


def test_cprofile_goes_on_after_a_trace():
    import cProfile

    def after():
        return 1

    profiler = cProfile.Profile()
    profiler.enable()
    autojit(lambda x: x * 4)(1.0)
    after()
    profiler.disable()
    assert any("after" in str(key) for key in map(str, profiler.getstats()))


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_threads_keep_records_of_their_own():
    clock = autojit(lambda x: x + random.random())
    plain = autojit(lambda x, k: x + k)
    found: list = []

    def work(k):
        found.append((clock(0.0) != clock(0.0), float(plain(1.0, k)) == 1.0 + k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert found == [(True, True)] * 4
    assert plain.cache_info().traces == 4


@functools.lru_cache
def noise_of(seed):
    """It remembers what it read."""
    return random.random() + np.random.rand() + time.time()


def test_what_runs_outside_of_the_trace_is_not_recorded():
    f = autojit(lambda x: x * noise_of(3))
    assert f(1.0) == f(1.0) == np.float32(noise_of(3))  # an UncompiledWarning fails
    noise_of.cache_clear()
    assert f(1.0) == np.float32(noise_of(3))


def drawing(v):
    return v + np.random.rand() + random.random()


@pytest.mark.parametrize("over", [lambda g: g, jfi.vmap], ids=["alone", "vmap"])
def test_a_run_on_sample_values_draws_nothing(over):
    host = jfi.from_numpy(drawing)
    f = autojit(lambda x: over(host)(x))
    random.seed(0), np.random.seed(0)
    found = f(np.zeros(1, np.float32))
    random.seed(0), np.random.seed(0)
    assert float(found[0]) == pytest.approx(drawing(0.0))


def test_a_function_of_torch_may_draw():
    torch = pytest.importorskip("torch")
    f = autojit(jfi.from_torch(lambda v: v + torch.randn(2)))
    assert (f(np.ones(2)) != f(np.ones(2))).all()
    g = autojit(lambda x: jfi.from_torch(lambda v: v + torch.randn(2))(x))
    assert (g(np.ones(2)) != g(np.ones(2))).all()


def test_nothing_is_asked_of_what_the_body_calls():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("compared")

        def __hash__(self):
            return 1

        def __getattr__(self, name):
            raise RuntimeError(f"asked for {name}")

        def __call__(self, x):
            return x

    odd = Odd()
    assert autojit(lambda x: odd(x))(1.0) == 1.0  # a warning fails


def test_what_python_runs_in_between_is_not_the_body():
    ended = []

    class Held:
        def __del__(self):
            ended.append(time.time())

    def note(phase, info):
        ended.append(time.perf_counter())

    def body(x):
        held = Held()
        held.itself = held  # it goes when garbage is collected
        held = Held()
        weakref.finalize(held, os.getcwd)
        del held
        gc_of_python()
        return x

    gc.callbacks.append(note)
    try:
        assert autojit(body)(1.0) == 1.0  # a warning fails
    finally:
        gc.callbacks.remove(note)
    assert len(ended) >= 4


def gc_of_python():
    """Makes so many objects that Python looks for garbage, which nobody asks for."""
    kept = [[] for _ in range(100_000)]
    kept.append(kept)


def test_a_debugger_goes_on():
    lines = []

    def trace(frame, event, arg):
        lines.append(event)
        return trace

    f = autojit(lambda x: x + 1)
    around = sys.gettrace()
    sys.settrace(trace)
    try:
        f(1.0)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(around)
    assert "line" in lines
