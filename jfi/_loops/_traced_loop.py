"""A loop of a user's functions as a loop over flat lists: see `_loop_forms`."""

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import Tracer, eval_jaxpr

from .._errors import LoopError
from .._jax_internals import (
    consts_as_arguments,
    exchanging_axes,
    is_ref,
    names_of_axes,
    varying_axes,
    varying_over,
)
from .._random.traced import Keys, refuse_sources
from .._random.traced._own_stream import on_keys, varied, with_own_stream
from .._values import function_name, is_key, names_to_copy, path_name
from ._carry import Names, check_arrays, check_carry, check_condition, check_structure
from ._diagnosis import check_pair
from ._loop_derivatives import differentiable
from ._loop_forms import LoopBound, LoopForm, run_while


class LoopOutcome(NamedTuple):
    """What became of a loop.

    Attributes:
        carry: The carry after the last step.
        ys: What the body returned beside the carry, stacked to `max_steps` rows.
        length: The number of steps taken.
        cut: Whether the condition still held after `max_steps`.
    """

    carry: Any
    ys: Any
    length: Any
    cut: Any


def run_traced(
    names: Names,
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    max_steps: int,
) -> LoopOutcome:
    """Repeat `body`, which returns a pair, while `cond` holds; with derivatives."""
    check_arrays(names.loop, init, names.start)
    return with_own_stream(
        lambda keys: _run_traced(names, cond, body, init, max_steps, keys),
        finds_draws=True,
    )


def _run_traced(
    names: Names, cond: Any, body: Any, init: Any, max_steps: int, keys: Keys | None
) -> LoopOutcome:
    init, traced_body, traced_cond = _settled(names, cond, body, init, keys)
    leaves, structure = jax.tree.flatten(init)
    _, y_structure = jax.tree.flatten(traced_body.returned[1])
    n_carry = len(leaves)
    varying = [varying_axes(leaf) for leaf in leaves]
    if keys is not None:  # the number of the step, which its draws depend on
        leaves = [*leaves, varying_over(jnp.uint32(0), traced_cond.varying)]

    # The loop, which JAX keeps, must not hold the captured tracers beside them.
    call_body, call_cond = traced_body.call, traced_cond.call

    def step(consts: Any, carry: Any, _: Any) -> tuple[Any, Any]:
        out = call_body(consts, carry)
        new = map(varying_over, out[:n_carry], varying)
        return [*new, *(x + 1 for x in carry[n_carry:])], out[n_carry:]

    def proceed(consts: Any, carry: Any) -> Any:
        return call_cond(consts, carry)[0]

    loop = LoopForm(
        step,
        proceed,
        # XLA can't write to a buffer without rows, so even max_steps=0 has one, cut
        # below.
        rows=max(max_steps, 1),
        backwards=False,
        varying=traced_cond.varying,
        names=traced_body.names | traced_cond.names,
        exchanges=exchanging_axes(traced_body.jaxpr.jaxpr),
    )
    bound = LoopBound(jnp.int32(max_steps), traced_cond.consts)
    consts = traced_body.consts
    if any(map(is_ref, [*consts, *traced_cond.consts])):
        # JAX has no rules for derivatives of calls that may change a captured Ref: a
        # custom_jvp function with one can't even be lowered (jax-ml/jax#27470).
        leaves, ys, length = run_while(loop, consts, leaves, (), bound)
    else:
        leaves, ys, length = differentiable(loop)(consts, leaves, bound)
    if max_steps == 0:
        ys = [rows[:0] for rows in ys]
    return LoopOutcome(
        jax.tree.unflatten(structure, leaves[:n_carry]),
        jax.tree.unflatten(y_structure, ys),
        length,
        proceed(*lax.stop_gradient((traced_cond.consts, leaves))),
    )


def _settled(
    names: Names, cond: Any, body: Any, init: Any, keys: Keys | None
) -> tuple[Any, "_Traced", "_Traced"]:
    """`init` as arrays of the types that `body` returns, and the traced functions."""
    # Other numbers for the condition than for the body.
    of_body, of_cond = (keys and varied(keys, i) for i in (0, 1))
    traced = _trace(body, init, of_body)
    check_pair(names, traced.returned)
    check_structure(names, init, traced.returned[0])
    settled = jax.tree.map(_with_dtype, init, traced.returned[0])
    if _types_of_leaves(settled) != _types_of_leaves(init):
        traced = _trace(body, settled, of_body)
        check_structure(names, settled, traced.returned[0])
    check_carry(names, settled, traced.returned[0], traced.jaxpr)

    while True:
        traced_cond = _trace(cond, settled, of_cond)
        check_condition(names.loop, function_name(cond), traced_cond.returned)
        init = settled
        settled = _with_shards(names, init, traced.returned[0], traced_cond.varying)
        if _types_of_leaves(settled) == _types_of_leaves(init):
            return settled, traced, traced_cond
        traced = _trace(body, settled, of_body)


