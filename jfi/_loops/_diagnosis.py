"""What JAX refuses about a loop or a branch, in the user's words.

JAX's calls run first, and nothing is checked before. When one fails, the user's
functions are traced once more to see why; if that shows nothing, JAX's error stays.
"""

import functools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp

from .._errors import JfiError, LoopError
from .._jax_internals import origin_of_output
from .._values import function_name, path_name, shown_line
from .._values.trees import first_difference
from ._arguments import (
    check_batch_size,
    check_bounds,
    check_choice,
    check_dimensions,
    check_functions,
)
from ._carry import (
    Names,
    check_arrays,
    check_carry,
    check_condition,
    label_of,
    names_in,
    structures,
)


@contextmanager
def _explained(explain: Callable[[], None]) -> Generator[None]:
    """Let `explain` raise a better error than JAX's, if it knows one."""
    try:
        yield
    except (JfiError, jax.errors.JAXTypeError, jax.errors.JAXIndexError):
        raise  # about values that are not known yet
    except Exception as error:
        try:
            explain()
        except LoopError as better:
            raise better from error
        except Exception:
            pass  # the user's function fails by itself, with the error at hand
        raise


def explained_scan(f: Any, init: Any, xs: Any, length: Any) -> Any:
    """Explain what does not fit in `scan(f, init, xs, length)`."""

    def explain() -> None:
        check_functions("scan", {"f": f})
        check_arrays("scan", init, "init")
        _check_rows(xs, length)
        row = jax.tree.map(lambda x: _typed(x, drop=1), xs)
        names = names_in("scan", f)
        traced, out = _new_trace(f, jax.tree.map(_typed, init), row)
        check_pair(names, out)
        check_carry(names, jax.tree.map(_typed, init), out[0], traced)

    return _explained(explain)


def check_pair(names: Names, returned: Any) -> None:
    """Refuse what a body returns that is no pair of carry and y."""
    if not (isinstance(returned, tuple) and len(returned) == 2):
        message = (
            f"{names.body}() in {names.loop}() returned {_what(returned)}, not a pair."
            f"\nReturn ({names.carry}, y); where there is nothing to stack: "
            f"return {names.carry}, None"
        )
        raise LoopError(message)


def explained_while(cond_fun: Any, body_fun: Any, init_val: Any) -> Any:
    """Explain what does not fit in `while_loop(cond_fun, body_fun, init_val)`."""

    def explain() -> None:
        check_functions("while_loop", {"cond_fun": cond_fun, "body_fun": body_fun})
        check_arrays("while_loop", init_val, "init_val")
        init = jax.tree.map(_typed, init_val)
        check_condition(
            "while_loop", function_name(cond_fun), _new_trace(cond_fun, init)[1]
        )
        traced, out = _new_trace(body_fun, init)
        check_carry(
            names_in("while_loop", body_fun, start="init_val"), init, out, traced
        )

    return _explained(explain)


def explained_fori(
    body_fun: Any, lower: Any, upper: Any, init_val: Any, unroll: Any
) -> Any:
    """Explain what does not fit in `fori_loop(lower, upper, body_fun, init_val)`."""

    def explain() -> None:
        check_functions("fori_loop", {"body_fun": body_fun})
        check_bounds(lower, upper, unroll)
        check_arrays("fori_loop", init_val, "init_val")
        init = jax.tree.map(_typed, init_val)
        traced, out = _new_trace(body_fun, _typed(lower), init)
        names = names_in("fori_loop", body_fun, position=1, start="init_val")
        check_carry(names, init, out, traced)

    return _explained(explain)


def explained_map(f: Any, xs: Any, batch_size: Any) -> Any:
    """Explain what can't be gone through row by row."""

    def explain() -> None:
        check_functions("map", {"f": f})
        check_batch_size(batch_size)
        check_arrays("map", xs, "xs")
        check_dimensions("map", xs, "xs")

    return _explained(explain)


def explained_associative(fn: Any, elems: Any, axis: int) -> Any:
    """Explain what does not fit in `associative_scan(fn, elems, axis=axis)`."""

    def explain() -> None:
        check_functions("associative_scan", {"fn": fn})
        check_arrays("associative_scan", elems, "elems")
        check_dimensions("associative_scan", elems, "elems", axis)
        given = jax.tree.map(_typed, elems)
        _, out = _new_trace(fn, given, given)
        if structures(given) != structures(out) or any(
            old.shape != new.shape
            for old, new in zip(*map(jax.tree.leaves, (given, out)), strict=True)
        ):
            seen, became = (
                ", ".join(map(label_of, jax.tree.leaves(t))) for t in (given, out)
            )
            raise LoopError(
                f"{function_name(fn)}() of associative_scan() takes two trees of rows "
                f"and returns one like them: it got {seen} twice and returned {became}."
                f"\nCombine the rows one by one: fn = jnp.vmap(fn)"
            )

    return _explained(explain)


