"""The text of wrappers: functions of JAX that look at the types of their arguments.

Each is made on first use: `jfi.sum` calls `jax.numpy.sum`, and is no other function but
for arrays of classes that have rules of their own, and for PyTorch's words.

A wrapper of `*args` and `**kwargs` costs 8 % of an eager call with `axis=`, because
Python packs and unpacks the keywords. One that names each parameter costs 2 %, so the
wrappers are written as text. For `jax.numpy.exp` it reads:

    def exp(x, /):
        if not (x.__class__ is array or type_of(x) in known):
            return by_values(function, (x,))
        return plain(x)

`array` is the class of JAX's arrays, as soon as one was seen. `known` has all types
that no rule can be for: tracers, Python's numbers. `type_of` is `type`, which is the
name of a parameter of some functions. Left out here: an array of NumPy, if it has the
bytes of this machine. For `jax.numpy.cumsum`, compiled by JAX, it reads:

    def cumsum(a, axis=_, dtype=None, out=None, dim=_):
        if dim is not _:
            if axis is not _: both("cumsum", "dim", "axis")
            axis = dim if type_of(dim) is int else several("cumsum", dim)
        if (a.__class__ is array or type_of(a) in known) and dtype is None and (
            out is None
        ):
            return plain(a) if axis is _ else plain(a, axis=axis)
        if not (a.__class__ is array or type_of(a) in known):
            return by_values(function, (a, axis, dtype, out))
        return plain(a, **given(axis=axis, dtype=dtype, out=out))

Only what the caller gave is passed on: JAX traces a default that is passed, and looks
at each static argument at every call. Functions that JAX wrote in Python take all their
parameters by position, which is faster. Optional parameters of a compiled function
that may be arrays are passed on as they came: see `_passed_on`.
"""

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from ._data_parameters import is_array, is_known, takes_data
from ._passed_on import NOT_GIVEN, is_better_passed_on, passed_on, with_the_rest
from ._words import DIVISORS, MEANS_ELSE, WORDS


Parameter = inspect.Parameter
_KINDS = (
    Parameter.POSITIONAL_ONLY,
    Parameter.POSITIONAL_OR_KEYWORD,
    Parameter.KEYWORD_ONLY,
)


def written(
    name: str, words_of: str, parameters: list[Parameter], names: dict[str, Any]
) -> str:
    """The text of a wrapper; what it needs is put into `names`.

    Args:
        name: The name of the function.
        words_of: The function in the table of PyTorch's words; "" if it has none.
        parameters: Those of the function of JAX.
        names: The global variables of the wrapper: "plain" is the function of JAX.
    """
    is_compiled = hasattr(names["plain"], "lower")
    optional = [p for p in parameters if p.default is not p.empty]
    if words_of in WORDS:
        lines = _with_words(words_of, parameters, names)
    elif hasattr(names["plain"], "numpy_spellings"):
        lines = with_the_rest(name, parameters, names)
    elif is_compiled and _has_settings_by_name(parameters):
        names |= {"given": _without_none, "too_many": _too_many}
        lines = _with_settings_by_name(name, parameters)
    elif is_compiled and any(map(is_better_passed_on, optional)):
        lines = passed_on(name, parameters, names)
    elif is_compiled and optional:
        names["given"] = _without_defaults(parameters, [])
        call = _call_with_given(parameters, [])
        lines = [*_head(name, parameters, [], []), *call]
    else:
        call = _call_with_all(parameters, [])
        lines = [*_head(name, parameters, [], []), *call]
    names |= {f"{p.name}_": p.default for p in optional}
    return "\n    ".join(lines)


def written_for_any(name: str) -> str:
    """The text of the wrapper of a function that takes any number of arrays."""
    refusal = [f"if 'dim' in named: refuse({name!r}, named['dim'])"]
    lines = [
        f"def {name}(*args, **named):",
        *(refusal if name in WORDS else []),
        "if all_known(map(type_of, args)) and "
        "(not named or all_known(map(type_of, named.values()))):",
        "    return plain(*args, **named)",
        "return as_called(function, args, named)",
    ]
    return "\n    ".join(lines)


