"""Docstrings that are completed from others."""

import inspect

import pytest

import jfi as jnp
from jfi._docstrings import Docstring, explained_as


def scaled(x, factor=2.0, *more, **options):
    """Scale.

    >>> 1 + 1
    2

    Args:
        x: An array of
            any shape.
        factor: A number.
        more: Others.
        options: As of JAX.

    Returns:
        An array:
            scaled.

    Raises:
        ValueError: It is empty.

    References:
        A book.
    """


def test_what_a_function_does_not_say_is_taken_from_the_other():
    @explained_as(scaled)
    def shifted(x, by, factor=2.0, **options):
        """Shift.

        Args:
            by: How far.
            factor: The step.

        Returns:
            An array.
        """

    assert shifted.__doc__ == (
        "Shift.\n\nArgs:\n    x: An array of any shape.\n    by: How far.\n"
        "    factor: The step.\n    **options: As of JAX.\n\n"
        "Returns:\n    An array.\n\nRaises:\n    ValueError: It is empty."
    )


def test_a_whole_docstring_stays_as_it_is():
    expected = inspect.cleandoc(scaled.__doc__).replace("of\n        any", "of any")
    Docstring.of(scaled).write(scaled)
    assert scaled.__doc__ == expected.replace("more:", "*more:").replace(
        "options:", "**options:"
    )


def test_a_parameter_that_neither_explains_is_refused():
    def shifted(x, by):
        """Shift."""

    with pytest.raises(AssertionError, match="of shifted does not explain by"):
        explained_as(scaled)(shifted)


def test_without_docstrings_nothing_is_added():
    def shifted(x):
        pass

    assert explained_as(scaled)(shifted).__doc__ is None  # as under `python -OO`


@pytest.mark.parametrize(
    ("other", "function"),
    [
        (jnp.grad, jnp.value_and_grad),
        (jnp.jacrev, jnp.hessian),
        (jnp.scipy.optimize.brentq, jnp.scipy.optimize.toms748),
        (jnp.scipy.ndimage.correlate, jnp.scipy.ndimage.convolve),
    ],
)
def test_help_explains_each_parameter_where_it_is_asked(other, function):
    ours, theirs = Docstring.of(function), Docstring.of(other)
    assert list(ours.args) == list(inspect.signature(function).parameters)
    shared = set(ours.args) & set(theirs.args)
    assert sum(ours.args[name] == theirs.args[name] for name in shared) > 4
    assert ours.raises == theirs.raises
