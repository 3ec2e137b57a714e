"""The functions of `jax.numpy` that also take PyTorch's `dim=` and `keepdim=`.

Each is made on first use: `jfi.sum` calls `jax.numpy.sum` and is no other function but
for these words. What jfi adds to functions of `jax.numpy` beyond them belongs here too.

A wrapper of `*args` and `**kwargs` costs 8 % of an eager call with `axis=`, because
Python packs and unpacks the keywords. One that names each parameter costs 2 %, so the
wrappers are written as text. For `jax.numpy.cumsum`, compiled by JAX, it reads:

    def cumsum(a, axis=_, dtype=None, out=None, *, dim=_):
        if dim is not _:
            if axis is not _: both("cumsum", "dim", "axis")
            axis = dim if type(dim) is int else several("cumsum", dim)
        if dtype is None and out is None:
            return plain(a) if axis is _ else plain(a, axis=axis)
        return plain(a, **given(axis=axis, dtype=dtype, out=out))

Only what the caller gave is passed on: JAX traces a default that is passed, and looks
at each static argument at every call. Functions that JAX wrote in Python take all their
parameters by position, which is faster.
"""

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import jax.numpy as jnp


_AXIS = {"dim": "axis"}
_AXIS_OR_MORE = {"dim": "axis", "dims": "axis"}
_AXES = {"dims": "axes"}
_REDUCTION = {"dim": "axis", "keepdim": "keepdims"}

#: PyTorch's words for the parameters of each function.
WORDS: dict[str, dict[str, str]] = {
    **dict.fromkeys(
        """all amax amin any argmax argmin average count_nonzero max mean median min
        nanargmax nanargmin nanmax nanmean nanmedian nanmin nanpercentile nanprod
        nanquantile nanstd nansum nanvar percentile prod ptp quantile std sum
        var""".split(),
        _REDUCTION,
    ),
    **dict.fromkeys(
        """argsort array_split concat concatenate cross cumprod cumsum cumulative_prod
        cumulative_sum diff expand_dims gradient nancumprod nancumsum repeat size sort
        split squeeze stack take take_along_axis trapezoid unique unstack
        vecdot""".split(),
        _AXIS,
    ),
    **dict.fromkeys(["flip", "roll"], _AXIS_OR_MORE),
    **dict.fromkeys(["rot90", "tensordot"], _AXES),
}

#: Where PyTorch's function of this name gives something else: what to write.
_MEANS_ELSE = {
    "gradient": "PyTorch's gives a tuple, NumPy's one array for one axis. Write "
    "jnp.gradient(x, axis={dim}).",
    "max": "PyTorch's returns values and indices, NumPy's values alone. Write "
    "jnp.max(x, axis={dim}) and jnp.argmax(x, axis={dim}).",
    "min": "PyTorch's returns values and indices, NumPy's values alone. Write "
    "jnp.min(x, axis={dim}) and jnp.argmin(x, axis={dim}).",
    "median": "PyTorch's gives the lower of the two middle elements and its index, "
    "NumPy's their mean. Write jnp.median(x, axis={dim}) for the mean.",
    "nanmedian": "PyTorch's gives the lower of the two middle elements and its index, "
    "NumPy's their mean. Write jnp.nanmedian(x, axis={dim}) for the mean.",
    "sort": "PyTorch's returns values and indices, NumPy's values alone. Write "
    "jnp.sort(x, axis={dim}) and jnp.argsort(x, axis={dim}).",
    "split": "PyTorch's takes the size of a part, NumPy's the number of parts. Write "
    "jnp.split(x, parts, axis={dim}), or jnp.chunk(x, parts, dim={dim}).",
}
#: The same, unless the caller says by which number to divide.
_DIVIDES_BY = (
    "PyTorch's divides by n - 1, NumPy's by n. Write jnp.{name}(x, axis={dim}, ddof=1) "
    "for PyTorch's, ddof=0 for NumPy's."
)
_DIVISORS = ("ddof", "correction")
_Function: TypeAlias = Callable[..., Any]
_KINDS = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
_NOT_GIVEN = object()
# Nowhere on the disk, but in jax.numpy's folder: JAX takes these frames for its own,
# leaves them out of tracebacks, and names the user's line as the place of an operation.
_FILE = os.path.join(os.path.dirname(jnp.__file__), "<jfi.{}>")


def __getattr__(name: str) -> Any:
    if name not in WORDS:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}", name=name
        )
    return _made(name)


@functools.cache
def _made(name: str) -> _Function:
    """The function of `jax.numpy` with PyTorch's words beside NumPy's."""
    plain: _Function = getattr(jnp, name)
    names: dict[str, Any] = {
        "_": _NOT_GIVEN,
        "plain": plain,
        "both": _both,
        "refuse": _refuse,
        "several": _several,
    }
    parameters = list(inspect.signature(plain).parameters.values())
    words = WORDS[name]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        function = _of_any_arguments(name, plain)
    else:
        text = _written(name, parameters, set(words.values()), names)
        exec(compile(text, _FILE.format(name), "exec"), names)
        function = names[name]
    functools.update_wrapper(function, plain)
    for method in ("lower", "trace", "eval_shape", "clear_cache"):
        if hasattr(plain, method):
            vars(function)[method] = getattr(plain, method)
    function.__module__ = __name__  # where pickle finds it, and doctest nothing
    return function


