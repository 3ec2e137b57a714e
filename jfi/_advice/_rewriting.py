"""Code that JAX can trace in place of Python's branches and loops."""

import ast
import copy
from collections.abc import Sequence

from ._finding import Place


def rewritten(place: Place) -> str | None:
    """The lines to write instead; None if they can't be told."""
    if place.asked is None:
        return None
    if any(isinstance(node, _NO_TRUTH) for node in ast.walk(place.asked)):
        return None
    owner = place.owner
    is_condition = isinstance(owner, (ast.If, ast.While, ast.IfExp))
    test = _without_truth(place.asked, place.alias, is_condition)
    if isinstance(owner, ast.If) and owner.test is place.asked:
        return _if(owner, test, place)
    if isinstance(owner, ast.While) and owner.test is place.asked:
        return _while(owner, test, place.alias)
    if isinstance(owner, ast.IfExp) and owner.test is place.asked:
        chosen = _choice(test, owner.body, owner.orelse, place.alias)
        return None if chosen is None else _statement_with(owner, chosen, place)
    if isinstance(owner, (ast.Assert, ast.comprehension)):
        return None
    if ast.dump(test) != ast.dump(place.asked):
        return _statement_with(place.asked, test, place)
    return None


# A list is no array, and `in` compares one by one: no line for these.
_NO_TRUTH = (ast.GeneratorExp, ast.ListComp, ast.In, ast.NotIn, ast.NamedExpr)


def _choice(
    test: ast.expr, first: ast.expr, second: ast.expr, jnp: str
) -> ast.Call | None:
    """One of two values: by `where` if both are harmless, else by `cond`.

    The gradient of `where` takes NaN from the value that is not chosen.
    """
    for value in (first, second):
        if isinstance(value, _NO_ARRAYS) or (
            isinstance(value, ast.Constant)
            and not isinstance(value.value, (int, float, complex))
        ):
            return None
    if _is_harmless(first) and _is_harmless(second):
        return _call(f"{jnp}.where", test, first, second)
    nothing = ast.arguments([], [], None, [], [], None, [])
    lambdas = (ast.Lambda(nothing, value) for value in (first, second))
    return _call(f"{jnp}.cond", test, *lambdas)


_NO_ARRAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Lambda, ast.JoinedStr)


