"""`persistent` where no server runs: it compiles here, and says so once."""

import functools
import inspect
import pickle
import random
import re
import threading
import time
import warnings

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from subprocesses import output_of

from jfi._errors import LocalFallbackWarning
from jfi._persistent import persistent, persistent_call


@pytest.fixture(autouse=True)
def no_server(tmp_path, monkeypatch):
    monkeypatch.setenv("JFI_SERVER_DIR", str(tmp_path / "none"))


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LocalFallbackWarning)
        yield


def test_it_tells_once_that_no_server_runs():
    @persistent
    def plan(x):
        return x + 1

    with pytest.warns(LocalFallbackWarning) as caught:
        assert [plan(1.0) for _ in range(3)] == [2.0] * 3
    (warning,) = caught
    assert "plan() runs in this process: no compilation server is running in " in str(
        warning.message
    )
    assert str(warning.message).endswith("Start one: jfi-server start.")
    assert warning.filename == __file__


def test_each_function_tells_for_itself():
    one, other = persistent(lambda x: x), persistent(lambda x: -x)
    for fn in (one, other):
        with pytest.warns(LocalFallbackWarning, match="no compilation server"):
            fn(1.0)


def test_nothing_happens_at_decoration():
    @persistent
    def never(x):
        raise AssertionError

    assert never.__name__ == "never"
    assert list(inspect.signature(never).parameters) == ["x"]
    assert persistent_call is persistent
    assert persistent(never) is never


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"got 3, which is not a function.*@jfi"):
        persistent(3)


class Counted:
    """A function that counts how often it is traced, without changing what it is."""

    def __init__(self, fn):
        self.traces = 0
        counter = []
        self.counter = counter
        functools.update_wrapper(self, fn)
        self.fn = fn

    def __reduce__(self):
        return Counted, (self.fn,)

    def __call__(self, *args, **kwargs):
        self.traces += 1
        return self.fn(*args, **kwargs)


@pytest.mark.usefixtures("quiet")
def test_settings_are_static_and_arrays_are_traced():
    def fn(x, steps, name="a", flag=False, option=None):
        for _ in range(steps):
            x = x * 2 if name == "a" else x + 1
        return -x if flag and option is None else x

    counted = Counted(fn)
    f = persistent(counted)
    assert f(1.0, 3) == 8
    assert f(2.0, 3) == 16
    assert f(np.float32(2), 3).dtype == jnp.float32
    assert counted.traces == 2  # a Python float and a float32 differ, as under jit
    assert f(1.0, 2, name="b") == 3
    assert f(1.0, 2, name="b", flag=True) == -3
    assert counted.traces == 4
    f(5.0, 3), f(6.0, 2, name="b")
    assert counted.traces == 4


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    "x",
    [
        1.5,
        2 + 3j,
        np.float32(1.5),
        np.arange(3),
        np.zeros((0, 2)),
        jnp.ones(3),
        jnp.asarray(2.0),
        np.ones(2, jnp.bfloat16),
        np.array([True, False]),
    ],
)
def test_dtypes_and_weak_types_are_those_of_jit(x):
    def f(x):
        return {"a": x * 2, "b": [x, jnp.sum(x)], "c": (x == x,)}

    expected, found = jax.jit(f)(x), persistent(f)(x)
    assert jax.tree.structure(expected) == jax.tree.structure(found)
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        assert (a.dtype, a.shape, a.weak_type) == (b.dtype, b.shape, b.weak_type)
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("quiet")
def test_a_changed_global_closure_or_argument_is_never_stale():
    scale = {"k": 2.0}
    weights = np.ones(2)

    @persistent
    def f(x, table):
        return x * scale["k"] + weights.sum() + table["n"]

    assert f(1.0, {"n": 0}) == 4
    scale["k"] = 3.0
    assert f(1.0, {"n": 0}) == 5
    weights[:] = 2
    assert f(1.0, {"n": 0}) == 7
    assert f(1.0, {"n": 1}) == 8
    scale["k"] = 2.0
    assert f(1.0, {"n": 1}) == 7


