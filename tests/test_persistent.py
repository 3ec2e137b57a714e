"""Persistent functions: what they give in this process, and in the next ones."""

import functools
import inspect
import pickle
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from subprocesses import output_of

import jfi
from jfi import _jax_internals


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("JFI_SERVER_DIR", str(tmp_path / "none"))


def twice(script, tmp_path):
    """What a script prints in a first process, and in the next one."""
    folders = {"JFI_CACHE_DIR": str(tmp_path / "cache")}
    folders["JFI_SERVER_DIR"] = str(tmp_path / "none")
    return [output_of(script, env=folders) for _ in range(2)]


# ---- the next process ----

# What only tracing does happens at each start: none of these is kept.
EFFECTS = """
import builtins, functools, logging, os, pathlib, sys, warnings
import numpy as np
import jfi
warnings.simplefilter("ignore", jfi.JfiWarning)
handler = logging.StreamHandler(sys.stdout)
logging.getLogger().addHandler(handler)
log, seen, counts, total = print, [], {"n": 0}, 0
tell = functools.partial(print, "by a partial")
from sys import stdout
folder = os.environ["JFI_CACHE_DIR"] + "/.."
file, text = f"{folder}/saved.npy", pathlib.Path(f"{folder}/text")

class Counter:
    n = 0

@jfi.persistent
def prints(x):
    print("prints")
    return x

@jfi.persistent
def prints_by_another_name(x):
    log("by another name")
    return x

@jfi.persistent
def prints_by_a_partial(x):
    tell("...")
    return x

@jfi.persistent
def prints_by_an_argument(x, say):
    say("by an argument")
    return x

@jfi.persistent
def logs(x):
    logging.error("logs")
    return x

@jfi.persistent
def logs_after_an_import(x):
    import logging as other
    other.error("after an import")
    return x

@jfi.persistent
def warns(x):
    from warnings import warn
    warn("warns")
    return x

@jfi.persistent
def writes_to_a_stream(x):
    sys.stdout.write("to a stream\\n")
    return x

@jfi.persistent
def writes_to_a_stream_by_name(x):
    stdout.write("to a stream by name\\n")
    return x

@jfi.persistent
def fills_a_list(x):
    seen.append(x.shape)
    return x

@jfi.persistent
def counts_in_a_dict(x):
    counts["n"] += 1
    return x

@jfi.persistent
def counts_in_a_global(x):
    global total
    total += 1
    return x

class Model:
    @jfi.persistent
    def counts_in_a_class(self, x):
        Counter.n += 1
        return x

@jfi.persistent
def asks_for_a_hash(x):
    return x + (hash("text") % 1000)

@jfi.persistent
def asks_for_an_id(x):
    return id(x) > 0, x

@jfi.persistent
def draws_from_numpy(x):
    return x + np.random.default_rng().random()

@jfi.persistent
def calls_back(x):
    jfi.jax.debug.callback(lambda: print("calls back"))
    return x

@jfi.jax.jit
def jitted(x):
    print("in a jitted helper")
    return x

@jfi.persistent
def calls_what_prints(x):
    return jitted(x)

counted = []

@jfi.jax.jit
def counting(x):
    counted.append(3)
    return x

@jfi.persistent
def calls_what_counts(x):
    return counting(x)

@jfi.jax.custom_jvp
def ruled(x):
    builtins.print("in a custom rule")
    return x

ruled.defjvp(lambda p, t: (p[0], t[0]))

@jfi.persistent
def calls_what_is_ruled(x):
    return ruled(x)

@jfi.persistent
def saves(x):
    np.save(file, np.ones(2))
    return x

@jfi.persistent
def writes_a_file(x):
    text.write_text("written")
    return x

@functools.lru_cache
def remembered(n):
    print("remembered")
    return n

@jfi.persistent
def asks_what_remembers(x):
    return x + remembered(3)

x = np.ones(2, np.float32)
prints(x), prints_by_another_name(x), prints_by_a_partial(x)
prints_by_an_argument(x, print), logs(x), logs_after_an_import(x)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    warns(x)
print("warns" in [str(w.message) for w in told])
writes_to_a_stream(x), writes_to_a_stream_by_name(x)
fills_a_list(x), counts_in_a_dict(x), counts_in_a_global(x)
Model().counts_in_a_class(x)
print(seen, counts, total, Counter.n)
print(np.allclose(asks_for_a_hash(x), x + hash("text") % 1000))
asks_for_an_id(x), calls_back(x), asks_what_remembers(x)
jfi.jax.effects_barrier()
calls_what_prints(x), calls_what_counts(x), calls_what_is_ruled(x)
saves(x), writes_a_file(x)
print(counted, "saved", text.read_text(), np.load(file))
text.unlink(), os.unlink(file)
print(float(draws_from_numpy(x)[0]), file=sys.stderr)
report = jfi.cache_report()
print(sorted(report.not_kept))
"""


