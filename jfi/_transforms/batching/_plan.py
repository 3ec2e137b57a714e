"""What a user asks for: the options of `vmap_automatically` and `auto_vmap`."""

import operator
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ..._advice import array_form
from ..._errors import BatchError
from ..._random.traced._rows import RowDraws, row_draws
from ._devices import Spread, spread_over
from ._marks import checked_axis


Paths: TypeAlias = str | Iterable[str]


class Plan(NamedTuple):
    """Options, checked. It is hashable if `out_axes` is.

    Attributes:
        tool: The public name, for messages.
        batch_size: The leading size of what is batched; None to find it.
        shared: Paths and globs of what is shared.
        batched: Paths and globs of what is batched, each with its axis.
        out_axes: As of `jax.vmap`.
        draws: How the rows draw.
        chunk_size: How many rows to compute at a time, or None for all.
        progress: Whether to show a bar.
        spread: The devices to use, if they were chosen.
    """

    tool: str
    batch_size: int | None
    shared: tuple[str, ...]
    batched: tuple[tuple[str, int], ...]
    out_axes: Any
    draws: RowDraws
    chunk_size: int | None
    progress: bool
    spread: Spread | None


_OPTIONS: dict[str, Any] = {
    "batch_size": None,
    "shared": (),
    "batched": None,
    "out_axes": 0,
    "randomness": "different",
    "chunk_size": None,
    "progress": False,
    "devices": None,
    "sharding": None,
    "client": None,
}


def make_plan(tool: str, **options: Any) -> Plan:
    """Check options.

    Args:
        tool: The public name, for messages.
        options: Those of `auto_vmap`; of `client`, whether there is one.

    Raises:
        BatchError: One of them can't be.
        TypeError: One of them is unknown.
    """
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        message = (
            f"{tool}() got an unexpected keyword argument {unknown[0]!r}.\n"
            f"Its options are: {', '.join(_OPTIONS)}."
        )
        raise TypeError(message)
    given = {**_OPTIONS, **options}
    size = "the number of elements"
    rows = "the number of rows to compute at a time"
    chunk_size = _natural(tool, "chunk_size", given["chunk_size"], 1, rows)
    for name in ("devices", "sharding"):
        if given["client"] and given[name] is not None:
            message = (
                f"{tool}() got client= and {name}=.\n"
                f"Leave out {name}=: each worker of the cluster uses its own device."
            )
            raise BatchError(message)
    if given["progress"] and chunk_size is None and not given["client"]:
        message = (
            f"{tool}() got progress=True without chunk_size=, and rows that are "
            "computed at once show no progress.\n"
            "Pass the number of rows to compute at a time, too: chunk_size=100"
        )
        raise BatchError(message)
    return Plan(
        tool,
        _natural(tool, "batch_size", given["batch_size"], 0, size),
        _paths(tool, given["shared"]),
        _checked_axes(tool, given["batched"]),
        given["out_axes"],
        row_draws(tool, given["randomness"]),
        chunk_size,
        bool(given["progress"]),
        spread_over(tool, given["devices"], given["sharding"]),
    )


def _natural(tool: str, name: str, value: Any, least: int, what: str) -> int | None:
    """A number that the caller gave, or a refusal."""
    if value is None:
        return None
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < least:
        seen = array_form(value) or f"{value!r:.60}"
        message = (
            f"{tool}() got {name}={seen}.\n"
            f"Pass {what}, an int of {least} or more: {name}=32"
        )
        if tool == "vmap_automatically" and not isinstance(value, int):
            message += (  # vmap_automatically(fn, x, y)
                f"\n{tool}(fn, problem) calls fn with one argument. "
                "If fn takes several: jfi.auto_vmap(fn)(x, y)"
            )
        raise BatchError(message)
    return number


def _paths(tool: str, shared: Any) -> tuple[str, ...]:
    paths: Any = (shared,) if isinstance(shared, str) else shared
    if isinstance(paths, Iterable):
        found: tuple[Any, ...] = tuple(paths)
        if all(isinstance(path, str) for path in found):
            return found
    message = (
        f"{tool}() got shared={shared!r}.\n"
        "Write paths of what is shared: shared='dyn.Q' or shared=('dyn.Q', 'costs.*')"
    )
    raise BatchError(message)


def _checked_axes(tool: str, batched: Any) -> tuple[tuple[str, int], ...]:
    if batched is None:
        return ()
    if not isinstance(batched, Mapping) or not all(isinstance(k, str) for k in batched):
        message = (
            f"{tool}() got batched={batched!r}.\n"
            "Write a dict of paths and their axes: batched={'dyn.A': 1}"
        )
        raise BatchError(message)
    return tuple(
        (path, checked_axis(axis, f"{tool}() got, in batched=, {path!r}: "))
        for path, axis in batched.items()
    )


def key_of(options: Mapping[str, Any]) -> Hashable:
    """A hashable form of unchecked options, equal only for equal ones."""
    return tuple([(name, _frozen(x)) for name, x in options.items()])


def _frozen(x: Any) -> Hashable:
    if type(x) is str:
        return x
    if isinstance(x, Mapping):
        return tuple((k, _frozen(v)) for k, v in x.items())
    if isinstance(x, (list, tuple)):
        return type(x), tuple(map(_frozen, x))
    try:
        hash(x)
    except TypeError:  # a set, an array
        return type(x), repr(x)
    return type(x), x
