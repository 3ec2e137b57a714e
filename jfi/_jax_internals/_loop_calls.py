"""What loops ask of JAX: calls with rules of their own."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ._effects import inner_jaxprs
from ._pieces import outside_of_tracing, piece
from ._settings import setting


@piece(
    uses="the tables of rules for primitives: _jax_internals/_linear_call.py",
    without="no forward mode (jvp, jacfwd, hessian) through scan_while",
    refuses=True,
)
def linear_calls() -> Callable[..., Any] | None:
    from ._linear_call import linear_call

    return linear_call if outside_of_tracing(lambda: _transposes(linear_call)) else None


@piece(
    uses="the tables of rules for primitives: _jax_internals/_ruled_call.py",
    without="no derivative of scan_while inside a jax.lax.scan inside vmap; "
    "jfi.cond there copies what all rows share",
    refuses=True,
)
def ruled_calls() -> Callable[..., Any] | None:
    from ._ruled_call import ruled_call

    return (
        ruled_call if outside_of_tracing(lambda: _follows_rules(ruled_call)) else None
    )


def _follows_rules(ruled_call: Callable[..., Any]) -> bool:
    """Whether a call has the derivative and the batched form that it is given."""

    def rows(size: Any, options: Any, is_batched: Any, x: Any) -> Any:
        return x * 10, True

    def derivative(primals: Any, tangents: Any) -> Any:
        return primals[0], tangents[0] * 3

    call = ruled_call(lambda x: x, rows, derivative, frozenset())
    found = jax.jit(
        lambda x: (call(x), jax.vmap(call)(x), jax.grad(lambda x: call(x).sum())(x))
    )(np.ones(1, np.float32))
    return [x.tolist() for x in found] == [[1], [10], [3]]


def _transposes(linear_call: Callable[..., Any]) -> bool:
    """Whether a product that is declared linear has all its derivatives."""

    def times(a: Any, x: Any) -> Any:
        return a * x

    @jax.custom_jvp
    def product(a: Any, x: Any) -> Any:
        return a * x

    @product.defjvp
    def _derivative(primals: Any, tangents: Any) -> Any:
        (a, x), (_, dx) = primals, tangents
        return a * x, linear_call(times, times, a, dx, like=x)

    def derivatives(a: Any) -> Any:
        return (
            jax.jvp(jax.vmap(product), (a, a), (a, a))[1],
            jax.grad(lambda x: jax.vmap(product)(a, x).sum())(a),
            jax.vmap(jax.jacfwd(jax.grad(lambda a: product(a, a) * a)))(a),
        )

    found = jax.jit(derivatives)(np.arange(1, 4, dtype=np.float32))
    return [x.tolist() for x in found] == [[1, 4, 9], [1, 2, 3], [4, 8, 12]]


def with_kept_rules(run: Callable[[], Any]) -> Any:
    """`run()`, which has a scan, and is traced: with derivatives by all rules in it.

    Those of `jax.custom_jvp`, which JAX 0.10 forgets after the first derivative.
    """
    keep = None if setting("jax_disable_jit") else kept_rules()
    return run() if keep is None else keep(run)


@piece(
    uses="the equations of a jaxpr: _jax_internals/_kept_rules.py",
    without="second derivatives of a loop around a custom_jvp function may be those of "
    "the function's code, and not of its rule",
)
def kept_rules() -> Callable[[Callable[[], Any]], Any] | None:
    if outside_of_tracing(lambda: _keeps_rules(lambda run: run())):  # JAX 0.12
        return lambda run: run()
    from ._kept_rules import keeping_rules

    return (
        keeping_rules
        if outside_of_tracing(lambda: _keeps_rules(keeping_rules))
        else None
    )


def _keeps_rules(keep: Callable[[Callable[[], Any]], Any]) -> bool:
    """Whether a rule is still in a loop that was differentiated once."""

    @jax.custom_jvp
    def rule(x: Any) -> Any:
        return x * 0

    @rule.defjvp
    def _derivative(primals: Any, tangents: Any) -> Any:
        return rule(primals[0]), primals[0] * tangents[0]

    def loop(x: Any) -> Any:
        step = lambda c, _: (rule(c), None)
        return keep(lambda: jax.lax.scan(step, x, None, 2)[0])

    closed = jax.make_jaxpr(jax.grad(loop))(1.0)
    scans = [e for e in closed.jaxpr.eqns if e.primitive.name == "scan"]
    names = {
        e.primitive.name for j in map(inner_jaxprs, scans) for x in j for e in x.eqns
    }
    return not names.isdisjoint(("custom_jvp_call", "ruled_call"))


def refuses_forward_mode(error: TypeError) -> bool:
    """Whether this is what JAX says to the `jvp` of a `custom_vjp` function."""
    return "forward-mode" in str(error)
