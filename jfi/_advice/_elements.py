"""Elements of arrays: `x[0] = 1`, and `x[1.0]`."""

import ast
from typing import Any

import jax

from ._finding import CodePlace, code_place
from ._wording import array_form, statement_with, what_to_write


def of_setting(error: BaseException) -> str | None:
    """For `x[0] = 1` and `x[0] += 1`, which arrays of JAX don't take."""
    place = code_place(error)
    if place is None or not isinstance(place.node, ast.Subscript):
        return None
    array = ast.unparse(place.node.value)
    line = _at(place, place.node, array) if place.is_direct else None
    said = f"`{array}`{place.within} is an array of JAX, which can't change.\n"
    general = "x = x.at[index].set(value), or .add(value), .multiply(value)"
    return said + place.shown + what_to_write(line, general)


def _at(place: CodePlace, node: ast.Subscript, array: str) -> str | None:
    at = f"{array} = {array}.at[{ast.unparse(node.slice)}]"
    match node.value, place.parents.get(node):
        case ast.Subscript(of), _ if array_form(place.value_of(of)):
            return None  # a row of an array: nobody has it but this line
        case _, ast.Assign([_], value):
            return f"{at}.set({ast.unparse(value)})"
        case _, ast.AugAssign(_, op, value) if type(op) in _METHODS:
            return f"{at}.{_METHODS[type(op)]}({ast.unparse(value)})"
        case _:
            return None


_METHODS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.Pow: "power",
}  # fmt: skip


def of_float(error: BaseException) -> str | None:
    """For an index that is a float."""
    place = code_place(error)
    if place is None:
        return None
    line, what = None, "An index"
    match place.node if place.is_direct else None:
        case ast.Subscript(array, i):
            what = f"The index `{ast.unparse(i)}`"
            line = statement_with(place, f"{ast.unparse(array)}[{_as_int(place, i)}]")
        case _:
            pass
    said = f"{what}{place.within} is a float: an index is an int.\n{place.shown}"
    return said + what_to_write(line, "x[i.astype(int)]; or i = n // 2 for n / 2")


def _as_int(place: CodePlace, i: ast.expr) -> str:
    text, value = ast.unparse(i), place.value_of(i)
    match i:
        case ast.BinOp(ast.Constant(int()) as a, ast.Div(), ast.Constant(int()) as b):
            return ast.unparse(ast.BinOp(a, ast.FloorDiv(), b))
        case ast.Name() | ast.Attribute() if isinstance(value, jax.Array):
            return f"{text}.astype(int)"
        case ast.Name() | ast.Attribute() if isinstance(value, float):
            return f"int({text})"
        case _:
            return f"{place.alias}.asarray({text}, dtype=int)"


def of_nan(error: BaseException) -> str | None:
    """For the NaN that `jax.debug_nans` finds."""
    place = code_place(error)
    if place is None:
        return None
    line: str | None = None
    match place.node if place.is_direct else None:
        case ast.Call(ast.Attribute(_, name) as function, [x]) if name in _POSITIVE:
            argument, called = ast.unparse(x), ast.unparse(function)
            safe = f"safe_where({argument} > 0, {called}, {argument}, 0.0)"
            line = statement_with(place, f"{place.alias}.{safe}")
        case _:
            pass
    general = (
        f"{place.alias}.safe_where(mask, f, x, 0.0), which computes f only where the "
        "mask holds"
    )
    said = f"The first NaN{place.within} comes from here:\n{place.shown}"
    return said + what_to_write(line, general)


_POSITIVE: Any = ("log", "log10", "log2", "rsqrt", "sqrt")
