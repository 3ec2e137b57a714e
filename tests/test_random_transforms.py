"""Draws under each transformation: derivatives, what is refused, jit's options."""

import functools

import equinox as eqx
import jax
import numpy as np
import pytest
from drawing import (
    assert_all_different,
    count,
    plain_jit_is_ok,  # noqa: F401
)
from jax import lax

import jfi


pytestmark = pytest.mark.usefixtures("plain_jit_is_ok")
ONE = np.float32(1)
X3 = np.linspace(1, 2, 3, dtype="float32")


# --------------------------------------------- the forward draw is the backward draw


def times_draw(x):
    return x * jfi.rand() + 0 * x


def scaled(x, _):
    return x * (1 + jfi.rand()), None


@jax.custom_jvp
def own_jvp(x):
    return x * jfi.rand()


@own_jvp.defjvp
def _own_jvp(primals, tangents):
    draw = jfi.rand()
    return primals[0] * draw, tangents[0] * draw


@jax.custom_vjp
def own_vjp(x):
    return x * jfi.rand()


def _forward(x):
    draw = jfi.rand()
    return x * draw, draw


own_vjp.defvjp(_forward, lambda draw, g: (g * draw,))

POLICIES = {
    "": None,
    "nothing": jax.checkpoint_policies.nothing_saveable,
    "everything": jax.checkpoint_policies.everything_saveable,
    "dots": jax.checkpoint_policies.dots_saveable,
}
# Functions that are linear in x: their derivative is f(x) / x, if the draw is the same.
LINEAR = {
    "draw": times_draw,
    "jax.jit": jax.jit(times_draw),
    "jfi.jit": jfi.jit(times_draw),
    "scan": lambda x: lax.scan(scaled, x, length=3)[0],
    "jfi.scan": lambda x: jfi.scan(scaled, x, length=3)[0],
    "checkpointed scan": lambda x: lax.scan(jax.checkpoint(scaled), x, length=3)[0],
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, x: scaled(x, i)[0], x),
    "cond": lambda x: lax.cond(True, times_draw, lambda x: x, x),
    "jfi.cond": lambda x: jfi.cond(x > 0, times_draw, lambda x: x, x),
    "map": lambda x: lax.map(times_draw, x * X3).sum(),
    "jfi.vmap": lambda x: jfi.vmap(times_draw)(x * X3).sum(),
    "jax.vmap": lambda x: jax.vmap(times_draw)(x * X3).sum(),
    "custom_jvp": own_jvp,
    "custom_vjp": own_vjp,
    "checkpointed while": lambda x: eqx.internal.while_loop(
        lambda s: s[0] < 3,
        lambda s: (s[0] + 1, scaled(s[1], None)[0]),
        (0, x),
        kind="checkpointed",
        checkpoints=3,
    )[1],
    **{
        f"checkpoint {name}".strip(): jax.checkpoint(
            lambda x: times_draw(times_draw(x)), policy=policy
        )
        for name, policy in POLICIES.items()
    },
}


def by_jvp(f):
    return lambda x: jax.jvp(f, (x,), (np.ones_like(x),))


def by_vjp(f):
    def value_and_slope(x):
        value, pull = jax.vjp(f, x)
        slope = pull(np.ones_like(value))[0]
        np.testing.assert_array_equal(pull(np.ones_like(value))[0], slope)
        return value, slope

    return value_and_slope


def by_linearize(f):
    def value_and_slope(x):
        value, push = jax.linearize(f, x)
        return value, push(np.ones_like(x))

    return value_and_slope


SLOPES = {
    "value_and_grad": jax.value_and_grad,
    "jax.jit": lambda f: jax.jit(jax.value_and_grad(f)),
    "jfi.jit": lambda f: jfi.jit(jax.value_and_grad(f)),
    "of checkpoint": lambda f: jfi.jit(jax.value_and_grad(jax.checkpoint(f))),
    "jvp": by_jvp,
    "vjp": by_vjp,
    "linearize": by_linearize,
}
FORWARD = {"jvp", "linearize"}
MOST = {"value_and_grad", "jfi.jit", "of checkpoint"}  # the others only for a few
FEW = {"draw", "scan", "jfi.cond", "checkpoint", "custom_jvp", "checkpointed while"}
ONLY_REVERSE = {"custom_vjp", "checkpointed while"}


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (f, slope)
        for f in LINEAR
        for slope in SLOPES
        if (slope in MOST or f in FEW) and not (slope in FORWARD and f in ONLY_REVERSE)
    ],
)
def test_slope_is_that_of_the_value(f, slope):
    value_and_slope = SLOPES[slope](LINEAR[f])
    x = np.float32(1.5)
    (value, derivative), (second, _) = value_and_slope(x), value_and_slope(x)
    np.testing.assert_allclose(derivative, value / x, rtol=1e-5)
    assert_all_different(value, second)