def _is_harmless(value: ast.expr) -> bool:
    """Whether an expression and its slope are finite for all finite values."""
    risky = (ast.Call, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
    return not any(isinstance(node, risky) for node in ast.walk(value))


def _without_truth(test: ast.expr, jnp: str, is_condition: bool) -> ast.expr:
    """A condition without `and`, `not`, chains, `max` ..., which ask for truth."""
    new: ast.expr = _Elementwise(jnp, is_condition).visit(copy.deepcopy(test))
    return ast.fix_missing_locations(new)


class _Elementwise(ast.NodeTransformer):
    def __init__(self, jnp: str, is_condition: bool) -> None:
        self._jnp, self._is_condition = jnp, is_condition

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        is_and = isinstance(node.op, ast.And)
        if self._is_condition or all(map(_is_truth_value, node.values)):
            name = "and" if is_and else "or"
            return self._joined(name, [self.visit(value) for value in node.values])
        # Python gives the first value that decides: x or 5 is x, unless x is 0.
        values: list[ast.expr] = [self.visit(value) for value in node.values]
        *others, last = values
        for value in reversed(others):
            pair = (last, value) if is_and else (value, last)
            last = _call(f"{self._jnp}.where", value, *pair)
        return last

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if not isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, operand)
        return _call(f"{self._jnp}.logical_not", operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [node.left, *node.comparators]
        pairs: list[ast.expr] = [
            ast.Compare(left, [op], [right])
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return self._joined("and", pairs)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "bool" and len(node.args) == 1:
            return node.args[0]
        if name not in _BUILTINS or node.keywords:
            return node
        if any(isinstance(arg, (ast.List, ast.Tuple)) for arg in node.args):
            return _call(f"{self._jnp}.{_REDUCTIONS[name]}", *_stacked(node, self._jnp))
        if name in ("max", "min") and len(node.args) != 2:
            return _call(f"{self._jnp}.{name}", *_one_array(node.args, self._jnp))
        return _call(f"{self._jnp}.{_BUILTINS[name]}", *node.args)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node

    def _joined(self, name: str, parts: Sequence[ast.expr]) -> ast.expr:
        joined, *rest = parts
        for part in rest:
            joined = _call(f"{self._jnp}.logical_{name}", joined, part)
        return joined


_REDUCTIONS = {"max": "max", "min": "min", "any": "any", "all": "all", "sorted": "sort"}
_BUILTINS = {
    "max": "maximum",
    "min": "minimum",
    "any": "any",
    "all": "all",
    "sorted": "sort",
}


def _is_truth_value(value: ast.expr) -> bool:
    """Whether an expression is True or False, whatever its parts are."""
    if isinstance(value, ast.BoolOp):
        return all(map(_is_truth_value, value.values))
    is_not = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    return isinstance(value, ast.Compare) or is_not


def _stacked(node: ast.Call, jnp: str) -> list[ast.expr]:
    """The arguments of a reduction, those spelt out in a list as an array."""
    return [
        _call(f"{jnp}.stack", arg) if isinstance(arg, (ast.List, ast.Tuple)) else arg
        for arg in node.args
    ]


def _one_array(args: Sequence[ast.expr], jnp: str) -> Sequence[ast.expr]:
    """The array that `max` goes over: that of its values, if they are spelt out."""
    if len(args) == 1:
        return args
    return [_call(f"{jnp}.stack", ast.List(list(args), ast.Load()))]


def _call(name: str, *args: ast.expr) -> ast.Call:
    function = ast.parse(name, mode="eval").body
    return ast.Call(function, list(args), [])


def _statement_with(old: ast.AST, new: ast.expr, place: Place) -> str:
    """The statement around an expression, with another in its place."""
    statement: ast.AST = old
    while not isinstance(statement, ast.stmt) and statement in place.parents:
        statement = place.parents[statement]
    if not isinstance(statement, ast.stmt):
        return ast.unparse(new)
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.For, ast.With)):
        return ast.unparse(new)
    replaced = _Replace(old, new).visit(copy.deepcopy(statement))
    return ast.unparse(ast.fix_missing_locations(replaced))


class _Replace(ast.NodeTransformer):
    """Puts an expression in the place of another, in a copy of the tree."""

    def __init__(self, old: ast.AST, new: ast.expr) -> None:
        self._place, self._new = _position(old), new

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and _position(node) == self._place:
            return self._new
        return super().generic_visit(node)


def _position(node: ast.AST) -> tuple[object, ...]:
    names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return type(node), *(getattr(node, name, None) for name in names)


# ---- if ----


def _if(node: ast.If, test: ast.expr, place: Place) -> str | None:
    returned = _returned(node, place)
    if returned is not None:
        chosen = _choice(test, *returned, place.alias)
        return None if chosen is None else f"return {_text(chosen)}"
    assigned = _assigned(node)
    if assigned is not None:
        target, *values = assigned
        chosen = _choice(test, values[0], values[1], place.alias)
        return None if chosen is None else f"{_text(target)} = {_text(chosen)}"
    return _branches(node, test, place.alias)


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node))


def _returned(node: ast.If, place: Place) -> tuple[ast.expr, ast.expr] | None:
    """What `if` and `else`, or what follows, return: one value each."""
    otherwise = node.orelse
    if not otherwise:
        for block in ("body", "orelse"):
            around = getattr(place.parents.get(node), block, None)
            if isinstance(around, list) and node in around:
                otherwise = around[around.index(node) + 1 :][:1]
    if len(node.body) != 1 or len(otherwise) != 1:
        return None
    first, second = node.body[0], otherwise[0]
    if not (isinstance(first, ast.Return) and isinstance(second, ast.Return)):
        return None
    if first.value is None or second.value is None:
        return None
    return first.value, second.value


