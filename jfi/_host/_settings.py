"""Arguments that are no data: a call that has them by value may be remembered."""

import enum

import numpy as np

from .._values import KeyedValue, Rest, typed_key


NUMBERS = (int, float, complex, np.number, np.bool_)

_SETTINGS = (*NUMBERS, str, bytes, enum.Enum, type, type(None), np.dtype)


def is_setting(argument: object) -> bool:
    """Whether an argument that is no array always stays what it is.

    Objects may change, and equal ones may differ: no call of them is remembered.
    """
    return isinstance(argument, _SETTINGS)


def constant_of(rest: Rest) -> KeyedValue:
    """Arguments without their arrays, equal where the settings have equal keys."""
    keys = tuple(map(typed_key, rest.others))
    return KeyedValue((rest.structure, rest.is_taken, keys), rest)
