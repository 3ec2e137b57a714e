"""Code that catches exceptions goes on as in plain Python, or is not compiled."""

import contextlib
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from autojitting import same

import jfi
from jfi import UncompiledWarning, autojit


def whole(x, n):
    try:
        n = int(n)
    except TypeError:
        n = 7
    return x * n


def inverse(x, d):
    try:
        return x * (1.0 / d)
    except ZeroDivisionError:
        return x * -1.0


def power(x, d):
    try:
        return x * 10.0 ** (d * 1000)
    except ArithmeticError:
        return x * jnp.inf


def quotient(x, d):
    try:
        return x * (2.0 % d)
    except Exception:
        return x * -1.0


def suppressed(x, d):
    with contextlib.suppress(Exception):
        x = x / (3.0 / d)
    return x


def anything(x, d):
    try:
        return x * d**-1
    except:  # noqa: E722 - without a class
        return x * -1.0


@pytest.mark.parametrize("fn", [whole, inverse, power, quotient, suppressed, anything])
def test_a_number_is_a_setting_where_code_catches_its_errors(fn):
    compiled = autojit(fn)
    for d in (1.0, 0.0, 3.0):
        assert same(compiled(jnp.ones(2), d), fn(jnp.ones(2), d))
    assert compiled.cache_info().signatures == 3


def total(x):
    try:
        scale = float(x.sum())
    except Exception:
        scale = 100.0
    return x * scale


def suppressed(x):
    with contextlib.suppress(TypeError):
        x = x * float(x[0]) * 2
    return x


def sign(v):
    try:
        return 1.0 if v > 0 else 2.0
    except:  # noqa: E722 - a bare one
        return 3.0


def in_a_helper(x):
    return x * sign(x[0])


def in_numpy(x):
    try:
        return x * np.linalg.norm(x)
    except TypeError:
        return x * 5.0


def raised_again(x):
    try:
        try:
            return x * float(x[0])
        finally:
            x = x + 1
    except TypeError as error:
        return x * len(error.args)


def fails_later(x):
    try:
        length = np.linalg.norm(x)
    except TypeError:
        length = x
    return x * (1.0 if length else 2.0)


FUNCTIONS = [total, suppressed, in_a_helper, in_numpy, raised_again, fails_later]


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_code_that_goes_on_without_a_value_runs_uncompiled(fn):
    compiled = autojit(fn)
    x = jnp.arange(1.0, 3.0)
    with pytest.warns(UncompiledWarning, match="catches the error of `.*"):
        assert same(compiled(x), fn(x))
    assert same(compiled(2 * x), fn(2 * x))
    with pytest.raises(jfi.AutoJitError, match=r"(?s)catches the error.*jnp\.where"):
        autojit(fn, uncompiled=False)(x)


def test_a_function_inside_another_one_is_no_exception():
    inner = autojit(total)
    outer = autojit(lambda x: inner(x) + 1)
    x = jnp.arange(1.0, 3.0)
    with pytest.warns(UncompiledWarning, match="catches the error"):
        assert same(outer(x), total(x) + 1)
    assert same(inner(x), total(x))
    assert sys.gettrace() is None


def test_under_a_debugger_too():
    def read(x):
        try:
            return x * float(x[0])
        except TypeError:
            return x

    traced = []

    def hook(frame, event, arg):
        if frame.f_code is read.__code__:
            traced.append(event)

    before = sys.gettrace()
    sys.settrace(hook)
    try:
        with pytest.warns(UncompiledWarning, match="catches the error"):
            result = autojit(read)(2 * jnp.ones(2))
        assert sys.gettrace() is hook
    finally:
        sys.settrace(before)
    assert same(result, jnp.full(2, 4.0))
    assert traced == ["call", "call"]  # the trace, and the uncompiled call


def test_loops_and_batches_do_what_plain_python_does_or_refuse():
    def step(carry, x):
        try:
            scale = float(x)
        except TypeError:
            scale = 100.0
        return carry + scale, carry * scale

    with pytest.warns(UncompiledWarning, match="catches the error"):
        total, products = jfi.scan(step, jnp.zeros(()), jnp.arange(3.0))
    assert same((total, products), (jnp.float32(3), jnp.array([0.0, 0.0, 2.0])))
    with pytest.warns(UncompiledWarning, match="catches the error"):
        assert jfi.map(lambda x: step(1.0, x)[0], jnp.ones(0)).shape == (0,)
    with pytest.raises(jax.errors.ConcretizationTypeError, match="Write instead"):
        jfi.vmap_automatically(lambda p: step(1.0, p["x"]), {"x": jnp.arange(3.0)})


def test_other_exceptions_are_caught_in_compiled_code():
    def read(p):
        try:
            return p["b"]
        except KeyError:
            return p["a"] * 2

    fn = autojit(read)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (jnp.ones(2), jnp.zeros(2)):
            assert same(fn({"a": x}), x * 2)
    assert fn.cache_info().traces == 1
    assert sys.gettrace() is None


def test_code_that_names_the_error_of_jax_means_it():
    def checked(x):
        try:
            if (x < 0).any():
                raise ValueError("negative")
        except jax.errors.TracerBoolConversionError:
            pass
        return x * 2

    assert same(autojit(checked, uncompiled=False)(jnp.ones(2)), jnp.full(2, 2.0))


def test_an_error_that_is_not_caught_stays():
    def read(x):
        try:
            return float(x[0])
        except KeyError:
            return 0.0

    with pytest.raises(jax.errors.ConcretizationTypeError, match="Write instead"):
        autojit(read)(jnp.ones(2))