def _with_dtype(x: Any, returned: Any) -> jax.Array:
    """A Python number takes the dtype that `body` returns, as in `lax.scan`."""
    given = jax.typeof(x)
    fits = given.dtype == returned.dtype and given.weak_type == returned.weak_type
    if fits or is_key(returned) or not given.weak_type:
        return jnp.asarray(x)
    return lax.convert_element_type(x, jnp.result_type(x, returned.dtype))


def _with_shards(names: Names, init: Any, returned: Any, stops: frozenset[Any]) -> Any:
    """In `jax.shard_map`: `init` as it must be for shards that go separate ways.

    What is the same in all shards differs after a step that makes it so, and after a
    loop that stops at another step in each shard.
    """

    def settle(path: Any, x: Any, new: Any) -> Any:
        missing = (varying_axes(new) | stops) - varying_axes(x)
        if missing and jnp.issubdtype(x.dtype, jnp.inexact):
            raise LoopError(_differs(names, path_name("", path), missing))
        return varying_over(x, missing)

    return jax.tree_util.tree_map_with_path(settle, init, returned)


def _differs(names: Names, path: str, axes: frozenset[Any]) -> str:
    # Not cast for the user: a gradient that `body` takes with respect to it is summed
    # over the shards before, and not after.
    over = sorted(map(str, axes))
    argument = repr(over[0]) if len(over) == 1 else repr(tuple(over))
    start = f"{names.start}{path}"
    return (
        f"The carry {names.carry}{path} of {names.loop}() is the same in all shards of "
        f"shard_map at the start, and differs between them after some steps.\n"
        f"Write instead: {start} = jax.lax.pcast({start}, {argument}, to='varying')"
    )


class _Traced(NamedTuple):
    """A function of the carry as a pure function of (captured arrays, carry leaves)."""

    call: Callable[[Any, Any], list[Any]]
    consts: list[Any]  # the arrays it captures, also tracers of outer transformations
    returned: Any  # the shapes and dtypes it returns
    jaxpr: Any

    @property
    def varying(self) -> frozenset[Any]:
        """The axes over which what it returns differs between shards."""
        over = map(varying_axes, jax.tree.leaves(self.returned))
        return frozenset[Any]().union(*over)

    @property
    def names(self) -> frozenset[Any]:
        """The axes that it names."""
        return names_of_axes(self.jaxpr)


def _trace(function: Callable[[Any], Any], carry: Any, keys: Keys | None) -> _Traced:
    # A new function each time: JAX remembers traces by function, and what this one
    # captures may have changed since.
    @functools.wraps(function, names_to_copy(function))
    def fresh(carry: Any, step: Any = None) -> Any:
        if keys is None:
            return function(carry)
        return on_keys(function, varied(keys, step), carry)

    args = (carry,) if keys is None else (carry, jnp.uint32(0))
    traced, returned = jax.make_jaxpr(fresh, return_shape=True)(*args)
    if keys is None:
        refuse_sources(traced.consts)

    return _Traced(_without_consts(traced), traced.consts, returned, traced)


def _without_consts(traced: Any) -> Callable[[Any, Any], list[Any]]:
    """What was traced, called with the constants and the leaves of the carry."""
    convert = consts_as_arguments()
    jaxpr = convert(traced.jaxpr) if convert else traced.jaxpr

    def call(consts: Any, leaves: Any) -> list[Any]:
        if convert:
            out = eval_jaxpr(jaxpr, (), *consts, *leaves)
        else:
            out = eval_jaxpr(jaxpr, consts, *leaves)
        # A known truth value comes out as Python's, which has no dtype; a number has.
        return [jnp.asarray(x) if isinstance(x, bool) else x for x in out]

    return call


def checked_max_steps(loop: str, max_steps: Any) -> int:
    """`max_steps` as an int, or a refusal."""
    if isinstance(max_steps, Tracer):
        message = (
            f"{loop}() got a traced array for max_steps, which sets the size of what "
            "is stored.\nPass a Python int, and stop earlier by the condition: "
            "carry['i'] < number_of_steps"
        )
        raise LoopError(message)
    try:
        number = operator.index(max_steps)
    except TypeError:
        number = -1
    if isinstance(max_steps, bool) or not 0 <= number < 2**31:
        message = (
            f"{loop}() got max_steps={max_steps!r}.\n"
            "Pass the largest number of steps, an int from 0 to 2**31 - 1: "
            "max_steps=100"
        )
        raise LoopError(message)
    return number


def _types_of_leaves(tree: Any) -> list[Any]:
    return [jax.typeof(leaf) for leaf in jax.tree.leaves(tree)]
