"""`scan_while`: a loop that stops when it is done and keeps its history."""

import functools
import operator
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import Tracer, eval_jaxpr

from .._compat import names_axes
from .._errors import LoopError
from .._own_stream import on_keys, varied, with_own_stream
from .._staging import Keys, refuse_sources
from .._trees import path_name
from ._carry import Names, check_carry, check_structure, kind_of, names_in
from ._engine import differentiable
from ._running import Bound, Loop


CarryT = TypeVar("CarryT")
YT = TypeVar("YT")


class ScanWhileResult(NamedTuple, Generic[CarryT, YT]):
    """What `scan_while` returns: the last carry, the history, the number of steps.

    Attributes:
        carry: The carry after the last step, with the structure of `init`.
        ys: What `body` returned beside the carry, stacked: each leaf has a leading
            size of `max_steps`. Rows from `length` on are zero.
        length: The number of steps taken, an integer scalar.
    """

    carry: CarryT
    ys: YT
    length: jax.Array

    @property
    def mask(self) -> jax.Array:
        """Which rows of `ys` were written: a `(max_steps,)` bool array.

        Under `vmap` results, where `length` is `(batch,)`, it is `(batch, max_steps)`.

        >>> import jfi as jnp
        >>> result = jnp.scan_while(lambda i: i < 2, lambda i: (i + 1, i), 0, 4)
        >>> result.mask
        Array([ True,  True, False, False], dtype=bool)

        Raises:
            LoopError: There is no history, because `body` returned no arrays in `y`.
        """
        leaves = jax.tree.leaves(self.ys)
        if not leaves:
            message = (
                "scan_while() has no rows to mask: body returned no arrays beside the "
                "carry.\nWrite instead: jnp.arange(max_steps) < result.length"
            )
            raise LoopError(message)
        max_steps = leaves[0].shape[jnp.ndim(self.length)]
        rows = jnp.arange(max_steps).reshape((1,) * jnp.ndim(self.length) + (-1,))
        return rows < jnp.expand_dims(self.length, -1)


def scan_while(
    cond: Callable[[CarryT], Any],
    body: Callable[[CarryT], tuple[CarryT, YT]],
    init: CarryT,
    max_steps: int,
) -> ScanWhileResult[CarryT, YT]:
    """Repeat `body` while `cond` holds, and keep what it returns at each step.

    It takes the steps of this Python loop, and no more:

        while cond(carry) and steps < max_steps:
            carry, y = body(carry)

    The gradient (`jax.grad`, `jax.vjp`, `jax.jacrev`) walks back over exactly the
    steps taken, through the carry and through every array that `body` captures.

    >>> import jfi as jnp
    >>> halve = lambda x: jnp.scan_while(lambda x: x > 1, lambda x: (x / 2, x), x, 5)
    >>> carry, ys, length = halve(jnp.array(8.0))
    >>> ys
    Array([8., 4., 2., 0., 0.], dtype=float32)
    >>> int(length)
    3
    >>> float(jnp.grad(lambda x: halve(x).carry)(8.0))
    0.125

    Args:
        cond: Takes the carry, returns a bool scalar: whether to take another step.
        body: Takes the carry, returns the pair `(carry, y)`; `y` is any tree of arrays,
            or None. The carry keeps its structure, shapes and dtypes.
        init: The first carry: any tree of arrays and numbers.
        max_steps: The largest number of steps, a Python int. It sets the size of `ys`
            and, where a gradient is taken, of as many stored carries.

    Returns:
        A `ScanWhileResult`, which unpacks as `carry, ys, length`.

    Raises:
        LoopError: `cond` or `body` does not fit the carry, or `max_steps` is not a
            Python int from 0 to 2**31 - 1; or a forward-mode derivative is taken.
    """
    max_steps = _checked_max_steps(max_steps)
    _check_arrays(init)
    result: ScanWhileResult[CarryT, YT] = with_own_stream(
        lambda keys: _run(cond, body, init, max_steps, keys), finds_draws=True
    )
    return result


def _run(cond: Any, body: Any, init: Any, max_steps: int, keys: Keys | None) -> Any:
    # Other numbers for the condition than for the body.
    of_body, of_cond = (keys and varied(keys, i) for i in (0, 1))
    init, traced_body = _settled(body, init, of_body)
    traced_cond = _trace(cond, init, of_cond)
    _check_cond(traced_cond.returned)

    leaves, structure = jax.tree.flatten(init)
    _, y_structure = jax.tree.flatten(traced_body.returned[1])
    n_carry = len(leaves)
    if keys is not None:  # the number of the step, which its draws depend on
        leaves = [*leaves, jnp.uint32(0)]

    def step(consts: Any, carry: Any, _: Any) -> tuple[Any, Any]:
        out = traced_body.call(consts, carry)
        return [*out[:n_carry], *(x + 1 for x in carry[n_carry:])], out[n_carry:]

    def proceed(consts: Any, carry: Any) -> Any:
        return traced_cond.call(consts, carry)[0]

    # XLA can't write to a buffer without rows, so even max_steps=0 has one, cut below.
    loop = Loop(
        step,
        proceed,
        rows=max(max_steps, 1),
        backwards=False,
        names_axes=names_axes(traced_body.jaxpr) or names_axes(traced_cond.jaxpr),
    )
    bound = Bound(jnp.int32(max_steps), traced_cond.consts)
    try:
        leaves, ys, length = differentiable(loop)(traced_body.consts, leaves, bound)
    except TypeError as error:
        if "forward-mode" not in str(error):
            raise
        message = (
            "scan_while() has no forward-mode derivative (jax.jvp, jax.jacfwd).\n"
            "Use reverse mode: jax.grad, jax.vjp or jax.jacrev; jax.hessian works too."
        )
        raise LoopError(message) from error
    if max_steps == 0:
        ys = [rows[:0] for rows in ys]
    return ScanWhileResult(
        jax.tree.unflatten(structure, leaves[:n_carry]),
        jax.tree.unflatten(y_structure, ys),
        length,
    )


