"""Functions, arguments and places in trees as the user would write them."""

import builtins
import functools
import inspect
import linecache
import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import jax
from jax.tree_util import KeyEntry, keystr


def path_name(root: str, path: Sequence[KeyEntry]) -> str:
    """A place in a tree as the user would write it.

    >>> leaves, _ = jax.tree_util.tree_flatten_with_path({"w": [1, 2]})
    >>> path_name("problem", leaves[1][0])
    "problem['w'][1]"
    """
    return root + keystr(tuple(path))


def function_name(fn: object) -> str:
    """The name of a function, a partial or a callable object, for messages."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__name__", None)
    return name if isinstance(name, str) else type(fn).__name__


def function_label(fn: object) -> str:
    """What to call a function where several of one name would be mixed up.

    >>> function_label(len), function_label(lambda x: x)
    ('len()', 'lambda at ...')
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    code = getattr(fn, "__code__", None)
    if not isinstance(code, CodeType) or code.co_name != "<lambda>":
        return f"{function_name(fn)}()"
    return f"lambda at {line_label(code.co_filename, code.co_firstlineno)}"


def names_to_copy(fn: object) -> tuple[str, ...]:
    """What `functools.wraps` can copy from a callable: `__name__` and the like.

    A callable object may hold anything by these names, and Python lets a function have
    a text alone. A module of equinox holds placeholders where JAX has rebuilt it.
    """
    return tuple(
        name
        for name in functools.WRAPPER_ASSIGNMENTS
        if isinstance(getattr(fn, name, None), _TYPES_OF_NAMES.get(name, object))
    )


_TYPES_OF_NAMES = {"__name__": str, "__qualname__": str, "__annotations__": dict}


def full_name(x: Any) -> str:
    """Module and qualified name of a class or function.

    >>> import collections
    >>> full_name(collections.Counter), full_name(collections.Counter.update)
    ('collections.Counter', 'collections.Counter.update')
    """
    return f"{getattr(x, '__module__', None) or ''}.{x.__qualname__}".lstrip(".")


def listed(names: Sequence[str], most: int = 30) -> str:
    """Names in a sentence.

    >>> listed("abc"), listed("abcde", most=3), listed("a")
    ('a, b and c', 'a, b, c and 2 more', 'a')
    """
    more = [f"{len(names) - most} more"] if len(names) > most else []
    shown = [*names[:most], *more]
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def array_label(shape: Sequence[int], dtype: object) -> str:
    """A shape and dtype as JAX writes them.

    >>> array_label((3, 4), "float32")
    'float32[3,4]'
    """
    return f"{dtype}[{','.join(map(str, shape))}]"


def shown_line(file: str, number: int) -> str:
    r"""A line of the source as a line of a message.

    >>> shown_line("no_file.py", 3)
    '  no_file.py, line 3: \n'
    """
    return f"  {file_label(file)}, line {number}: {source_line(file, number)}\n"


def source_line(file: str, number: int, names: dict[str, Any] | None = None) -> str:
    """What is written there; empty if the file can't be read.

    Args:
        file: The file.
        number: The line, from 1.
        names: The variables of its module, which know where to read a file in a zip.
    """
    return linecache.getline(file, number, names).strip()


def line_label(file: str, line: int) -> str:
    """A line in a few words.

    >>> line_label("a/b.py", 3), line_label("<ipython-input-2-0f>", 3)
    ('b.py:3', 'In[2], line 3')
    """
    label = file_label(file)
    if label == file:
        return f"{os.path.basename(file)}:{line}"
    return f"{label}, line {line}"


def file_label(file: str) -> str:
    """What a file is called in messages; a cell of a notebook as the notebook has it.

    >>> file_label("a/b.py"), file_label("<ipython-input-2-0f>")
    ('a/b.py', 'In[2]')
    """
    if cell := re.match(r"<ipython-input-(\d+)-", file):
        return f"In[{cell[1]}]"
    if not _CELL.search(file):
        return file
    # The name is a hash of the cell's text: IPython knows which cell has it.
    shell: Any = getattr(builtins, "get_ipython", lambda: None)()
    try:
        _, number = shell.compile.format_code_name(file)
    except (AttributeError, TypeError):  # another shell, or another cell's file
        return "a cell"
    return str(number)


_CELL = re.compile(r"[/\\]ipykernel_\d+[/\\]\d+\.py$")


def refuse_no_function(
    tool: str, fun: Any, error: Callable[[str], Exception] = TypeError
) -> None:
    """Refuse what no tool can transform, as JAX does when the tool is called.

    Args:
        tool: The name of the tool.
        fun: What it got for a function.
        error: What is raised.
    """
    if isinstance(fun, (staticmethod, classmethod)):
        kind = type(fun).__name__
        raise error(
            f"{tool}() got a {kind}. Write it the other way round: "
            f"@{kind} first, @{tool} below it."
        )
    if not callable(fun):
        seen = type(fun).__name__ if isinstance(fun, jax.Array) else f"{fun!r:.60}"
        raise error(
            f"{tool}() got {seen} (of type {type(fun).__name__}), and takes functions. "
            "Write the function itself, f and not f(x)."
        )
    if inspect.isgeneratorfunction(fun):
        raise error(
            f"{tool}() got the generator function {function_name(fun)}(). "
            "Collect the values and return them: return jnp.stack(values)."
        )


def argument_names(
    fn: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> list[str]:
    """What the function's signature calls each argument of a call, in order.

    >>> argument_names(lambda x, *rest, **kw: 0, (1, 2, 3), {"k": 4})
    ['x', 'rest[0]', 'rest[1]', 'k']
    """
    positional: list[str] = []
    rest = "args"
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # builtins may have none
        parameters = []
    for p in parameters:
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            positional.append(p.name)
        elif p.kind is p.VAR_POSITIONAL:
            rest = p.name
    positional = positional[: len(args)]
    positional += [f"{rest}[{i}]" for i in range(len(args) - len(positional))]
    return [*positional, *kwargs]
