"""`grad` and `value_and_grad`."""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

import jax
import numpy as np

from .._advice import hide_frames
from .._docstrings import explained_as
from .._errors import DerivativeError, LostWriteWarning
from .._jax_internals import XLA_ERRORS, raise_original
from .._shown import shown_as
from .._values import Warner, function_name, is_data, is_differentiable
from .._values.trees import Watched
from ._leaves import Nondiff, check_nondiff, derivative_of, to_be_differentiated
from ._messages import described, like
from ._outputs import value_and_aux
from ._selection import Selected, Selection, selected


P = ParamSpec("P")
R = TypeVar("R")
# Without the bound a lambda has an `object` for its argument, in pyright.
A = TypeVar("A", bound=Any)
Aux = TypeVar("Aux")


@overload
def grad(
    fun: Callable[Concatenate[A, P], tuple[Any, Aux]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    argnames: None = None,
    nondiff: Nondiff = "none",
) -> Callable[Concatenate[A, P], tuple[A, Aux]]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, P], Any],
    argnums: Literal[0] | None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: None = None,
    nondiff: Nondiff = "none",
) -> Callable[Concatenate[A, P], A]: ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
    nondiff: Nondiff = "none",
) -> Callable[P, Any]: ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str],
    nondiff: Nondiff = "none",
) -> Callable[P, Any]: ...
def grad(
    fun: Any,
    argnums: Any = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: Any = None,
    nondiff: Nondiff = "none",
) -> Any:
    """The gradient of a function that returns one number.

    It is `jax.grad`, which also takes trees with leaves that have no derivative (ints,
    strings, functions, random keys), arguments by name, and calls with keywords.

    >>> import jfi as jnp
    >>> def loss(params, x):
    ...     return params["act"](params["w"] * x) ** params["n"]
    >>> jnp.grad(loss)({"w": jnp.ones(()), "n": 2, "act": abs}, 3.0)
    {'act': None, 'n': None, 'w': Array(18., dtype=float32)}
    >>> float(jnp.grad(lambda x, y: x * y, argnames="y")(2.0, y=3.0))
    2.0

    Args:
        fun: Returns a float scalar; with `has_aux` a pair of it and anything.
        argnums: The positions of the arguments to differentiate; the first by default.
        has_aux: Whether `fun` returns a pair.
        holomorphic: Whether `fun` is complex and holomorphic.
        allow_int: As of JAX: derivatives of ints are float0.
        argnames: The names of arguments to differentiate, however they are passed.
        nondiff: What comes back for a leaf without derivative: "none", "float0" (as
            `allow_int`), or "zeros" of the leaf's own dtype.

    Returns:
        A function of the same arguments that returns the gradient: a tree like the
        argument, with None where there is no derivative. Of several arguments a tuple,
        those of `argnums` first; with `has_aux` a pair of gradient and auxiliary data.

    Raises:
        DerivativeError: There is nothing to differentiate, or `fun` returns something
            else than one float.
    """
    both = _value_and_grad(
        "grad", fun, argnums, has_aux, holomorphic, allow_int, argnames, nondiff
    )

    @shown_as("grad")
    @like(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        try:
            value, slope = both(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise
        return (slope, value[1]) if has_aux else slope

    return gradient


# For `argnums=0` the next one is true, too, and says less.
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    fun: Callable[Concatenate[A, P], R],
    argnums: Literal[0] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: None = None,
    nondiff: Nondiff = "none",
) -> Callable[Concatenate[A, P], tuple[R, A]]: ...
@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
    nondiff: Nondiff = "none",
) -> Callable[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str],
    nondiff: Nondiff = "none",
) -> Callable[P, tuple[R, Any]]: ...
@explained_as(grad)
def value_and_grad(
    fun: Any,
    argnums: Any = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: Any = None,
    nondiff: Nondiff = "none",
) -> Any:
    """The value and the gradient of a function that returns one number.

    >>> import jfi as jnp
    >>> value, slope = jnp.value_and_grad(lambda x: x**2)(3.0)
    >>> float(value), float(slope)
    (9.0, 6.0)

    Returns:
        A function of the same arguments that returns what `fun` returns, and the
        gradient as of `grad`.
    """
    tool = "value_and_grad"
    both = _value_and_grad(
        tool, fun, argnums, has_aux, holomorphic, allow_int, argnames, nondiff
    )
    return shown_as(tool)(both)


