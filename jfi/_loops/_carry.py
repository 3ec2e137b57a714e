"""What fits the carry of a loop, in the words of the user's own code."""

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from .._errors import LoopError
from .._jax_internals import origin_of_output
from .._values import (
    array_label,
    function_name,
    is_key,
    odd_array,
    path_name,
    shown_line,
    source_line,
)
from .._values.trees import first_difference, pytree_line


@dataclass(frozen=True)
class Names:
    """What the user calls the parts of a loop.

    Attributes:
        loop: The function of jfi: `scan`.
        body: The user's function: `step`.
        carry: What its parameter for the carry is called: `state`.
        start: What the loop calls the first carry: `init`.
    """

    loop: str
    body: str
    carry: str
    start: str = "init"


def names_in(
    loop: str, body: Callable[..., Any], position: int = 0, start: str = "init"
) -> Names:
    """The names for a loop whose body takes the carry at a position."""
    carry = "carry"
    try:
        parameter = list(inspect.signature(body).parameters.values())[position]
        if parameter.kind is not parameter.VAR_POSITIONAL:
            carry = parameter.name
    except (TypeError, ValueError, IndexError):  # a builtin, *args ...
        pass
    return Names(loop, function_name(body), carry, start)


def check_carry(
    names: Names, before: Any, after: Any, traced: Any = None, *, shift: int = 0
) -> None:
    """Refuse a body that does not return the carry that it took.

    Args:
        names: What the user calls things.
        before: The carry it takes: a tree of what has a shape and a dtype.
        after: The carry it returns.
        traced: The jaxpr of the body, in which the line at fault is looked up.
        shift: The number of the carry's first leaf among the results of `traced`.
    """
    check_structure(names, before, after)
    pairs = zip(
        jax.tree_util.tree_leaves_with_path(before),
        jax.tree.leaves(after),
        strict=True,
    )
    for number, ((path, old), new) in enumerate(pairs):
        if old.shape != new.shape or not _same_dtype(old, new):
            line = None
            if traced is not None:
                line = origin_of_output(traced, number + shift, _is_wrong(old, new))
            raise LoopError(_other_type(names, path_name("", path), old, new, line))


def check_structure(names: Names, before: Any, after: Any) -> None:
    """Refuse a body that returns other containers than it took."""
    old, new = structures(before, after)
    if old == new:
        return
    given, back = (_paths(names.carry, tree) for tree in (before, after))
    missing = [name for name in given if name not in back]
    extra = [name for name in back if name not in given]
    differences = [
        *([f"it leaves out {', '.join(missing)}"] if missing else []),
        *([f"it adds {', '.join(extra)}"] if extra else []),
    ]
    if not differences:
        place, was, became = first_difference(names.carry, before, after)
        differences = [f"{place} was {was} and became {became}"]
    message = (
        f"{names.body}() in {names.loop}() returns a carry that differs from "
        f"{names.start}: {'; '.join(differences)}.\n"
        f"Return a carry with the same containers and names as in {names.start}."
    )
    raise LoopError(message)