def written_for_ufunc(name: str, operands: int) -> str:
    """The text of the wrapper of an object of `jax.numpy.ufunc`."""
    letters = ["x", "y"][:operands]
    call = ", ".join(letters)
    lines = [
        f"def {name}({call}, /, **named):",
        f"if {' and '.join(map(is_array, letters))} and not named:",
        f"    return plain({call})",
        f"return as_called(function, ({call},), named)",
    ]
    return "\n    ".join(lines)


def _with_words(
    name: str, parameters: list[Parameter], names: dict[str, Any]
) -> list[str]:
    """Lines of a wrapper that takes PyTorch's words, too."""
    words = WORDS[name]
    targets = set(words.values())
    divisors = [p.name for p in parameters if p.name in DIVISORS]
    watched = [p.name for p in parameters if p.name in targets] + divisors
    has_all_defaults = all(
        p.default is not p.empty for p in parameters if p.name in watched
    )
    passes_all = has_all_defaults and not hasattr(names["plain"], "lower")
    if passes_all and name in MEANS_ELSE:
        watched = []  # whoever gives a word is refused, whatever else there is
    lines = _head(name, parameters, watched, list(words)) + _refusal(name, divisors)
    for word, target in ({} if name in MEANS_ELSE else words).items():
        meant = f"{word} if type_of({word}) is int else several({name!r}, {word})"
        lines += [
            f"if {word} is not _:",
            f"    if {target} is not _: both({name!r}, {word!r}, {target!r})",
            f"    {target} = {word if target == 'keepdims' else meant}",
        ]
    if passes_all:
        return lines + _call_with_all(parameters, watched)
    names["given"] = _without_defaults(parameters, watched)
    return lines + _call_with_given(parameters, watched)


def _has_settings_by_name(parameters: list[Parameter]) -> bool:
    """Whether all that is optional is None by default, no data, and comes by name."""
    optional = [p for p in parameters if p.default is not p.empty]
    return bool(optional) and all(
        p.kind is p.KEYWORD_ONLY and p.default is None and not takes_data(p)
        for p in optional
    )


def _with_settings_by_name(name: str, parameters: list[Parameter]) -> list[str]:
    """Lines of a wrapper for `matmul` and its like.

    A function with parameters that are keywords alone, or with `**named`, takes 40 ns
    more at each call. So one that only a call with too many arguments gives stands
    before them. NumPy has `out` there: None is taken.
    """
    required = [p for p in parameters if p.default is p.empty]
    settings = [p.name for p in parameters if p not in required]
    call = ", ".join(p.name for p in required)
    given = f"given({', '.join(f'{setting}={setting}' for setting in settings)})"
    known = " and ".join(is_known(p) for p in required if takes_data(p))
    optional = ["one_more", *settings]
    silent = " and ".join(f"{setting} is None" for setting in optional)
    return [
        f"def {name}({call}, {', '.join(f'{setting}=None' for setting in optional)}):",
        f"if {known} and {silent}: return plain({call})",
        f"if one_more is not None: too_many({name!r}, {len(required)})",
        f"if {known}: return plain({call}, **{given})",
        f"return as_called(function, ({call},), {given})",
    ]


def _too_many(name: str, number: int) -> NoReturn:
    raise TypeError(
        f"{name}() takes {number} positional arguments but {number + 1} were given"
    )


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _look(parameters: list[Parameter]) -> list[str]:
    """Lines that hand the call over where an argument may have rules."""
    checks = [is_known(p) for p in parameters if takes_data(p)]
    values = ", ".join(p.name for p in parameters)
    if not checks:
        return []
    return [
        f"if not ({' and '.join(checks)}):",
        f"    return by_values(function, ({values},))",
    ]