@pytest.mark.parametrize("f", set(LINEAR) - {"cond"})
def test_slope_of_rows_is_that_of_the_value(f):
    value, slope = jfi.jit(jfi.vmap(jax.value_and_grad(LINEAR[f])))(X3)
    np.testing.assert_allclose(slope, value / X3, rtol=1e-5)
    assert_all_different(value)


# ------------------------------------------------- refused by name, and the counterpart


def cube(x):
    return x**3 * (1 + jfi.rand())


def maybe(cond):
    return lambda x: cond(x > 1.2, lambda: jfi.randn(), lambda: 2 + jfi.rand())


def until(while_loop):
    def draws(x):
        step = lambda s: (s[0] + 1, jfi.randn())
        return while_loop(lambda s: s[0] < 2 * x, step, (np.float32(0), x * 0))[1]

    return draws


def mesh_of_one():
    auto = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((1,), ("i",), axis_types=auto)
    return {"mesh": mesh, "in_specs": jax.P("i")}


def sharded(shard_map):
    return shard_map(
        lambda x: x * 0 + jfi.randn(3), **mesh_of_one(), out_specs=jax.P("i")
    )


REFUSED = {
    "hessian": (lambda: jax.hessian(cube)(ONE), "jfi.jacfwd or jfi.hessian"),
    "jacfwd": (lambda: jax.jacfwd(cube)(ONE), "jfi.jacfwd or jfi.hessian"),
    "vmap of cond": (lambda: jax.vmap(maybe(lax.cond))(X3), "jfi.cond, or jfi.vmap"),
    "vmap of while": (
        lambda: jax.vmap(until(lax.while_loop))(X3),
        "jfi.while_loop, or jfi.vmap",
    ),
    "shard_map": (lambda: sharded(jax.shard_map)(X3), "jfi.shard_map"),
    "export": (
        lambda: jax.export.export(jax.jit(lambda x: x + jfi.randn()))(ONE),
        "key=key",
    ),
}
COUNTERPARTS = {
    "vmap of cond": lambda: jfi.vmap(maybe(lax.cond))(X3),
    "vmap of jfi.cond": lambda: jax.vmap(maybe(jfi.cond))(X3),
    "vmap of while": lambda: jfi.vmap(until(lax.while_loop))(X3),
    "vmap of jfi.while_loop": lambda: jax.vmap(until(jfi.while_loop))(X3),
    "shard_map": lambda: sharded(jfi.shard_map)(X3),
    "hessian": lambda: jfi.hessian(cube)(ONE),
    "jacfwd": lambda: jfi.jacfwd(cube)(ONE),
}


@pytest.mark.parametrize("jit", [None, jax.jit, jfi.jit], ids=["eager", "jax", "jfi"])
@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_words_that_help(name, jit):
    run, counterpart = REFUSED[name]
    if jit and name == "export":
        pytest.skip("not inside of jit")
    for _ in range(2):  # also where JAX keeps traces
        with pytest.raises(jfi.RandomError, match=counterpart):
            (jit(run) if jit else run)()
    assert_all_different(jfi.randn(4))


@pytest.mark.parametrize("jit", [None, jax.jit, jfi.jit], ids=["eager", "jax", "jfi"])
@pytest.mark.parametrize("name", COUNTERPARTS)
def test_the_counterpart_is_right(name, jit):
    run = jit(COUNTERPARTS[name]) if jit else COUNTERPARTS[name]
    assert_all_different(run(), run(), jfi.randn())


def test_derivatives_are_of_one_draw():
    with jfi.seed(3):
        scale = float(jfi.hessian(cube)(ONE)) / 6
    assert 1 < scale < 2
    with jfi.seed(3):
        np.testing.assert_allclose(jfi.jacfwd(cube)(ONE), 3 * scale, rtol=1e-5)
    three = jfi.jacfwd(lambda x: x * jfi.randn(3))(X3)
    assert_all_different(np.diag(three))
    np.testing.assert_array_equal(three, np.diag(np.diag(three)))