def _assigned(node: ast.If) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """The one target that is set, and its value in each case."""
    if len(node.body) != 1 or len(node.orelse) > 1:
        return None
    target, value = _target_and_value(node.body[0])
    if target is None or value is None:
        return None
    if not node.orelse:
        return target, value, target
    other, value_else = _target_and_value(node.orelse[0])
    if other is None or value_else is None:
        return None
    if ast.unparse(other) != ast.unparse(target):
        return None
    return target, value, value_else


def _target_and_value(
    statement: ast.stmt,
) -> tuple[ast.expr | None, ast.expr | None]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
        single = not isinstance(target, (ast.Tuple, ast.List))
        return (target, statement.value) if single else (None, None)
    if isinstance(statement, ast.AugAssign):
        target = statement.target
        return target, ast.BinOp(target, statement.op, statement.value)
    return None, None


def _branches(node: ast.If, test: ast.expr, jnp: str) -> str | None:
    """Both blocks as functions of the names that they set."""
    if _leaves_early([*node.body, *node.orelse]):
        return None
    in_body, in_else = _set_names(node.body), _set_names(node.orelse)
    names = list(dict.fromkeys((*in_body, *in_else)))
    if not names:
        return None
    needed = _needed_names(node.body) | _needed_names(node.orelse)
    both = set(in_body) & set(in_else)
    known = [name for name in names if name in needed or name not in both]
    result, parameters = ", ".join(names), ", ".join(known)
    operands = "".join(f", {name}" for name in known)
    return "\n".join(
        (
            *_function("then", parameters, node.body, result),
            *_function("otherwise", parameters, node.orelse, result),
            f"{result} = {jnp}.cond({ast.unparse(test)}, then, otherwise{operands})",
        )
    )


def _function(
    name: str, parameters: str, block: Sequence[ast.stmt], result: str
) -> list[str]:
    lines = [line for stmt in block for line in ast.unparse(stmt).splitlines()]
    return [
        f"def {name}({parameters}):",
        *(f"    {line}" for line in lines),
        f"    return {result}",
    ]


# ---- while ----


def _while(node: ast.While, test: ast.expr, jnp: str) -> str | None:
    if node.orelse or _leaves_early(node.body):
        return None
    needed = _needed_names(node.body) | _read_names([node.test])
    names = [name for name in _set_names(node.body) if name in needed]
    if not names:
        return None
    condition = ast.unparse(test)
    if len(names) == 1:
        (name,) = names
        body = _function("body", name, node.body, name)
        loop = f"{name} = {jnp}.while_loop(lambda {name}: {condition}, body, {name})"
        return "\n".join((*body, loop))
    carry = ", ".join(names)
    opened = ast.parse(f"{carry} = state").body
    return "\n".join(
        (
            "def cond(state):",
            f"    {carry} = state",
            f"    return {condition}",
            *_function("body", "state", [*opened, *node.body], carry),
            f"{carry} = {jnp}.while_loop(cond, body, ({carry}))",
        )
    )


# ---- names ----


def _set_names(block: Sequence[ast.stmt]) -> list[str]:
    """The variables that statements set, in order."""
    names = [
        node.id
        for stmt in block
        for node in ast.walk(stmt)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return list(dict.fromkeys(names))


def _needed_names(block: Sequence[ast.stmt]) -> set[str]:
    """The variables that statements read before they have set them."""
    needed: set[str] = set()
    for number, stmt in enumerate(block):
        needed |= _read_names([stmt]) - set(_set_names(block[:number]))
    return needed


def _read_names(nodes: Sequence[ast.AST]) -> set[str]:
    walked = [node for top in nodes for node in ast.walk(top)]
    augmented = {
        node.target.id
        for node in walked
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    loaded = {
        node.id
        for node in walked
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return augmented | loaded


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
