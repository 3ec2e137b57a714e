"""What objects of classes of `pytree` look like, where the class does not say it."""

import reprlib
import textwrap
from typing import Any

from .. import array_label, attributes_of, function_name, has_dtype
from ._settings import is_object_of_tree


WIDTH = 80
_MOST = 20  # entries of a list or a dict that are shown


@reprlib.recursive_repr()
def text_of_object(x: object) -> str:
    """The class and the attributes of an object; arrays by dtype and shape.

    Without the numbers, as nothing may wait for a device, and tracers have none.
    """
    parts = [f"{name}={_text(value)}" for name, value in attributes_of(x).items()]
    return _joined(f"{type(x).__name__}(", parts, ")")


def _text(x: Any) -> str:
    shape = getattr(x, "shape", None)
    if has_dtype(x) and isinstance(shape, tuple):
        return array_label(shape, x.dtype)
    if type(x) in (list, tuple):
        last = ",)" if type(x) is tuple and len(x) == 1 else ")"
        ends = ("[", "]") if type(x) is list else ("(", last)
        return _joined(ends[0], _most(list(map(_text, x[:_MOST])), len(x)), ends[1])
    if type(x) is dict:
        parts = [f"{key!r}: {_text(value)}" for key, value in [*x.items()][:_MOST]]
        return _joined("{", _most(parts, len(x)), "}")
    if callable(x) and isinstance(getattr(x, "__name__", None), str):
        return function_name(x)
    text = repr(x)
    if is_object_of_tree(x) or len(text) <= WIDTH:
        return text
    return f"{text[: WIDTH - 3]}..."


def _most(parts: list[str], number: int) -> list[str]:
    more = number - len(parts)
    return [*parts, f"... ({more} more)"] if more > 0 else parts


def _joined(begin: str, parts: list[str], end: str) -> str:
    """In one line, if it is short."""
    line = f"{begin}{', '.join(parts)}{end}"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return f"{begin}\n{textwrap.indent(f',{chr(10)}'.join(parts), '  ')}\n{end}"