def test_effects_of_tracing_happen_at_each_start(tmp_path):
    cold, warm = twice(EFFECTS, tmp_path)
    assert cold == warm
    for what in ("prints", "by another name", "by a partial ...", "by an argument",
                 "logs", "after an import", "True", "to a stream",
                 "to a stream by name", "[(2,)] {'n': 1} 1 1", "True", "calls back",
                 "remembered", "in a jitted helper", "in a custom rule",
                 "[3] saved written [1. 1.]"):  # fmt: skip
        assert what in cold.splitlines()
    assert "prints" in cold.splitlines()[-1]


IDENTITY = """
import enum, sys
import numpy as np
import jfi
class Mark: pass
nothing, mark = object(), Mark()
class Color(enum.Enum):
    RED = 1
def helper(x): return x
@jfi.persistent
def f(o, x):
    return nothing, mark, Color.RED, helper, Mark, np.sin, np, o, [o, x]
o = Mark()
found = f(o, np.ones(2))
print([a is b for a, b in zip(found, (nothing, mark, Color.RED, helper, Mark, np.sin,
                                      np, o))], found[-1][0] is o)
print(f.cache_info().traces, jfi.cache_report().not_kept, file=sys.stderr)
print(jfi.cache_report().not_kept)
"""


COUNTING = """
import jax, jfi
traces = []
jax.monitoring.register_event_duration_secs_listener(
    lambda _, seconds, fun_name="", **more: traces.append(fun_name)
)
class Model:
    def __init__(self): self.calls, self.log = 0, []
    @jfi.persistent
    def step(self, x):
        self.calls += 1
        self.log.append(x)
        return x * 2
    @jfi.persistent
    def read(self, x): return x * self.calls
model = Model()
for k in range(4): model.step(float(k))
print(model.calls, [*map(float, model.log)], float(model.read(1.0)), end=" ")
print(sorted({*traces} & {'read', 'step'}))
"""


def test_what_only_counts_is_not_traced_at_each_start(tmp_path):
    cold, warm = twice(COUNTING, tmp_path)
    told = "4 [0.0, 1.0, 2.0, 3.0] 4.0"
    assert (cold, warm) == (f"{told} ['read', 'step']", f"{told} []")


UNFORESEEN = """
import jax, jfi
traces = []
jax.monitoring.register_event_duration_secs_listener(
    lambda _, seconds, fun_name="", **more: traces.append(fun_name)
)
rate = 3.0
class Scaled:
    def __init__(self, x): self.x = x * rate
one = Scaled(1.0)
@jfi.persistent
def made_anew(x): return type(one)(x).x
print(float(made_anew(2.0)), traces.count("made_anew") > 0)
"""


def test_what_ran_unforeseen_is_known_after_a_restart(tmp_path):
    assert twice(UNFORESEEN, tmp_path) == ["6.0 True", "6.0 False"]
    other = UNFORESEEN.replace("rate = 3.0", "rate = 4.0")
    assert twice(other, tmp_path) == ["8.0 True", "8.0 False"]


FOUND = """
import jfi

@jfi.persistent
def scaled(x):
    return 3.5 * x

print(scaled)
scaled(1.0)
print(scaled)
"""


