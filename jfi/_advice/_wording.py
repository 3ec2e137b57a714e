"""The sentences that the advice on all mistakes is made of."""

import ast
import copy
from typing import Any

from .._values import array_label
from ._finding import CodePlace, calling


def of_traced(place: CodePlace, what: str, needs: str) -> str:
    """Which code needs a value that is not there, and its line.

    Args:
        place: Where it is.
        what: The code, such as "`range()`".
        needs: What it needs, such as "the value of `n`".
    """
    return (
        f"{what}{place.within} needs {needs}, which is traced: it has no value while "
        f"JAX traces the function.\n{place.shown}"
    )


def what_to_write(lines: str | None, general: str) -> str:
    """What to write instead: lines of code, or what holds for all such code."""
    if not lines:
        return f"Write instead: {general}"
    return "Write instead:\n" + "\n".join(f"  {line}" for line in lines.splitlines())


def with_line(said: str, general: str) -> str:
    """An advice with the line that called jfi; `{jnp}` is what jfi is called there."""
    place = calling()
    shown = place.shown if place is not None else ""
    jnp = place.alias if place is not None else "jnp"
    return f"{said}\n{shown}{what_to_write(None, general.format(jnp=jnp))}"


def statement_with(
    place: CodePlace, expression: str, node: ast.AST | None = None
) -> str:
    """The statement in which another expression stands for the one that failed.

    Args:
        place: Where it failed.
        expression: The other one.
        node: What it stands for, if not for all that failed.

    Returns:
        The statement; of a loop, a branch and the like only the expression.
    """
    old = place.node if node is None else node
    new: Any = ast.parse(expression, mode="eval").body
    while old is not None and not isinstance(old, ast.stmt):
        parent = place.parents.get(old)
        new, old = _with_child(parent, old, new), parent
    return ast.unparse(new) if isinstance(new, _SIMPLE) else expression


def line_with(place: CodePlace, expression: str, operand: ast.expr) -> str:
    """The statement in which another expression stands for an operand of what failed.

    Of a loop, a branch and the like, all that failed, with the other operand.
    """
    new = ast.parse(expression, mode="eval").body
    line = ast.unparse(_with_child(place.node, operand, new))
    return line if isinstance(place.node, ast.stmt) else statement_with(place, line)


_SIMPLE = ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Expr, ast.Return


def _with_child(parent: ast.AST | None, old: ast.AST, new: ast.AST) -> Any:
    other = copy.copy(parent)
    for name, value in ast.iter_fields(parent or new):
        if value is old:
            setattr(other, name, new)
        elif isinstance(value, list):
            setattr(other, name, [new if child is old else child for child in value])
    return other


def array_form(x: object) -> str | None:
    """The dtype and shape of an array, as JAX writes them; None for all else."""
    dtype, shape = getattr(x, "dtype", None), getattr(x, "shape", None)
    if dtype is None or not isinstance(shape, tuple):
        return None
    return array_label(shape, dtype)
