"""Functions as arguments of `autojit`, or captured by its function."""

import functools
import logging
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from autojitting import Counted, same

from jfi import autojit


pytestmark = pytest.mark.usefixtures("way")


# ---------------------------------------------------------------------- opened


def test_code_of_a_named_function_replaced_in_place_is_seen(monkeypatch):
    f = autojit(lambda fn, x: fn(x))
    assert f(named, 1.0) == named(1.0)
    monkeypatch.setattr(named, "__code__", (lambda x, k=2: x + 40).__code__)
    assert f(named, 1.0) == 41


def named(x, scale=[2.0]):  # noqa: B006  the default is the point
    return x * scale[0]


def test_named_functions_keep_their_identity():
    f = autojit(lambda fn, x: (fn is named, fn(x)))
    assert same(f(named, 1.0), (True, 2.0))
    named.__defaults__[0][0] = 3.0
    try:
        assert same(f(named, 1.0), (True, 3.0))
    finally:
        named.__defaults__[0][0] = 2.0
    g = autojit(lambda fn, x: x * getattr(fn, "factor", 1.0))
    assert g(named, 2.0) == 2
    named.factor = 4.0
    try:
        assert g(named, 2.0) == 8
    finally:
        del named.factor
    assert f(lambda x: x, 1.0)[0] is False


@pytest.mark.parametrize(
    "fn",
    [np.sin, np.mean, np.linalg.norm, jnp.sin, jnp.add, jax.nn.relu, jax.nn.gelu],
    ids=lambda fn: fn.__name__,
)
def test_library_functions_keep_their_identity(fn):
    autojit(lambda g: g)(jax.custom_jvp(lambda x: x))  # of the class of relu
    assert autojit(lambda g, x: x * (g is fn))(fn, 2.0) == 2


@functools.cache
def cached(n):
    return n


def test_cached_functions_of_a_module():
    assert autojit(lambda g, x: x * g(3))(cached, 2.0) == 6


def test_loggers_are_settings():
    class Logged:
        def __init__(self):
            self.log, self.w = logging.getLogger(__name__), 2.0

        @autojit
        def step(self, x):
            self.log.debug("step")
            return self.w * x

    assert Logged().step(1.0) == 2


@pytest.mark.parametrize("kind", [jax.custom_jvp, jax.custom_vjp])
def test_custom_derivatives_see_captured_values(kind):
    scale = 2.0

    @kind
    def scaled(x):
        return x * scale

    if kind is jax.custom_jvp:
        scaled.defjvp(lambda p, t: (scaled(*p), t[0] * scale))
    else:
        scaled.defvjp(lambda x: (scaled(x), None), lambda _, c: (c * scale,))
    f = autojit(lambda x: scaled(x))
    assert f(1.0) == 2
    scale = 3.0
    assert f(1.0) == 3
    assert jax.grad(f)(1.0) == 3


def _made_inside(kind, scale):
    """A custom derivative that is made in the traced code, of what an object holds."""
    return _ruled(kind, lambda: scale[0])


def _ruled(kind, scale):
    @kind
    def scaled(x):
        return jnp.sum(x * scale())

    if kind is jax.custom_jvp:
        scaled.defjvp(lambda p, t: (scaled(*p), jnp.sum(t[0] * scale())))
    else:
        scaled.defvjp(lambda x: (scaled(x), None), lambda _, c: (c * scale(),))
    return scaled


@pytest.mark.parametrize("kind", [jax.custom_jvp, jax.custom_vjp])
def test_rules_that_captured_arrays_are_those_of_the_plain_function(kind):
    """JAX runs them when the trace has ended."""
    held, x = [jnp.arange(3.0)], jnp.ones(3)
    outside = _ruled(kind, lambda: held[0])
    for body in (lambda x: outside(x), lambda x: _made_inside(kind, held)(x)):
        held[0] = jnp.arange(3.0)
        f = autojit(body)
        assert jax.grad(f)(x).tolist() == [0, 1, 2]
        for _ in range(9):  # from here on they are recognised
            assert f(x) == 3
        assert jax.jit(jax.grad(f))(x).tolist() == [0, 1, 2]
        assert jax.vmap(jax.grad(f))(x[None]).tolist() == [[0, 1, 2]]
        held[0] = held[0] + 1
        assert f(x) == 6
        assert jax.grad(f)(x).tolist() == [1, 2, 3]
        assert autojit(jax.grad(f))(x).tolist() == [1, 2, 3]
        assert jax.jvp(f, (x,), (x,))[1] == 6 if kind is jax.custom_jvp else True


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap, jax.checkpoint])
def test_fresh_transformed_functions_do_not_recompile(transform):
    f = Counted(lambda fn, x: fn(x))
    x = jnp.ones(2) if transform is jax.vmap else 1.0
    for k in (1.0, 2.0):
        out = f(transform(lambda x: x**2 * k), x)  # noqa: B023
        assert same(out, jnp.full_like(x, k * (2 if transform is jax.grad else 1)))
    assert f.traces == 1


