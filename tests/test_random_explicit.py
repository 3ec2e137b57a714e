"""Random draws under jfi's own tools on documented JAX alone.

The matrix of `test_random_matrix.py` in jfi's names, in a JAX that has no hidden state:
each way to draw in each way to call gives what plain Python gives. What only plain JAX
could give is refused by name.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest
from cheap_keys import SEED
from drawing import (
    assert_all_different,
    assert_same,
    assert_same_draws,
    cheap_keys,  # noqa: F401
    count,
    eager_stream,
    numbers,
)

import jfi
from jfi import _jax_internals as _jax_internals


ONE = np.float32(1)
X3 = np.linspace(1, 2, 3, dtype="float32")
X23 = np.linspace(1, 2, 6, dtype="float32").reshape(2, 3)


@pytest.fixture(autouse=True)
def _documented_jax():
    with _jax_internals.without("hidden_state"):
        yield


# ------------------------------------------------------------ ways to draw

# Not those of the other matrix: JAX remembers what it traced of a function, here that
# would be hidden state.


def draw_3(_=None):
    return [jfi.randn() for _ in range(3)]


def draw_1(_):
    return jfi.randn()


def draw_none(x):
    return [x, x, x]


def step(carry, _):
    return carry, jfi.randn()


def two_steps(carry, _):
    return jfi.scan(step, carry, length=2)


def stored(i, out):
    return out.at[i].set(jfi.randn())


def is_below_3(state):
    return state[0] < 3


def store_and_go_on(state):
    i, out = state
    return i + 1, stored(i, out)


def zeros():
    return np.zeros(3, "float32")


def in_condition(x):
    """What the body drew: the condition draws numbers 0, 2 and 4."""

    def go_on(state):
        return (state[0] < 2 * x / x) & (jfi.randn() < 100)

    return jfi.while_loop(go_on, store_and_go_on, (0, zeros()[:2]))[1]


def uneven(x):
    """As many draws as the data says, then one more."""
    steps = jfi.while_loop(
        lambda s: s[0] < x * 2, lambda s: (s[0] + 1, s[1].at[0].set(jfi.randn())),
        (0, zeros()[:1]),
    )  # fmt: skip
    return [steps[1], jfi.randn()]


def in_gradient(x):
    (_, drawn), _ = jfi.value_and_grad(lambda x: (x * 2, draw_3()), has_aux=True)(x)
    return drawn


def between_loops(x):
    """Draws singly, in loops, branches, derivatives and programs, one after another."""

    def loss(x):
        noise = jfi.scan(step, 0, length=2)[1]
        return x * noise.sum(), (noise, jfi.randn(), drawn_inside())

    (_, drawn), _ = jfi.value_and_grad(loss, has_aux=True)(x)
    return jfi.randn(), drawn, jfi.cond(x > 0, draw_1, lambda x: x, x), jfi.randn()


drawn_inside = jfi.jit(lambda: jfi.randn())
drawn_by_autojit = jfi.autojit(lambda: jfi.randn())


@dataclass
class Body:
    """A function that draws: which numbers of the stream it returns, and its draws."""

    draw: Any
    stream: tuple[int, ...] = (0, 1, 2)
    draws: int = 3


BODIES = {
    "draws": Body(draw_3),
    "jit": Body(lambda x: jfi.jit(draw_3)(x)),
    "jit three times": Body(lambda x: [drawn_inside() for _ in X3]),
    "autojit three times": Body(lambda x: [drawn_by_autojit() for _ in X3]),
    "jit with settings": Body(
        lambda x: jfi.jit(lambda n: [jfi.randn() for _ in range(n)], static_argnums=0)(
            3
        )
    ),
    "scan": Body(lambda x: jfi.scan(step, 0, length=3)[1]),
    "scan unrolled": Body(lambda x: jfi.scan(step, 0, length=3, unroll=2)[1]),
    "scan reversed": Body(
        lambda x: jfi.scan(step, 0, X3, reverse=True)[1], stream=(2, 1, 0)
    ),
    "scan of nothing": Body(lambda x: [jfi.scan(step, 0, length=0)[1], draw_3()]),
    "scan of scan": Body(
        lambda x: jfi.scan(two_steps, 0, length=2)[1], stream=(0, 1, 2, 3), draws=4
    ),
    "fori_loop": Body(lambda x: jfi.fori_loop(0, 3, stored, zeros())),
    "fori_loop to a tracer": Body(
        lambda x: jfi.fori_loop(0, (x * 0 + 3).astype(int), stored, zeros())
    ),
    "while_loop": Body(
        lambda x: jfi.while_loop(is_below_3, store_and_go_on, (0, zeros()))[1]
    ),
    "condition and body": Body(in_condition, stream=(1, 3), draws=5),
    "cond": Body(lambda x: jfi.cond(x > 0, draw_3, draw_none, x)),
    "cond with operand=": Body(lambda x: jfi.cond(x > 0, draw_3, draw_none, operand=x)),
    "switch": Body(lambda x: jfi.switch((x > 0).astype(int), [draw_none, draw_3], x)),
    "map": Body(lambda x: jfi.map(draw_1, X3)),
    "associative_scan": Body(
        lambda x: [
            jfi.associative_scan(lambda a, b: a + b + 0 * jfi.randn(), X3[:2])[0] * 0
            + jfi.randn(),
            *draw_3(),
        ],
        stream=(2, 3, 4, 5),
        draws=6,
    ),
    "checkpoint": Body(lambda x: jfi.checkpoint(draw_3)(x)),
    "value_and_grad": Body(in_gradient),
    "linearize": Body(lambda x: jfi.linearize(draw_3, x)[0]),
    "jvp": Body(lambda x: jfi.jvp(draw_3, (x,), (x,))[0]),
    "between loops": Body(between_loops, stream=tuple(range(7)), draws=7),
}


# ------------------------------------------------------------ ways to call


def value_of(transform):
    """The draws of a function while it is being differentiated."""

    def differentiated(body):
        def loss(x):
            return (x * 0).sum(), body(x)

        return lambda x: transform(loss, has_aux=True)(x)[1]

    return differentiated


def in_scan(body):
    return lambda xs: jfi.scan(lambda c, x: (c, body(x)), 0, xs)[1]


@dataclass
class Call:
    """A way to call a body, and what it gets.

    Attributes:
        of: Makes of a body the function to call.
        x: Its argument.
        draws: How many draws it takes; None: those of the body.
    """

    of: Any
    x: Any = ONE
    draws: int | None = None


CALLS = {
    "eager": Call(lambda f: f),
    "jit": Call(jfi.jit),
    "autojit": Call(jfi.autojit),
    "jit of jit": Call(lambda f: jfi.jit(jfi.jit(f))),
    "jit of autojit": Call(lambda f: jfi.jit(jfi.autojit(f))),
    "autojit of checkpoint": Call(lambda f: jfi.autojit(jfi.checkpoint(f))),
    "grad": Call(value_of(jfi.grad)),
    "grad of jit": Call(lambda f: value_of(jfi.grad)(jfi.jit(f))),
    "grad of checkpoint": Call(lambda f: value_of(jfi.grad)(jfi.checkpoint(f))),
    "jit of grad": Call(lambda f: jfi.jit(value_of(jfi.grad)(f))),
    "jit of jacrev": Call(lambda f: jfi.jit(value_of(jfi.jacrev)(f))),
    "jvp": Call(lambda f: lambda x: jfi.jvp(f, (x,), (x,))[0]),
    "vjp": Call(lambda f: lambda x: jfi.vjp(f, x)[0]),
    "linearize": Call(lambda f: lambda x: jfi.linearize(f, x)[0]),
    "hessian": Call(value_of(jfi.hessian), draws=1),
    "jit of jacfwd": Call(lambda f: jfi.jit(value_of(jfi.jacfwd)(f)), draws=1),
    "vmap": Call(jfi.vmap, X3, draws=1),
    "vmap in chunks": Call(lambda f: jfi.vmap(f, chunk_size=2), X3, draws=1),
    "vmap of vmap": Call(lambda f: jfi.vmap(jfi.vmap(f)), X23, draws=1),
    "vmap of jit": Call(lambda f: jfi.vmap(jfi.jit(f)), X3, draws=1),
    "vmap of grad": Call(lambda f: jfi.vmap(value_of(jfi.grad)(f)), X3, draws=1),
    "jit of vmap": Call(lambda f: jfi.jit(jfi.vmap(f)), X3, draws=1),
    "grad of vmap": Call(lambda f: value_of(jfi.grad)(jfi.vmap(f)), X3, draws=1),
    "vmap_automatically": Call(
        lambda f: lambda xs: jfi.vmap_automatically(lambda p: f(p["x"]), {"x": xs}),
        X3,
        draws=1,
    ),
    "scan": Call(in_scan, X3),
    "jit of scan": Call(lambda f: jfi.jit(in_scan(f)), X3),
    "scan of vmap": Call(lambda f: in_scan(jfi.vmap(f)), X23, draws=2),
}
EACH_BODY = ("eager", "jit", "vmap")
# Each primitive of an eager gradient is compiled: one loop, one branch, one program.
IN_GRAD = ("draws", "jit", "while_loop", "condition and body", "cond", "checkpoint")
ROWS = [
    pytest.param(body, call, id=f"{call}: {body}")
    for call in CALLS
    for body in BODIES
    if call in EACH_BODY
    or body == "between loops"
    or (call == "grad" and body in IN_GRAD)
]


@pytest.mark.usefixtures("cheap_keys")
@pytest.mark.parametrize(("body", "call"), ROWS)
def test_draws_are_those_of_plain_python(body, call):
    body, call = BODIES[body], CALLS[call]
    rows = np.size(call.x)
    run = call.of(lambda x: body.draw(x))
    first = run(call.x)
    advance = count()
    second = run(call.x)
    assert_all_different(first, second, jfi.randn(3))
    assert numbers(first).size == len(body.stream) * rows
    assert advance == (body.draws * rows if call.draws is None else call.draws)
    if call.draws is None:
        stream = eager_stream(body.draws * rows, SEED).reshape(rows, -1)
        wanted = stream[:, list(body.stream)]
        assert_same_draws(np.sort(numbers(first)), np.sort(wanted.ravel()))
    with jfi.seed(SEED):
        assert_same(run(call.x), first)


@pytest.mark.parametrize("call", ["eager", "jit", "autojit", "grad", "jit of grad"])
def test_draws_that_depend_on_the_data(call):
    run = CALLS[call].of(uneven)
    for x in (ONE, 2 * ONE, 0 * ONE):
        jfi.manual_seed(SEED)
        last = numbers(run(x))[-1]
        n = int(2 * x)
        assert count() == n + 1
        assert last == eager_stream(n + 1, SEED)[n]


@pytest.mark.parametrize("loop", ["scan", "fori_loop", "while_loop", "map"])
def test_a_gradient_uses_the_draws_of_the_value(loop):
    def f(x):
        return (x * numbers_of(BODIES[loop].draw(x))).sum()

    def numbers_of(tree):
        return jfi.stack(jax.tree.leaves(tree)).ravel()

    for transform in (lambda f: f, jfi.jit):
        jfi.manual_seed(SEED)
        slope = transform(jfi.grad(f))(ONE)
        np.testing.assert_allclose(slope, eager_stream(3, SEED).sum(), rtol=1e-6)


def test_a_bound_generator_and_the_stream_around_it():
    own = jfi.Generator(7)

    @jfi.jit
    def f(x):
        return jfi.scan(lambda c, _: (c, (own.randn(), jfi.randn())), x, length=3)[1]

    first, second = f(ONE), f(ONE)
    assert_all_different(first, second)
    own.manual_seed(7)
    wanted = [own.randn() for _ in range(6)]
    assert_same(np.concatenate([first[0], second[0]]), np.array(wanted))
    drawn = np.concatenate([first[1], second[1]])
    assert_same(drawn, eager_stream(6))


def test_each_row_of_a_loop_of_variable_length_draws_its_own():
    def f(x):
        body = lambda c: (c + 1, jfi.randn())
        return jfi.scan_while(lambda c: c < 3 * x, body, 0 * x, 6).ys

    rows = jfi.jit(jfi.vmap(f))(X3[:2])
    assert_all_different(rows[:, :3])
    assert_all_different(jfi.vmap(jfi.cond, (0, None, None, 0))(
        X3 > 1.2, draw_1, draw_1, X3
    ))  # fmt: skip


@pytest.mark.parametrize("missing", [(), ("hidden_state",)])
def test_rows_in_batches_draw_the_same_in_batches_of_any_size(missing):
    def rows(batch_size):
        jfi.manual_seed(SEED)
        return jfi.map(draw_1, X23.ravel(), batch_size=batch_size), count()

    with _jax_internals.without(*missing):
        found = [rows(size) for size in (2, 3, 4, 6)]
        with_jit = jfi.jit(lambda: jfi.map(draw_1, X23.ravel(), batch_size=4))
        jfi.manual_seed(SEED)
        found.append((with_jit(), count()))
    for drawn, draws in found:
        assert_same(drawn, found[0][0])
        assert draws == 1
    assert_all_different(found[0][0])


def test_dropout_keys_and_rows_in_batches():
    kept = jfi.jit(lambda x: jfi.dropout(x, 0.5))(np.ones(1000, "float32"))
    assert 300 < int((kept == 0).sum()) < 700
    drawn = jfi.jit(lambda: jfi.map(draw_1, X23.ravel(), batch_size=4))()
    assert_all_different(drawn, jfi.jit(lambda: jfi.randn())())
    assert_all_different(
        *[jax.random.key_data(jfi.jit(jfi.make_random_key)()) for _ in X3]
    )


def test_a_class_that_draws_in_its_methods():
    class Model:
        def __init__(self):
            self.w = jfi.zeros(3)

        @jfi.autojit
        def step(self, rate=1.0):
            slope = jfi.grad(lambda w: (w * jfi.randn(3)).sum())(self.w)
            self.w = self.w + rate * slope

    model = Model()
    model.step()
    model.step(rate=0.0)
    jfi.manual_seed(0)
    np.testing.assert_allclose(model.w, jfi.randn(3), rtol=1e-6)


ONLY_CALL = {
    "tree.map": lambda x: jax.tree.map(jfi.randn_like, {"a": x, "b": x}),
    "named_scope": jax.named_scope("layer")(jfi.randn_like),
    "named_call": lambda x: jax.named_call(jfi.randn_like)(x),
    "annotate_function": jax.profiler.annotate_function(jfi.randn_like),
    "Sequential": lambda x: eqx.nn.Sequential([eqx.nn.Lambda(jfi.randn_like)])(x),
}


@pytest.mark.parametrize("name", ONLY_CALL)
def test_what_only_calls_a_function_is_no_transformation(name):
    run = jfi.jit(ONLY_CALL[name])
    assert_all_different(run(X3), run(X3))


# ------------------------------------------------------------ what is refused


@jax.custom_jvp
def with_jvp(x):
    return jfi.randn()


with_jvp.defjvp(lambda primals, _: (jfi.randn(), np.float32(0)))
PLAIN = {
    "jit": jax.jit(draw_1),
    "vmap": lambda x: jax.vmap(draw_1)(X3),
    "scan": lambda x: jax.lax.scan(step, 0, length=2)[1],
    "cond": lambda x: jax.lax.cond(x > 0, draw_1, lambda x: x, x),
    "while_loop": lambda x: jax.lax.while_loop(is_below_3, store_and_go_on, (0, X3)),
    "checkpoint": jax.checkpoint(draw_1),
    "grad": lambda x: jax.grad(lambda x: x * jfi.randn())(x),
    "custom_jvp": with_jvp,
    "filter_jit": eqx.filter_jit(draw_1),
    "jfi.scan in jax.jit": lambda x: jax.jit(lambda: jfi.scan(step, 0, length=2))(),
    "jfi.jit in jax.vmap": lambda x: jax.vmap(lambda x: drawn_inside() + x)(X3),
    "jfi.vmap in jax.jit": lambda x: jax.jit(lambda: jfi.vmap(draw_1)(X3))(),
}


AROUND = {
    "alone": lambda f: f,
    "in jfi.jit": jfi.jit,
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", PLAIN)
def test_draws_in_plain_jax_are_refused(name, around):
    drawn_inside()
    if (name, around) == ("custom_jvp", "alone"):
        assert_all_different(with_jvp(ONE), with_jvp(ONE))  # nothing is traced
        return
    run = AROUND[around](PLAIN[name])
    for _ in range(2):  # nothing is remembered of the first
        with pytest.raises(jfi.RandomError, match="this release of JAX hides from jfi"):
            run(ONE)
    assert_all_different(jfi.randn(3), jfi.jit(lambda: jfi.randn(3))())


def test_a_signal_that_user_code_swallows_is_told():
    def f(x):
        try:
            return jfi.randn()
        except BaseException:
            return x

    for tool in (jfi.jit, lambda f: jfi.jit(jfi.jit(f)), jfi.autojit):
        with pytest.raises(jfi.RandomError, match="`except Exception:`"):
            tool(lambda x: f(x))(ONE)
