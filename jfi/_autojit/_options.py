"""What users may ask of `autojit`, and the options of `jax.jit`."""

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.tree_util import all_leaves

from .._errors import AutoJitError, AutoJitOptionError
from ._graphs import Opened
from ._reading import Mode


JIT_OPTIONS = (
    "in_shardings", "out_shardings", "keep_unused", "device", "backend", "inline",
    "compiler_options",
)  # fmt: skip
_NAMED = ("static", "traced", "frozen", "donate")
_CONTRADICTIONS = (
    ("static", "traced"), ("static", "donate"), ("frozen", "static"),
    ("frozen", "traced"),
)  # fmt: skip
_BY_NAME = {
    "static_argnums": "static",
    "static_argnames": "static",
    "donate_argnums": "donate",
    "donate_argnames": "donate",
}


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of one function under `autojit`.

    Attributes:
        static: Parameters whose numbers and arrays are settings.
        traced: Parameters whose ints and bools are data.
        frozen: Parameters whose numbers are settings, and whose arrays are data.
        donate: Parameters whose arrays the compiled function may overwrite.
        warn_after: How many compilations because of one value are worth a warning.
        max_traces: How many compilations are an error; None: no number is.
        unused: Attributes that the body does not use.
        uncompiled: Whether what can't be watched runs without being compiled.
        jit: What is handed on to `jax.jit`.
    """

    static: frozenset[str] = frozenset()
    traced: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()
    donate: frozenset[str] = frozenset()
    warn_after: int = 8
    max_traces: int | None = None
    unused: frozenset[str] = frozenset()
    uncompiled: bool = True
    jit: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def mode(self, name: str, varying: Collection[str]) -> Mode:
        """How the value of a parameter is taken."""
        if name in self.static:
            return Mode.STATIC
        if name in self.frozen:
            return Mode.FROZEN
        if name in varying:
            return Mode.VARYING
        return Mode.DATA if name in self.traced else Mode.TRACED


def named_in(given: Mapping[str, Any]) -> set[str | int]:
    """The parameters that options name, or say the position of."""
    options = (*_NAMED, *_BY_NAME)
    named = (name for k in options if k in given for name in _as_list(given[k]))
    return {name for name in named if isinstance(name, (str, int))}


def read_options(
    function: str, parameters: Sequence[str], given: Mapping[str, Any]
) -> Options:
    """Check the options of a function.

    Args:
        function: Its name.
        parameters: Those it has.
        given: The options as they were written.

    Raises:
        AutoJitOptionError: An option is unknown, or names no parameter, or
            contradicts another.
    """
    names: dict[str, set[str]] = {option: set() for option in _NAMED}
    jit: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for option, value in given.items():
        if option in JIT_OPTIONS:
            if option == "in_shardings":
                _check_shardings(function, parameters, value)
            jit[option] = value
        elif option in names or option in _BY_NAME:
            target = _BY_NAME.get(option, option)
            names[target] |= _parameters(function, parameters, option, value)
        elif option in ("warn_after", "max_traces"):
            rest[option] = _number_of_compilations(function, option, value)
        elif option == "uncompiled":
            rest[option] = _flag(function, option, value)
        elif option == "unused":
            rest[option] = _attributes(function, value)
        else:
            others = ("warn_after", "max_traces", "unused", "uncompiled")
            allowed = ", ".join((*names, *others, *JIT_OPTIONS))
            raise AutoJitOptionError(
                f"autojit() of {function}() got the option {option!r}, which it does "
                f"not have.\nIt has: {allowed}."
            )
    for one, other in _CONTRADICTIONS:
        both = sorted(names[one] & names[other])
        if both:
            raise AutoJitOptionError(
                f"autojit() of {function}() got {both[0]!r} in both {one}= and "
                f"{other}=.\nLeave it in one of them."
            )
    static, traced, frozen, donate = map(frozenset, names.values())
    return Options(static, traced, frozen, donate, jit=jit, **rest)


def _check_shardings(function: str, parameters: Sequence[str], value: Any) -> None:
    if isinstance(value, Mapping):
        _parameters(function, parameters, "in_shardings", list(value))
    elif isinstance(value, (tuple, list)) and len(value) > len(parameters):
        raise AutoJitOptionError(
            f"autojit() of {function}() got {len(value)} in_shardings, and "
            f"{function}() has {len(parameters)} parameters: {', '.join(parameters)}.\n"
            "Write one for each, in their order or in a dict with their names."
        )


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, (str, int)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _parameters(
    function: str, parameters: Sequence[str], option: str, value: Any
) -> set[str]:
    found: set[str] = set()
    for name in _as_list(value):
        if isinstance(name, int) and -len(parameters) <= name < len(parameters):
            found.add(parameters[name])
        elif isinstance(name, str) and name in parameters:
            found.add(name)
        else:
            raise AutoJitOptionError(
                f"autojit() of {function}() got {option}={value!r}, and {function}() "
                f"has no parameter {name!r}.\nIt has: {', '.join(parameters)}."
            )
    return found


def _number_of_compilations(function: str, option: str, value: Any) -> int | None:
    if value is None and option == "max_traces":
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise AutoJitOptionError(
            f"autojit() of {function}() got {option}={value!r}.\n"
            f"Write a number of compilations: {option}=8."
        )
    return value


def _attributes(function: str, value: Any) -> frozenset[str]:
    names = _as_list(value)
    if not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise AutoJitOptionError(
            f"autojit() of {function}() got unused={value!r}.\n"
            'Write the names of attributes: unused="losses", or unused=("losses", "n").'
        )
    return frozenset(names)


def _flag(function: str, option: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise AutoJitOptionError(
            f"autojit() of {function}() got {option}={value!r}.\n"
            f"Write {option}=True or {option}=False."
        )
    return value


# ---- The parameters of a function, which a call has one value for each of ----


Parameter = inspect.Parameter


def parameters_of(
    fn: Callable[..., Any], said: Collection[str | int] = ()
) -> list[Parameter]:
    """The parameters of a function; some builtins have no signature.

    Those of the function itself: what it hands on to a function that it wraps may be
    called in another way. Unless an option names a parameter that only that one has.

    Args:
        fn: The function.
        said: Names and positions of parameters, in options.
    """
    names = {name for name in said if isinstance(name, str)}
    is_partial = isinstance(fn, functools.partial) and not inspect.isfunction(fn)
    if is_partial and not said:
        return ANY_PARAMETERS  # the arguments it has already may be changed
    if isinstance(fn, np.ufunc):
        return ANY_PARAMETERS  # `dtype` and `signature` exclude each other
    try:
        own = _own(fn)
        if names <= {p.name for p in own}:
            return own
        wrapped = list(inspect.signature(fn).parameters.values())
        return wrapped if names <= {p.name for p in wrapped} else own
    except (TypeError, ValueError):
        return ANY_PARAMETERS


def _own(fn: Callable[..., Any]) -> list[Parameter]:
    """The parameters of a function itself.

    Libraries write the signature of a function that they wrap into `__signature__`.
    Its defaults are copies: what the wrapped function uses may be another default by
    now, and the caller has passed none. Then the code says what can be passed.
    """
    found = list(inspect.signature(fn, follow_wrapped=False).parameters.values())
    own = getattr(fn, "__func__", fn)  # of a bound method
    is_plain = isinstance(own, types.FunctionType) and "__signature__" in own.__dict__
    if not is_plain or all(p.default is Parameter.empty for p in found):
        return found
    same: Any = types.FunctionType(
        own.__code__, own.__globals__, None, own.__defaults__, own.__closure__
    )
    same.__kwdefaults__ = own.__kwdefaults__
    if own is not fn:
        same = types.MethodType(same, fn)  # without its first parameter
    return list(inspect.signature(same).parameters.values())


ANY_PARAMETERS = [
    Parameter("args", Parameter.VAR_POSITIONAL),
    Parameter("kwargs", Parameter.VAR_KEYWORD),
]


def call_with(
    fn: Callable[..., Any], parameters: Sequence[Parameter], values: Sequence[Any]
) -> Any:
    """Call a function with one value for each parameter."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter, value in zip(parameters, values, strict=True):
        if parameter.kind is Parameter.VAR_POSITIONAL:
            args.extend(value)
        elif parameter.kind is Parameter.VAR_KEYWORD:
            kwargs.update(value)
        elif parameter.kind is Parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return fn(*args, **kwargs)