@pytest.mark.usefixtures("quiet")
def test_settings_that_were_equal_once_are_not_mixed_up():
    class Options:
        def __init__(self, k):
            self.k = k

    f = persistent(lambda x, options: x * options.k)
    first, second = Options(2.0), Options(2.0)
    assert f(1.0, first) == 2
    first.k = 5.0
    # Another shape is traced anew, for settings equal to what the first ones were.
    np.testing.assert_array_equal(f(np.ones(2), second), [2, 2])
    np.testing.assert_array_equal(f(np.ones(3), first), [5, 5, 5])


@pytest.mark.usefixtures("quiet")
def test_recursion_with_compilation_switched_off():
    @persistent
    def countdown(x):
        return countdown(x - 1) + 1 if x > 0 else x

    with jax.disable_jit():
        assert countdown(3.0) == 3


@pytest.mark.usefixtures("quiet")
def test_transformations_see_the_function_itself():
    counted = Counted(lambda x, n: jnp.sin(x) * n)
    f = persistent(counted)
    assert jax.grad(f)(0.0, 2) == 2
    np.testing.assert_allclose(
        jax.vmap(f, in_axes=(0, None))(jnp.arange(2.0), 2), jnp.sin(jnp.arange(2.0)) * 2
    )
    assert jax.jit(f, static_argnums=1)(0.0, 2) == 0
    assert jax.jit(jax.grad(f), static_argnums=1)(0.0, 3) == 3
    assert jax.hessian(f)(0.0, 2) == 0
    stepped = jax.lax.scan(lambda c, _: (f(c, 2), None), 1.0, None, length=2)[0]
    np.testing.assert_allclose(stepped, 2 * np.sin(2 * np.sin(1.0)), rtol=1e-6)


@pytest.mark.filterwarnings("error::jfi.LocalFallbackWarning")
def test_transformations_need_no_warning():
    f = persistent(lambda x: x * 3)
    assert jax.grad(f)(1.0) == 3
    assert jax.jit(lambda x: f(x) + f(2.0))(1.0) == 9


@pytest.mark.usefixtures("quiet")
def test_methods_and_callable_objects():
    class Model:
        def __init__(self, k):
            self.k = k

        @persistent
        def step(self, x, mode="a"):
            return x * self.k

        def plain(self, x):
            return x - self.k

        def __call__(self, x):
            return x + self.k

    model = Model(2.0)
    assert model.step(3.0) == 6
    assert Model.step(model, 3.0) == 6
    model.k = 5.0
    assert model.step(3.0) == 15
    assert persistent(model)(1.0) == 6
    assert persistent(model.plain)(1.0) == -4
    assert persistent(functools.partial(lambda a, b: a - b, 1.0))(2.0) == -1
    assert persistent(jax.jit(lambda x: x + 1))(1.0) == 2


@pytest.mark.usefixtures("quiet")
def test_functions_among_the_arguments():
    f = persistent(lambda g, x: g(x))
    assert f(jnp.negative, 1.0) == -1
    assert f(lambda x: x + 1, 1.0) == 2
    assert f(lambda x: x + 2, 1.0) == 3


def scaled(x):
    return x * 2


@pytest.mark.usefixtures("quiet")
def test_it_is_pickled_as_its_function():
    f = pickle.loads(pickle.dumps(persistent(scaled)))
    assert f(2.0) == 4
    g = cloudpickle.loads(cloudpickle.dumps(persistent(lambda x: x * 3)))
    assert g(2.0) == 6


@pytest.mark.usefixtures("quiet")
def test_attributes_are_part_of_it():
    @persistent
    def f(x):
        return x + f.offset

    f.offset = 1.0
    assert f(1.0) == 2
    f.offset = 2.0
    assert f(1.0) == 3
    assert persistent(cloudpickle.loads(cloudpickle.dumps(f)))(1.0) == 3


@pytest.mark.usefixtures("quiet")
def test_exceptions_are_those_of_jit():
    @persistent
    def f(x):
        if x > 0:
            return x
        raise KeyError(3)

    line = f.__wrapped__.__code__.co_firstlineno
    place = re.escape(f"tracing the function f at {__file__}:{line} for jit")
    with pytest.raises(jax.errors.TracerBoolConversionError, match=place):
        f(1.0)
    with pytest.raises(TypeError, match="required positional argument"):
        f()


