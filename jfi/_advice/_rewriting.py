"""Code that JAX can trace in place of Python's branches and loops.

Rewritten are an `if` that returns or sets one value, a `while`, and a `for` over a
range. All else gets a general text: most other lines need more than the line to be
known.
"""

import ast
from collections.abc import Sequence

from ._finding import CodePlace


def rewritten(place: CodePlace) -> str | None:
    """The lines to write instead; None if it is not one of the cases above."""
    owner, jnp = place.owner, place.alias
    if not isinstance(owner, (ast.If, ast.While, ast.IfExp)):
        return None
    test = _condition(owner.test, jnp)
    if test is None or owner.test is not place.asked:
        return None
    if isinstance(owner, ast.While):
        return _while(owner, test, jnp)
    if isinstance(owner, ast.If):
        return _one_value(_of_blocks(owner, place), test, jnp)
    target, value = _target_and_value(place.parents.get(owner))
    if value is not owner:
        return None
    return _one_value((target, owner.body, owner.orelse), test, jnp)


def _condition(test: ast.expr, jnp: str) -> str | None:
    """A condition without `and`, `or`, `not` and chains, which ask for truth."""
    parts: list[str | None]
    match test:
        case ast.BoolOp(op, values):
            name = "and" if isinstance(op, ast.And) else "or"
            parts = [_condition(value, jnp) for value in values]
        case ast.UnaryOp(ast.Not(), operand):
            inner = _condition(operand, jnp)
            return None if inner is None else f"{jnp}.logical_not({inner})"
        case ast.Compare(left, ops, sides):
            name = "and"
            pairs = zip([left, *sides], ops, sides, strict=False)
            parts = [_plain(ast.Compare(a, [op], [b])) for a, op, b in pairs]
        case _:
            return _plain(test)
    joined, *rest = parts
    for part in rest:
        joined = f"{jnp}.logical_{name}({joined}, {part})"
    return None if None in parts else joined


def _plain(test: ast.expr) -> str | None:
    """The text of an expression, if nothing in it may ask for truth by itself."""
    for node in ast.walk(test):
        if isinstance(node, _ASKS) or (isinstance(node, ast.Compare) and node.ops[1:]):
            return None
        if isinstance(node, ast.Name) and node.id in _BUILTINS:
            return None
    return ast.unparse(test)


_ASKS = (
    ast.BoolOp, ast.Not, ast.IfExp, ast.In, ast.NotIn, ast.NamedExpr,
    ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp,
)  # fmt: skip
_BUILTINS = ("bool", "max", "min", "any", "all", "sorted")


# ---- if ----


_Values = tuple[ast.expr | None, ast.expr, ast.expr]  # the target, if set, not returned


def _one_value(values: _Values | None, test: str, jnp: str) -> str | None:
    """A line with one of two values: by `where` if both are harmless, else by `cond`.

    The gradient of `where` takes NaN from the value that is not chosen.
    """
    if values is None:
        return None
    target, *both = values
    for value in both:
        if isinstance(value, _NO_ARRAYS) or (
            isinstance(value, ast.Constant)
            and not isinstance(value.value, (int, float, complex))
        ):
            return None
    first, second = map(ast.unparse, both)
    begin = "return" if target is None else f"{ast.unparse(target)} ="
    if all(map(_is_harmless, both)):
        return f"{begin} {jnp}.where({test}, {first}, {second})"
    return f"{begin} {jnp}.cond({test}, lambda: {first}, lambda: {second})"


_NO_ARRAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Lambda, ast.JoinedStr)