def explained_branches(
    what: str,
    names: Sequence[str],
    functions: Sequence[Any],
    choice: Any,
    operands: Sequence[Any],
) -> Any:
    """Explain in which result two branches differ."""

    def explain() -> None:
        check_choice(what, choice)
        check_arrays(what, operands, "operands")
        args = jax.tree.map(_typed, tuple(operands))
        (_, first), *others = (_new_trace(function, *args) for function in functions)
        for name, function, (traced, out) in zip(
            names[1:], functions[1:], others, strict=True
        ):
            labels = [
                f"{name} ({function_name(f)}())" if function_name(f) != name else name
                for name, f in ((names[0], functions[0]), (name, function))
            ]
            _check_alike(what, labels, first, out, traced)

    return _explained(explain)


def _check_alike(
    what: str, labels: Sequence[str], first: Any, out: Any, traced: Any
) -> None:
    """Refuse branches with results of different types."""
    of_first, of_out = structures(first, out)
    if of_first != of_out:
        place, seen, also_seen = first_difference("result", first, out)
        message = (
            f"The branches of {what}() return different structures: for {place}, "
            f"{labels[0]} returns {seen}, {labels[1]} returns {also_seen}.\n"
            "Return the same containers with the same names from each."
        )
        raise LoopError(message)
    leaves = zip(
        jax.tree_util.tree_leaves_with_path(first), jax.tree.leaves(out), strict=True
    )
    for number, ((path, one), other) in enumerate(leaves):
        if _is_alike(one, other):
            continue
        line = origin_of_output(traced, number, functools.partial(_is_alike, other))
        remedy = (
            f"return ...astype({str(one.dtype)!r}) from {labels[1]}"
            if one.shape == other.shape
            else "return arrays of the same shape, with jnp.broadcast_to or jnp.pad"
        )
        message = (
            f"The branches of {what}() return different types for "
            f"{path_name('result', path)}: {labels[0]} returns {label_of(one)}, "
            f"{labels[1]} returns {label_of(other)}.\n"
            f"{shown_line(*line) if line else ''}"
            f"Write instead: {remedy}"
        )
        raise LoopError(message)


def _is_alike(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and one.dtype == other.dtype)


def _check_rows(xs: Any, length: Any) -> None:
    """Refuse rows that are none, and arrays of different lengths."""
    check_arrays("scan", xs, "xs")
    leaves = jax.tree_util.tree_leaves_with_path(xs)
    sizes: dict[str, int] = {} if length is None else {"length": length}
    for path, leaf in leaves:
        name = path_name("xs", path)
        if jnp.ndim(leaf) == 0:
            message = (
                f"scan() goes over the rows of xs, and {name} is a single number.\n"
                f"Let f capture it; or repeat it: {name} = jnp.full(n, {name})"
            )
            raise LoopError(message)
        sizes[name] = jnp.shape(leaf)[0]
    if not sizes:
        message = "scan() got no xs and no length.\nWrite scan(f, init, length=10)"
        raise LoopError(message)
    if len(set(sizes.values())) > 1:
        table = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        message = (
            f"scan() takes as many steps as xs has rows, but these differ: {table}.\n"
            "Cut them to the same length: x[:n]"
        )
        raise LoopError(message)


def _what(out: Any) -> str:
    if isinstance(out, jax.ShapeDtypeStruct):
        return f"an array {label_of(out)}"
    return f"a {type(out).__name__}"


def _new_trace(function: Any, *args: Any) -> tuple[Any, Any]:
    """A new trace of a function: its jaxpr, and the types that it returns."""
    traced: Any = jax.make_jaxpr(lambda *args: function(*args), return_shape=True)
    jaxpr, shapes = traced(*args)
    return jaxpr, shapes


def _typed(x: Any, drop: int = 0) -> jax.ShapeDtypeStruct:
    """The type of an array or number, without its leading dimensions."""
    kind = jax.typeof(x)
    return jax.ShapeDtypeStruct(kind.shape[drop:], kind.dtype, weak_type=kind.weak_type)
