"""Progress bars of loops: the results do not change, and the reports are few."""

import functools
from typing import ClassVar

import jax
import numpy as np
import pytest
import tqdm.auto
from subprocesses import run_python

import jfi as jnp


X = jnp.arange(3.0)


class Bar:
    """What tqdm is to jfi; remembers what it showed."""

    made: ClassVar[list] = []

    def __init__(self, total, desc):
        self.total, self.title, self.n, self.moves, self.open = total, desc, 0, [], True
        Bar.made.append(self)

    def update(self, n):
        self.n += n
        self.moves.append(n)

    def close(self):
        self.open = False


@pytest.fixture(autouse=True)
def bars(monkeypatch):
    Bar.made.clear()
    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    return Bar.made


def wait():
    jax.effects_barrier()


def check(bars, total, *, title=None):
    """One bar, which went from 0 to the end in few steps."""
    wait()
    (bar,) = bars
    assert bar.total == total
    assert bar.n == total
    assert len(bar.moves) <= 100
    assert min(bar.moves) >= 0
    assert not bar.open
    if title is not None:
        assert bar.title == title


def step(c, x):
    return c * 0.9 + x, (c.sum(), {"x": x})


@pytest.mark.parametrize("n", [1, 2, 19, 20, 21, 40, 41, 99, 1003])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(bars, n, reverse):
    xs = jnp.arange(float(n))
    ours = jnp.scan(step, X, xs, reverse=reverse, progress=True)
    check(bars, n, title="step")
    theirs = jax.lax.scan(step, X, xs, reverse=reverse)
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)


def test_scan_of_nothing(bars):
    carry, (sums, _) = jnp.scan(step, X, X[:0], progress=True)
    np.testing.assert_array_equal(carry, X)
    assert sums.shape == (0,)
    assert bars == []


def test_options_of_scan(bars):
    body = lambda c, _: (c + 1, None)
    out = jnp.scan(body, 0, length=50, unroll=3, progress="counting")
    assert int(out[0]) == 50
    check(bars, 50, title="counting")


@pytest.mark.parametrize("bounds", [(0, 100), (3, 1004), (-5, 6)])
@pytest.mark.parametrize("jit", [False, True])
def test_fori_loop(bars, bounds, jit):
    body = lambda i, c: c * 2 % 1001 + i
    run = lambda c: jnp.fori_loop(*bounds, body, c, progress=True)
    ours = (jax.jit(run) if jit else run)(1)
    check(bars, bounds[1] - bounds[0])
    theirs = jax.lax.fori_loop(*bounds, body, 1)
    np.testing.assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("steps", [1, 7, 20, 21, 333])
def test_fori_loop_of_traced_bounds(bars, steps):
    body = lambda i, c: c * 2 % 1001 + i
    run = jax.jit(lambda n: jnp.fori_loop(2, n, body, 1, progress="dynamic"))
    ours = run(2 + steps)
    check(bars, steps, title="dynamic")
    np.testing.assert_array_equal(ours, jax.lax.fori_loop(2, 2 + steps, body, 1))


def test_traced_bounds_where_dtypes_are_not_promoted(bars):
    def count(steps):
        return jnp.fori_loop(0, steps, lambda i, c: c + 1, 0, progress=True)

    with jax.numpy_dtype_promotion("strict"):
        assert jax.jit(count)(50) == 50


@pytest.mark.parametrize(("lower", "upper"), [(-100, 100), (0, 127), (100, -99)])
def test_bounds_of_few_bits_have_all_their_steps(bars, lower, upper):
    body = lambda i, c: c * 2 % 1001 + i
    bounds = np.int8(lower), np.int8(upper)
    run = lambda loop: jax.jit(lambda *n: loop(*n, body, np.int32(1)))(*bounds)
    ours = run(functools.partial(jnp.fori_loop, progress=True))
    assert int(ours) == int(run(jax.lax.fori_loop))


def test_a_counter_keeps_its_weak_type(bars):
    run = lambda loop: jax.jit(lambda n: loop(0, n, lambda i, c: c + i, 0))
    ours = run(functools.partial(jnp.fori_loop, progress=True))(np.int32(3))
    assert jax.typeof(ours) == jax.typeof(run(jax.lax.fori_loop)(np.int32(3)))


