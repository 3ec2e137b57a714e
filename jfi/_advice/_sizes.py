"""Arrays whose size depends on a traced value: masks, slices, `zeros(n)`, `nonzero`."""

import ast
import copy
from typing import Any

import jax

from .._values import is_tracer
from ._finding import CodePlace, code_place
from ._wording import of_traced, statement_with, what_to_write


SIZES = (
    "a size that is known, such as x.shape[0]. A setting is passed as a Python int, "
    "which autojit does not trace, and jit neither with static_argnames=. If it "
    "depends on the data: compute with the largest size, and mask the rest"
)


def is_size(place: CodePlace) -> bool:
    """Whether what failed, such as `int(n)`, is the size of a new array or a bound."""
    match place.parents.get(place.node) if place.node is not None else None:
        case ast.Slice():
            return True
        case ast.Call(ast.Attribute(_, name) | ast.Name(name)):
            return name in _SIZED
        case _:
            return False


_SIZED = (
    "arange", "broadcast_to", "empty", "eye", "full", "linspace", "ones", "rand",
    "randn", "range", "repeat", "reshape", "tile", "zeros",
)  # fmt: skip


def of_new(error: BaseException) -> str | None:
    """For `zeros(n)`, `reshape(x, (n, -1))` and the like."""
    place = code_place(error)
    return None if place is None else _of_size(place)


def _of_size(place: CodePlace) -> str:
    what, needs = "An array", "a size"
    match place.node if place.is_direct else None:
        case ast.Call(function) as call:
            what = f"`{ast.unparse(function)}()`"
            names = [n for n in ast.walk(call) if isinstance(n, ast.Name)]
            traced = [n.id for n in names if _is_number(place.value_of(n))]
            if traced:
                needs = f"the size `{traced[0]}`"
        case _:
            pass
    return of_traced(place, what, needs) + what_to_write(None, SIZES)


def _is_number(x: Any) -> bool:
    return is_tracer(x) and jax.numpy.ndim(x) == 0


def of_result(place: CodePlace) -> str:
    """For functions of which the result has a size that depends on the data."""
    match place.node:
        case ast.Call(ast.Attribute(_, name) as function, [x, *rest]) as call if (
            name in _OF_SIZE and not (name == "where" and rest)
        ):
            other = copy.copy(call)
            size = ast.Attribute(_array_in(x), "size")
            other.keywords = [*call.keywords, ast.keyword("size", size)]
            said = of_traced(
                place, f"`{ast.unparse(function)}()`", "the number of elements it finds"
            )
            line = statement_with(place, ast.unparse(other))
            return f"{said}{what_to_write(line, '')}\n{_PADDED}"
        case _:
            return _of_size(place)


_OF_SIZE = (
    "argwhere", "flatnonzero", "nonzero", "unique", "unique_values", "where",
)  # fmt: skip
_PADDED = (
    "size= is how many there can be at most; the rest is filled up (fill_value=). Or "
    "stay with the mask: where(mask, x, 0)."
)


def _array_in(x: ast.expr) -> ast.expr:
    """The array that a condition is about, which has its size."""
    match x:
        case ast.Compare(ast.Name() | ast.Attribute() as array, _, [ast.Constant()]):
            return array
        case _:
            return x


def of_mask(error: BaseException) -> str | None:
    """For `x[x > 0]`."""
    place = code_place(error)
    if place is None:
        return None
    line, needs = None, "the mask"
    match place.node if place.is_direct else None:
        case ast.Subscript(x, mask) as node:
            needs = f"the mask `{ast.unparse(mask)}`"
            more = _dimensions(place, x) - str(error).partition("bool[")[2].count(",")
            if not isinstance(mask, ast.Tuple) and more == 1:
                line = _masked(place, node, ast.unparse(x), ast.unparse(mask))
        case _:
            pass
    said = of_traced(place, "An index", needs)
    general = (
        "{jnp}.where(mask, x, 0) for an array of the same size, {jnp}.sum(x, "
        "where=mask) for a sum"
    )
    return said + what_to_write(line, general.format(jnp=place.alias))


def _dimensions(place: CodePlace, array: ast.expr) -> int:
    """How many dimensions an array has; 0 if that is not known."""
    return len(getattr(place.value_of(array), "shape", ()))


def _masked(place: CodePlace, node: ast.Subscript, x: str, mask: str) -> str:
    """A sum over a mask, or an array of the same size."""
    jnp = place.alias
    match place.parents.get(node):
        case ast.Call(ast.Attribute(_, name), [first], []) as call if (
            first is node and name in _REDUCTIONS
        ):
            reduced = f"{ast.unparse(call.func)}({x}, where={mask})"
            return statement_with(place, reduced, call)
        case ast.Attribute(_, name) as method if name in _REDUCTIONS:
            reduced = f"{jnp}.{name}({x}, where={mask})"
            return statement_with(place, reduced, place.parents[method])
        case _:
            return statement_with(place, f"{jnp}.where({mask}, {x}, 0)")


_REDUCTIONS = ("all", "any", "mean", "prod", "std", "sum", "var")


def of_slice(error: BaseException) -> str | None:
    """For `x[:n]` and `x[i : i + 3]`."""
    place = code_place(error)
    if place is None:
        return None
    line = None
    needs, jnp = "where it begins and ends", place.alias
    match place.node if place.is_direct else None:
        case ast.Subscript(array, ast.Slice(begin, end, None)):
            if _dimensions(place, array) == 1:
                part = _sliced(ast.unparse(array), begin, end, jnp)
                line = part and statement_with(place, part)
        case _:
            pass
    general = (
        f"{jnp}.lax.dynamic_slice_in_dim(x, i, n, axis) for a part of known size, "
        f"{jnp}.where({jnp}.arange(len(x)) < n, x, 0) for the first n elements"
    )
    return of_traced(place, "A slice", needs) + what_to_write(line, general)


def _sliced(x: str, begin: Any, end: Any, jnp: str) -> str | None:
    numbers = f"{jnp}.arange(len({x}))"
    match begin, end:
        case None, ast.expr():
            return f"{jnp}.where({numbers} < {ast.unparse(end)}, {x}, 0)"
        case ast.expr(), None:
            return f"{jnp}.where({numbers} >= {ast.unparse(begin)}, {x}, 0)"
        case ast.expr(), ast.BinOp(left, ast.Add(), ast.Constant(int() as size)):
            start = ast.unparse(begin)
            if start == ast.unparse(left):
                return f"{jnp}.lax.dynamic_slice_in_dim({x}, {start}, {size})"
        case _:
            pass
    return None