def test_persistent_function_whose_program_was_found_does_not_say_it_has_none(tmp_path):
    first, second = twice(FOUND, tmp_path)
    last = [text.splitlines()[-1] for text in (first, second)]
    assert "no program yet" in first.splitlines()[0]
    assert [text.rpartition(", ")[2] for text in last] == [
        "1 program>",
        "nothing compiled here>",
    ]


def test_what_is_told_by_identity_is_that_of_this_process(tmp_path):
    cold, warm = twice(IDENTITY, tmp_path)
    assert cold == warm
    assert warm.splitlines()[0] == f"{[True] * 8} True"


# A jitted helper is told by identity: what it captured is looked at for each new shape.
CAPTURED = """
import jax, numpy as np
import jfi
w = np.ones(2, np.float32)
@jax.jit
def h(x): return x * w.sum()
@jfi.persistent
def f(x): return h(x)
print(f(np.ones(2, np.float32)))
EDIT
print(f(np.ones(3, np.float32)))
"""


def test_what_a_jitted_helper_captured_counts_when_it_is_traced(tmp_path):
    edited = CAPTURED.replace("EDIT", "w[:] = 5")
    assert twice(edited, tmp_path)[0].splitlines() == ["[2. 2.]", "[10. 10. 10.]"]
    plain = twice(CAPTURED.replace("EDIT", ""), tmp_path)
    assert [out.splitlines() for out in plain] == [["[2. 2.]", "[2. 2. 2.]"]] * 2


# How many functions are under autojit before those of a program is no part of it.
AUTOJITTED = """
import jax
import jfi
others = [jfi.autojit(lambda x: x) for _ in range(OTHERS)]
@jfi.autojit
def double(x, k=2): return x * k
@jfi.autojit(static="scale")
def scaled(x, scale=3.0): return x * scale
@jax.jit
def helper(x): return double(x) + 1
by_jit = jax.jit(scaled)
@jfi.persistent
def f(x): return helper(x)
@jfi.persistent
def g(x): return by_jit(x)
both = jfi.persistent(scaled)
print(f(1.0), g(1.0), both(1.0), both(1.0, 5.0), jfi.cache_report().misses)
"""


def test_programs_with_autojitted_functions_are_found_whatever_else_is_one(tmp_path):
    found = [
        twice(AUTOJITTED.replace("OTHERS", others).replace("* k", how), tmp_path)
        for others, how in (("0", "* k"), ("3", "* k"), ("5", "+ k"))
    ]
    assert [out.split() for pair in found for out in pair] == [
        ["3.0", "3.0", "3.0", "5.0", "4"], ["3.0", "3.0", "3.0", "5.0", "0"],
        ["3.0", "3.0", "3.0", "5.0", "0"], ["3.0", "3.0", "3.0", "5.0", "0"],
        ["4.0", "3.0", "3.0", "5.0", "1"], ["4.0", "3.0", "3.0", "5.0", "0"],
    ]  # fmt: skip


def test_a_library_of_another_version_is_another_program(tmp_path):
    library = tmp_path / "site-packages" / "jfi_case_library"
    library.mkdir(parents=True)
    script = f"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(library.parent)!r})
import numpy as np
import jfi
import jfi_case_library
step = jfi_case_library.make(2)
@jfi.persistent
def f(x): return step(x)
@jfi.persistent
def g(x):
    from jfi_case_library import helper
    return helper(x)
x = np.ones(1)
print(f(x), g(x), jfi.cache_report().misses)
"""
    source = """
