"""Each way to draw, in each way to call: never the same number twice.

`BODIES` draw, each in another construct of JAX; `CALLS` run a body under some nesting
of transformations, of JAX's own and of jfi's.
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
    plain_jit_is_ok,  # noqa: F401
)
from jax import lax

import jfi


pytestmark = pytest.mark.usefixtures("plain_jit_is_ok")
ONE = np.float32(1)
X3 = np.linspace(1, 2, 3, dtype="float32")
X23 = np.linspace(1, 2, 6, dtype="float32").reshape(2, 3)


# ------------------------------------------------------------ ways to draw: 3 numbers


def draw_3(_=None):
    return [jfi.randn() for _ in range(3)]


def draw_1(_):
    return jfi.randn()


def keep(x):
    return x


def draw_none(x):
    return [x, x, x]


def step(carry, _):
    return carry, jfi.randn()


def two_steps(carry, _):
    return lax.scan(step, carry, length=2)


def two_of_our_steps(carry, _):
    return jfi.scan(step, carry, length=2)


def stored(i, out):
    return out.at[i].set(jfi.randn())


def is_below_3(state):
    return state[0] < 3


def store_and_go_on(state):
    i, out = state
    return i + 1, stored(i, out)


def stored_in_loop(i, out):
    return lax.while_loop(
        lambda state: state[0] < 1,
        lambda state: (state[0] + 1, stored(i, state[1])),
        (0, out),
    )[1]


def zeros():
    return np.zeros(3, "float32")


@jax.custom_jvp
def with_jvp(x):
    return draw_3()


with_jvp.defjvp(lambda primals, _: (draw_3(), [np.float32(0)] * 3))


@jax.custom_vjp
def with_vjp(x):
    return draw_3()


with_vjp.defvjp(lambda x: (draw_3(), None), lambda *_: (np.float32(0),))


def in_condition(while_loop, x):
    """What the condition and the body drew: the first runs once more than the other."""
    out = zeros()

    def go_on(state):
        return (state[0] < 2 * x / x) & (jfi.randn() < 100)  # numbers 0, 2 and 4

    def body(state):
        i, out = state
        return i + 1, stored(i, out)  # numbers 1 and 3

    return while_loop(go_on, body, (0, out[:2]))[1]


def loop_of_equinox(x):
    return eqx.internal.while_loop(
        is_below_3, store_and_go_on, (0, zeros()), kind="lax"
    )[1]


def several(x):
    """Draws singly, in a loop and in a branch: 4 numbers."""
    return several_in_rows(x), lax.cond(x > 0, draw_1, keep, x)


def several_in_rows(x):
    """The same without the branch, which plain `jax.vmap` refuses: 3 numbers."""
    return jfi.randn(), lax.scan(step, 0, length=2)[1]


compiled_before = jax.jit(lambda: jfi.randn())
drawn_inside = jfi.jit(lambda: jfi.randn())


@dataclass
class Body:
    """A function that draws.

    Attributes:
        draw: The function of a float.
        stream: Which numbers of the stream it gives where it uses the eager stream.
        draws: How many it takes then.
        eager: How many it takes in eager code, where a program that plain JAX compiled
            takes one; as many as `draws`: it uses the eager stream.
        same: Whether draws in eager code as many as `draws` are the eager stream's.
        refused: Under plain `jax.vmap`, the name of the counterpart in the message.
        everywhere: Whether it is refused in each call, not only there.
    """

    draw: Any
    stream: Any = (0, 1, 2)
    draws: int = 3
    eager: int = 1
    refused: str | None = None
    everywhere: bool = False
    same: bool = True


BODIES = {
    "draws": Body(draw_3, eager=3),
    "jax.jit": Body(lambda x: jax.jit(draw_3)(x)),
    "jit three times": Body(
        lambda x: [compiled_before() for _ in X3], eager=3, same=False
    ),
    "jfi.jit": Body(lambda x: [drawn_inside() for _ in X3], eager=3),
    "scan": Body(lambda x: lax.scan(step, 0, length=3)[1]),
    "scan unrolled": Body(lambda x: lax.scan(step, 0, length=3, unroll=2)[1]),
    "scan reversed": Body(
        lambda x: lax.scan(step, 0, X3, reverse=True)[1], stream=(2, 1, 0)
    ),
    "scan of nothing": Body(
        lambda x: [lax.scan(step, 0, length=0)[1], draw_3()], eager=4
    ),
    "scan of scan": Body(
        lambda x: lax.scan(two_steps, 0, length=2)[1],
        stream=(0, 1, 2, 3),
        draws=4,
    ),
    "fori_loop": Body(lambda x: lax.fori_loop(0, 3, stored, zeros())),
    "fori_loop to a tracer": Body(
        lambda x: lax.fori_loop(0, (x * 0 + 3).astype(int), stored, zeros()),
        refused="jfi.while_loop",
    ),
    "while_loop": Body(
        lambda x: lax.while_loop(is_below_3, store_and_go_on, (0, zeros()))[1]
    ),
    "while_loop that draws end": Body(
        lambda x: lax.while_loop(
            lambda out: out[2] == 0,
            lambda out: stored((out != 0).sum(), out),
            zeros(),
        ),
        refused="jfi.while_loop",
    ),
    "even loop in an uneven one": Body(
        lambda x: lax.while_loop(
            lambda state: state[0] < 3 * x / x,
            lambda state: (state[0] + 1, stored_in_loop(*state)),
            (0, zeros()),
        )[1],
        refused="jfi.while_loop",
    ),
    "condition and body": Body(
        lambda x: in_condition(lax.while_loop, x),
        refused="jfi.while_loop",
        everywhere=True,
    ),
    "jfi.while_loop, condition and body": Body(
        lambda x: in_condition(jfi.while_loop, x), stream=(1, 3), draws=5, eager=5
    ),
    "cond": Body(
        lambda x: lax.cond(x > 0, lambda x: draw_3(), lambda x: [x, x, x], x),
        refused="jfi.cond",
    ),
    "switch": Body(
        lambda x: lax.switch(
            (x > 0).astype(int), [lambda x: [x, x, x], lambda x: draw_3()], x
        ),
        refused="jfi.switch",
    ),
    "map": Body(lambda x: lax.map(draw_1, X3)),
    "checkpoint": Body(lambda x: jax.checkpoint(draw_3)(x), eager=3),
    "custom_jvp": Body(with_jvp, eager=3),
    "custom_vjp": Body(with_vjp, eager=3),
    "filter_jit": Body(lambda x: eqx.filter_jit(draw_3)(x)),
    "eqx while": Body(loop_of_equinox),
    "jfi.scan": Body(lambda x: jfi.scan(step, 0, length=3)[1], eager=3),
    "jfi.scan of jfi.scan": Body(
        lambda x: jfi.scan(two_of_our_steps, 0, length=2)[1],
        stream=(0, 1, 2, 3),
        draws=4,
        eager=4,
    ),
    "jfi.fori_loop": Body(lambda x: jfi.fori_loop(0, 3, stored, zeros()), eager=3),
    "jfi.while_loop": Body(
        lambda x: jfi.while_loop(
            lambda s: s[0] < 3 * x / x, store_and_go_on, (0, zeros())
        )[1],
        eager=3,
    ),
    "jfi.cond": Body(lambda x: jfi.cond(x > 0, draw_3, draw_none, x), eager=3),
    "jfi.switch": Body(
        lambda x: jfi.switch((x > 0).astype(int), [draw_none, draw_3], x),
        eager=3,
    ),
    "jfi.map": Body(lambda x: jfi.map(draw_1, X3), eager=3),
}

# ------------------------------------------------------------ ways to call


def value_of_grad(transform):
    """The draws of a function while it is being differentiated."""

    def differentiated(body):
        def loss(x):
            return x * 0, body(x)

        return lambda x: transform(loss, has_aux=True)(x)[1]

    return differentiated


def pushed(body):
    return lambda x: jax.jvp(body, (x,), (x,))[0]


def pulled(body):
    return lambda x: jax.vjp(body, x)[0]


def linearized(body):
    return lambda x: jax.linearize(body, x)[0]


def in_scan(body):
    return lambda xs: lax.scan(lambda c, x: (c, body(x)), 0, xs)[1]


@dataclass
class Call:
    """A way to call a body.

    Attributes:
        of: Makes of a body the function to call.
        x: Its argument.
        kind: What random numbers it gets: "stream" those of eager code; "program" one
            draw for a stream of its own, at each run; "rows" one draw for all rows;
            "eager" as the body does in eager code; None: not said.
        batches: Whether plain `jax.vmap` meets the body as it is.
    """

    of: Any
    x: Any = ONE
    kind: str | None = "program"
    batches: bool = False


CALLS = {
    "eager": Call(lambda f: f, kind="eager"),
    "jax.jit": Call(jax.jit),
    "jax.jit of jax.jit": Call(lambda f: jax.jit(jax.jit(f))),
    "jax.jit of jfi.jit": Call(lambda f: jax.jit(jfi.jit(f))),
    "filter_jit": Call(eqx.filter_jit),
    "jfi.jit": Call(jfi.jit, kind="stream"),
    "jfi.jit of jfi.jit": Call(lambda f: jfi.jit(jfi.jit(f)), kind="stream"),
    "jfi.jit of jax.jit": Call(lambda f: jfi.jit(jax.jit(f)), kind="stream"),
    "jfi.jit of checkpoint": Call(lambda f: jfi.jit(jax.checkpoint(f)), kind="stream"),
    "grad": Call(value_of_grad(jax.grad), kind=None),
    "value_and_grad of jfi.jit": Call(
        lambda f: value_of_grad(jax.grad)(jfi.jit(f)), kind=None
    ),
    "jfi.jit of grad": Call(
        lambda f: jfi.jit(value_of_grad(jax.grad)(f)), kind="stream"
    ),
    "jax.jit of grad": Call(lambda f: jax.jit(value_of_grad(jax.grad)(f))),
    "grad of jax.jit": Call(lambda f: value_of_grad(jax.grad)(jax.jit(f)), kind=None),
    "grad of checkpoint": Call(
        lambda f: value_of_grad(jax.grad)(jax.checkpoint(f)), kind=None
    ),
    "jacrev": Call(value_of_grad(jax.jacrev), kind=None),
    "jvp": Call(pushed, kind=None),
    "vjp": Call(pulled, kind=None),
    "linearize": Call(linearized, kind=None),
    "jax.vmap": Call(jax.vmap, X3, kind=None, batches=True),
    "jax.vmap of jax.jit": Call(lambda f: jax.vmap(jax.jit(f)), X3, None, batches=True),
    "jax.vmap of jfi.jit": Call(lambda f: jax.vmap(jfi.jit(f)), X3, None, batches=True),
    "jax.jit of jax.vmap": Call(lambda f: jax.jit(jax.vmap(f)), X3, batches=True),
    "jfi.jit of jax.vmap": Call(
        lambda f: jfi.jit(jax.vmap(f)), X3, kind=None, batches=True
    ),
    "jax.vmap of jax.vmap": Call(
        lambda f: jax.vmap(jax.vmap(f)), X23, kind=None, batches=True
    ),
    "jax.vmap of grad": Call(
        lambda f: jax.vmap(value_of_grad(jax.grad)(f)), X3, kind=None, batches=True
    ),
    "jax.vmap of jfi.vmap": Call(lambda f: jax.vmap(jfi.vmap(f)), X23, kind=None),
    "jfi.vmap": Call(jfi.vmap, X3, kind="rows"),
    "jfi.vmap in chunks": Call(lambda f: jfi.vmap(f, chunk_size=2), X3, kind="rows"),
    "jfi.vmap of jfi.vmap": Call(lambda f: jfi.vmap(jfi.vmap(f)), X23, kind="rows"),
    "jfi.vmap of jax.vmap": Call(
        lambda f: jfi.vmap(jax.vmap(f)), X23, kind="rows", batches=True
    ),
    "jfi.vmap of jax.jit": Call(lambda f: jfi.vmap(jax.jit(f)), X3, kind="rows"),
    "jfi.vmap of jfi.jit": Call(lambda f: jfi.vmap(jfi.jit(f)), X3, kind="rows"),
    "jfi.jit of jfi.vmap": Call(lambda f: jfi.jit(jfi.vmap(f)), X3, kind="rows"),
    "jax.jit of jfi.vmap": Call(lambda f: jax.jit(jfi.vmap(f)), X3),
    "scan": Call(in_scan, X3),
    "jfi.jit of scan": Call(lambda f: jfi.jit(in_scan(f)), X3, kind=None),
}

# Each body in some calls; each call of a body that draws in several ways.
MANY = {
    "several": Body(several, stream=(0, 1, 2, 3), draws=4, eager=3),
    "several in rows": Body(several_in_rows, eager=2),
    "cond in rows": BODIES["cond"],
}
SOME_CALLS = {"eager", "jfi.jit"}
# Those are in rows that way, the others the other way; what is uneven, both ways.
PLAIN_ROWS = {
    "jax.jit", "jfi.jit", "scan", "fori_loop", "while_loop", "checkpoint", "custom_jvp",
    "jfi.cond", "jfi.map",
}  # fmt: skip
UNEVEN = {"jfi.while_loop, condition and body", "jfi.while_loop"}


def is_tried(name, call):
    if name in MANY:
        return ("rows" in name) == CALLS[call].batches
    if call == "jax.jit of jax.vmap":
        return name in PLAIN_ROWS | UNEVEN or BODIES[name].refused is not None
    if call == "jfi.jit of jfi.vmap":
        return name not in PLAIN_ROWS
    if call == "jax.vmap":
        return BODIES[name].refused is not None
    return call in SOME_CALLS


ROWS = [
    pytest.param(body, CALLS[call], id=f"{call}: {name}")
    for call in CALLS
    for name, body in (BODIES | MANY).items()
    if is_tried(name, call)
]


def expected_advance(body, call):
    match call.kind:
        case "stream":
            return body.draws
        case "program" | "rows":
            return 1
        case "eager":
            return body.eager
    return None


def is_stream(body, call):
    """Whether it gives the numbers of eager code."""
    eager = call.kind == "eager" and body.eager == body.draws and body.same
    return eager or call.kind == "stream"


@pytest.mark.usefixtures("cheap_keys")
@pytest.mark.parametrize(("body", "call"), ROWS)
def test_every_number_is_new(body, call):
    run = call.of(lambda x: body.draw(x))
    if body.everywhere or (body.refused and call.batches):
        with pytest.raises(jfi.RandomError, match=body.refused):
            run(call.x)
        assert_all_different(jfi.randn(3))  # nothing leaked
        return
    # Fills the caches of inner functions: what was traced before must not matter.
    jax.make_jaxpr(body.draw)(X3[0])
    first = run(call.x)
    advance = count()
    second = run(call.x)
    assert_all_different(first, second, jfi.randn(3))
    assert numbers(first).size == len(body.stream) * np.size(call.x)
    if (expected := expected_advance(body, call)) is not None:
        assert advance == expected
    if is_stream(body, call):
        wanted = eager_stream(body.draws, SEED)[list(body.stream)]
        assert_same_draws(first, wanted)
    elif call.kind != "eager":
        with jfi.seed(SEED):
            assert_same(run(call.x), first)


@pytest.mark.parametrize("body", ["draws", "scan", "cond", "checkpoint", "jfi.scan"])
def test_no_tracer_leaks(body):
    with jax.checking_leaks():
        jax.jit(lambda x: BODIES[body].draw(x)).trace(X3[0])
        if body in {"scan", "cond"}:
            jfi.jit(lambda x: BODIES[body].draw(x))(X3[0])
    assert_all_different(jfi.randn(3))
