"""`jvp`, `vjp` and `linearize`: derivatives times a direction."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

import jax
import jax.numpy as jnp
from jax.tree_util import Partial

from .._compat import zero_of_type
from .._errors import TangentError
from .._staging import differentiate
from .._trees import function_name
from ._divided_calls import DividedCall
from ._leaves import Nondiff, Rest, check_nondiff, derivative_of, placed_as
from ._matching import Target, same_arrays
from ._messages import described


R = TypeVar("R")
Aux = TypeVar("Aux")


@overload
def vjp(
    fun: Callable[..., R],
    *primals: Any,
    has_aux: Literal[False] = False,
    nondiff: Nondiff = "none",
) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    *primals: Any,
    has_aux: Literal[True],
    nondiff: Nondiff = "none",
) -> tuple[R, Callable[..., tuple[Any, ...]], Aux]: ...
def vjp(
    fun: Any, *primals: Any, has_aux: bool = False, nondiff: Nondiff = "none"
) -> Any:
    """The value of a function, and the function that pulls cotangents back.

    It is `jax.vjp` for trees with any leaves, in the arguments and in the result.

    >>> import jfi as jnp
    >>> def f(params):
    ...     y = params["w"] * params["n"]
    ...     return {"loss": y.sum(), "y": y, "name": "f"}
    >>> out, pull = jnp.vjp(f, {"w": jnp.ones(2), "n": 3})
    >>> pull({"loss": 1.0})
    ({'n': None, 'w': Array([3., 3.], dtype=float32)},)

    Args:
        fun: The function.
        primals: Its arguments.
        has_aux: Whether `fun` returns a pair of value and auxiliary data.
        nondiff: What comes back for a leaf without derivative: "none", "float0" (as of
            JAX), or "zeros".

    Returns:
        The value of `fun`, and a function of a cotangent: a tree like the value, in
        which None (or `jfi.ZERO`) stands for the zero of a leaf or a subtree, and
        costs nothing. Missing keys of a dict are zero. Leaves without derivative take
        anything that is zero. Without an argument it is 1.0, if the value is a float
        scalar. It returns a tuple of cotangents, one for each argument. With `has_aux`
        also the auxiliary data.

    Raises:
        TangentError: A cotangent does not fit the value; the text names the place.
    """
    how = check_nondiff(nondiff)
    call = DividedCall(fun, primals, has_aux=has_aux)
    transform: Any = jax.vjp
    values, pull, carried = differentiate(
        transform, call.of_floats(), *call.floats, has_aux=True
    )
    out, aux = call.returned(values, carried)
    info = _Linear(function_name(fun), call.outputs(values), call.blank_rest(), how)
    pulled = Partial(functools.partial(_pull_back, info), pull)
    return (out, pulled, aux) if has_aux else (out, pulled)


@dataclass(slots=True, eq=False)
class _Linear:
    """What a linear function knows beside its arrays.

    Attributes:
        name: The name of the function that was differentiated.
        takes: What it is given.
        returns: The tree of its results, without the float leaves; None if all are.
        how: What stands for derivatives that are none.
    """

    name: str
    takes: Target
    returns: Rest | None
    how: Nondiff


def _pull_back(info: _Linear, pull: Any, *cotangents: Any) -> Any:
    if len(cotangents) > 1:
        message = (
            f"The function that vjp({info.name}) returned got {len(cotangents)} "
            "arguments. Pass one: the cotangent of all that it returns, (a, b)."
        )
        raise TangentError(message)
    takes = info.takes
    fitted = takes.fitted(cotangents[0]) if cotangents else _one(info)
    filled = [
        zero_of_type(kind) if ct is None else ct
        for ct, kind in zip(fitted, takes.types, strict=True)
    ]
    return derivative_of(info.returns, pull(takes.arranged(filled)), info.how)


def _one(info: _Linear) -> list[Any]:
    types = info.takes.types
    if len(types) == 1 and types[0].shape == ():
        return [jnp.ones((), types[0].dtype)]
    seen = ", ".join(
        described(jax.ShapeDtypeStruct(kind.shape, kind.dtype)) for kind in types
    )
    message = (
        f"The function that vjp({info.name}) returned got no cotangent, and "
        f"{info.name}() returns {seen or 'no float'}. Only for one number it is 1.0."
    )
    raise TangentError(message)


@overload
def linearize(
    fun: Callable[..., R],
    *primals: Any,
    has_aux: Literal[False] = False,
    nondiff: Nondiff = "none",
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]],
    *primals: Any,
    has_aux: Literal[True],
    nondiff: Nondiff = "none",
) -> tuple[R, Callable[..., R], Aux]: ...
def linearize(
    fun: Any, *primals: Any, has_aux: bool = False, nondiff: Nondiff = "none"
) -> Any:
    """The value of a function, and its derivative there as a linear function.

    It is `jax.linearize` for trees with any leaves.

    >>> import jfi as jnp
    >>> y, push = jnp.linearize(lambda p: p["x"] ** p["n"], {"x": 3.0, "n": 2})
    >>> float(push({"x": 1.0})), float(push(None))
    (6.0, 0.0)

    Args:
        fun: The function.
        primals: Its arguments.
        has_aux: Whether `fun` returns a pair of value and auxiliary data.
        nondiff: What comes back for a leaf of the value without derivative: "none",
            "float0" (as of JAX), or "zeros".

    Returns:
        The value, and a function of tangents, one for each argument, given as for
        `jvp`, which returns the tangent of the value. With `has_aux` also the
        auxiliary data.

    Raises:
        TangentError: A tangent does not fit its argument; the text names the place.
    """
    how = check_nondiff(nondiff)
    call = DividedCall(fun, primals, has_aux=has_aux)
    transform: Any = jax.linearize
    values, push, carried = differentiate(
        transform, call.of_floats(), *call.floats, has_aux=True
    )
    out, aux = call.returned(values, carried)
    info = _Linear(function_name(fun), call.inputs(), call.blank_rest_of_output(), how)
    pushed = Partial(functools.partial(_push_forward, info), push)
    return (out, pushed, aux) if has_aux else (out, pushed)


def _push_forward(info: _Linear, push: Any, *tangents: Any) -> Any:
    takes = info.takes
    filled = [
        placed_as(jnp.zeros(kind.shape, kind.dtype), kind)
        if tangent is None
        else tangent
        for tangent, kind in zip(takes.fitted(tangents), takes.types, strict=True)
    ]
    return derivative_of(info.returns, push(*takes.arranged(filled)), info.how)


@overload
def jvp(
    fun: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
    *,
    nondiff: Nondiff = "none",
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
    *,
    nondiff: Nondiff = "none",
) -> tuple[R, R, Aux]: ...
def jvp(
    fun: Any,
    primals: Any,
    tangents: Any,
    has_aux: bool = False,
    *,
    nondiff: Nondiff = "none",
) -> Any:
    """The value of a function, and its derivative in one direction.

    It is `jax.jvp` for trees with any leaves.

    >>> import jfi as jnp
    >>> def f(p):
    ...     return {"y": p["x"] ** p["n"], "n": p["n"]}
    >>> y, dy = jnp.jvp(f, ({"x": 3.0, "n": 2},), ({"x": 1.0},))
    >>> float(y["y"]), float(dy["y"]), dy["n"]
    (9.0, 6.0, None)

    Args:
        fun: The function.
        primals: The tuple of its arguments.
        tangents: The tuple of directions, one for each argument. None (or `jfi.ZERO`)
            stands for the zero of a leaf or a subtree, which costs nothing; missing
            keys of a dict are zero.
        has_aux: Whether `fun` returns a pair of value and auxiliary data.
        nondiff: What comes back for a leaf of the value without derivative: "none",
            "float0" (as of JAX), or "zeros".

    Returns:
        The value and its tangent; with `has_aux` also the auxiliary data.

    Raises:
        TangentError: A tangent does not fit its argument; the text names the place.
    """
    how = check_nondiff(nondiff)
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            message = (
                f"jvp() got {described(given)} for {name}. Write a tuple with one "
                "entry for each argument: jvp(f, (x,), (dx,))."
            )
            raise TangentError(message)
    call = DividedCall(fun, tuple(primals), has_aux=has_aux)
    directions = tuple(tangents)
    if not (call.is_whole and same_arrays(call.floats, directions)):
        fitted = call.inputs().fitted(directions)
        call.hold([tangent is None for tangent in fitted])
        directions = call.arranged([t for t in fitted if t is not None])
    values, slopes, carried = differentiate(
        jax.jvp, call.of_floats(), call.floats, directions, has_aux=True
    )
    out, aux = call.returned(values, carried)
    slope = derivative_of(call.blank_rest_of_output(), slopes, how)
    return (out, slope, aux) if has_aux else (out, slope)
