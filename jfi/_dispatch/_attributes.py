"""Attributes of custom arrays that are computed: `x.shape`, `x.T`, `x.at`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._calls import dispatched
from ._custom import customs
from ._namespace import OPERATIONS


if TYPE_CHECKING:
    derived = property
else:

    class derived:  # noqa: N801 - used as `property` is
        """A property that gives way to an attribute of the object.

        `self.shape = shape` in the `__init__` of a user's class would be an
        AttributeError with `property`, and a field `real` of a dataclass, too.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function, self.__doc__ = function, function.__doc__

        def __get__(self, x: Any, cls: type) -> Any:
            return self if x is None else self._function(x)


class At:
    """What `x.at` is: `x.at[index].set(values)` asks the rule of "at.set"."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> "AtIndex":
        return AtIndex(self._x, index)


class AtIndex:
    """What `x.at[index]` is: a new array for each method, as with arrays of JAX."""

    def __init__(self, x: Any, index: Any) -> None:
        self._x, self._index = x, index

    def _updated(self, method: str, *values: Any, **named: Any) -> Any:
        args = (self._x, self._index, *values)
        return dispatched(OPERATIONS[f"at.{method}"], customs(args), args, named)

    def add(self, values: Any, **named: Any) -> Any:
        """`x` with values added there."""
        return self._updated("add", values, **named)

    def apply(self, ufunc: Callable[..., Any], **named: Any) -> Any:
        """`x` with a function applied there."""
        return self._updated("apply", ufunc, **named)

    def divide(self, values: Any, **named: Any) -> Any:
        """`x` divided by values there."""
        return self._updated("divide", values, **named)

    def get(self, **named: Any) -> Any:
        """The values there."""
        return self._updated("get", **named)

    def max(self, values: Any, **named: Any) -> Any:
        """`x` with the larger of its value and another one there."""
        return self._updated("max", values, **named)

    def min(self, values: Any, **named: Any) -> Any:
        """`x` with the smaller of its value and another one there."""
        return self._updated("min", values, **named)

    def mul(self, values: Any, **named: Any) -> Any:
        """`x` multiplied by values there."""
        return self._updated("mul", values, **named)

    def multiply(self, values: Any, **named: Any) -> Any:
        """`x` multiplied by values there."""
        return self._updated("multiply", values, **named)

    def power(self, values: Any, **named: Any) -> Any:
        """`x` to the power of values there."""
        return self._updated("power", values, **named)

    def set(self, values: Any, **named: Any) -> Any:
        """`x` with other values there."""
        return self._updated("set", values, **named)

    def subtract(self, values: Any, **named: Any) -> Any:
        """`x` with values subtracted there."""
        return self._updated("subtract", values, **named)