# ------------------------------------------------------------------------- rows


@pytest.mark.parametrize("jit", [lambda f: f, jfi.jit], ids=["eager", "jit"])
def test_a_row_does_not_depend_on_the_others(jit):
    def rows(n, **options):
        jfi.manual_seed(0)
        draw = lambda x: [jfi.randn(), until(lax.while_loop)(x)]
        x = np.linspace(1, 3, 7, dtype="float32")[:n]
        return np.stack(jit(jfi.vmap(draw, **options))(x))

    whole = rows(7)
    assert_all_different(whole)
    for n in (1, 4):
        np.testing.assert_array_equal(rows(n), whole[:, :n])
    for size in (1, 2, 3, 7, 100):
        np.testing.assert_array_equal(rows(7, chunk_size=size), whole)


def test_rows_with_one_draw_for_all_or_none():
    x = np.ones((2, 3), "float32")
    draw = lambda x: jfi.randn()
    same = jfi.vmap(draw, randomness="same")(x)
    assert same[0] == same[1]
    outer_same = jfi.vmap(jfi.vmap(draw), randomness="same")(x)
    np.testing.assert_array_equal(outer_same[0], outer_same[1])
    assert_all_different(outer_same[0])
    inner_same = jfi.vmap(jfi.vmap(draw, randomness="same"))(x)
    np.testing.assert_array_equal(inner_same[:, 0], inner_same[:, 1])
    assert_all_different(inner_same[:, 0])
    with pytest.raises(jfi.RandomError, match="randomness='error'"):
        jfi.vmap(draw, randomness="error")(x)


@pytest.mark.parametrize("vmap", [jax.vmap, jfi.vmap], ids=["jax", "jfi"])
def test_rows_of_unbatched_arguments(vmap):
    draw = lambda x: jfi.randn(2)
    rows = vmap(draw, in_axes=None, axis_size=3)(ONE)
    assert_all_different(rows)
    assert vmap(draw)(np.zeros((0, 2))).shape == (0, 2)
    named = vmap(lambda x: lax.psum(jfi.randn(), "i") + 0 * x, axis_name="i")(X3)
    assert len(set(named.tolist())) == 1
    assert vmap(draw, out_axes=1)(X3).shape == (2, 3)


HISTORIES = {
    "jax.vmap": lambda f: jax.vmap(f)(X3),
    "jit of vmap": lambda f: jfi.jit(jax.vmap(f))(X3),
    "jfi.vmap": lambda f: jfi.vmap(f)(X3),
    "grad": lambda f: jax.grad(lambda x: f(x) * x)(ONE),
    "jit": lambda f: jax.jit(f)(ONE),
    "eager": lambda f: f(ONE),
}
CACHED = {
    "jax.jit": lambda draw: jax.jit(draw),
    "jfi.jit": lambda draw: jfi.jit(draw),
    "scan": lambda draw: lambda x: lax.scan(draw_in_step(draw), 0, length=2)[1].sum(),
    "jfi.scan": lambda draw: (
        lambda x: jfi.scan(draw_in_step(draw), 0, length=2)[1].sum()
    ),
    "jfi.cond": lambda draw: lambda x: jfi.cond(x > 0, draw, lambda x: x, x),
}


@functools.cache
def draw_in_step(draw):
    return lambda carry, x: (carry, draw(x))


@pytest.mark.parametrize("before", HISTORIES)
@pytest.mark.parametrize("kind", CACHED)
def test_what_was_traced_before_does_not_matter(kind, before):
    calls = [
        (lambda f: f, ONE),
        (jfi.jit, ONE),
        (jfi.vmap, X3),
        (lambda f: jfi.jit(jfi.vmap(f)), X3),
    ]

    def run(f):
        for transform, x in calls:
            jfi.manual_seed(0)
            yield np.asarray(transform(f)(x)), count()

    make = lambda: CACHED[kind](lambda x: jfi.randn())
    expected, used = run(make()), make()
    HISTORIES[before](used)
    for (a, m), (b, n) in zip(run(used), expected, strict=True):
        np.testing.assert_array_equal(a, b)
        assert m == n