def _written(
    name: str,
    parameters: list[inspect.Parameter],
    targets: set[str],
    names: dict[str, Any],
) -> str:
    """The text of a wrapper; what it needs is put into `names`."""
    words = WORDS[name]
    divisors = [p.name for p in parameters if p.name in _DIVISORS]
    watched = [p.name for p in parameters if p.name in targets] + divisors
    body = _refusal(name, divisors)
    taken = {} if name in _MEANS_ELSE else words
    for word, target in taken.items():
        meant = f"{word} if type({word}) is int else several({name!r}, {word})"
        body += [
            f"if {word} is not _:",
            f"    if {target} is not _: both({name!r}, {word!r}, {target!r})",
            f"    {target} = {word if target == 'keepdims' else meant}",
        ]
    has_all_defaults = all(
        p.default is not p.empty for p in parameters if p.name in watched
    )
    if hasattr(names["plain"], "lower") or not has_all_defaults:
        body += _call_with_given(parameters, watched)
        names["given"] = _without_defaults(parameters, watched)
    else:
        body += _call_with_all(parameters, watched)
    names |= {f"{p.name}_": p.default for p in parameters}
    lines = [f"def {name}({_head(parameters, watched, list(words))}):", *body]
    return "\n    ".join(lines)


def _head(
    parameters: list[inspect.Parameter], watched: list[str], words: list[str]
) -> str:
    """The parameters of a wrapper."""
    parts: dict[object, list[str]] = {kind: [] for kind in _KINDS}
    for p in parameters:
        if p.name in watched:
            part = f"{p.name}=_"
        else:
            part = p.name if p.default is p.empty else f"{p.name}={_default(p)}"
        parts[p.kind].append(part)
    first = parts[inspect.Parameter.POSITIONAL_ONLY]
    return ", ".join(
        [
            *first,
            *(["/"] if first else []),
            *parts[inspect.Parameter.POSITIONAL_OR_KEYWORD],
            "*",
            *parts[inspect.Parameter.KEYWORD_ONLY],
            *(f"{word}=_" for word in words),
        ]
    )


def _default(parameter: inspect.Parameter) -> str:
    """How the default is written: Python compares with None the fastest."""
    return "None" if parameter.default is None else f"{parameter.name}_"


def _refusal(name: str, divisors: list[str]) -> list[str]:
    """Lines that refuse PyTorch's words where its result is another one."""
    given = " or ".join(f"{word} is not _" for word in WORDS[name])
    if name in _MEANS_ELSE:
        return [f"if {given}: refuse({name!r}, axis if dim is _ else dim)"]
    if divisors:
        silent = " and ".join(f"{divisor} is _" for divisor in divisors)
        return [
            f"if ({given}) and {silent}: refuse({name!r}, axis if dim is _ else dim)"
        ]
    return []


def _call_with_all(
    parameters: list[inspect.Parameter], watched: list[str]
) -> list[str]:
    """Lines that pass every parameter on, for a function that JAX wrote in Python."""
    passed = [
        f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters
    ]
    return [
        *(f"if {name} is _: {name} = {name}_" for name in watched),
        f"return plain({', '.join(passed)})",
    ]


def _call_with_given(
    parameters: list[inspect.Parameter], watched: list[str]
) -> list[str]:
    """Lines that pass on what the caller gave, the common cases first."""
    required = [
        p.name for p in parameters if p.default is p.empty and p.name not in watched
    ]
    rest = [p.name for p in parameters if p.name not in [*required, *watched]]
    first, *others = watched
    call, named = ", ".join(required), f"{first}={first}"
    usual = f"return plain({call}) if {first} is _ else plain({call}, {named})"
    default = [f"{p.name} is {_default(p)}" for p in parameters if p.name in rest]
    lines = [f"if {' and '.join([*default, *(f'{o} is _' for o in others)]) or True}:"]
    lines += [f"    {usual}"]
    if others:
        both = [*default, *(f"{name} is not _" for name in watched)]
        passed = ", ".join([call, *(f"{name}={name}" for name in watched)])
        lines += [f"if {' and '.join(both)}:", f"    return plain({passed})"]
    known = ", ".join(f"{name}={name}" for name in [*watched, *rest])
    return [*lines, f"return plain({call}, **given({known}))"]


def _without_defaults(
    parameters: list[inspect.Parameter], watched: list[str]
) -> Callable[..., dict[str, Any]]:
    """A function of keywords that drops those that the caller did not give."""
    defaults = {p.name: p.default for p in parameters}
    defaults |= dict.fromkeys(watched, _NOT_GIVEN)

    def given(**values: Any) -> dict[str, Any]:
        return {k: v for k, v in values.items() if v is not defaults[k]}

    return given


def _of_any_arguments(name: str, plain: _Function) -> _Function:
    """The wrapper of a function that takes any number of arrays."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if "dim" in kwargs:
            _refuse(name, kwargs["dim"])
        return plain(*args, **kwargs)

    return function


def _both(name: str, word: str, target: str) -> NoReturn:
    raise TypeError(
        f"{name}() got both {word} and {target}, which mean the same. Pass one of them."
    )


def _several(name: str, dim: Any) -> Any:
    """What PyTorch's `dim=` is as NumPy's `axis=`, where it is no number."""
    if not isinstance(dim, (list, tuple)):
        return dim
    if not dim and WORDS[name] is _REDUCTION:
        raise TypeError(
            f"{name}() got dim=(), which is all dimensions to PyTorch and none to "
            f"NumPy. Write dim=None for all of them."
        )
    return tuple(dim)


def _refuse(name: str, dim: object) -> NoReturn:
    written = dim if isinstance(dim, (int, tuple, list)) else None
    advice = _MEANS_ELSE.get(name, _DIVIDES_BY).format(name=name, dim=written)
    words = " or ".join(WORDS[name])
    raise TypeError(f"{name}() takes no {words} of PyTorch here. {advice}")


__all__ = list(WORDS)  # pyright: ignore[reportUnsupportedDunderAll]