def test_callable_objects_of_jax_scipy():
    """They hold arrays, unlike the compiled functions of JAX."""
    x = jnp.linspace(0.0, 1.0, 3)
    density = jax.scipy.stats.gaussian_kde
    f = Counted(lambda kde: kde(x))
    for scale in (1.0, 2.0):
        kde = density(jnp.arange(4.0) * scale)
        assert jnp.allclose(f(kde), kde(x))
    assert f.traces == 1

    table = jax.scipy.interpolate.RegularGridInterpolator((jnp.arange(3.0),), x)
    g = autojit(lambda table, at: table(at))
    assert jnp.allclose(g(table, x[:, None]), table(x[:, None]))
    table.values = table.values * 10
    assert jnp.allclose(g(table, x[:, None]), table(x[:, None]))


def test_haiku_networks():
    haiku = pytest.importorskip("haiku")
    f = Counted(lambda net, params, x: net.apply(params, None, x))
    for _ in range(2):
        net = haiku.transform(lambda x: haiku.Linear(3)(x))
        params = net.init(jax.random.key(0), jnp.ones((1, 2)))
        out = f(net, params, jnp.ones((1, 2)))
        assert same(out, net.apply(params, None, jnp.ones((1, 2))))
    assert f.traces == 1


def test_fresh_functions_do_not_recompile():
    f = Counted(lambda fn, x: fn(x))
    for k in range(5):
        assert f(lambda x: x + 1, 1.0) == 2
        assert f(lambda x: x * k, 1.0) == k  # noqa: B023
        add = functools.partial(operator.add, float(k))
        assert f(add, 1.0) == k + 1
        assert functools.partial(add, 1.0).args == (float(k), 1.0)  # it is as it was
    assert f.traces == 2 + 5  # the int that one of them captures is a setting
    g = Counted(lambda fn, x: fn(x))
    for k in (1.0, 2.0, 3.0):
        assert g(lambda x: x * k, 1.0) == k  # noqa: B023
    assert g.traces == 1


def test_recursive_local_functions():
    def outer(scale):
        def power(x, n):
            return x if n == 0 else scale * power(x, n - 1)

        return power

    f = Counted(lambda fn, x: fn(x, 3))
    assert f(outer(2.0), 1.0) == 8
    assert f(outer(3.0), 1.0) == 27
    assert f.traces == 1


def test_captured_variables_and_defaults_of_the_function_itself():
    scale, names, data = 2.0, ["a"], np.ones(2)

    @autojit
    def f(x, k=[1.0], *, mode="a"):  # noqa: B006
        return x * scale * len(names) * data.sum() * k[0] * len(mode)

    assert f(1.0) == 4
    scale = 3.0
    names.append("b")
    data[0] = 2
    f.__wrapped__.__defaults__[0][0] = 2.0
    f.__wrapped__.__kwdefaults__["mode"] = "ab"
    assert f(1.0) == 3 * 2 * 3 * 2 * 2


def test_captured_names_that_have_no_value_yet():
    @autojit
    def f(x, later):
        return missing if later else x

    assert f(1.0, False) == 1
    with pytest.raises(NameError):
        f(1.0, True)
    missing = 3.0
    assert f(1.0, True) == 3


def test_autojitted_functions_as_arguments():
    def make(scale):
        return autojit(lambda x: x * scale)

    f = Counted(lambda fn, x: fn(x) + 1)
    assert [float(f(make(s), 2.0)) for s in (2.0, 3.0)] == [5, 7]
    assert f.traces == 1

    scale = 2.0
    inner = autojit(lambda x: x * scale)
    outer = autojit(lambda x: inner(x) + 1)
    assert outer(1.0) == 3
    scale = 5.0
    assert outer(1.0) == 6


def test_recursion():
    @autojit
    def factorial(x, n):
        return x if n == 0 else n * factorial(x, n - 1)

    assert factorial(1.0, 5) == 120
