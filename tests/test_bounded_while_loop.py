import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contracting import close
from hypothesis import given, settings, strategies as st

import jfi
from jfi import LoopError


def bounded_while_loop(cond, body, init, max_steps):
    return jfi.while_loop(cond, body, init, max_steps=max_steps)


def power(x, max_steps=8, to=50.0):
    """x times a power of two that exceeds 50: 3 takes 5 steps to 96."""
    return bounded_while_loop(lambda c: c < to, lambda c: 2 * c, x, max_steps)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 12), st.integers(0, 12))
def test_it_is_a_python_loop_or_no_number(stop, max_steps):
    def run(factor):
        return bounded_while_loop(
            lambda c: c["i"] < stop,
            lambda c: {"i": c["i"] + 1, "x": c["x"] * factor},
            {"i": 0, "x": 1.0},
            max_steps,
        )

    out, gradient = run(2.0), jax.grad(lambda f: run(f)["x"])(2.0)
    if stop <= max_steps:
        assert (int(out["i"]), float(out["x"])) == (stop, 2.0**stop)
        close(gradient, stop * 2.0 ** (stop - 1))
    else:
        assert out["i"] == np.iinfo(out["i"].dtype).min
        assert np.isnan(out["x"])
        assert np.isnan(gradient) or max_steps == 0


def test_all_modes_of_differentiation():
    # power(x) = 32 x, near 3
    assert float(jax.grad(power)(3.0)) == 32
    assert float(jax.jacfwd(power)(3.0)) == 32
    assert float(jax.jit(jax.hessian(lambda x: power(x) ** 2))(3.0)) == 2 * 32**2
    rows = jnp.array([3.0, 30.0, 60.0, 0.1])
    for mode in (jax.grad, jax.jacfwd):
        close(jax.jit(jax.vmap(mode(power)))(rows), [32.0, 2.0, 1.0, np.nan])
    of_sum = jax.grad(lambda x: jnp.sum(jax.vmap(power)(x)))
    close(of_sum(rows), [32.0, 2.0, 1.0, np.nan])


def test_what_a_loop_that_is_cut_off_returns():
    init = {
        "x": jnp.float32(1), "h": np.float16(1), "z": 1 + 1j, "i": np.int8(1),
        "u": np.uint8(1), "b": True, "key": jax.random.key(0),
    }  # fmt: skip
    out = bounded_while_loop(lambda c: c["x"] > 0, lambda c: c, init, 2)
    assert all(np.isnan(out[name]) for name in "xh")
    assert np.isnan([out["z"].real, out["z"].imag]).all()
    assert (int(out["i"]), int(out["u"])) == (-128, 255)
    assert out["b"]
    for name, x in out.items():
        assert x.dtype == jnp.asarray(init[name]).dtype


def test_values_that_are_done_are_left_as_they_are():
    init = {
        "x": jnp.array([np.inf, -0.0, np.nan]),
        "z": jnp.complex64(complex(0, np.inf)),
    }
    out = bounded_while_loop(lambda _: False, lambda c: c, init, 2)
    np.testing.assert_array_equal(out["x"], init["x"])
    assert np.signbit(out["x"][1])
    np.testing.assert_array_equal(out["z"], init["z"])


def test_draws():
    def walk(_):
        return bounded_while_loop(lambda x: x < 2, lambda x: x + jfi.rand(), 0.0, 50)

    ends = jfi.vmap(walk)(jnp.arange(4))
    assert len(set(ends.tolist())) == 4
    assert np.all((ends >= 2) & (ends < 3))


@pytest.mark.parametrize(
    ("cond", "body", "init", "max_steps", "message"),
    [
        (lambda c: c, lambda c: ~c, True, 3, r"no floats and no integers\.\nAdd one"),
        (lambda c: c, lambda c: c, 1.0, 3, r"of while_loop\(\) returned float"),
        (lambda c: c > 0, lambda c: (c, c), 1.0, 3, "differs from init_val"),
        (lambda c: c > 0, lambda c: c, 1.0, 3.5, r"^while_loop\(\) got max_steps=3\.5"),
        (
            lambda c: True,
            lambda c: c,
            "a",
            3,
            r"^while_loop\(\) got a str for init_val",
        ),
    ],
)
def test_refusals(cond, body, init, max_steps, message):
    with pytest.raises(LoopError, match=message):
        bounded_while_loop(cond, body, init, max_steps)
