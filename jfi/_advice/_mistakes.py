"""The common mistakes: by which class and text of an error each is known.

A line here, and a function that finds the words, is all that a new one needs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import jax

from . import (
    _arguments,
    _attributes,
    _branches,
    _elements,
    _leaks,
    _lists,
    _loops,
    _nones,
    _numbers,
    _shapes,
    _sizes,
)


Advise = Callable[[BaseException], str | None]


@dataclass(frozen=True)
class Mistake:
    """One kind of mistake.

    Attributes:
        error: The class of the error; subclasses don't count.
        text: What its text has, as a pattern.
        advise: What to write, given the error; None if that is not known.
        is_of_tracing: Whether only traced code fails so.
    """

    error: type[BaseException]
    text: str
    advise: Advise
    is_of_tracing: bool = False


def mistake_of(error: BaseException) -> Mistake | None:
    """Which mistake an error is of, if it is a common one."""
    known = [mistake for mistake in _MISTAKES if type(error) is mistake.error]
    text = str(error) if known else ""
    return next((m for m in known if re.search(m.text, text)), None)


def _of_tracing(error: type[BaseException], text: str, advise: Advise) -> Mistake:
    return Mistake(error, text, advise, is_of_tracing=True)


_errors = jax.errors
_MISTAKES = [
    _of_tracing(_errors.TracerBoolConversionError, "", _branches.advice_for),
    _of_tracing(_errors.TracerIntegerConversionError, "", _numbers.of_index),
    _of_tracing(_errors.TracerArrayConversionError, "", _numbers.of_array),
    _of_tracing(_errors.ConcretizationTypeError, _loops.OF_LENGTH, _loops.of_length),
    _of_tracing(_errors.ConcretizationTypeError, "", _numbers.of_value),
    _of_tracing(_errors.NonConcreteBooleanIndexError, "", _sizes.of_mask),
    _of_tracing(_errors.UnexpectedTracerError, "", _leaks.advice_for),
    _of_tracing(TypeError, "^Error interpreting argument", _arguments.of_setting),
    Mistake(TypeError, _arguments.OF_DTYPE, _arguments.of_dtype),
    _of_tracing(TypeError, _arguments.OF_OUTPUT, _arguments.of_output),
    _of_tracing(ValueError, "^Triggering __jax_array__", _arguments.of_own_array),
    _of_tracing(ValueError, "^Non-hashable static", _arguments.of_unhashable),
    _of_tracing(ValueError, "^Reverse-mode diff.* lax.while_loop", _loops.of_gradient),
    _of_tracing(TypeError, r"^Shapes must be 1D .*Tracer", _sizes.of_new),
    _of_tracing(TypeError, r"format string passed to \w*Tracer", _numbers.of_format),
    _of_tracing(ValueError, "an array element with a sequence", _numbers.of_elements),
    # JAX 0.10, and 0.12.
    _of_tracing(IndexError, "^Slice entries .* static.*Tracer", _sizes.of_slice),
    _of_tracing(IndexError, "slice indices .* static.*Tracer", _sizes.of_slice),
    Mistake(TypeError, "do not support in-place item", _elements.of_setting),
    Mistake(TypeError, "^Indexer must have integer", _elements.of_float),
    Mistake(OverflowError, _numbers.WIDE, _numbers.of_wide),
    Mistake(ValueError, _numbers.WIDE_DTYPE, _numbers.of_wide_dtype),
    Mistake(ValueError, _numbers.WIDE_RESULT, _numbers.of_wide_result),
    Mistake(TypeError, _nones.OPERAND, _nones.of_operand),
    Mistake(TypeError, _nones.ARGUMENT, _nones.of_argument),
    Mistake(ValueError, _nones.NEW, _nones.of_argument),
    Mistake(TypeError, _attributes.DIM, _attributes.of_dim),
    Mistake(TypeError, _lists.OPERAND, _lists.of_operand),
    Mistake(TypeError, _lists.INDEX, _lists.of_index),
    Mistake(TypeError, "arguments to have the (same|equal) dtypes", _shapes.of_dtypes),
    Mistake(TypeError, "'int' object is not callable", _attributes.of_size),
    Mistake(TypeError, "^Cannot interpret '.*' as a data type", _attributes.of_view),
    Mistake(NotImplementedError, r"argument of array\.view\(\)", _attributes.of_view),
    Mistake(TypeError, _shapes.PATTERN, _shapes.advice_for),
    Mistake(ValueError, _shapes.PATTERN, _shapes.advice_for),
    Mistake(AttributeError, "has no attribute", _attributes.advice_for),
    Mistake(FloatingPointError, r"invalid value \(nan\)", _elements.of_nan),
]