__version__ = "{0}"
def helper(x): return x * {0}
def make(k): return lambda x: helper(x) * k
"""
    found = []
    for version in ("1", "3"):
        (library / "__init__.py").write_text(source.format(version))
        found += twice(script, tmp_path)
    assert found == [
        "[2.] [1.] 2", "[2.] [1.] 0", "[6.] [3.] 2", "[6.] [3.] 0"
    ]  # fmt: skip


def test_the_name_of_the_file_does_not_count(tmp_path):
    script = "import jfi\n@jfi.persistent\ndef f(x): return x * 3\n"
    script += "print(f(2.0), jfi.cache_report()[1:3])"
    env = {"JFI_CACHE_DIR": str(tmp_path / "cache")}
    found = []
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(script)
        run = (
            f"import runpy; runpy.run_path({str(tmp_path / name)!r}, None, '__main__')"
        )
        found.append(output_of(run, env=env))
    assert found == ["6.0 (0, 1)", "6.0 (1, 0)"]


# ---- this process ----


def test_nothing_happens_at_decoration():
    @jfi.persistent
    def never(x, *, n=3):
        """Say so."""
        raise AssertionError

    assert (never.__name__, never.__doc__) == ("never", "Say so.")
    assert str(inspect.signature(never)) == "(x, *, n=3)"
    assert jfi.persistent_call is jfi.persistent
    assert jfi.persistent(never) is never


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "gpu"}, r"got mode='gpu'\. Write mode=\"auto\""),
        ({"returns": "torch"}, r"got returns='torch'\. Write returns"),
        ({"timeout": 0}, r"got timeout=0\. Write a number of seconds"),
        ({"timeout": True}, r"got timeout=True"),
        ({"timeout": "3"}, r"got timeout='3'"),
    ],
)
def test_options_are_checked_at_decoration(options, message):
    with pytest.raises(ValueError, match=message):
        jfi.persistent(**options)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"got 3, which is not a function.*@jfi"):
        jfi.persistent(3)

    class Model:
        pass

    with pytest.raises(jfi.AutoJitError, match="Model"):
        jfi.persistent(Model)

    def steps(x):
        yield x

    with pytest.raises(jfi.AutoJitError, match="steps"):
        jfi.persistent(steps)


def test_what_autojit_refuses_runs_uncompiled_and_is_told_once():
    f = jfi.persistent(lambda x: x.sum())
    masked = np.ma.array([1.0, 2.0], mask=[True, False])
    with pytest.warns(jfi.LocalFallbackWarning, match="runs uncompiled") as caught:
        assert [f(masked), f(masked)] == [2, 2]
    (told,) = caught
    assert told.filename == __file__


def test_why_a_program_is_not_kept_is_told_once():
    lock = threading.Lock()

    @jax.jit
    def guarded(x):
        with lock:
            return x + 1

    @jfi.persistent
    def f(x):
        return guarded(x)

    with pytest.warns(jfi.LocalFallbackWarning) as caught:
        found = [f(1.0), f(2.0), f(np.ones(2))]
    assert found[:2] == [2, 3]
    (told,) = caught
    text = str(told.message)
    assert text.startswith("f() is compiled at each start of the script: it reaches ")
    assert "an object of type _thread.lock" in text
    assert not text.endswith("..")
    assert "f" in jfi.cache_report().not_kept


def test_a_module_that_is_imported_inside_is_to_be_imported_above(
    tmp_path, monkeypatch
):
    (tmp_path / "jfi_case_inside.py").write_text("def h(x): return x * 3")
    monkeypatch.syspath_prepend(str(tmp_path))

    @jfi.persistent
    def f(x):
        from jfi_case_inside import h

        return h(x)

    with pytest.warns(jfi.LocalFallbackWarning, match=r"jfi_case_inside inside.*top"):
        assert f(2.0) == 6


def test_what_changes_is_seen():
    scale, weights = {"k": 2.0, "n": 1}, np.ones(2)

    @jfi.persistent
    def f(x, table):
        return x * scale["k"] * scale["n"] + weights.sum() + table["n"]

    assert f(1.0, {"n": 0}) == 4
    scale["k"] = 3.0
    assert f(1.0, {"n": 0}) == 5
    weights[:] = 2
    assert f(1.0, {"n": 0}) == 7
    assert f(1.0, {"n": 1}) == 8
    scale["n"] = 2
    assert f(1.0, {"n": 1}) == 11


def test_a_class_that_is_made_again_is_seen():
    def make(k):
        class Model:
            def go(self, x):
                return x * k

        return Model()

    f = jfi.persistent(lambda m, x: m.go(x))
    assert [f(make(k), 2.0) for k in (2, 3, 2)] == [4, 6, 4]


def test_functions_of_one_name_and_closures_of_a_loop_are_told_apart():
    fs = [jfi.persistent(lambda x, k=k: x * k) for k in range(3)]
    gs = []
    for k in range(3):

        @jfi.persistent
        def f(x):
            return x + k  # noqa: B023 - the last of all, as in Python

        gs.append(f)
    assert [f(2.0) for f in fs] == [0, 2, 4]
    assert [g(2.0) for g in gs] == [4, 4, 4]


def test_same_code_with_other_globals_is_told_apart():
    source = "def f(x): return x * k"
    found = []
    for k in (2, 3):
        space = {"k": k, "__name__": "__main__"}
        exec(compile(source, "<ipython-input-1>", "exec"), space)
        found.append(jfi.persistent(space["f"])(2.0))
    assert found == [4, 6]


def test_methods_and_callable_objects():
    class Model:
        def __init__(self, k):
            self.k, self.calls = k, 0

        @jfi.persistent
        def step(self, x, mode="a"):
            self.calls += 1
            return x * self.k

        @jfi.persistent
        @staticmethod
        def static(x):
            return x + 1

        @classmethod
        @jfi.persistent
        def of_class(cls, x):
            return cls.__name__, x

        def plain(self, x):
            return x - self.k

        def __call__(self, x):
            return x + self.k

    model = Model(2.0)
    assert model.step(3.0) == 6
    assert Model.step(model, 3.0) == 6
    assert model.calls == 2
    assert model.static(1.0) == Model.static(1.0) == 2
    assert model.of_class(1.0) == ("Model", 1)
    model.k = 5.0
    assert model.step(3.0) == 15
    assert jfi.persistent(model)(1.0) == 6
    assert jfi.persistent(model.plain)(1.0) == -4
    assert jfi.persistent(functools.partial(lambda a, b: a - b, 1.0))(2.0) == -1
    assert jfi.persistent(jax.jit(lambda x: x + 1))(1.0) == 2
    assert jfi.persistent(jfi.autojit(lambda x: x + 1))(1.0) == 2


def test_transformations_see_the_function_itself():
    f = jfi.persistent(lambda x, n: jnp.sin(x) * n)
    assert jax.grad(f)(0.0, 2) == 2
    np.testing.assert_allclose(
        jax.vmap(f, in_axes=(0, None))(jnp.arange(2.0), 2), jnp.sin(jnp.arange(2.0)) * 2
    )
    assert jax.jit(f, static_argnums=1)(0.0, 2) == 0
    assert jax.jit(jax.grad(f), static_argnums=1)(0.0, 3) == 3
    assert jax.hessian(f)(0.0, 2) == 0
    assert jfi.grad(f)(0.0, 2) == 2
    stepped = jax.lax.scan(lambda c, _: (f(c, 2), None), 1.0, None, length=2)[0]
    np.testing.assert_allclose(stepped, 2 * np.sin(2 * np.sin(1.0)), rtol=1e-6)


def test_recursion():
    @jfi.persistent
    def down(x, n):
        return down(x - 1, n - 1) + 1 if n else x

    assert down(3.0, 3) == 3
    with jax.disable_jit():
        assert down(3.0, 3) == 3


def test_draws_are_those_of_the_streams():
    f = jfi.persistent(lambda x: x + jfi.rand(2))
    jfi.manual_seed(3)
    found = [f(0.0) for _ in range(3)]
    jfi.manual_seed(3)
    np.testing.assert_array_equal(found, [jfi.rand(2) for _ in range(3)])

    one, two = jfi.Generator(1), jfi.Generator(2)
    g = jfi.persistent(lambda generator, other: (generator.rand(), other.rand()))
    for given, seeds in (
        ((one, two), (1, 2)),
        ((two, one), (2, 1)),
        ((one, one), (1,)),
    ):
        for generator, seed in zip((one, two), (1, 2), strict=True):
            generator.manual_seed(seed)
        expected = [jfi.Generator(seed) for seed in seeds] * (3 - len(seeds))
        assert g(*given) == (expected[0].rand(), expected[1].rand())


def test_attributes_of_the_function_are_seen():
    @jfi.persistent
    def f(x):
        return x + f.offset

    f.offset = 1.0
    assert f(1.0) == 2
    f.offset = 2.0
    assert f(1.0) == 3


@jfi.persistent
def scaled(x):
    return x * 2


def test_it_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(scaled)) is scaled


def test_exceptions_are_those_of_the_function():
    calls = []

    @jfi.persistent
    def f(x, n):
        calls.append(n)
        if n:
            raise KeyError(n)
        return x

    for n in (3, 4, 3):
        with pytest.raises(KeyError, match=str(n)):
            f(1.0, n)
    with pytest.raises(TypeError, match="required positional argument"):
        f()
    assert f(1.0, 0) == 1


def test_threads_compile_once():
    f = jfi.persistent(lambda x, n: jnp.sin(x) * n)
    start, found = threading.Barrier(8), []

    def call():
        start.wait()
        found.append(float(f(1.0, 3)))

    before = jfi.cache_report().misses
    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert jfi.cache_report().misses == before + 1


def test_each_setting_of_jax_has_a_program_of_its_own():
    f = jfi.persistent(lambda x: x * 2)
    for x64 in (True, False, True):
        with jax.enable_x64(x64):
            assert f(np.ones(2)).dtype == (np.float64 if x64 else np.float32)
    g = jfi.persistent(lambda x: x / 0)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        g(jnp.zeros(2))
    assert np.isnan(g(jnp.zeros(2))).all()


@pytest.mark.filterwarnings("ignore::jfi.RecompileWarning")
def test_many_shapes_are_remembered():
    f = jfi.persistent(lambda x: x + 1)
    for n in (*range(1, 40), *range(1, 40)):
        f(np.ones(n))
    report = jfi.cache_report()
    for n in range(1, 40):
        f(np.ones(n))
    assert jfi.cache_report()[1:3] == report[1:3]  # no file was read again
    assert f.cache_info().traces == 39


def test_arrays_in_memory_that_may_be_overwritten(tmp_path):
    jfi.enable_cache(tmp_path)
    for _ in range(2):  # compiled, and found
        f = jfi.autojit(lambda x: x + 1, donate="x")
        x = jnp.ones(5)
        assert f(x).tolist() == [2.0] * 5
        assert x.is_deleted()


def test_results_as_numpy_arrays():
    f = jfi.persistent(lambda x: {"a": x, "n": 3, "s": "text"}, returns="numpy")
    found = f(jnp.ones(2))
    assert type(found["a"]) is np.ndarray
    assert (found["n"], found["s"]) == (3, "text")


def test_modes_without_a_server_give_the_same():
    for mode in ("auto", "disk", "off"):
        f = jfi.persistent(lambda x: x * 5, mode=mode)
        assert f(2.0) == 10


def test_importing_jfi_imports_nothing_of_the_server():
    code = (
        "import sys, jfi; f = jfi.persistent(lambda x: x); "
        "print([m for m in ('rpyc', 'jfi_server') if m in sys.modules])"
    )
    assert output_of(code, fresh=True) == "[]"


COLLECTIONS = """
import gc, sys
import jfi
import numpy as np
scale = {str(k): float(k) for k in range(300)}

