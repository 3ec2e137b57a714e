"""Shapes and dtypes that don't fit: what they are, and what to write."""

import ast
import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._finding import CodePlace, code_place
from ._wording import array_form, statement_with, what_to_write


#: What errors of JAX and NumPy say of shapes.
PATTERN = r"[Ss]hapes?\b|broadcast|contracting dim|[Cc]annot concatenate"


def advice_for(error: BaseException) -> str | None:
    """The line, and the shapes of all arrays that it names."""
    place = code_place(error)
    if place is None or place.node is None:
        return None  # nothing was computed there: the user's own code raised it
    arrays = _named_arrays(place, place.node)
    if not arrays:
        return None
    said = f"The shapes{place.within} don't fit: {_shapes_of(arrays)}.\n{place.shown}"
    form = _fitting(place) if place.is_direct else None
    if form is None:
        return said.rstrip("\n")
    if isinstance(place.node, ast.AugAssign):
        return said + what_to_write(f"{ast.unparse(place.node.target)} = {form}", "")
    return said + what_to_write(statement_with(place, form), "")


def of_dtypes(error: BaseException) -> str | None:
    """For functions of `jfi.lax`, which don't convert."""
    place = code_place(error)
    if place is None or place.node is None:
        return None
    arrays = _named_arrays(place, place.node)
    listed = f" don't fit: {_shapes_of(arrays)}" if arrays else " don't fit"
    line = None
    match place.node if place.is_direct else None:
        case ast.Call(_, [ast.Name(x), ast.Name(y), *rest]) as call:
            other: Any = copy.copy(call)
            other.args = [call.args[0], ast.Name(f"{y}.astype({x}.dtype)"), *rest]
            line = statement_with(place, ast.unparse(other))
        case _:
            pass
    said = f"The dtypes{place.within}{listed}.\n{place.shown}"
    return said + what_to_write(line, "y.astype(x.dtype) in place of y")


def _named_arrays(place: CodePlace, node: ast.AST) -> dict[str, str]:
    """The arrays that code names, `x` and `self.w`, with their dtypes and shapes."""
    kinds = {
        ast.unparse(part): array_form(place.value_of(part))
        for part in ast.walk(node)
        if isinstance(part, (ast.Name, ast.Attribute))
    }
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _shapes_of(arrays: dict[str, str]) -> str:
    return ", ".join(f"{name} is {kind}" for name, kind in arrays.items())


_Shape = Sequence[int]


def _fitting(place: CodePlace) -> str | None:
    """The operation of two named arrays in a form that fits, if there is one."""
    match place.node:
        case ast.BinOp(left, op, right) | ast.AugAssign(left, op, right):
            pass
        case _:
            return None
    a, b = (getattr(place.value_of(side), "shape", None) for side in (left, right))
    if a is None or b is None:
        return None
    x, y = ast.unparse(left), ast.unparse(right)
    if isinstance(op, ast.MatMult):
        return _product(x, y, a, b)
    sign = ast.unparse(ast.BinOp(ast.Name("x"), op, ast.Name("y")))[1:-1]
    column = "[:, None]"
    if len(a) == 1 and len(b) == 2 and a[0] == b[0]:
        return f"{x}{column}{sign}{y}"
    if len(b) == 1 and len(a) == 2 and a[0] == b[0]:
        return f"{x}{sign}{y}{column}"
    return None


def _product(x: str, y: str, a: _Shape, b: _Shape) -> str | None:
    forms = {
        f"{x}.T @ {y}": (a[::-1], b),
        f"{x} @ {y}.T": (a, b[::-1]),
        f"{y} @ {x}": (b, a),
    }
    if max(len(a), len(b)) > 2:
        return None
    return next((form for form, shapes in forms.items() if _multiply(*shapes)), None)


def _multiply(a: _Shape, b: _Shape) -> bool:
    try:
        np.matmul(np.empty(a), np.empty(b))
    except ValueError:
        return False
    return True
