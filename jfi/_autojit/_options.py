"""What users may ask of `autojit`, and the options of `jax.jit`."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .._errors import AutoJitOptionError
from ._modes import Mode


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