@jfi.persistent
def scaled(x):
    return x * sum(scale.values())

found = []
def note(phase, info):
    frame = sys._getframe(1)
    while frame := frame.f_back:
        found.append(frame.f_globals["__name__"])

gc.callbacks.append(note)
if not ENABLED:
    gc.disable()
gc.set_threshold(1)
y = scaled(np.ones(3))
gc.set_threshold(700)
in_jfi = any("fingerprint" in name for name in found)
print(jfi.cache_report().hits, gc.isenabled(), in_jfi)
"""


@pytest.mark.parametrize("enabled", [True, False])
def test_a_program_is_found_without_a_look_for_garbage(tmp_path, enabled):
    """It would look through all that the script has made by then."""
    _, found = twice(COLLECTIONS.replace("ENABLED", str(enabled)), tmp_path)
    assert found == f"1 {enabled} False"


CALLS_BACK = """
import sys
import equinox as eqx
import jax
import numpy as np
import jfi

rate = 2

def note(x): print("noted", float(x))

@jfi.persistent
def prints(x):
    jax.debug.print("x = {}", x)
    return x

@jfi.persistent
def notes(x):
    jax.debug.callback(note, x, ordered=True)
    jax.experimental.io_callback(note, None, x + 1, ordered=True)
    return x

@jfi.persistent
def asks(x):
    scalar = jax.ShapeDtypeStruct((), np.float32)
    once = jax.pure_callback(lambda v: np.float32(v * rate), scalar, x)
    return jax.lax.fori_loop(0, 3, lambda k, c: c + jfi.from_numpy(np.sinc)(c), once)