def check_arrays(loop: str, tree: Any, root: str) -> None:
    """Refuse what a loop can't carry: text, functions, objects."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        odd = odd_array(leaf, "{path}")
        if odd is not None:
            odd = odd.replace("{path}", path_name(root, path))
            raise LoopError(f"{loop}() got {odd}")
        try:
            jax.typeof(leaf)
        except TypeError:
            message = (
                f"{loop}() got a {type(leaf).__name__} for {path_name(root, path)}; "
                "a loop or a branch carries only arrays and numbers.\n"
                + (
                    pytree_line(leaf)
                    or f"Take it out of {root} and let the function capture it."
                )
            )
            raise LoopError(message) from None


def check_condition(loop: str, cond: str, returned: Any) -> None:
    """Refuse a condition that is not a bool scalar."""
    if returned is None:
        seen = "None"
    elif not isinstance(returned, jax.ShapeDtypeStruct):
        seen = f"a {type(returned).__name__}"
    elif returned.shape == () and returned.dtype == bool:
        return
    else:
        seen = label_of(returned)
    message = (
        f"{cond}() of {loop}() returned {seen} and must return bool[], one truth value."
        "\nWrite a comparison, such as error > 1e-6, and jnp.any(...) or jnp.all(...) "
        "around an array of them."
    )
    raise LoopError(message)


def label_of(array: Any) -> str:
    """Its dtype and shape: float32[3,4]."""
    return array_label(array.shape, array.dtype)


def structures(*trees: Any) -> list[Any]:
    """The tree structures, which type checkers know little of."""
    return [jax.tree.structure(tree) for tree in trees]


def _paths(root: str, tree: Any) -> list[str]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return [path_name(root, path) for path, _ in leaves]


def _same_dtype(old: Any, new: Any) -> bool:
    """Whether a loop takes the dtype: the first carry may be a Python number."""
    if old.dtype == new.dtype:
        return True
    if not getattr(old, "weak_type", False):
        return False
    if is_key(new):
        return False
    number = {"b": False, "i": 0, "f": 0.0, "c": 0j}.get(old.dtype.kind)
    return number is not None and jax.numpy.result_type(number, new.dtype) == new.dtype


def _is_wrong(old: Any, new: Any) -> Callable[[Any], bool]:
    def is_wrong(value: Any) -> bool:
        if old.shape != new.shape:
            return bool(value.shape == new.shape)
        return bool(value.dtype == new.dtype)

    return is_wrong


def _other_type(
    names: Names, path: str, old: Any, new: Any, line: tuple[str, int] | None
) -> str:
    """The message for a leaf that comes out of the body as another type."""
    message = (
        f"The carry {names.carry}{path} goes into {names.body}() as {label_of(old)} "
        f"and comes out as {label_of(new)}; {names.loop}() keeps shapes and dtypes.\n"
    )
    text = source_line(*line) if line else ""
    message += shown_line(*line) if line else ""
    start = f"{names.start}{path}"
    if old.shape != new.shape:
        shape = ", ".join(map(str, new.shape))
        return message + (
            f"Return {names.carry}{path} in the shape it came in; or start with the "
            f"final shape: {start} = jnp.zeros(({shape}), {str(new.dtype)!r})"
        )
    if is_key(old) or is_key(new):
        return message + f"Start with what {names.body}() returns: a key stays a key."
    dtype = str(old.dtype)
    return message + (
        f"Write instead: {_cast(text, dtype) or f'...astype({dtype!r})'}\n"
        f"or start with {new.dtype}: {start} = jnp.asarray({start}, {str(new.dtype)!r})"
    )


def _cast(line: str, dtype: str) -> str | None:
    """A line of code that assigns or returns one value, with the value cast."""
    try:
        (statement,) = ast.parse(line).body
    except (SyntaxError, ValueError):
        return None
    if isinstance(statement, ast.AugAssign):
        value: ast.expr = ast.BinOp(statement.target, statement.op, statement.value)
        targets: Sequence[ast.expr] = [statement.target]
    elif isinstance(statement, ast.Assign):
        value, targets = statement.value, statement.targets
    else:
        return None
    if any(isinstance(target, (ast.Tuple, ast.List)) for target in targets):
        return None
    holder = value if isinstance(value, ast.Lambda) else None
    value = holder.body if holder else value
    if isinstance(value, (ast.Tuple, ast.List, ast.Dict)):
        return None
    if any(isinstance(part, ast.Lambda) for part in ast.walk(value)):
        return None  # y = fori_loop(0, 3, lambda i, c: ..., x): the line of two values
    cast: ast.expr = ast.Call(ast.Attribute(value, "astype"), [ast.Constant(dtype)], [])
    if holder:  # f = lambda c: ...
        cast = ast.Lambda(holder.args, cast)
    return " = ".join(map(ast.unparse, [*targets, cast]))
