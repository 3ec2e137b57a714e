"""Draws under each transformation: derivatives, what is refused, jit's options."""

import functools

import equinox as eqx
import jax
import numpy as np
import pytest
from cheap_keys import SEED
from drawing import (
    assert_all_different,
    cheap_keys,  # noqa: F401
    count,
    plain_jit_is_ok,  # noqa: F401
)
from jax import lax

import jfi


pytestmark = pytest.mark.usefixtures("plain_jit_is_ok", "cheap_keys")
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
# Each function in compiled code, a few of them in the other ways.
TWO = {"draw", "scan"}
FEW = {*TWO, "jfi.cond", "custom_jvp", "checkpoint"}
OF_WAY = {"jfi.jit": set(LINEAR), "value_and_grad": FEW, "of checkpoint": FEW}
NOT_IN_ROWS = {"cond", "checkpoint everything", "checkpoint dots"}


@pytest.mark.parametrize(
    ("f", "slope"),
    [(f, way) for way in SLOPES for f in LINEAR if f in OF_WAY.get(way, TWO)],
)
def test_slope_is_that_of_the_value(f, slope):
    value_and_slope = SLOPES[slope](LINEAR[f])
    x = np.float32(1.5)
    (value, derivative), (second, _) = value_and_slope(x), value_and_slope(x)
    np.testing.assert_allclose(derivative, value / x, rtol=1e-5)
    assert_all_different(value, second)


@pytest.mark.parametrize("f", [f for f in LINEAR if f not in NOT_IN_ROWS])
def test_slope_of_rows_is_that_of_the_value(f):
    value, slope = jfi.jit(jfi.vmap(jax.value_and_grad(LINEAR[f])))(X3)
    np.testing.assert_allclose(slope, value / X3, rtol=1e-5)
    assert_all_different(value)


@pytest.mark.parametrize("jit", [lambda f: f, jfi.jit], ids=["eager", "jit"])
def test_checkpoint_of_a_checkpointed_scan_gives_no_numbers(jit):
    """JAX fails here; a slope that is not that of the value would be worse."""
    slope = jit(jax.grad(jax.checkpoint(LINEAR["checkpointed scan"])))
    with pytest.raises(Exception):  # noqa: B017, PT011
        slope(ONE)
    assert_all_different(jfi.randn(3))


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


def counted(while_loop):
    """Draws in the condition and in the body."""

    def draws(x):
        step = lambda s: (s[0] + 1, s[1] + jfi.randn())
        return while_loop(lambda s: jfi.rand() > 0.2, step, (0, x * 0))

    return draws


def checkpointed_loop(x):
    return eqx.internal.while_loop(
        lambda s: s[0] < 3,
        lambda s: (s[0] + 1, scaled(s[1], None)[0]),
        (0, x),
        kind="checkpointed",
        checkpoints=3,
    )[1]


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
    "condition and body": (lambda: counted(lax.while_loop)(ONE), "jfi.while_loop"),
    "rows of condition and body": (
        lambda: jfi.vmap(counted(lax.while_loop))(X3),
        "jfi.while_loop",
    ),
    "checkpointed while": (
        lambda: checkpointed_loop(ONE),
        "equinox's checkpointed .* jfi.scan_while",
    ),
    "slope of checkpointed while": (
        lambda: jax.grad(checkpointed_loop)(ONE),
        "equinox's checkpointed",
    ),
    "shard_map": (lambda: sharded(jax.shard_map)(X3), "jfi.shard_map"),
    "export": (
        lambda: jax.export.export(jax.jit(lambda x: x + jfi.randn()))(ONE),
        "key=key",
    ),
    "export of scan_while": (
        lambda: jax.export.export(jax.jit(stopping))(ONE),
        "key=key",
    ),
    "jacfwd of scan_while": (
        lambda: jax.jacfwd(stopping)(ONE),
        "jfi.jacfwd or jfi.hessian",
    ),
}


def stopping(x):
    return jfi.scan_while(
        lambda s: s < 9, lambda s: (s + x * jfi.rand(()), s), x, 5
    ).carry


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
    if jit and name.startswith("export"):
        pytest.skip("not inside jit")
    for _ in range(2):  # also where JAX keeps traces
        with pytest.raises(jfi.RandomError, match=counterpart):
            (jit(run) if jit else run)()
    assert_all_different(jfi.randn(4))


@pytest.mark.parametrize(
    ("name", "jit"),
    [
        *((name, jit) for name in COUNTERPARTS for jit in (None, jfi.jit)),
        *((name, jax.jit) for name in ("vmap of cond", "shard_map", "hessian")),
    ],
)
def test_the_counterpart_is_right(name, jit):
    run = jit(COUNTERPARTS[name]) if jit else COUNTERPARTS[name]
    assert_all_different(run(), run(), jfi.randn())