tree = jfi.KDTree(np.arange(6, dtype=np.float32).reshape(3, 2))

@jfi.persistent
def near(q): return tree.query(q, backend="scipy")

@jfi.persistent
def progresses(x):
    return jfi.fori_loop(0, 3, lambda k, c: c + 1, x, progress=True)

@jfi.persistent
def checked(x):
    return eqx.error_if(x + 1, x < 0, "x is negative")

@jfi.persistent
def fails(x):
    def host(v): raise KeyError("of the host")
    return jfi.from_numpy(host, out=jax.ShapeDtypeStruct((), "float32"))(x)

for k in range(3):
    print(prints(jfi.array(k + 1.0)), notes(jfi.array(k + 0.5)), asks(1.0 + k))
jax.effects_barrier()
print(near(np.ones((1, 2), np.float32)), progresses(jfi.array(0.0)))
for x in (1.0, -1.0, 2.0, -2.0):
    try: print(checked(jfi.array(x)))
    except eqx.EquinoxRuntimeError as error: print("raised", error)
for k in range(2):
    try: fails(1.0)
    except KeyError as error: print("raised", error)
report = jfi.cache_report()
print(report.not_kept)
print("compiled:", report.misses)
"""


def test_programs_that_call_back_are_kept_and_call_what_this_process_has(tmp_path):
    cold, warm = twice(CALLS_BACK, tmp_path)
    assert cold.replace("compiled: 7", "compiled: 0") == warm
    assert "x = 1.0" in cold
    noted = [x for x in cold.splitlines() if x.startswith("noted")]
    assert noted == [f"noted {x}" for x in (0.5, 1.5, 1.5, 2.5, 2.5, 3.5)]
    assert "raised 'of the host'" in cold
    assert cold.count("raised x is negative") == 2
    assert "{}" in cold.splitlines()


OTHER_CALLBACKS = """
import jax, jfi, sys
def make():
    seen = []
    def written(x): seen.append(float(x))
    @jax.jit
    def run(x):
        jax.debug.callback(written, x)
        return x
    return run, seen
(one, first), (other, second) = make(), make()
f = jfi.persistent(lambda run, x: run(x))
f(one, 1.0), f(other, 2.0)
jax.effects_barrier()
print(first, second, jfi.cache_report().not_kept)
"""


def test_equal_programs_of_two_functions_call_back_to_their_own(tmp_path):
    cold, warm = twice(OTHER_CALLBACKS, tmp_path)
    assert cold == warm == "[1.0] [2.0] {}"


def test_without_callback_slots_what_calls_back_is_compiled_at_each_start():
    def prints(x):
        jfi.jax.debug.callback(lambda v: None, x)
        return x + 1

    with (
        _jax_internals.without("callback_slots"),
        pytest.warns(jfi.LocalFallbackWarning, match="it calls back to Python"),
    ):
        assert float(jfi.persistent(prints)(1.0)) == 2.0
