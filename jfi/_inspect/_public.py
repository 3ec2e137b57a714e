"""`inspect`: what users call."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from .._advice import hiding_frames
from .._shown import shown_as
from .._values import names_to_copy, refuse_no_function
from ._report import Inspection
from ._tracing import trace


P = ParamSpec("P")


def inspect(
    fn: Callable[P, Any], /, *, compile: bool = False
) -> Callable[P, Inspection]:
    """Look at what a function computes, without computing it.

    >>> import jfi as jnp
    >>> def loss(w, x):
    ...     return ((jnp.tanh(x @ w) - 1) ** 2).mean()
    >>> report = jnp.inspect(loss)(jnp.ones((3, 2)), jnp.ones((10, 3)))
    >>> report.counts["dot_general"], report.flops, report.transcendentals
    (1, 180, 20)
    >>> report.largest.path, report.largest.nbytes
    ('x', 120)

    The function is traced, as the tool that it is under traces it: `jit`, `autojit`
    (functions and methods), `persistent`, or none, and then as by `autojit`. Nothing is
    computed or written back, and no random number is used up. As always when a function
    is traced, what it prints is printed.

    Args:
        fn: A function, method or callable object, plain or under any tool.
        compile: Whether to let XLA compile it, too, to report its time and memory.

    Returns:
        A function that takes what `fn` takes (a `jax.ShapeDtypeStruct` stands for an
        array) and returns an `Inspection`: print it, or read its attributes.

    Raises:
        TypeError: `fn` is no function; at a call, what `fn` raises while it is traced.
    """
    refuse_no_function("inspect", fn)

    @shown_as("inspect")
    @functools.wraps(fn, names_to_copy(fn), updated=())
    @hiding_frames
    def look(*args: P.args, **kwargs: P.kwargs) -> Inspection:
        report = Inspection(trace(fn, args, kwargs))
        if compile:
            report.compile()
        return report

    return look
