"""The expression in the user's code that an error came from."""

import ast
import functools
import inspect
import linecache
import sys
import traceback
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from .._values import file_label, is_user_code, is_user_frame, source_line


@dataclass(frozen=True)
class CodePlace:
    """A place in the user's code.

    Attributes:
        file: The file's name.
        line: The number of the line.
        text: What is written there.
        frame: The call that was there, with its variables.
        is_direct: Whether it failed here, and not in code of a library called here.
        node: The expression, or the `x += y`, that failed, if the source is known.
        parents: The node that each node of the file is in.
    """

    file: str
    line: int
    text: str
    frame: FrameType = field(repr=False)
    is_direct: bool = True
    node: ast.AST | None = None
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict, repr=False)

    @property
    def function(self) -> str:
        """The function it is in."""
        return self.frame.f_code.co_name

    @property
    def within(self) -> str:
        """Where it is, for a sentence: ` in f()`, or nothing in a script."""
        return "" if self.function == "<module>" else f" in {self.function}()"

    @property
    def alias(self) -> str:
        """The name of jfi in the user's module; `jnp` if it has none."""
        jfi = sys.modules["jfi"]
        names = self.frame.f_globals.items()
        return next((name for name, value in names if value is jfi), "jnp")

    @property
    def shown(self) -> str:
        """The line as a line of a message."""
        return f"  {file_label(self.file)}, line {self.line}: {self.text}\n"

    @property
    def asked(self) -> ast.AST | None:
        """The whole condition that the expression is a part of."""
        node: Any = self.node
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
            node = _only_condition(node) or node
        while isinstance(self.parents.get(node), (ast.BoolOp, ast.UnaryOp)):
            node = self.parents[node]
        asked: ast.AST | None = node
        return asked

    @property
    def owner(self) -> ast.AST | None:
        """What asked for the condition: an `if`, a `while` ..."""
        asked = self.asked
        return None if asked is None else self.parents.get(asked)

    def value_of(self, node: ast.AST | None) -> Any:
        """The value of `x` or `self.x` in the call; None for all that runs code."""
        match node:
            case ast.Name(name):
                variables = self.frame.f_locals, self.frame.f_globals
                found = (names[name] for names in variables if name in names)
                return next(found, None)
            case ast.Attribute(of, name):
                owner = self.value_of(of)
                if inspect.ismodule(owner):  # some make their names on first use
                    return getattr(owner, name, None)
                return getattr(owner, "__dict__", {}).get(name)
            case _:
                return None


def code_place(error: BaseException, *, in_libraries: bool = False) -> CodePlace | None:
    """Where the user's code was when an error came.

    Args:
        error: The error, with its traceback.
        in_libraries: Whether code of installed libraries is as good as the user's own.
    """
    found: tuple[FrameType, int, int] | None = None
    is_direct, entry = True, error.__traceback__
    for frame, line in traceback.walk_tb(error.__traceback__):
        if is_user_frame(frame) and entry is not None:
            is_direct = in_libraries or _is_own(frame)
            found = (frame, line, entry.tb_lasti) if is_direct else found
        entry = entry.tb_next if entry is not None else None
    if found is None:
        return None
    return _place(*found, is_direct)


def is_only_shown(frame: FrameType) -> bool:
    """Whether a text that code is writing goes to who reads it, and to no other code.

    As in `print(f"{x}")` and `raise ValueError(f"{x}")`. Where the source is not known,
    it may go anywhere.
    """
    place = _place(frame, frame.f_lineno, frame.f_lasti, True)
    node: Any = place.node
    while node is not None:
        match node:
            case ast.Raise():
                return True
            case ast.Call(ast.Name(name) | ast.Attribute(_, name)) if name in _SHOWS:
                return True
            case _:
                node = place.parents.get(node)
    return False


# Functions and methods of Python, of its loggers and of tqdm.
_SHOWS = frozenset(
    "critical debug display error exception info log print set_description set_postfix "
    "warn warning write".split()
)


def _place(frame: FrameType, line: int, instruction: int, is_direct: bool) -> CodePlace:
    """The place of an instruction."""
    file = frame.f_code.co_filename
    text = source_line(file, line, frame.f_globals)
    span = _span(frame.f_code, instruction)
    if span is None or not text:
        return CodePlace(file, line, text, frame, is_direct)
    parents = _parents("".join(linecache.getlines(file, frame.f_globals)))
    inside = [node for node in parents if _covers(node, span)]
    node: Any = inside[-1] if inside else None
    # Python 3.11 gives the jump of `if c:`, c being a name, the place of the statement.
    asking = (n for n in parents if isinstance(n, _ASKING) and _span_of(n) == span)
    node = next((n.test for n in asking), node)
    return CodePlace(file, line, text, frame, is_direct, node, parents)


def calling() -> CodePlace | None:
    """Where the user's code has called jfi."""
    frame = inspect.currentframe()
    while frame is not None and not is_user_frame(frame):
        frame = frame.f_back
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = source_line(file, line, frame.f_globals)
    return CodePlace(file, line, text, frame)


def _is_own(frame: FrameType) -> bool:
    return is_user_code(str(frame.f_globals.get("__name__", "")), frame.f_code)


_Span = tuple[int, int, int, int]  # first line, first column, last line, last column


def _span(code: CodeType, instruction: int) -> _Span | None:
    """The part of the source that an instruction was compiled from."""
    for number, (line, last, column, end) in enumerate(code.co_positions()):
        if 2 * number == instruction:
            if line is None or last is None or column is None or end is None:
                return None
            return line, column, last, end
    return None


@functools.lru_cache(maxsize=1)  # batches try functions again and again
def _parents(source: str) -> dict[ast.AST, ast.AST]:
    """Each node of a source but the first, from the outside in, and what it is in."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    return {
        child: parent
        for parent in ast.walk(tree)
        for child in ast.iter_child_nodes(parent)
    }


def _only_condition(comprehension: ast.expr) -> ast.expr | None:
    """The one condition in a comprehension; None if there are more.

    Since Python 3.12 the frame of a comprehension is that of the function around it,
    and an error in it has no place but the whole.
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


_ASKING = (ast.If, ast.While, ast.Assert, ast.IfExp)


def _covers(node: ast.AST, span: _Span) -> bool:
    if not isinstance(node, (ast.expr, ast.AugAssign)):
        return False
    own = _span_of(node)
    return own[:2] <= span[:2] and span[2:] <= own[2:]


def _span_of(node: ast.expr | ast.stmt) -> _Span:
    end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return node.lineno, node.col_offset, *end
