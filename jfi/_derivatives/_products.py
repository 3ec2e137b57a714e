"""`jvp`, `vjp` and `linearize`: derivatives times a direction."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

import jax
import jax.numpy as jnp
from jax.tree_util import Partial

from .._advice import hiding_frames
from .._errors import TangentError
from .._jax_internals import zero_of_type
from .._values import Rest, function_name
from ._divided_calls import DividedCall
from ._leaves import Nondiff, check_nondiff, derivative_of, placed_as
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
) -> "tuple[R, Pullback]": ...
@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    *primals: Any,
    has_aux: Literal[True],
    nondiff: Nondiff = "none",
) -> "tuple[R, Pullback, Aux]": ...
@hiding_frames
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
        scalar. It returns a tuple of cotangents, one for each argument. It has the
        attributes of what `jax.vjp` returns: `with_refs`, `args_res` ... With
        `has_aux` also the auxiliary data.

    Raises:
        TangentError: A cotangent does not fit the value; the text names the place.
        DerivativeError: The only arrays are in objects of a class that is no tree.
    """
    how = check_nondiff(nondiff)
    call, values, pull, (out, aux) = _transformed(jax.vjp, fun, primals, has_aux)
    info = _Linear(function_name(fun), call.outputs(values), call.blank_rest(), how)
    pulled = Pullback(info, pull)
    return (out, pulled, aux) if has_aux else (out, pulled)


def _transformed(
    transform: Any, fun: Any, primals: tuple[Any, ...], has_aux: bool
) -> tuple[DividedCall, list[Any], Any, tuple[Any, Any]]:
    """A call under a transformation of JAX, which sees its float leaves.

    Returns:
        The call, the floats in its value, the linear function that the transformation
        returned, and what the call returned: the value and the auxiliary data.
    """
    call = DividedCall(fun, primals, has_aux=has_aux)
    call.refuse_nothing(transform.__name__)
    values, linear, carried = transform(call.of_floats(), *call.floats, has_aux=True)
    return call, values, linear, call.returned(values, carried)


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

    @hiding_frames
    def __call__(self, pull: Any, *cotangents: Any) -> Any:
        if len(cotangents) > 1:
            message = (
                f"The function that vjp({self.name}) returned got {len(cotangents)} "
                "arguments. Pass one: the cotangent of all that it returns, (a, b)."
            )
            raise TangentError(message)
        takes = self.takes
        fitted = takes.fitted(cotangents[0]) if cotangents else _one(self)
        filled = [
            zero_of_type(kind) if ct is None else ct
            for ct, kind in zip(fitted, takes.types, strict=True)
        ]
        return derivative_of(self.returns, pull(takes.arranged(filled)), self.how)

    def floats(self, tree: tuple[Any, ...]) -> Sequence[Any]:
        """What a tree like the arguments has for their float leaves, as JAX has them.

        Raises:
            ValueError: It is no such tree.
        """
        if self.returns is None:
            return tree
        leaves = self.returns.structure.flatten_up_to(tree)
        pairs = zip(leaves, self.returns.is_taken, strict=True)
        return [leaf for leaf, taken in pairs if taken]


class Pullback(Partial):
    """The function that `vjp` returns.

    What it does not have itself is that of the function that `jax.vjp` returns.
    """

    if TYPE_CHECKING:

        def __new__(cls, info: _Linear, pull: Any, /) -> "Pullback": ...
        def __call__(self, *cotangents: Any) -> tuple[Any, ...]: ...

    @property
    def _info(self) -> _Linear:
        info: Any = self.func
        return cast("_Linear", info)

    @property
    def args_res(self) -> list[Any]:
        """The arguments, with a mark of JAX's for arrays that it does not need."""
        found: list[Any] = self.args[0].args_res
        rest = self._info.returns
        return found if rest is None else list(rest.filled(found))

    @args_res.setter
    def args_res(self, args: Sequence[Any]) -> None:
        self.args[0].args_res = list(self._info.floats(tuple(args)))

    def with_refs(self, *refs: Any) -> "Pullback":
        """The same function, which adds cotangents to what references hold.

        Args:
            refs: One for each argument: a tree like it of `jax.Ref`,
                `jax.ad.GradValue()` (return it) or `jax.ad.DontWant()`. For leaves
                without derivative anything.

        Raises:
            TangentError: They are not like the arguments.
        """
        (pull,) = self.args
        try:
            own = self._info.floats(refs)
            pull.with_refs(*own)
        except Exception as error:
            # JAX 0.10 raises a bare Exception.
            if type(error) not in (Exception, ValueError):
                raise
            message = (
                f"with_refs() of vjp({self._info.name}) got a tree that "
                "differs from the arguments. Write one entry for each array in them: a "
                "jax.Ref of its shape and dtype, jax.ad.GradValue() or "
                "jax.ad.DontWant()."
            )
            raise TangentError(message) from error
        return Pullback(self._info, Partial(_add_to_refs, pull, own))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.args[0], name)


def _add_to_refs(pull: Any, refs: Sequence[Any], cotangent: Any) -> Any:
    # Anew at each call: what JAX's returns is the sum over all calls (JAX 0.12).
    return pull.with_refs(*refs)(cotangent)


jax.tree_util.register_pytree_node(
    Pullback,
    lambda pulled: (pulled.args, pulled.func),
    lambda info, args: Pullback(cast("_Linear", info), *args),
)


def _one(info: _Linear) -> list[Any]:
    types = info.takes.types
    if len(types) == 1 and types[0].shape == ():
        return [jnp.ones((), types[0].dtype)]
    seen = ", ".join(
        described(jax.ShapeDtypeStruct(kind.shape, kind.dtype)) for kind in types
    )
    message = (
        f"The function that vjp({info.name}) returned got no cotangent, and "
        f"{info.name}() returns {seen or 'no float'}. For one number alone it is 1.0."
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
@hiding_frames
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
    call, _, push, (out, aux) = _transformed(jax.linearize, fun, primals, has_aux)
    info = _Linear(function_name(fun), call.inputs(), call.blank_rest_of_output(), how)
    pushed = Partial(functools.partial(_push_forward, info), push)
    return (out, pushed, aux) if has_aux else (out, pushed)


@hiding_frames
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
@hiding_frames
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
    values, slopes, carried = jax.jvp(
        call.of_floats(), call.floats, directions, has_aux=True
    )
    out, aux = call.returned(values, carried)
    slope = derivative_of(call.blank_rest_of_output(), slopes, how)
    return (out, slope, aux) if has_aux else (out, slope)