def test_a_fori_loop_of_no_steps(bars):
    assert int(jnp.fori_loop(5, 2, lambda i, c: c + 1, 7, progress=True)) == 7
    assert (
        int(jax.jit(lambda n: jnp.fori_loop(5, n, lambda i, c: c, 7, progress=True))(2))
        == 7
    )
    wait()
    assert bars == []


def test_each_run_of_a_program_has_a_bar(bars):
    run = jax.jit(lambda x: jnp.scan(step, x, jnp.arange(30.0), progress=True)[0])
    for k in range(1, 4):
        run(X * k)
        wait()
        assert [bar.n for bar in bars] == [30] * k


def test_a_batch_has_one_bar(bars):
    rows = jnp.ones((4, 3))
    f = lambda x: jnp.scan(step, x, jnp.arange(30.0), progress=True)[0]
    out = jax.jit(jax.vmap(f))(rows)
    check(bars, 30)
    np.testing.assert_allclose(out, jax.vmap(lambda x: f(x))(rows))


def test_a_batch_of_bounds_has_one_bar(bars):
    run = lambda n: jnp.fori_loop(0, n, lambda i, c: c + i, 0, progress=True)
    out = jax.jit(jax.vmap(run))(jnp.array([3, 50, 10]))
    check(bars, 50)
    np.testing.assert_array_equal(out, [3, 1225, 45])


@pytest.mark.parametrize("mode", ["grad", "jit of grad", "jacfwd"])
def test_derivatives(bars, mode):
    xs = jnp.arange(30.0)
    ours = lambda s: jnp.scan(step, s * X, xs, progress=True)[0].sum()
    theirs = lambda s: jax.lax.scan(step, s * X, xs)[0].sum()
    transform = {
        "grad": jax.grad,
        "jit of grad": lambda f: jax.jit(jax.grad(f)),
        "jacfwd": jax.jacfwd,
    }[mode]
    np.testing.assert_allclose(transform(ours)(2.0), transform(theirs)(2.0), rtol=1e-6)
    check(bars, 30)


def test_draws_are_those_without_a_bar(bars):
    run = lambda progress: jnp.scan(
        lambda c, _: (c + jnp.randn(), None), 0.0, length=45, progress=progress
    )
    jnp.manual_seed(1)
    a = run(True)[0]
    jnp.manual_seed(1)
    np.testing.assert_allclose(run(False)[0], a, rtol=1e-5)
    check(bars, 45)


def test_a_run_that_failed_does_not_spoil_the_next(bars):
    def host(x):
        if x == failing:
            raise KeyError("mine")
        return x

    def body(c, x):
        return c + jax.pure_callback(host, jax.typeof(x), x), None

    def run(xs):
        out = jnp.scan(body, 0.0, xs, progress=True)[0]
        return float(out)

    failing = 25
    with pytest.raises(jax.errors.JaxRuntimeError, match="mine"):
        run(jnp.arange(30.0))
    wait()
    assert run(jnp.arange(20.0)) == 190.0
    wait()
    assert bars[-1].n == 20
    assert not bars[-1].open


def test_without_tqdm_the_error_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(
        ImportError, match=r"scan\(progress=True\) needs.*jfi\[progress\]"
    ):
        jnp.scan(step, X, jnp.arange(30.0), progress="without")


CTRL_C = """
import os, signal, threading, time
import jfi as jnp
def step(c, x):
    for _ in range(20): c = jnp.sin(c @ c)
    return c, None
def press():
    time.sleep(1.5)
    os.kill(os.getpid(), signal.SIGINT)
import warnings
warnings.simplefilter("ignore", jnp.UncompiledWarning)
run = lambda: jnp.scan(step, 0.1 * jnp.eye(200), jnp.arange(50_000.0), progress=True)
threading.Thread(target=press, daemon=True).start()
try:
    run()
except KeyboardInterrupt:
    print("interrupted")
jnp.scan(step, 0.1 * jnp.eye(2), jnp.arange(200.0), progress=True)
print("goes on", signal.set_wakeup_fd(-1))
"""


def test_ctrl_c_ends_a_loop_with_a_bar():
    """It takes minutes otherwise, and `run_python` waits for two."""
    done = run_python(CTRL_C, fresh=True)
    assert done.stdout.split() == ["interrupted", "goes", "on", "-1"]
    assert "InterruptedLoopError" not in done.stderr
