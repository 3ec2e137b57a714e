"""What to write in place of Python code that asks for the truth of a traced value."""

import ast
from typing import Any

from ._finding import CodePlace, code_place
from ._rewriting import rewritten
from ._wording import of_traced, what_to_write


def advice_for(error: BaseException) -> str | None:
    """The user's line and what to write instead; None if the line is not found."""
    place = code_place(error, in_libraries=True)
    if place is None:
        return None
    asked = f"of `{ast.unparse(place.asked)}`" if place.asked is not None else "here"
    said = of_traced(place, _what(place), f"the truth value {asked}")
    if isinstance(place.owner, ast.Assert):
        instead = "Take the assert out, or check what the compiled function returns."
        return said + instead
    return said + what_to_write(rewritten(place), _GENERAL.format(jnp=place.alias))


_GENERAL = (
    "{jnp}.where(condition, a, b) for a choice of values, "
    "{jnp}.cond(condition, f, g, ...) for a choice of code, {jnp}.while_loop(cond, "
    "body, state) for a loop, {jnp}.logical_and(a, b), {jnp}.logical_or(a, b) and "
    "{jnp}.logical_not(a) for `a and b`, `a or b` and `not a`, {jnp}.maximum(a, b) "
    "and {jnp}.minimum(a, b) for `max(a, b)` and `min(a, b)`"
)


def _what(place: CodePlace) -> str:
    """The kind of code that asked."""
    names: dict[type[Any], str] = {
        ast.If: "`if`",
        ast.While: "`while`",
        ast.IfExp: "`... if ... else ...`",
        ast.Assert: "`assert`",
        ast.comprehension: "`if` of a comprehension",
    }
    name = names.get(type(place.owner))
    if name is None and isinstance(place.asked, ast.BoolOp):
        name = "`and`" if isinstance(place.asked.op, ast.And) else "`or`"
    if name is None and isinstance(place.asked, ast.UnaryOp):
        name = "`not`"
    return f"Python's {name}" if name else "Python code"
