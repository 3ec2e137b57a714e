"""Methods that PyTorch has, and JAX and optax have not: `loss.backward()`."""

import ast
import re
import sys
from typing import Any

import jax

from ._finding import code_place
from ._torch_lines import INSTEAD
from ._torch_methods import OF_ARRAYS, OF_MODELS, OF_OPTIMIZERS, OTHER_MEANING
from ._wording import statement_with, what_to_write


def advice_for(error: BaseException) -> str | None:
    """The line to write for an attribute that is missing."""
    owner, name = getattr(error, "obj", None), _missing_attribute(error)
    if name is None:
        return None
    if not isinstance(owner, jax.Array):
        return _line_instead(error, name, _lines_of_class(owner).get(name))
    return _line_instead(error, name, OF_ARRAYS.get(name) or _of_array(name))


def of_size(error: BaseException) -> str | None:
    """For `x.size()`, which is a number here."""
    return _line_instead(error, "size", "{x}.shape[{args}]")


def of_view(error: BaseException) -> str | None:
    """For `x.view(-1)`, which asks for a dtype here."""
    return _line_instead(error, "view", OF_ARRAYS["view"])


DIM = r"^(\w+)\(\) got an unexpected keyword argument '(dim|keepdim)'"


def of_dim(error: BaseException) -> str | None:
    """For `x.sum(dim=0)`: methods of arrays are JAX's, and have an `axis`."""
    place, found = code_place(error), re.search(DIM, str(error))
    if place is None or found is None or not place.is_direct:
        return None
    match place.node:
        case ast.Call(ast.Attribute(of, method), args, named):
            pass
        case _:
            return None
    if found[1] != f"_{method}" and not isinstance(place.value_of(of), jax.Array):
        return None  # a function of the user's
    names = {"dim": "axis", "keepdim": "keepdims"}
    arguments = [
        *map(ast.unparse, args),
        *(f"{names.get(str(k.arg), k.arg)}={ast.unparse(k.value)}" for k in named),
    ]
    if method in ("std", "var") and len(arguments) == 1:
        arguments.append("ddof=1")  # PyTorch's divide by n - 1
    line = f"{_bracketed(of)}.{method}({', '.join(arguments)})"
    said = f"`{found[2]}=` is PyTorch's.\n{place.shown}"
    return said + what_to_write(statement_with(place, line, place.node), "")


def _missing_attribute(error: BaseException) -> str | None:
    found = re.search(r"has no attribute '?(\w+)", str(error))
    return found[1] if found else None


def _lines_of_class(owner: Any) -> dict[str, str]:
    """For optimizers and models; the words of PyTorch are right for its own."""
    library = type(owner).__module__.partition(".")[0]
    if library in ("torch", "builtins", "numpy"):
        return {}
    return OF_OPTIMIZERS if library == "optax" else OF_MODELS


def _of_array(name: str) -> str | None:
    """A function of jfi; a line for a function; each also for methods as `add_`."""
    base = name.removesuffix("_")
    start = "{x} = " if name != base else ""
    if base in OF_ARRAYS:
        return start + OF_ARRAYS[base]
    if hasattr(sys.modules["jfi"], base) and base not in OTHER_MEANING:
        return f"{start}{{jnp}}.{base}({{x}}, {{args}})"
    if (line := INSTEAD["jfi"].get(base)) is not None:
        return start + line.replace("{", "{{").replace("}", "}}")
    return None


def _line_instead(error: BaseException, name: str, line: str | None) -> str | None:
    """The advice, if the user's line has this attribute."""
    place = code_place(error)
    if place is None or line is None:
        return None
    x, args = "x", "..."
    node: Any = place.node
    if isinstance(parent := place.parents.get(node), ast.Call) and parent.func is node:
        node = parent
    match node:
        case ast.Attribute(of, attr) if attr == name:
            x = _bracketed(of)
        case ast.Call(ast.Attribute(of, attr), given, named) if attr == name:
            x = _bracketed(of)
            args = ", ".join(map(ast.unparse, [*given, *named]))
        case None if name not in ("size", "view"):
            pass  # the source is not known
        case _:
            return None
    filled = line.format(x=x, args=args, jnp=place.alias)
    code, hash_, remark = filled.replace(", )", ")").replace("[]", "").partition("  # ")
    if node is not None and "{x}" in line and " = " not in line:
        code = statement_with(place, code, node)
    said = f"`.{name}` is PyTorch's.\n{place.shown}"
    return said + what_to_write(code + hash_ + remark, "")


def _bracketed(x: ast.expr) -> str:
    """An expression that a method can be called of."""
    text = ast.unparse(x)
    plain = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
    return text if isinstance(x, plain) else f"({text})"