def _head(
    name: str, parameters: list[Parameter], watched: list[str], words: list[str]
) -> list[str]:
    """The line with the parameters of a wrapper."""
    parts: dict[object, list[str]] = {kind: [] for kind in _KINDS}
    for p in parameters:
        if p.name in watched:
            part = f"{p.name}=_"
        else:
            part = p.name if p.default is p.empty else f"{p.name}={_default(p)}"
        parts[p.kind].append(part)
    first = parts[Parameter.POSITIONAL_ONLY]
    last = parts[Parameter.KEYWORD_ONLY]
    # A call takes 40 ns less of a function without parameters that are keywords alone.
    # Who gives a word by position has given what it means before, and is told so.
    named = any(p.kind is p.KEYWORD_ONLY for p in parameters if p.name in watched)
    (last if named else parts[Parameter.POSITIONAL_OR_KEYWORD]).extend(
        f"{word}=_" for word in words
    )
    taken = [
        *first,
        *(["/"] if first else []),
        *parts[Parameter.POSITIONAL_OR_KEYWORD],
        *(["*"] if last else []),
        *last,
    ]
    return [f"def {name}({', '.join(taken)}):"]


def _default(parameter: Parameter) -> str:
    """How the default is written: Python compares with constants the fastest."""
    default = parameter.default
    is_constant = default is None or isinstance(default, bool)
    return repr(default) if is_constant else f"{parameter.name}_"


def _is_default(parameter: Parameter) -> str:
    """An expression: whether a parameter has its default, and what means the same."""
    # `keepdims is False` takes 10 ns longer: twice as many instructions.
    if parameter.default is False:
        return f"not {parameter.name}"
    return f"{parameter.name} is {_default(parameter)}"


def _refusal(name: str, divisors: list[str]) -> list[str]:
    """Lines that refuse PyTorch's words where its result is another one."""
    given = " or ".join(f"{word} is not _" for word in WORDS[name])
    if name in MEANS_ELSE:
        return [f"if {given}: refuse({name!r}, axis if dim is _ else dim)"]
    if divisors:
        silent = " and ".join(f"{divisor} is _" for divisor in divisors)
        return [
            f"if ({given}) and {silent}: refuse({name!r}, axis if dim is _ else dim)"
        ]
    return []


def _call_with_all(parameters: list[Parameter], watched: list[str]) -> list[str]:
    """Lines that pass every parameter on, for a function that JAX wrote in Python."""
    passed = [
        f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters
    ]
    return [
        *(f"if {name} is _: {name} = {name}_" for name in watched),
        *_look(parameters),
        f"return plain({', '.join(passed)})",
    ]


def _call_with_given(parameters: list[Parameter], watched: list[str]) -> list[str]:
    """Lines that pass on what the caller gave, the common cases first."""
    required = [
        p.name for p in parameters if p.default is p.empty and p.name not in watched
    ]
    rest = [p.name for p in parameters if p.name not in [*required, *watched]]
    call = ", ".join(required)
    data = [p for p in parameters if takes_data(p) and p.name in required]
    default = [_is_default(p) for p in parameters if p.name in rest]
    usual = [*map(is_known, data), *default, *(f"{w} is _" for w in watched[1:])]
    lines = [f"if {' and '.join(usual) or True}:"]
    if watched:
        named = f"{call}, {watched[0]}={watched[0]}"
        lines += [f"    return plain({call}) if {watched[0]} is _ else plain({named})"]
    else:
        lines += [f"    return plain({call})"]
    if watched[1:]:
        all_ = [*map(is_known, data), *default, *(f"{w} is not _" for w in watched)]
        passed = ", ".join([call, *(f"{name}={name}" for name in watched)])
        lines += [f"if {' and '.join(all_)}:", f"    return plain({passed})"]
    known = ", ".join(f"{name}={name}" for name in [*watched, *rest])
    lines += _look(parameters)
    return [*lines, f"return plain({call}, **given({known}))"]


def _without_defaults(
    parameters: list[Parameter], watched: list[str]
) -> Callable[..., dict[str, Any]]:
    """A function of keywords that drops those that the caller did not give."""
    defaults = {p.name: p.default for p in parameters}
    defaults |= dict.fromkeys(watched, NOT_GIVEN)

    def given(**values: Any) -> dict[str, Any]:
        return {k: v for k, v in values.items() if v is not defaults[k]}

    return given
