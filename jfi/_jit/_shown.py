"""How notebooks show compiled functions.

What `jit` and `autojit` return are plain functions, since a callable object costs each
call more; `repr` of a function is Python's own. Notebooks look at attributes of the
function.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .._tables import html_facts
from .._values import function_name, line_label


def html(
    tool: str,
    fn: Callable[..., Any],
    how_often: str,
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """A compiled function in a notebook.

    >>> "unwrap(func, *, stop=None)" in html("jit", inspect.unwrap, times(1))
    True

    Args:
        tool: What compiles it.
        fn: The user's function.
        how_often: How often it was compiled.
        facts: What else there is to say.
    """
    known = [("function", _signature(fn)), ("from", _place(fn)), ("so far", how_often)]
    return html_facts(tool, [*(fact for fact in known if fact[1]), *facts])


def times(n: int) -> str:
    """How often something was compiled."""
    return "not compiled yet" if n == 0 else f"compiled {n} time{'s' * (n != 1)}"


def _signature(fn: Callable[..., Any]) -> str:
    try:
        return f"{function_name(fn)}{inspect.signature(fn)}"
    except (TypeError, ValueError):  # some builtins have none
        return f"{function_name(fn)}(...)"


def _place(fn: Callable[..., Any]) -> str:
    plain = inspect.unwrap(getattr(fn, "__func__", fn))
    code = getattr(plain, "__code__", None)
    return "" if code is None else line_label(code.co_filename, code.co_firstlineno)
