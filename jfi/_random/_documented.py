"""What all random functions share in their docstrings, written once."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar


F = TypeVar("F", bound=Callable[..., Any])

_KEY = "A random key to use in place of the global generator."
_DEVICE = "Where to create the array; see `resolve_device`."
_OUT_OF_BOUNDS = "A parameter is out of bounds, or does not fit the size."
_NO_NUMBER = "No fresh number can be given here, or `key` is no key."


def documented(function: F) -> F:
    """Complete the docstring of a random function that draws floats.

    What it says of `size`, `key`, `dtype` and `device`, of the result and of errors is
    added wherever the docstring itself says nothing of them. So a function writes what
    is its own: a sentence, an example and its parameters.

    >>> from jfi._random._documented import documented
    >>> @documented
    ... def coin(p, size=None, *, key=None):
    ...     '''Toss a coin.
    ...
    ...     Args:
    ...         p: How likely 1 is.
    ...     '''
    >>> print(coin.__doc__)
    Toss a coin.
    <BLANKLINE>
    Args:
        p: How likely 1 is.
        size: The shape; that of p if not given.
        key: A random key to use in place of the global generator.
    <BLANKLINE>
    Returns:
        An array of the given shape.
    <BLANKLINE>
    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    return complete(function)


def complete(function: F, *, dtype: str | None = None) -> F:
    """Complete a docstring, of a function that says of its dtype what is given here."""
    if function.__doc__ is None:  # under `python -OO`
        return function
    names = list(inspect.signature(function).parameters)
    own = names[: names.index("size")] if "size" in names else []
    shared = {
        "size": _size(own),
        "key": _KEY,
        "dtype": _float(own) if dtype is None else dtype,
        "device": _DEVICE,
    }
    sentence, sections = _sections(function.__doc__)
    args = {**shared, **_entries(sections.get("Args", ""))}
    silent = ", ".join(name for name in names if name not in args)
    assert not silent, f"the docstring of {function.__name__} does not explain {silent}"
    refusals = {"ValueError": _OUT_OF_BOUNDS if own else "A size is negative."}
    refusals = _entries(sections.get("Raises", "")) or refusals
    refusals.setdefault("RandomError", _NO_NUMBER)
    function.__doc__ = "\n\n".join(
        [
            sentence,
            _section("Args", {name: args[name] for name in names}),
            "Returns:\n" + sections.get("Returns", "    An array of the given shape."),
            _section("Raises", refusals),
        ]
    )
    return function


def _size(own: list[str]) -> str:
    if not own:
        return "The shape; one number if not given."
    together = " together" if own[1:] else ""
    return f"The shape; that of {_listed(own)}{together} if not given."


def _float(own: list[str]) -> str:
    if not own:
        return "A float dtype; the default one if not given."
    return (
        "A float dtype; if not given that of float arrays among the parameters, else "
        "the default one."
    )


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _sections(doc: str) -> tuple[str, dict[str, str]]:
    """What stands before the sections, and the text of each."""
    first, *rest = re.split(r"\n\n(Args|Returns|Raises):\n", inspect.cleandoc(doc))
    return first, dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(section: str) -> dict[str, str]:
    """What a section says of each name."""
    _, *rest = re.split(r"^    (\w+): ", section, flags=re.MULTILINE)
    return {
        name: " ".join(text.split())
        for name, text in zip(rest[::2], rest[1::2], strict=True)
    }


def _section(title: str, entries: dict[str, str]) -> str:
    lines = [
        textwrap.fill(
            f"{name}: {text}",
            84,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
            break_on_hyphens=False,
        )
        for name, text in entries.items()
    ]
    return "\n".join([f"{title}:", *lines])