def _value_and_grad(
    tool: str,
    fun: Any,
    argnums: Any,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    argnames: Any,
    nondiff: Nondiff,
) -> Callable[..., tuple[Any, Any]]:
    selection = Selection(fun, argnums, argnames)
    how = check_nondiff("float0" if allow_int and nondiff == "none" else nondiff)
    checked = _returning_one_number(tool, fun, selection, has_aux=has_aux)
    of_jax = jax.value_and_grad(
        checked, selection.argnums, has_aux, holomorphic, allow_int
    )
    ints_too = allow_int and how == "float0"

    def of_mixed(call: Selected) -> tuple[Any, Any]:
        if how == "none":
            call.refuse_nothing(tool)
        transformed = jax.value_and_grad(
            call.of_floats(), has_aux=has_aux, holomorphic=holomorphic
        )
        value, slopes = transformed(call.floats)
        slope = derivative_of(call.rest, slopes, how)
        return value, slope[0] if selection.is_single else slope

    @like(fun)
    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        chosen = selection.positional(args)
        try:
            if chosen is not None and (
                ((leaves := to_be_differentiated(chosen)) and all(leaves))
                or (ints_too and all(map(is_data, jax.tree.leaves(chosen))))
            ):
                value, slope = of_jax(*args, **kwargs)
                return value, slope
            return of_mixed(selected(selection, checked, (args, kwargs)))
        except XLA_ERRORS as error:
            raise_original(error)  # of a host function, in the backward pass
            raise
        except Exception as error:
            hide_frames(error)
            raise

    return differentiated


def _returning_one_number(
    tool: str, fun: Any, selection: Selection, *, has_aux: bool
) -> Any:
    """The function, which says what to write if it returns anything else."""

    @like(fun)
    def checked(*args: Any, **kwargs: Any) -> Any:
        places = selection.places((args, kwargs)) if not has_aux else ()
        copies = [args[p] if isinstance(p, int) else kwargs[p] for p in places]
        watched = Watched(copies)
        out = fun(*args, **kwargs)
        if place := watched.written():
            _LOST.warn(_LOST_TEXT.format(function_name(fun), place, tool))
        value = value_and_aux(fun, out)[0] if has_aux else out
        if not is_differentiable(value) or getattr(value, "shape", ()) != ():
            raise DerivativeError(_not_one_number(tool, function_name(fun), value))
        return out

    return checked


_LOST = Warner(LostWriteWarning)
_LOST_TEXT = (
    "{0}() writes {1} of a copy: {2}() passes it one, and what is written there is "
    "lost.\nReturn the object as well (return loss, model), and write: "
    "{2}({0}, has_aux=True)"
)


def _not_one_number(tool: str, name: str, value: Any) -> str:
    message = f"{tool}() of {name}(), which returned {described(value)}."
    if value is None:
        return f"{message} Let it return the number to differentiate."
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return (
            f"{message} If the second is not to be differentiated: "
            f"{tool}({name}, has_aux=True). For all derivatives: jacrev({name})."
        )
    if getattr(value, "shape", ()) != ():
        reduced = "x.squeeze()" if np.size(value) == 1 else "x.sum()"
        return (
            f"{message} grad() needs one number: return {reduced}. "
            f"For all derivatives: jacrev({name})."
        )
    if is_data(value):
        return f"{message} It has no derivative: return a float."
    return f"{message} Let it return one float, or use jacrev({name})."