def test_a_lock_within_compiles_here_and_tells_why():
    lock = threading.Lock()
    traces = Counted(lambda x: x + 1)

    @persistent
    def guarded(x):
        with lock:
            return traces(x)

    with pytest.warns(LocalFallbackWarning) as caught:
        assert [guarded(1.0), guarded(2.0)] == [2, 3]
    (warning,) = caught
    assert "guarded() reaches lock, an object of type _thread.lock" in str(
        warning.message
    )
    assert traces.traces == 1


def fresh_draw():
    return np.random.default_rng().random()


def test_what_differs_at_each_call_is_not_compiled():
    numbers = (n for n in [10.0, 20.0])

    @persistent
    def timed(x):
        return x + time.time()

    @persistent
    def drawn(x):
        return x + next(numbers)

    with pytest.warns(LocalFallbackWarning, match=r"time\.time.*not compiled"):
        first = timed(0.0)
    time.sleep(0.01)
    assert timed(0.0) > first
    with pytest.warns(LocalFallbackWarning, match=r"reaches numbers.*not compiled"):
        assert drawn(1.0) == 11
    assert drawn(1.0) == 21
    for draw in (random.random, np.random.rand, fresh_draw):
        lucky = persistent(lambda x, draw=draw: x + draw())
        with pytest.warns(LocalFallbackWarning, match="not compiled"):
            first = lucky(0.0)
        assert lucky(0.0) != first


@pytest.mark.usefixtures("quiet")
def test_written_globals_are_seen_at_each_call():
    seen = []

    @persistent
    def f(x):
        seen.append(x.shape)
        return x

    for _ in range(3):
        f(np.ones(2))
    assert seen == [(2,)] * 3


def test_an_open_folder_is_not_trusted(tmp_path, monkeypatch):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "socket").touch()
    monkeypatch.setenv("JFI_SERVER_DIR", str(folder))
    with pytest.warns(LocalFallbackWarning, match=r"open to other users \(mode 755\)"):
        assert persistent(lambda x: x)(1.0) == 1


def test_a_stale_socket_is_no_server(tmp_path, monkeypatch):
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    (folder / "socket").touch()
    monkeypatch.setenv("JFI_SERVER_DIR", str(folder))
    with pytest.warns(LocalFallbackWarning, match="no compilation server"):
        assert persistent(lambda x: x)(1.0) == 1


def test_a_user_without_a_home_folder(monkeypatch):
    monkeypatch.setenv("JFI_SERVER_DIR", "~nobody-of-that-name/jfi")
    with pytest.warns(LocalFallbackWarning, match=r"no home folder.*JFI_SERVER_DIR="):
        assert persistent(lambda x: x)(1.0) == 1


class LeavesOut:
    def __init__(self, gain):
        self.k, self.cache = 2.0, {"gain": gain}

    def __getstate__(self):
        return {"k": self.k}


@pytest.mark.usefixtures("quiet")
def test_attributes_that_are_not_pickled_are_seen():
    one = LeavesOut(3.0)
    f = persistent(lambda x: x * one.k * one.cache["gain"])
    assert f(1.0) == 6
    one.cache["gain"] = 5.0
    assert f(1.0) == 10


def test_a_path_too_long_for_a_socket(tmp_path, monkeypatch):
    monkeypatch.setenv("JFI_SERVER_DIR", str(tmp_path / ("x" * 120)))
    with pytest.warns(
        LocalFallbackWarning, match=r"too long for a socket.*JFI_SERVER_"
    ):
        assert persistent(lambda x: x)(1.0) == 1


@pytest.mark.usefixtures("quiet")
def test_threads_compile_once():
    counted = Counted(lambda x: jnp.sin(x))
    f = persistent(counted)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(float(f(1.0)))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 8
    assert counted.traces == 1


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("x64", [True, False])
def test_64_bit_types_on_and_off(x64):
    f = persistent(lambda x: x * 2)
    with jax.enable_x64(x64):
        expected = jax.jit(lambda x: x * 2)(np.ones(2))
        assert f(np.ones(2)).dtype == expected.dtype


def test_importing_jfi_imports_nothing_of_the_server():
    code = (
        "import sys, jfi; f = jfi.persistent(lambda x: x); "
        "print([m for m in ('rpyc', 'jfi_server') if m in sys.modules])"
    )
    assert output_of(code, fresh=True) == "[]"
