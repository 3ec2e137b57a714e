"""Where JAX makes the errors that say that a value is needed."""

from types import CodeType
from typing import Any

import jax

from ._pieces import outside_of_tracing, piece


def makers_of_value_errors() -> list[CodeType]:
    """The code that begins to run where JAX makes such an error; one may be in C."""
    makers = (getattr(cls.__init__, "__code__", None) for cls in _classes())
    return [code for code in makers if isinstance(code, CodeType)]


def _classes() -> list[Any]:
    roots = (
        jax.errors.ConcretizationTypeError,
        jax.errors.NonConcreteBooleanIndexError,
        jax.errors.TracerArrayConversionError,
        jax.errors.TracerIntegerConversionError,
    )
    classes = [cls for cls in vars(jax.errors).values() if isinstance(cls, type)]
    return [cls for cls in classes if issubclass(cls, roots)]


@piece(
    uses="that the errors of jax.errors about values are made in Python",
    without="functions that catch exceptions run uncompiled under autojit",
)
def value_errors_are_seen() -> bool | None:
    makers = makers_of_value_errors()

    def fails(x: jax.Array) -> jax.Array:
        return x if bool(x) else -x

    try:
        outside_of_tracing(lambda: jax.eval_shape(fails, 1.0))
    except jax.errors.ConcretizationTypeError as error:
        code = getattr(type(error).__init__, "__code__", None)
        all_in_python = len(makers) == len(_classes())
        return True if code in makers and all_in_python else None
    return None
