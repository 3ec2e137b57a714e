"""Functions of all kinds as jaxprs, with the names that users have for their inputs."""

import copy
import dataclasses
import itertools
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._autojit import Calls, UnwatchedError
from .._autojit._ahead import bind
from .._autojit._graphs import Graph, paths
from .._autojit._keeping import Kept, ProgramOrigin
from .._autojit.kinds._classify import CELL, VARIABLES
from .._autojit.kinds._functions import AutojitMark, is_autojitted, is_wrapper
from .._values import (
    argument_names,
    counts_as_data,
    function_name,
    is_data,
    partition,
    path_name,
)
from ._constant_names import names_of_constants


class Traced(NamedTuple):
    """A function traced for some arguments.

    Attributes:
        name: What the user calls it.
        jaxpr: The closed jaxpr.
        inputs: What the user calls each of its inputs.
        captured: Whether each input is no argument, but read outside the function.
        constants: What the user calls each of its constants; "" if that is not known.
        lower: Lowers it for XLA.
    """

    name: str
    jaxpr: Any
    inputs: Sequence[str]
    captured: Sequence[bool]
    constants: Sequence[str]
    lower: Callable[[], Any]


def trace(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Traced:
    """Trace a function as the tool that it is under would, or as `autojit`.

    Args:
        fn: A function, method or callable object, or what a tool of JAX or jfi made.
        args: The arguments; a `jax.ShapeDtypeStruct` stands for an array.
        kwargs: The same.

    Raises:
        Exception: What the function raises, or the tool that it is under.
    """
    args, kwargs = _distinct(tuple(args)), _distinct(dict(kwargs))
    if isinstance(fn, types.MethodType):
        method: types.MethodType = fn
        fn, args = method.__func__, (method.__self__, *args)
    if is_wrapper(fn):
        fn = getattr(fn, "__wrapped__")  # noqa: B009 - unknown to type checkers
    options: dict[str, Any] = {}
    if is_autojitted(fn):
        given = fn.__dict__[AutojitMark.ATTRIBUTE].fill.options
        options = {name: given[name] for name in given if name not in _OF_COMPILING}
        fn = getattr(fn, "__wrapped__")  # noqa: B009
    elif hasattr(fn, "trace") and hasattr(fn, "lower"):
        return _as_jitted(fn, args, kwargs)
    try:
        return _as_autojitted(fn, args, kwargs, options)
    except UnwatchedError:  # it reads the clock ...: autojit runs it uncompiled
        return _as_plain(fn, args, kwargs)


_OF_COMPILING = ("warn_after", "max_traces")


def _distinct(x: Any) -> Any:
    """Let a stand-in for an array that is passed twice stand for two arrays."""
    if isinstance(x, jax.ShapeDtypeStruct):
        return copy.copy(x)
    # Not by jax.tree, which sorts the keys of dicts.
    if type(x) is dict:
        new: Any = {key: _distinct(value) for key, value in x.items()}
        same = all(new[key] is x[key] for key in x)
    elif type(x) in (list, tuple):
        new = type(x)(map(_distinct, x))
        same = all(a is b for a, b in zip(new, x, strict=True))
    else:
        return x
    return x if same else new


class _NoKeeper:
    """Keeps nothing: what is looked at is not compiled."""

    def keep(self, place: ProgramOrigin) -> Kept | None:
        return None


def _as_autojitted(
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Traced:
    # Calls of its own: those of the function count what it compiles, and warn.
    calls = Calls(fn, options, keeper=_NoKeeper())
    opened, _, traced = calls.perform(
        bind(calls, args, kwargs),
        lambda program, leaves: program.compiled.plain.trace(*leaves),
        abstract=True,
    )
    roots = [
        f"**{p.name}" if p.kind is p.VAR_KEYWORD else p.name for p in calls.parameters
    ]
    found = paths(opened.graph, opened.objects, [function_name(fn), *roots, ""])
    rest = [p.name for p in calls.parameters if p.kind is p.VAR_POSITIONAL]
    names = argument_names(fn, args, kwargs)
    nodes = opened.leaf_nodes()
    inputs = [_spelt(found[i], rest, names) for i in nodes]
    outside = _captured(opened.graph)
    captured = [outside[i] for i in nodes]
    return _traced(fn, traced, inputs, captured)


def _captured(graph: Graph) -> list[bool]:
    """Whether each node is met only in variables: of a module, or of a closure."""
    found = [True] * len(graph)
    found[0] = False
    for i, (kind, _, children) in enumerate(graph):
        if kind is not CELL and kind is not VARIABLES and not found[i]:
            for child in children:
                found[child] = False
    return found


def _spelt(path: str, rest: Sequence[str], names: Sequence[str]) -> str:
    """`args[0]['w']` of a function that wraps one with names, such as a gradient."""
    if rest and (match := re.match(rf"{rest[0]}\[(\d+)\]", path)):
        number = int(match[1])
        if number < len(names):
            return names[number] + path[match.end() :]
    return path


def _as_jitted(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Traced:
    """A function of `jit`, by its own rules of what is static."""
    traced = fn.trace(*args, **kwargs)
    positional, _ = traced.args_info
    names = _dynamic(argument_names(fn, args, {}), args, positional)
    inputs: list[str] = []
    for path, _ in jax.tree_util.tree_flatten_with_path(traced.args_info)[0]:
        where, which, *rest = path
        root = str(which.key) if where.idx == 1 else str(names[which.idx])
        inputs.append(path_name(root, rest))
    return _traced(fn, traced, inputs, [False] * len(inputs))


def _dynamic(
    names: Sequence[str], args: Sequence[Any], infos: Sequence[Any]
) -> Sequence[str]:
    """The names of the arguments that are data; JAX leaves out the static ones."""
    fits = [
        chosen
        for chosen in itertools.combinations(range(len(args)), len(infos))
        if all(_fits(args[k], info) for k, info in zip(chosen, infos, strict=True))
    ]
    if len(fits) != 1:  # any of them may be the static one
        return [f"argument {k}" for k in range(len(infos))]
    return [names[k] for k in fits[0]]


def _fits(x: Any, info: Any) -> bool:
    structures: set[Any] = {jax.tree.structure(tree) for tree in (x, info)}
    leaves, infos = jax.tree.leaves(x), jax.tree.leaves(info)
    return len(structures) == 1 and all(
        is_data(leaf)
        and jnp.shape(leaf) == i.shape
        and _kind_of_dtype(leaf) == _kind_of_dtype(i)
        for leaf, i in zip(leaves, infos, strict=True)
    )


def _kind_of_dtype(x: Any) -> str:
    """That of a dtype: "f", "i" ..."""
    return str((x if hasattr(x, "dtype") else np.asarray(x)).dtype.kind)


def _as_plain(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Traced:
    """A function that autojit runs uncompiled: its arrays and floats are data.

    It gets copies of objects, since what it writes into them while it is traced stands
    for arrays, and is none.
    """

    def is_traced(x: Any) -> bool:
        return counts_as_data(x) or isinstance(x, jax.ShapeDtypeStruct)

    call = tuple(args), dict(kwargs)
    leaves, rest = partition(call, is_traced)
    rest = dataclasses.replace(rest, others=copy.deepcopy(rest.others))

    def run(*leaves: Any) -> Any:
        positional, named = rest.filled(leaves)
        return fn(*positional, **named)

    run.__name__ = function_name(fn)
    names = argument_names(fn, args, kwargs)
    places, _ = jax.tree_util.tree_flatten_with_path([*args, *kwargs.values()])
    inputs = [path_name(names[p[0].idx], p[1:]) for p, x in places if is_traced(x)]
    traced = jax.jit(run).trace(*leaves)
    return _traced(fn, traced, inputs, [False] * len(inputs))


def _traced(
    fn: Callable[..., Any],
    traced: Any,
    inputs: Sequence[str],
    captured: Sequence[bool],
) -> Traced:
    closed = traced.jaxpr
    constants = names_of_constants(closed.consts, fn)
    number = len(closed.jaxpr.invars)
    if len(inputs) != number:  # JAX has put inputs of its own in
        inputs, captured = [f"input {k}" for k in range(number)], [False] * number
    name = function_name(fn)
    return Traced(name, closed, inputs, captured, constants, traced.lower)