def _is_harmless(value: ast.expr) -> bool:
    """Whether an expression and its slope are finite for all finite values."""
    risky = (ast.Call, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
    return not any(isinstance(node, risky) for node in ast.walk(value))


def _of_blocks(node: ast.If, place: CodePlace) -> _Values | None:
    """What an `if` and its `else`, or what follows it, return or set."""
    if len(node.body) != 1 or len(node.orelse) > 1:
        return None
    target, value = _target_and_value(node.body[0])
    if value is None:
        return None
    if target is not None and not node.orelse:
        return target, value, target
    otherwise = node.orelse[0] if node.orelse else _next_statement(node, place)
    other, value_else = _target_and_value(otherwise)
    if value_else is None or (target is None) != (other is None):
        return None
    if target and other and ast.unparse(other) != ast.unparse(target):
        return None
    return target, value, value_else


def _next_statement(node: ast.If, place: CodePlace) -> ast.stmt | None:
    for block in ("body", "orelse"):
        around = getattr(place.parents.get(node), block, None)
        if isinstance(around, list) and node in around[:-1]:
            following: ast.stmt = around[around.index(node) + 1]
            return following
    return None


def _target_and_value(
    statement: ast.AST | None,
) -> tuple[ast.expr | None, ast.expr | None]:
    """What a statement sets, None if it returns, and the value, None if neither."""
    match statement:
        case ast.Return(value):
            return None, value
        case ast.Assign([ast.Name() | ast.Attribute() | ast.Subscript() as to], value):
            return to, value
        case ast.AugAssign(target, op, value):
            return target, ast.BinOp(target, op, value)
        case _:
            return None, None


# ---- while, for ----


def _while(node: ast.While, test: str, jnp: str) -> str | None:
    names = _carried(node, [node.test])
    if not names:
        return None
    carry = ", ".join(names)
    inner = _lines_of(node.body, carry)
    if len(names) == 1:
        head = [f"def body({carry}):"]
        loop = f"{carry} = {jnp}.while_loop(lambda {carry}: {test}, body, {carry})"
    else:
        opened = f"    {carry} = state"
        head = ["def cond(state):", opened, f"    return {test}"]
        head += ["def body(state):", opened]
        loop = f"{carry} = {jnp}.while_loop(cond, body, ({carry}))"
    return "\n".join([*head, *inner, loop])


def for_loop(node: ast.AST | None, jnp: str) -> str | None:
    """The lines for a `for i in range(n)`; None if it is another loop."""
    match node:
        case ast.For(ast.Name(i), ast.Call(ast.Name("range"), [*bounds], [])):
            pass
        case _:
            return None
    names = [name for name in _carried(node, []) if name != i]
    if not names or len(bounds) > 2:
        return None
    carry = ", ".join(names)
    state = carry if len(names) == 1 else "state"
    opened = [] if len(names) == 1 else [f"    {carry} = state"]
    start = carry if len(names) == 1 else f"({carry})"
    limits = ", ".join(map(ast.unparse, [*([] if bounds[1:] else [_ZERO]), *bounds]))
    head = [f"def body({i}, {state}):", *opened]
    loop = f"{carry} = {jnp}.fori_loop({limits}, body, {start})"
    return "\n".join([*head, *_lines_of(node.body, carry), loop])


_ZERO = ast.Constant(0)


def _carried(node: ast.While | ast.For, read: Sequence[ast.AST]) -> list[str]:
    """The variables that one step of a loop leaves to the next; none if it has others.

    Those that the step sets, and that are read before, or by the code `read`.
    """
    if node.orelse or _leaves_early(node.body):
        return []
    needed = _read_names(read)
    for number, stmt in enumerate(node.body):
        needed |= _read_names([stmt]) - set(_set_names(node.body[:number]))
    return [name for name in _set_names(node.body) if name in needed]


def _lines_of(body: Sequence[ast.stmt], carry: str) -> list[str]:
    """The body of a function that makes one step."""
    lines = [line for stmt in body for line in ast.unparse(stmt).splitlines()]
    return [f"    {line}" for line in [*lines, f"return {carry}"]]


def _set_names(block: Sequence[ast.stmt]) -> list[str]:
    """The variables that statements set, in order."""
    names = [
        node.id
        for stmt in block
        for node in ast.walk(stmt)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return list(dict.fromkeys(names))


def _read_names(nodes: Sequence[ast.AST]) -> set[str]:
    """The variables that code reads; `x += 1` reads x."""
    walked = [node for top in nodes for node in ast.walk(top)]
    augmented = [node.target for node in walked if isinstance(node, ast.AugAssign)]
    return {
        node.id
        for node in walked
        if isinstance(node, ast.Name)
        and (isinstance(node.ctx, ast.Load) or node in augmented)
    }


def _leaves_early(block: Sequence[ast.stmt]) -> bool:
    """Whether a block can't be a function: it returns, breaks, has effects."""
    early = (
        ast.Expr, ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield,
        ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal,
    )  # fmt: skip
    nodes = [node for stmt in block for node in ast.walk(stmt)]
    sets_objects = any(
        isinstance(node, (ast.Attribute, ast.Subscript))
        and isinstance(node.ctx, (ast.Store, ast.Del))
        for node in nodes
    )
    return sets_objects or any(isinstance(node, early) for node in nodes)