@pytest.mark.parametrize("cond", ["cond", "switch"])
def test_branches_that_were_traced_before(cond):
    """JAX then refuses them under plain `jax.vmap` itself; the counterparts do not."""

    def draw(x):
        return jfi.randn()

    def other(x):
        return 0 * x - 9

    def of(module):
        if cond == "cond":
            return lambda x: module.cond(x > 1.2, draw, other, x)
        return lambda x: module.switch((x > 1.2).astype(int), [other, draw], x)

    plain, ours = of(lax), of(jfi)
    jax.make_jaxpr(plain)(X3[0])
    with pytest.raises(
        (jfi.RandomError, NotImplementedError), match=rf"jfi.{cond}|vmap-of-cond"
    ):
        jax.vmap(plain)(X3)
    for rows in (jfi.vmap(plain), jax.vmap(ours), jfi.jit(jfi.vmap(plain))):
        drawn = rows(X3)
        assert drawn[0] == -9
        assert_all_different(drawn)


def test_condition_and_body_draw_in_turn():
    def python_loop():
        steps, total = 0, np.float32(0)
        while jfi.rand() > 0.2:
            steps, total = steps + 1, total + jfi.randn()
        return steps, total

    expected, moved = python_loop(), count()
    assert expected[0] > 1
    for jit in (lambda f: f, jfi.jit):
        jfi.manual_seed(SEED)
        steps, total = jit(counted(jfi.while_loop))(ONE)
        assert (steps, count()) == (expected[0], moved)
        np.testing.assert_allclose(total, expected[1], rtol=1e-5)
    for rows in (jax.vmap, jfi.vmap):
        steps, total = rows(counted(jfi.while_loop))(np.ones(8, "float32"))
        assert len(set(steps.tolist())) > 1
        assert_all_different(total[steps > 0])


def test_derivatives_are_of_one_draw():
    with jfi.seed(SEED):
        scale = float(jfi.hessian(cube)(ONE)) / 6
    assert 1 < scale < 2
    with jfi.seed(SEED):
        np.testing.assert_allclose(jfi.jacfwd(cube)(ONE), 3 * scale, rtol=1e-5)
    three = jfi.jacfwd(lambda x: x * jfi.randn(3))(X3)
    assert_all_different(np.diag(three))
    np.testing.assert_array_equal(three, np.diag(np.diag(three)))


# ------------------------------------------------------------------------- rows


@pytest.mark.parametrize("jit", [lambda f: f, jfi.jit], ids=["eager", "jit"])
def test_a_row_does_not_depend_on_the_others(jit):
    def rows(n, **options):
        jfi.manual_seed(SEED)
        draw = lambda x: [jfi.randn(), until(lax.while_loop)(x)]
        x = np.linspace(1, 3, 5, dtype="float32")[:n]
        return np.stack(jit(jfi.vmap(draw, **options))(x))

    whole = rows(5)
    assert_all_different(whole)
    np.testing.assert_array_equal(rows(2), whole[:, :2])
    for size in (2,) if jit is jfi.jit else (2, 100):
        np.testing.assert_array_equal(rows(5, chunk_size=size), whole)


@pytest.mark.parametrize("in_axes", [(0, None), "auto"])
def test_chunks_bound_the_memory_of_a_gradient(in_axes):
    rows, W = np.ones((1024, 64), "float32"), np.eye(64, dtype="float32") * 0.5

    def deep(x, W):
        for _ in range(8):
            x = jfi.tanh(x @ W)
        return x.sum()

    def memory(chunk_size):
        batch = jfi.vmap(deep, in_axes, chunk_size=chunk_size)
        slope = jax.jit(jax.grad(lambda W: batch(rows, W).sum()))
        return slope.lower(W).compile().memory_analysis().temp_size_in_bytes

    assert memory(32) < memory(None) / 4


@pytest.mark.parametrize("chunk_size", [0, True, 2.0])
def test_a_chunk_size_that_is_none(chunk_size):
    with pytest.raises(jfi.BatchError, match="an int of 1 or more: chunk_size=32"):
        jfi.vmap(jfi.sin, chunk_size=chunk_size)


def test_chunks_of_what_is_no_batch():
    x = np.ones((4, 3), "float32")
    with pytest.raises(jfi.BatchError, match=r"mapped arrays of \[3, 4\] rows"):
        jfi.vmap(jfi.dot, (0, 1), chunk_size=2)(x, x)
    with pytest.raises(jfi.BatchError, match="out_axes= with None, and chunks"):
        jfi.vmap(jfi.sin, out_axes=None, chunk_size=2)(x)
    with pytest.raises(jfi.BatchError, match="axis_name=, which needs all rows"):
        jfi.vmap(jfi.sin, axis_name="i", chunk_size=2)


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
    "cond": lambda draw: lambda x: lax.cond(x > 0, draw, lambda x: x, x),
    "jfi.cond": lambda draw: lambda x: jfi.cond(x > 0, draw, lambda x: x, x),
}


