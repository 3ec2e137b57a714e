"""Lists that NumPy takes for arrays, and JAX does not: `x + [1, 2]`, `x[[0, 2]]`."""

import ast
import re

from ._finding import CodePlace, code_place
from ._wording import line_with, what_to_write


_ARRAY = r"'(?:\w*Tracer|[\w.]*ArrayImpl|ndarray)'"
_LIST = r"'(?:list|tuple)'"
OPERAND = f"({_ARRAY} and {_LIST}|{_LIST} and {_ARRAY})$"
INDEX = "^Using a non-tuple sequence for multidimensional indexing"


def of_operand(error: BaseException) -> str | None:
    """For `x + [1, 2]`, `[1, 2] > x` and `x += [1, 2]`."""
    place = code_place(error)
    found = re.search(OPERAND, str(error))
    if place is None or found is None:
        return None
    operand: ast.expr | None = None
    is_first = bool(re.match(_LIST, found[1]))
    match place.node if place.is_direct else None:
        case ast.BinOp(left, _, right) | ast.Compare(left, [_], [right]):
            operand = left if is_first else right
        case ast.AugAssign(_, _, right) if not is_first:
            operand = right
        case _:
            pass
    return _said(place, operand, "has no operators with")


def of_index(error: BaseException) -> str | None:
    """For `x[[0, 2]]`."""
    place = code_place(error)
    if place is None:
        return None
    operand: ast.expr | None = None
    match place.node if place.is_direct else None:
        case ast.Subscript(_, (ast.List() | ast.Name() | ast.Attribute()) as operand):
            pass
        case _:
            pass
    return _said(place, operand, "takes no index that is")


def _said(place: CodePlace, operand: ast.expr | None, lacks: str) -> str:
    line = None
    if operand is not None:
        array = f"{place.alias}.asarray({ast.unparse(operand)})"
        line = line_with(place, array, operand)
    said = f"An array of JAX{place.within} {lacks} a list or a tuple.\n{place.shown}"
    return said + what_to_write(line, f"{place.alias}.asarray(...) of the list")
