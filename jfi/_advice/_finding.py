"""The expression in the user's code whose truth value Python asked for."""

import ast
import linecache
import sys
import traceback
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from .._values import is_user_frame


@dataclass(frozen=True)
class Place:
    """A place in the user's code.

    Attributes:
        file: The file's name.
        line: The number of the line.
        text: What is written there.
        function: The function it is in.
        alias: What jfi is called there.
        asked: The expression whose truth value was asked for, if the source is known.
        owner: The statement or expression that asked: an `if`, a `while` ...
        parents: The node that each node of the file is in.
    """

    file: str
    line: int
    text: str
    function: str
    alias: str
    asked: ast.expr | None = None
    owner: ast.AST | None = None
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)


def find(error: BaseException) -> Place | None:
    """Where the user's code asked for the value that was not there."""
    found: tuple[FrameType, int, int] | None = None
    entry = error.__traceback__
    for frame, line in traceback.walk_tb(error.__traceback__):
        if is_user_frame(frame) and entry is not None:
            found = frame, line, entry.tb_lasti
        entry = entry.tb_next if entry is not None else None
    if found is None:
        return None
    frame, line, instruction = found
    file = frame.f_code.co_filename
    text = linecache.getline(file, line, frame.f_globals).strip()
    place = Place(file, line, text, frame.f_code.co_name, _alias(frame))
    span = _span(frame.f_code, instruction)
    if span is None or not text:
        return place
    asked, owner, parents = _expression(file, frame, span)
    return Place(file, line, text, place.function, place.alias, asked, owner, parents)


def _alias(frame: FrameType) -> str:
    """The name of jfi in the user's module; `jnp` if it has none."""
    jfi = sys.modules["jfi"]
    return next((n for n, value in frame.f_globals.items() if value is jfi), "jnp")


_Span = tuple[int, int, int, int]  # first line, first column, last line, last column


def _span(code: CodeType, instruction: int) -> _Span | None:
    """The part of the source that an instruction was compiled from."""
    for number, (line, last, column, end) in enumerate(code.co_positions()):
        if 2 * number == instruction:
            if line is None or last is None or column is None or end is None:
                return None
            return line, column, last, end
    return None


def _expression(
    file: str, frame: FrameType, span: _Span
) -> tuple[ast.expr | None, ast.AST | None, dict[ast.AST, ast.AST]]:
    """The whole condition around a span of the source, what it is of, and the tree."""
    try:
        tree = ast.parse("".join(linecache.getlines(file, frame.f_globals)))
    except (SyntaxError, ValueError):
        return None, None, {}
    parents = {
        child: parent
        for parent in ast.walk(tree)
        for child in ast.iter_child_nodes(parent)
    }
    inside = [node for node in ast.walk(tree) if _covers(node, span)]
    if not inside:
        return None, None, {}
    node: Any = inside[-1]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
        node = _only_condition(node) or node
    while isinstance(parents.get(node), (ast.BoolOp, ast.UnaryOp)):
        node = parents[node]
    return node, parents.get(node), parents


def _only_condition(comprehension: ast.expr) -> ast.expr | None:
    """The one condition in a comprehension; None if there are more.

    Since Python 3.12 the frame of a comprehension is that of the function around it,
    and an error in it tells no place but the whole.
    """
    found: list[ast.expr] = []
    for node in ast.walk(comprehension):
        match node:
            case ast.comprehension():
                found += node.ifs
            case ast.IfExp():
                found.append(node.test)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                found.append(node)
            case _:
                pass
    return found[0] if len(found) == 1 else None


def _covers(node: ast.AST, span: _Span) -> bool:
    if not isinstance(node, ast.expr):
        return False
    first, last = (span[0], span[1]), (span[2], span[3])
    begin = node.lineno, node.col_offset
    end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return begin <= first and last <= end
