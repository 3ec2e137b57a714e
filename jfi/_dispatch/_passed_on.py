"""The text of wrappers that pass optional parameters on as they came.

Their order is that of the program: they go by position up to the first that was left
out. `jax.numpy.clip` reads:

    def clip(arr=_, /, min=_, max=_):
        if max is not _:
            ...
        elif min is not _:
            if (arr.__class__ is array or type_of(arr) in known) and (
                type_of(min) in known
            ):
                return plain(arr, min)
        elif True:
            if arr.__class__ is array or type_of(arr) in known: return plain(arr)
        if ...:  # all that was given is known
            named = {}
            if max is not _: named["max"] = max
            ...
            return plain(arr, **named)
        return as_called(function, *as_given(arr, min, max))
"""

import inspect
from collections.abc import Callable
from typing import Any

from ._data_parameters import is_known, is_plain, takes_data


Parameter = inspect.Parameter
NOT_GIVEN = object()


def is_better_passed_on(parameter: Parameter) -> bool:
    """Whether a function with such a parameter has a wrapper of this kind.

    It makes another program to pass a traced argument by its name. Python looks each
    default of a keyword up in a dict, which takes longer than `**named`.
    """
    return takes_data(parameter) or parameter.kind is Parameter.KEYWORD_ONLY


def passed_on(
    name: str, parameters: list[Parameter], names: dict[str, Any]
) -> list[str]:
    """Lines of such a wrapper; what it needs is put into `names`."""
    if any(p.kind is p.KEYWORD_ONLY for p in parameters):
        return with_the_rest(name, parameters, names)
    return _as_far_as_given(name, parameters, names)


def with_the_rest(
    name: str, parameters: list[Parameter], names: dict[str, Any]
) -> list[str]:
    """Lines of a wrapper that passes what comes by name on by name.

    One branch for each number of arguments by position, the most of them first, so
    that `digitize(x, bins, True)` meets one comparison: `*rest` takes twice as long.
    Without optional ones by position, Python itself says what is missing. Where no
    argument has to be looked at, the branch is `if True`.
    """
    names["given"] = _without_missing
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    required = [p for p in positional if p.default is p.empty]
    taken = [p.name for p in positional]
    if len(taken) > len(required):
        head = [*(f"{name}=_" for name in taken), "/"]
        known = [
            is_known(p) if takes_data(p) else f"{p.name} is not _" for p in required
        ]
    else:
        head = list(taken)
        known = [is_known(p) for p in required if takes_data(p)]
        if number := sum(p.kind is p.POSITIONAL_ONLY for p in required):
            head.insert(number, "/")
    lines = [f"def {name}({', '.join([*head, '**named'])}):"]
    for count in range(len(taken), len(required) - 1, -1):
        is_given = f"{taken[count - 1]} is not _" if count > len(required) else "True"
        optional = [is_plain(name) for name in taken[len(required) : count]]
        passed = ", ".join(taken[:count])
        lines += [
            f"{'if' if count == len(taken) else 'elif'} {is_given}:",
            f"    if {' and '.join([*known, *optional]) or True}:",
            f"        if not named: return plain({passed})",
            "        if all_known(map(type_of, named.values())):",
            f"            return plain({', '.join([*taken[:count], '**named'])})",
        ]
    return [*lines, f"return as_called(function, given({', '.join(taken)}), named)"]


def _as_far_as_given(
    name: str, parameters: list[Parameter], names: dict[str, Any]
) -> list[str]:
    """Lines of a wrapper for `clip` and its like, which has no `**named`.

    That takes Python 30 ns at each call. So `clip(x, min=0)` is passed on by position,
    as `clip(x, 0)` is; where one is left out, as in `clip(x, max=1)`, all go by name.
    """
    first = [
        p for p in parameters if p.kind is p.POSITIONAL_ONLY or p.default is p.empty
    ]
    rest = [p.name for p in parameters if p not in first]
    names["as_given"] = _by_position_or_name(len(first), rest)
    taken = [p.name if p.default is p.empty else f"{p.name}=_" for p in first]
    if number := sum(p.kind is p.POSITIONAL_ONLY for p in first):
        taken.insert(number, "/")
    lines = [f"def {name}({', '.join([*taken, *(f'{word}=_' for word in rest)])}):"]
    known = [is_known(p) for p in first if takes_data(p)]
    passed = [p.name for p in first]
    for count in range(len(rest), -1, -1):
        given = f"{rest[count - 1]} is not _" if count else "True"
        plain = " and ".join([*known, *map(is_plain, rest[:count])]) or "True"
        lines += [
            f"{'if' if count == len(rest) else 'elif'} {given}:",
            f"    if {plain}: return plain({', '.join([*passed, *rest[:count]])})",
        ]
    all_plain = [*known, *(f"({word} is _ or {is_plain(word)})" for word in rest)]
    return [
        *lines,
        f"if {' and '.join(all_plain)}:",
        "    named = {}",
        *(f"    if {word} is not _: named[{word!r}] = {word}" for word in rest),
        f"    return plain({', '.join([*passed, '**named'])})",
        f"return as_called(function, *as_given({', '.join([*passed, *rest])}))",
    ]


def _by_position_or_name(
    number: int, names: list[str]
) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]:
    """A function that gives the arguments of such a call.

    Args:
        number: How many parameters only come by position.
        names: Those of the others.
    """

    def as_given(*values: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        first, rest = _without_missing(*values[:number]), values[number:]
        by_position = _without_missing(*rest)
        filled = values[: number + len(by_position)]
        if all(value is not NOT_GIVEN for value in filled):
            return (*first, *by_position), {}
        named = dict(zip(names, rest, strict=True))
        return first, {k: v for k, v in named.items() if v is not NOT_GIVEN}

    return as_given


def _without_missing(*values: Any) -> tuple[Any, ...]:
    """The arguments by position that the caller gave."""
    return tuple([value for value in values if value is not NOT_GIVEN])
