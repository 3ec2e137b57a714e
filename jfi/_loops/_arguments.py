"""Arguments of loops and branches that JAX refused: what was seen, what to write."""

import inspect
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import LoopError
from .._values import array_label, function_name, is_tracer, path_name


def check_functions(what: str, functions: Mapping[str, Any]) -> None:
    """Refuse what can't be called."""
    for name, function in functions.items():
        if not callable(function):
            raise LoopError(
                f"{what}() got {_shown(function)} for {name}, which is not callable.\n"
                f"Write a function: {name}=lambda ...: ..."
            )


def check_branches(branches: Any) -> tuple[Any, ...]:
    """The branches of `switch`, or a refusal."""
    if type(branches) in (list, tuple) and branches and all(map(callable, branches)):
        return tuple(branches)  # past questions that take a tenth of an eager switch
    if callable(branches) or not isinstance(branches, (Sequence, Mapping)):
        raise LoopError(
            f"switch() got {_shown(branches)} for branches, and takes a list of them.\n"
            "Write switch(index, [first, second], *operands)"
        )
    if isinstance(branches, Mapping):
        raise LoopError(
            "switch() got a dict for branches; an index is a position in a list.\n"
            "Write names = list(branches), and "
            "switch(names.index(name), list(branches.values()), *operands)"
        )
    if not branches:
        raise LoopError("switch() got no branches.\nWrite at least one: [function]")
    check_functions("switch", {f"branches[{k}]": f for k, f in enumerate(branches)})
    return tuple(branches)


def check_choice(what: str, choice: Any) -> None:
    """Refuse what a branch can't be chosen by."""
    name, kind = ("pred", "truth value") if what == "cond" else ("index", "integer")
    seen = _kind(choice)
    wrong = f"{what}() got {_shown(choice)} for {name}, and takes a scalar, one {kind}."
    if seen is None:
        raise LoopError(
            f"{wrong}\nWrite a comparison: x > 0" if what == "cond" else wrong
        )
    if seen.shape:
        remedy = (
            f"jnp.any({name}) or jnp.all({name}); for each element: "
            f"jnp.where({name}, a, b)"
            if what == "cond"
            else f"jnp.vmap(lambda {name}, x: switch({name}, branches, x))({name}, xs)"
        )
        raise LoopError(f"{wrong}\nWrite {remedy}")
    if what == "switch" and not jnp.issubdtype(seen.dtype, np.integer):
        raise LoopError(f"{wrong}\nWrite jnp.asarray({name}, int)")


def check_bounds(lower: Any, upper: Any, unroll: Any) -> None:
    """Refuse bounds that are no integers, and `unroll` of traced ones."""
    for name, bound in (("lower", lower), ("upper", upper)):
        seen = _kind(bound)
        is_number = seen is not None and jnp.issubdtype(seen.dtype, np.number)
        if seen is None or seen.shape or not is_number:  # of floats JAX takes `int`
            remedy = f"int({name})" if seen is None or not seen.shape else f"{name}[0]"
            raise LoopError(
                f"fori_loop() got {_shown(bound)} for {name}, and takes an integer "
                f"scalar.\nWrite fori_loop(..., {name}={remedy}, ...)"
            )
        if unroll not in (None, False, 1) and is_tracer(bound):
            raise LoopError(
                f"fori_loop() got unroll={unroll!r} and a traced {name}: it writes "
                f"out steps only if it knows their number.\nPass {name} as a Python "
                "int, or leave out unroll="
            )


def check_arguments_of_checkpoint(
    fun: Any,
    by_position: Mapping[int, Any],
    by_name: Mapping[str, Any],
    error: Exception,
) -> None:
    """Refuse an argument that is no array, and that nobody called static."""
    arguments: list[tuple[str, Any, Any]] = [
        *(("nums", *argument) for argument in by_position.items()),
        *(("names", *argument) for argument in by_name.items()),
    ]
    for option, place, value in arguments:
        if isinstance(value, (str, bytes, Enum)) or inspect.isroutine(value):
            raise LoopError(
                f"checkpoint() of {function_name(fun)}() got {_shown(value)} for "
                f"argument {place!r}, and takes arrays and numbers.\n"
                f"Write checkpoint(f, static_arg{option}={place!r})"
            ) from error


def check_length(length: int) -> None:
    """Refuse a number of steps below 0."""
    if length >= 0:
        return
    raise LoopError(
        f"scan() got length={length!r}.\nPass the number of steps, an int of 0 or "
        "more: length=100"
    )


def check_batch_size(batch_size: Any) -> None:
    """Refuse a number of rows that is none."""
    if batch_size is None or (isinstance(batch_size, int) and batch_size >= 0):
        return
    raise LoopError(
        f"map() got batch_size={batch_size!r}.\nPass the number of rows to compute at "
        "a time, an int of 1 or more: batch_size=32"
    )


def check_dimensions(what: str, tree: Any, root: str, axis: int = 0) -> None:
    """Refuse numbers where rows are gone through, and arrays of different lengths."""
    sizes: dict[str, int] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if jnp.ndim(leaf) == 0:
            raise LoopError(
                f"{what}() goes over the rows of {root}, and got {_shown(leaf)} there, "
                "which has none.\nPass arrays with the same leading size; let the "
                "function capture the rest."
            )
        sizes[path_name(root, path)] = jnp.shape(leaf)[axis]
    if not sizes:
        raise LoopError(
            f"{what}() goes over the rows of {root}, and got no array there.\n"
            "Pass arrays with the same leading size."
        )
    if len(set(sizes.values())) > 1:
        table = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise LoopError(
            f"{what}() goes over the rows of {root}, and their numbers differ: {table}."
            "\nCut them to the same length: x[:n]"
        )


def _kind(x: Any) -> Any:
    """The shape and dtype of an array or number; None of anything else."""
    try:
        return jax.typeof(x)
    except TypeError:
        return None


def _shown(x: Any) -> str:
    kind = _kind(x)
    if kind is not None and not isinstance(x, (bool, int, float, complex)):
        return array_label(kind.shape, kind.dtype)
    if callable(x):
        return f"the function {getattr(x, '__name__', type(x).__name__)}"
    return "None" if x is None else f"the {type(x).__name__} {x!r:.40}"