# ---- what fits a loop ----


class _Traced(NamedTuple):
    """A function of the carry as a pure function of (captured arrays, carry leaves)."""

    call: Callable[[Any, Any], list[Any]]
    consts: list[Any]  # the arrays it captures, also tracers of outer transformations
    returned: Any  # the shapes and dtypes it returns
    jaxpr: Any


def _trace(function: Callable[[Any], Any], carry: Any, keys: Keys | None) -> _Traced:
    # A new function each time: JAX remembers traces by function, and what this one
    # captures may have changed since.
    @functools.wraps(function)
    def fresh(carry: Any, step: Any = None) -> Any:
        if keys is None:
            return function(carry)
        return on_keys(function, varied(keys, step), carry)

    args = (carry,) if keys is None else (carry, jnp.uint32(0))
    traced, returned = jax.make_jaxpr(fresh, return_shape=True)(*args)
    if keys is None:
        refuse_sources(traced.consts)

    def call(consts: Any, leaves: Any) -> list[Any]:
        return eval_jaxpr(traced.jaxpr, consts, *leaves)

    return _Traced(call, traced.consts, returned, traced)


def _checked_max_steps(max_steps: Any) -> int:
    """`max_steps` as an int, or a refusal."""
    if isinstance(max_steps, Tracer):
        message = (
            "scan_while() got a traced array for max_steps, which sets the size of "
            "ys.\nPass a Python int, and stop earlier by cond: "
            "carry['i'] < number_of_steps"
        )
        raise LoopError(message)
    try:
        number = operator.index(max_steps)
    except TypeError:
        number = -1
    if isinstance(max_steps, bool) or not 0 <= number < 2**31:
        message = (
            f"scan_while() got max_steps={max_steps!r}.\n"
            "Pass the largest number of steps, an int from 0 to 2**31 - 1: "
            "max_steps=100"
        )
        raise LoopError(message)
    return number


def _check_arrays(init: Any) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(init):
        try:
            jax.typeof(leaf)
        except TypeError:
            name = path_name("init", path)
            message = (
                f"scan_while() got a {type(leaf).__name__} for {name}; a carry holds "
                f"arrays and numbers.\nTake it out of init and let body capture it."
            )
            raise LoopError(message) from None


def _check_cond(returned: Any) -> None:
    """Refuse a condition that is not a bool scalar."""
    if returned is None:
        seen = "None"
    elif not isinstance(returned, jax.ShapeDtypeStruct):
        seen = f"a {type(returned).__name__}"
    elif returned.shape == () and returned.dtype == bool:
        return
    else:
        seen = kind_of(returned)
    message = (
        f"cond of scan_while() returned {seen} and must return bool[], one truth value."
        "\nWrite a comparison, such as error > 1e-6, and jnp.any(...) or jnp.all(...) "
        "around an array of them."
    )
    raise LoopError(message)


def _settled(
    body: Callable[[Any], Any], init: Any, keys: Keys | None
) -> tuple[Any, _Traced]:
    """`init` as arrays of the dtypes that `body` returns, and the traced body.

    Python numbers in `init` take the dtype that `body` returns, as in `lax.scan`.
    """
    traced = _trace(body, init, keys)
    names = names_in("scan_while", body)
    _check_pair(names, traced.returned)
    check_structure(names, init, traced.returned[0])

    def settle(x: Any, returned: Any) -> jax.Array:
        given = jax.typeof(x)
        fits = given.dtype == returned.dtype and given.weak_type == returned.weak_type
        is_key = jnp.issubdtype(returned.dtype, jax.dtypes.prng_key)
        if fits or is_key or not given.weak_type:
            return jnp.asarray(x)
        return lax.convert_element_type(x, jnp.result_type(x, returned.dtype))

    settled = jax.tree.map(settle, init, traced.returned[0])
    if _types(settled) != _types(init):
        traced = _trace(body, settled, keys)
        check_structure(names, settled, traced.returned[0])
    check_carry(names, settled, traced.returned[0], traced.jaxpr)
    return settled, traced


def _check_pair(names: Names, returned: Any) -> None:
    if not (isinstance(returned, tuple) and len(returned) == 2):
        message = (
            f"{names.body}() in scan_while() returned a {type(returned).__name__}, "
            f"not a pair.\nReturn ({names.carry}, y); where there is nothing to "
            f"record: return {names.carry}, None"
        )
        raise LoopError(message)


def _types(tree: Any) -> list[Any]:
    return [jax.typeof(leaf) for leaf in jax.tree.leaves(tree)]
