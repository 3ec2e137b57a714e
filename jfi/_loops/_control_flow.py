"""JAX's loops and branches, for eager code too, and with errors in the user's words."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np
from jax import lax

from .._advice import hiding_frames
from .._jax_internals import at_top_level
from .._shown import shown_as
from .._values import names_to_copy
from . import _operations
from ._arguments import check_branches, check_functions, check_length
from ._programs import run_loop, static
from ._scan_while import bounded_while_loop


Carry = TypeVar("Carry")
X = TypeVar("X")
Y = TypeVar("Y")
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


@hiding_frames
def scan(
    f: Callable[[Carry, X], tuple[Carry, Y]],
    init: Carry,
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    progress: bool | str = False,
) -> tuple[Carry, Y]:
    """A loop over the rows of arrays, with a carry: `jax.lax.scan`.

    >>> import jfi as jnp
    >>> total, sums = jnp.scan(lambda c, x: (c + x, c + x), 0.0, jnp.arange(4.0))
    >>> sums
    Array([0., 1., 3., 6.], dtype=float32)

    Called by eager code it is compiled once for each place in the source, also with a
    lambda made anew.

    Args:
        f: Takes the carry and a row, returns the pair `(carry, y)`.
        init: The first carry: any tree of arrays and numbers.
        xs: A tree of arrays with the same leading size, or None.
        length: The number of steps; needed without `xs`.
        reverse: Whether to begin at the last row.
        unroll: How many steps to write out in each iteration of the compiled loop.
        _split_transpose: Whether a derivative runs what depends on no later step apart,
            as in `jax.lax.scan`, where it is experimental.
        progress: Whether to show a progress bar, or its title. It moves some 20 times
            in all, and takes the package tqdm: `pip install 'jfi[progress]'`.

    Returns:
        The last carry, and the `y` of all steps, stacked.

    Raises:
        LoopError: `f` does not return the carry as it came, or rows don't fit.
    """
    if isinstance(length, int) and length < 0:  # JAX takes it, and may fail in MLIR
        check_length(length)
    settings = static(length), reverse, unroll, _split_transpose, progress
    out: tuple[Carry, Y] = run_loop(_operations.scan, (f,), (init, xs), settings)
    return out


@hiding_frames
def while_loop(
    cond_fun: Callable[[T], Any],
    body_fun: Callable[[T], T],
    init_val: T,
    *,
    max_steps: int | None = None,
) -> T:
    """Repeat `body_fun` while `cond_fun` holds: `jax.lax.while_loop`.

    >>> import jfi as jnp
    >>> jnp.while_loop(lambda x: x < 100, lambda x: x * 2, 3)
    Array(192, dtype=int32, weak_type=True)

    With `max_steps` it has derivatives of every mode. A loop that is not done by then
    has no result, and says so: its floats are NaN, and so are their derivatives; its
    integers are the smallest of their dtype (the largest, if unsigned), which is what
    `jnp.take` returns for an index out of range.

    >>> double = lambda x, n: jnp.while_loop(
    ...     lambda x: x < 50, lambda x: 2 * x, x, max_steps=n
    ... )
    >>> jnp.grad(double)(jnp.array(3.0), 8)
    Array(32., dtype=float32, weak_type=True)
    >>> double(jnp.array(3.0), 4)
    Array(nan, dtype=float32)

    Args:
        cond_fun: Takes the carry, returns a bool scalar.
        body_fun: Takes the carry, returns the next.
        init_val: The first carry: any tree of arrays and numbers.
        max_steps: The largest number of steps, a Python int, or None: any number. Where
            a derivative is taken, as many carries are stored.

    Returns:
        The carry for which `cond_fun` does not hold.

    Raises:
        LoopError: `body_fun` does not return the carry as it came, or `cond_fun` no
            bool scalar; or `max_steps` is no Python int from 0 to 2**31 - 1.
    """
    if max_steps is not None:
        functions = cond_fun, body_fun
        return bounded_while_loop(functions, init_val, max_steps)
    out: T = run_loop(_operations.while_loop, (cond_fun, body_fun), (init_val,))
    return out


@hiding_frames
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, T], T],
    init_val: T,
    *,
    unroll: int | bool | None = None,
    progress: bool | str = False,
) -> T:
    """Repeat `body_fun(i, carry)` for i in a range: `jax.lax.fori_loop`.

    >>> import jfi as jnp
    >>> jnp.fori_loop(1, 5, lambda i, x: x * i, 1)
    Array(24, dtype=int32, weak_type=True)

    Args:
        lower: The first i, an integer.
        upper: Where to stop: the last i is below it.
        body_fun: Takes i and the carry, returns the next carry.
        init_val: The first carry: any tree of arrays and numbers.
        unroll: How many steps to write out in each iteration of the compiled loop.
        progress: Whether to show a progress bar, or its title, as in `scan`.

    Returns:
        The last carry.

    Raises:
        LoopError: `body_fun` does not return the carry as it came.
    """
    bounds: tuple[Any, ...] = ()
    known: tuple[Any, ...] = static(lower), static(upper)
    if all(isinstance(x, (float, np.floating)) for x in known):
        known = int(known[0]), int(known[1])  # as JAX cuts them
    if at_top_level() and unroll is None and not progress:
        # Nothing is differentiated, for which JAX must know the number of steps: one
        # program for any.
        bounds, known = known, bounds
    out: T = run_loop(
        _operations.fori_loop,
        (body_fun,),
        (init_val, bounds),
        (known, unroll, progress),
    )
    return out


@hiding_frames
def cond(
    pred: Any,
    true_fun: Callable[..., R],
    false_fun: Callable[..., R],
    *operands: Any,
    **operand: Any,
) -> R:
    """Run one of two functions: `jax.lax.cond`.

    >>> import jfi as jnp
    >>> x = jnp.array(3.0)
    >>> jnp.cond(x > 2, lambda x: x + 1, lambda x: x - 1, x)
    Array(4., dtype=float32, weak_type=True)

    Args:
        pred: A bool scalar, which may be traced.
        true_fun: Takes the operands; runs if `pred` holds.
        false_fun: Takes the operands; runs if it does not. Both return the same
            structure, shapes and dtypes.
        operands: Any trees of arrays and numbers.
        operand: `operand=x`, JAX's older way to pass one.

    Returns:
        What the function returns that ran.

    Raises:
        LoopError: The two functions return different types.
    """
    functions: tuple[Any, Any] = true_fun, false_fun
    if callable(functions[0]) and callable(functions[1]):
        out: R = run_loop(
            _operations.cond,
            functions,
            (pred, operands, operand),
            choice=pred,
        )
    else:
        of_older_form = [*functions[1:], *operands[1:]]
        if len(of_older_form) != 2 or not all(callable(f) for f in of_older_form):
            check_functions("cond", {"true_fun": true_fun, "false_fun": false_fun})
        # JAX's older form, with an operand for each function
        out = lax.cond(pred, true_fun, false_fun, *operands, **operand)
    return out


@hiding_frames
def switch(
    index: Any,
    branches: Sequence[Callable[..., R]],
    *operands: Any,
    **operand: Any,
) -> R:
    """Run one of several functions: `jax.lax.switch`.

    >>> import jfi as jnp
    >>> jnp.switch(1, [jnp.sin, jnp.square, jnp.exp], jnp.array(3.0))
    Array(9., dtype=float32, weak_type=True)

    Args:
        index: Which, an integer scalar; it is clamped to those there are.
        branches: Functions of the operands that return the same types.
        operands: Any trees of arrays and numbers.
        operand: `operand=x`, JAX's older way to pass one.

    Returns:
        What the function returns that ran.

    Raises:
        LoopError: The functions return different types.
    """
    out: R = run_loop(
        _operations.switch,
        check_branches(branches),
        (index, operands, operand),
        choice=index,
    )
    return out


@hiding_frames
def map(f: Callable[[X], Y], xs: X, *, batch_size: int | None = None) -> Y:
    """Call a function for each row, one after the other: `jax.lax.map`.

    >>> import jfi as jnp
    >>> jnp.map(lambda x: x**2, jnp.arange(4.0))
    Array([0., 1., 4., 9.], dtype=float32)

    Args:
        f: Takes a row of `xs`.
        xs: A tree of arrays with the same leading size.
        batch_size: How many rows to compute at a time, as by `vmap`.

    Returns:
        What `f` returns, stacked.
    """
    out: Y = run_loop(_operations.map, (f,), (xs,), (static(batch_size),))
    return out


@hiding_frames
def associative_scan(
    fn: Callable[[T, T], T], elems: T, reverse: bool = False, axis: int = 0
) -> T:
    """All partial results of an associative operation: `jax.lax.associative_scan`.

    >>> import jfi as jnp
    >>> jnp.associative_scan(jnp.add, jnp.arange(4))
    Array([0, 1, 3, 6], dtype=int32)

    Args:
        fn: Takes two trees of arrays and combines them row by row.
        elems: A tree of arrays with the same size along `axis`.
        reverse: Whether to begin at the end.
        axis: Along which axis.

    Returns:
        A tree like `elems`.
    """
    settings = reverse, static(axis)
    out: T = run_loop(_operations.associative_scan, (fn,), (elems,), settings)
    return out


def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
    **options: Any,
) -> Callable[P, R]:
    """A function whose inner values the backward pass computes anew: `jax.checkpoint`.

    >>> import jfi as jnp
    >>> f = jnp.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> jnp.grad(f)(jnp.zeros(()))
    Array(1., dtype=float32)

    Args:
        fun: A function of arrays.
        prevent_cse: Whether to keep XLA from sharing the values after all; or a tuple
            with an entry for each argument.
        policy: Which values to keep: one of `jax.checkpoint_policies`.
        static_argnums: Which arguments are settings, by position.
        static_argnames: The same, by name.
        options: The others of `jax.checkpoint`.

    Returns:
        A function with the same values and gradients, whose gradient takes less
        memory and more time.
    """
    options = {"prevent_cse": prevent_cse, "policy": policy, **options}
    names = (static_argnames,) if isinstance(static_argnames, str) else static_argnames
    names = tuple(names)
    nums = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
    numbers = {*nums, *_positions(fun, names)}

    @shown_as("checkpoint")
    @functools.wraps(fun, names_to_copy(fun), updated=())
    @hiding_frames
    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        chosen = {n % len(args) for n in numbers if -len(args) <= n < len(args)}
        by_position = _split(dict(enumerate(args)), chosen)
        by_name = _split(kwargs, names)
        data, static = zip(by_position, by_name, strict=True)
        operation = _operations.checkpoint
        out: R = run_loop(operation, (fun,), (data,), (static, options))
        return out

    return checkpointed


def _split(values: dict[Any, Any], chosen: Any) -> tuple[dict[Any, Any], ...]:
    """The values that are data, and those that are settings."""
    data = {n: value for n, value in values.items() if n not in chosen}
    return data, {n: value for n, value in values.items() if n in chosen}


def _positions(fun: Callable[..., Any], names: Sequence[str]) -> list[int]:
    """The positions of parameters of these names."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):  # some builtins have no signature
        return []
    return [
        n
        for n, p in enumerate(parameters)
        if p.name in names and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