# ---- The options of `jax.jit`, from the parameters of a function to its arrays ----


def split_options(jit: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The options that hold for all arrays, and a tree of shardings for the result.

    What the compiled function returns holds more than the result, so that JAX can't
    be given that tree.
    """
    shardings = jit.get("out_shardings")
    if shardings is None or all_leaves([shardings]):
        return dict(jit), None
    return {k: v for k, v in jit.items() if k != "out_shardings"}, shardings


def constrain(result: Any, shardings: Any) -> Any:
    """A result with the shardings of a tree; None leaves one to JAX."""
    if shardings is None:
        return result
    return jax.tree.map(
        lambda sharding, x: (
            x if sharding is None else jax.lax.with_sharding_constraint(x, sharding)
        ),
        shardings,
        result,
        is_leaf=lambda sharding: sharding is None,
    )


def leaf_options(
    options: Options, parameters: Sequence[str], opened: Opened
) -> dict[str, Any]:
    """The options for a program that takes the arrays of a call one by one."""
    jit, _ = split_options(options.jit)
    roots = opened.roots_of_leaves()
    if options.donate:
        jit["donate_argnums"] = tuple(
            k
            for k, root in enumerate(roots)
            if root and parameters[root - 1] in options.donate
        )
    shardings = jit.get("in_shardings")
    if shardings is not None and not all_leaves([shardings]):
        jit["in_shardings"] = _leaf_shardings(shardings, parameters, opened, roots)
    return jit


def _leaf_shardings(
    shardings: Any, parameters: Sequence[str], opened: Opened, roots: Sequence[int]
) -> tuple[Any, ...]:
    """One sharding for each array, from those of the parameters."""
    if not isinstance(shardings, Mapping):
        shardings = dict(zip(parameters, shardings, strict=False))
    of_trees: dict[str, dict[int, Any]] = {}
    (_, _, arguments), *_ = opened.graph
    for name, node in zip(parameters, arguments[1:-1], strict=True):
        sharding = shardings.get(name)
        if sharding is not None and not all_leaves([sharding]):
            of_trees[name] = _sharding_of_leaves(sharding, opened.objects[node])
    found: list[Any] = []
    for root, leaf in zip(roots, opened.leaves, strict=True):
        name = parameters[root - 1] if root else ""
        tree = of_trees.get(name)
        if tree is not None and id(leaf) not in tree:
            raise AutoJitError(
                f"in_shardings has a tree for {name}, which holds arrays in attributes "
                f"that JAX does not flatten.\nWrite one sharding for all of {name}."
            )
        found.append(shardings.get(name) if tree is None else tree[id(leaf)])
    return tuple(found)


def _sharding_of_leaves(shardings: Any, argument: Any) -> dict[int, Any]:
    """The sharding of each leaf of an argument, by its id."""
    every = jax.tree.broadcast(shardings, argument, is_leaf=lambda x: x is None)
    leaves, of_leaves = (
        jax.tree.leaves(tree, is_leaf=lambda x: x is None) for tree in (argument, every)
    )
    return {id(x): sharding for x, sharding in zip(leaves, of_leaves, strict=True)}