@functools.cache
def draw_in_step(draw):
    return lambda carry, x: (carry, draw(x))


def in_each_call(f):
    """Its numbers from one seed, and how many it takes."""
    calls = [
        (lambda f: f, ONE),
        (jfi.jit, ONE),
        (lambda f: jfi.jit(jfi.vmap(f)), X3),
    ]
    for transform, x in calls:
        jfi.manual_seed(SEED)
        yield np.asarray(transform(f)(x)), count()


@functools.cache
def of_a_fresh_function(kind):
    return list(in_each_call(CACHED[kind](lambda x: jfi.randn())))


@pytest.mark.parametrize(
    ("kind", "before"),
    [
        ("jax.jit", "jax.vmap"),
        ("jfi.jit", "jit of vmap"),
        ("scan", "eager"),
        ("scan", "jfi.vmap"),
        ("jfi.scan", "jax.vmap"),
        ("jfi.scan", "jit of vmap"),
        ("cond", "eager"),
        ("jfi.cond", "jit"),
        ("jfi.cond", "grad"),
    ],
)
def test_what_was_traced_before_does_not_matter(kind, before):
    expected = of_a_fresh_function(kind)
    used = CACHED[kind](lambda x: jfi.randn())
    HISTORIES[before](used)
    for (a, m), (b, n) in zip(in_each_call(used), expected, strict=True):
        np.testing.assert_array_equal(a, b)
        assert m == n


def noisy(x):
    return (x * jfi.randn(3)).sum() + jfi.rand()


def noisy_scan(x):
    return jfi.scan(lambda c, _: (c + jfi.randn() * x, None), x, length=3)[0]


NOISY = {
    "jit": lambda: jfi.jit(noisy),
    "autojit": lambda: jfi.autojit(noisy),
    "checkpoint": lambda: jfi.checkpoint(noisy),
    "scan": lambda: noisy_scan,
    "jit of a scan": lambda: jfi.jit(noisy_scan),
    "nested": lambda: lambda x: jfi.jit(noisy)(x) + jfi.rand() * x,
    "fori_loop": lambda: (
        lambda x: jfi.fori_loop(0, 3, lambda _, c: c + jfi.rand() * x, x)
    ),
    "cond": lambda: lambda x: jfi.cond(x > 0, lambda: x * jfi.rand(), lambda: x),
    "map": lambda: lambda x: jfi.map(lambda y: y * x * jfi.rand(), jfi.ones(3)).sum(),
    "scan_while": lambda: (
        lambda x: (
            jfi.scan_while(
                lambda c: c < 5, lambda c: (c + x * jfi.rand(), None), x, 9
            ).carry
        )
    ),
}


@pytest.mark.parametrize("make", NOISY.values(), ids=NOISY)
def test_a_differentiated_function_draws_what_it_draws(make):
    """The value beside a derivative is that of the call; the stream goes on as then."""
    jfi.manual_seed(0)
    value, after = float(make()(2.0)), float(jfi.rand())
    derivatives = {
        "value_and_grad": lambda f: jfi.value_and_grad(f)(2.0)[0],
        "of JAX": lambda f: jax.value_and_grad(f)(2.0)[0],
        "jvp": lambda f: jfi.jvp(f, (2.0,), (1.0,))[0],
        "compiled": lambda f: jfi.jit(jfi.value_and_grad(f))(2.0)[0],
        "second": lambda f: jfi.value_and_grad(lambda x: jfi.value_and_grad(f)(x)[0])(
            2.0
        )[0],
    }
    for derivative in derivatives.values():
        f = make()
        for _ in range(2):
            jfi.manual_seed(0)
            assert float(derivative(f)) == pytest.approx(value, rel=1e-5)
            assert float(jfi.rand()) == after


@pytest.mark.parametrize("tool", [lambda f: f, jfi.jit, jfi.autojit])
def test_scan_while_step_n_draws_from_a_stream_of_its_own_in_the_key_of_the_loop(tool):
    def rows():
        def body(n):
            return n + 1, (jfi.randn(2), jfi.randn(2))

        return jfi.scan_while(lambda n: n < 5, body, 0, 8).ys

    jfi.manual_seed(3)
    jfi.randn()
    first, second = tool(rows)()
    k = jax.random.fold_in(jax.random.key(3), 1)  # draw 1 is the loop's
    for n in range(5):
        step = jax.random.fold_in(jax.random.fold_in(k, 0), n)
        for draw, row in enumerate((first[n], second[n])):
            key = jax.random.fold_in(step, draw)
            np.testing.assert_array_equal(row, jfi.randn(2, key=key))
    after = jax.random.fold_in(jax.random.key(3), 2)
    np.testing.assert_array_equal(jfi.randn(2), jfi.randn(2, key=after))
