"""Refusals of draws where JAX can't give random state, in words that help."""

import threading
import weakref
from collections.abc import Callable
from typing import Any

from ..._errors import RandomError
from ..._jax_internals import condition_draws, current_trace, enclosing_transformations


_INSTEAD = {
    "jacfwd": "jfi.jacfwd or jfi.hessian",
    "shard_map": "jfi.shard_map",
    "pmap": "jfi.shard_map",
    "cond": "jfi.cond, or jfi.vmap around it",
    "switch": "jfi.switch, or jfi.vmap around it",
    "while_loop": "jfi.while_loop, or jfi.vmap around it",
    "export": "a function that takes a key: draw with `key=key`",
}
_REPLAYED = (
    "A random number was drawn inside equinox's checkpointed while loop (diffrax "
    "has it, too), whose gradient runs the body once more and would draw another one. "
    "Write jfi.scan or jfi.scan_while; or pass a key into the loop, fold in the number "
    "of the step, jax.random.fold_in(key, step), and draw with `key=`."
)
LOST_DERIVATIVES = (
    "A loop or a branch that draws random numbers has a function with derivatives of "
    "its own (custom_jvp, custom_vjp; a scan_while or while_loop(max_steps=) has such, "
    "too), which JAX forgets inside jfi.vmap, jfi.jacfwd, scan_while or jfi.cond under "
    "vmap. Write jfi.jacrev in place of jfi.jacfwd; differentiate inside, "
    "jfi.vmap(jax.grad(f)); or draw before the loop."
)
CAUGHT = (
    "Your `except BaseException:` (or a bare `except:`) around a random draw, in code "
    "that JAX traces, swallowed a signal of jfi. Write `except Exception:`, or draw "
    "before the `try`."
)
NOT_IN_THIS_JAX = (
    "A random number was drawn in code that JAX traces, and this release of JAX hides "
    "from jfi what that needs. Draw a key outside, `key = jnp.make_random_key()`, pass "
    "it as an argument and write `key=key` inside; or install a release listed in "
    "jfi's constraints.txt."
)


def refuse_around(until: Callable[..., Any]) -> None:
    """Refuse, by name, what JAX would refuse in words that help nobody."""
    trace = current_trace()
    if trace is not None and _allowed.trace() is trace:
        return  # the draw before was in the same trace: a walk less up the call stack
    _refuse_around(until)
    _allowed.trace = weakref.ref(trace) if trace is not None else _no_trace


def _no_trace() -> None:
    """A weak reference to nothing."""


class _Allowed(threading.local):
    """The trace of this thread in which draws were allowed last."""

    trace: Callable[[], object] = staticmethod(_no_trace)


_allowed = _Allowed()


def _refuse_around(until: Callable[..., Any]) -> None:
    if condition_draws():
        raise RandomError(
            "Random numbers are drawn in the condition and in the body of "
            "jax.lax.while_loop, which JAX can't give random state. Write "
            "jfi.while_loop."
        )
    branch = None
    for name in enclosing_transformations(until):
        if name == "vmap":
            if branch is not None:
                raise RandomError(refusal(branch, "vmap"))
        elif name in ("cond", "switch"):
            branch = name
        elif name == "equinox":
            raise RandomError(_REPLAYED)
        else:
            raise RandomError(refusal(name, name))


def refusal(name: str, outer: str) -> str:
    inside = f"jax.lax.{name} under jax.vmap" if outer == "vmap" else f"jax.{outer}"
    return (
        f"A random number was drawn inside {inside}, which JAX can't give "
        f"random state. Write {_INSTEAD[name]}."
    )


def is_under_vmap(until: Callable[..., Any]) -> bool:
    """Whether the caller is inside `jax.vmap`, and of no `until` inside it."""
    return "vmap" in enclosing_transformations(until)
