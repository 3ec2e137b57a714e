"""What all random functions share in their docstrings, written once."""

from __future__ import annotations

import inspect

from .._docstrings import Docstring, Function
from .._values import listed


_KEY = "A random key to use in place of the global generator."
_DEVICE = "Where to create the array; see `resolve_device`."
_OUT_OF_BOUNDS = "A parameter is out of bounds, or does not fit the size."
_NO_NUMBER = "No fresh number can be given here, or `key` is no key."


def documented(function: Function) -> Function:
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


def complete(function: Function, *, dtype: str | None = None) -> Function:
    """Complete a docstring, of a function that says of its dtype what is given here."""
    if function.__doc__ is None:  # under `python -OO`
        return function
    names = list(inspect.signature(function).parameters)
    own = names[: names.index("size")] if "size" in names else []
    shared = {
        "size": _size_in_words(own),
        "key": _KEY,
        "dtype": _float(own) if dtype is None else dtype,
        "device": _DEVICE,
    }
    doc = Docstring.of(function)
    doc.args = {**shared, **doc.args}
    doc.returns = doc.returns or "An array of the given shape."
    refusal = _OUT_OF_BOUNDS if own else "A size is negative."
    doc.raises = doc.raises or {"ValueError": refusal}
    doc.raises.setdefault("RandomError", _NO_NUMBER)
    doc.write(function)
    return function


def _size_in_words(own: list[str]) -> str:
    if not own:
        return "The shape; one number if not given."
    together = " together" if own[1:] else ""
    return f"The shape; that of {listed(own)}{together} if not given."


def _float(own: list[str]) -> str:
    if not own:
        return "A float dtype; the default one if not given."
    return (
        "A float dtype; if not given that of float arrays among the parameters, else "
        "the default one."
    )
