"""Loops and batches that can't be compiled run all the same, and say why, once."""

import itertools
import warnings

import jax
import numpy as np
import pytest
from counting import Traces

import jfi as jnp


NUMBERS = itertools.count()


def uncompiled(call, times=3):
    """What is said by several calls."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(times):
            call()
    assert {w.category for w in caught} <= {jnp.UncompiledWarning}
    assert {w.filename for w in caught} <= {__file__}
    return [str(w.message) for w in caught]


def scan_that(does):
    """A loop whose step does something; each is a place in the source of its own."""
    number = next(NUMBERS)  # equal code is one place, wherever it is written
    code = (
        f"def step(carry, x):\n    '{number}'\n    does(x)\n    return carry + x, None"
    )
    names = {"does": does}
    exec(code, names)
    return lambda: jnp.scan(names["step"], 0.0, jnp.arange(3.0))


def test_a_loop_that_calls_back_says_so_once():
    """Only where the callback uses what it has captured, of which there are copies."""
    seen = []
    run = scan_that(lambda x: jax.debug.callback(lambda v: seen.append(v), x))
    (message,) = uncompiled(run)
    assert message.startswith("scan() calls back to Python code that uses what it has")
    plain = scan_that(lambda x: jax.debug.callback(lambda _: None, x))
    plain()
    assert Traces.added(plain) == 0


def test_a_loop_over_what_can_be_read_once_says_so_once():
    lines = iter("abc")
    (message,) = uncompiled(scan_that(lambda x: next(lines, None)))
    assert "scan() uses lines (an iterator)" in message


def test_a_batch_that_asks_for_a_value_says_so_once():
    def solve(problem):
        return problem["x"] * (2.0 if problem["mask"][0] else 3.0)

    batched = jnp.auto_vmap(solve, batched={"problem.x": 0})
    problem = {"x": jnp.arange(3.0), "mask": jnp.array([True, False])}
    (message,) = uncompiled(lambda: batched(problem))
    assert "solve() has Python code that asks for the value of an array" in message
    np.testing.assert_array_equal(batched(problem), [0, 2, 4])


def test_the_warning_can_be_silenced():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", jnp.UncompiledWarning)
        scan_that(lambda x: jax.debug.callback(lambda v: [].append(v), x))()


def test_what_fails_in_any_case_is_told_by_its_error_alone():
    def fails():
        with pytest.raises(ZeroDivisionError):
            scan_that(lambda x: 1 // 0)()

    assert uncompiled(fails) == []


def test_what_is_compiled_says_nothing():
    assert uncompiled(scan_that(lambda x: None)) == []


def test_a_progress_bar_is_no_reason_to_warn_inside_another_tool():
    def total(x):
        return jnp.scan(lambda c, y: (c + y, None), x, jnp.arange(3.0), progress=True)[
            0
        ]

    xs = jnp.arange(2.0)
    assert uncompiled(lambda: jnp.vmap_automatically(total, xs)) == []
    assert uncompiled(lambda: jnp.map(total, xs)) == []


def test_what_writes_global_variables_is_told_what_to_write():
    code = "def solve(x):\n    global last\n    last = 1\n    return 2 * x"
    names = {"__name__": "__main__"}
    exec(code, names)
    (message,) = uncompiled(lambda: jnp.map(names["solve"], jnp.arange(2.0)))
    assert "Return the value, or carry it from step to step." in message
