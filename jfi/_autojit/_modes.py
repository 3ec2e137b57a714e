"""What becomes of the numbers and arrays that are met."""

import enum


class Mode(enum.Enum):
    """How a value is taken."""

    TRACED = enum.auto()  # arguments: arrays and floats are traced
    ABSTRACT = enum.auto()  # arguments: so are shapes and dtypes without an array
    DATA = enum.auto()  # arguments: so are ints and bools
    FROZEN = enum.auto()  # parts of which the code must know the floats
    FIXED = enum.auto()  # parts that are constants to JAX: also small arrays of NumPy
    VARYING = enum.auto()  # as FROZEN, but for floats that have changed
    STATIC = enum.auto()  # arguments of which the code must know all values
    RESULT = enum.auto()  # results: what is no JAX array is returned as it is
    SHOWN = enum.auto()  # what a person looks at: the same, and nothing is refused
    LOOKED_AT = enum.auto()  # data of a class: passed itself, only its key is taken
    MET = enum.auto()  # passed itself: methods of classes meet it, too
    UNREAD = enum.auto()  # the same, of what no code reads: functions are not followed


# Of these a copy is passed, and not the value itself.
WITH_DATA = (Mode.TRACED, Mode.ABSTRACT, Mode.DATA)
PASSED = (*WITH_DATA, Mode.VARYING, Mode.FROZEN, Mode.FIXED, Mode.STATIC)
RETURNED = (Mode.RESULT, Mode.SHOWN)
KEYS = (Mode.LOOKED_AT, Mode.UNREAD)
