"""None where an array should be: `x + None`, `jnp.exp(None)`."""

import ast

from ._finding import CodePlace, code_place
from ._wording import what_to_write


OPERAND = (
    r"^unsupported operand type\(s\) for .*: "
    r"('.*(Tracer|ArrayImpl)' and 'NoneType'|'NoneType' and '.*(Tracer|ArrayImpl)')$"
)
ARGUMENT = r"requires ndarray or scalar arguments, got <class 'NoneType'>"
NEW = r"^None is not a valid value for jnp.array"


def of_operand(error: BaseException) -> str | None:
    """For `x + y`, `x @ y` ... where one of both is None."""
    place = code_place(error)
    if place is None:
        return None
    match place.node:
        case ast.BinOp(left, _, right) | ast.AugAssign(left, _, right):
            return _said(place, [left, right])
        case _:
            return _said(place, [])


def of_argument(error: BaseException) -> str | None:
    """For `jnp.exp(y)`."""
    place = code_place(error)
    if place is None:
        return None
    match place.node if place.is_direct else None:
        case ast.Call(_, args):
            return _said(place, args)
        case _:
            return _said(place, [])


def _said(place: CodePlace, operands: list[ast.expr]) -> str:
    # Names alone: of other code `value_of` does not know the value.
    names = [
        ast.unparse(x)
        for x in operands
        if isinstance(x, (ast.Name, ast.Attribute)) and place.value_of(x) is None
    ]
    name = f"`{names[0]}`" if len(names) == 1 else "A value"
    return (
        f"{name}{place.within} is None, which is no array.\n{place.shown}"
        + what_to_write(None, "an array or a number in its place")
        + ". A function without `return` returns None."
    )
