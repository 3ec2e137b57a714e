"""The operators and methods of custom arrays: each calls the function of jfi."""

from typing import Any, ClassVar

import jax
import numpy as np

from ._custom import is_custom
from ._namespace import wrapped


def _is_operand(x: Any) -> bool:
    """Whether an operator takes a value; Python asks the value itself otherwise."""
    plain = (bool, int, float, complex, jax.Array, np.ndarray, np.generic)
    return isinstance(x, plain) or is_custom(type(x))


def _binary(name: str, *, reflected: bool = False) -> Any:
    """The operator of a function of two arrays."""

    def operate(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        function = wrapped(name)
        return function(other, self) if reflected else function(self, other)

    return operate


def _method(name: str) -> Any:
    """The method, or the operator of one array, that passes its arguments on."""

    def method(self: Any, *args: Any, **named: Any) -> Any:
        return wrapped(name)(self, *args, **named)

    method.__doc__ = f"`jnp.{name}` of this array."
    return method


class Operators:
    """What arrays answer to, by the functions of jfi: equality is that of elements."""

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    __eq__: Any = _binary("equal")
    __ne__: Any = _binary("not_equal")
    __lt__: Any = _binary("less")
    __le__: Any = _binary("less_equal")
    __gt__: Any = _binary("greater")
    __ge__: Any = _binary("greater_equal")

    __add__: Any = _binary("add")
    __radd__: Any = _binary("add", reflected=True)
    __sub__: Any = _binary("subtract")
    __rsub__: Any = _binary("subtract", reflected=True)
    __mul__: Any = _binary("multiply")
    __rmul__: Any = _binary("multiply", reflected=True)
    __matmul__: Any = _binary("matmul")
    __rmatmul__: Any = _binary("matmul", reflected=True)
    __truediv__: Any = _binary("divide")
    __rtruediv__: Any = _binary("divide", reflected=True)
    __floordiv__: Any = _binary("floor_divide")
    __rfloordiv__: Any = _binary("floor_divide", reflected=True)
    __mod__: Any = _binary("mod")
    __rmod__: Any = _binary("mod", reflected=True)
    __divmod__: Any = _binary("divmod")
    __rdivmod__: Any = _binary("divmod", reflected=True)
    __pow__: Any = _binary("power")
    __rpow__: Any = _binary("power", reflected=True)
    __lshift__: Any = _binary("left_shift")
    __rlshift__: Any = _binary("left_shift", reflected=True)
    __rshift__: Any = _binary("right_shift")
    __rrshift__: Any = _binary("right_shift", reflected=True)
    __and__: Any = _binary("bitwise_and")
    __rand__: Any = _binary("bitwise_and", reflected=True)
    __or__: Any = _binary("bitwise_or")
    __ror__: Any = _binary("bitwise_or", reflected=True)
    __xor__: Any = _binary("bitwise_xor")
    __rxor__: Any = _binary("bitwise_xor", reflected=True)

    __neg__: Any = _method("negative")
    __pos__: Any = _method("positive")
    __abs__: Any = _method("abs")
    __invert__: Any = _method("invert")
    __round__: Any = _method("round")

    all: Any = _method("all")
    any: Any = _method("any")
    argmax: Any = _method("argmax")
    argmin: Any = _method("argmin")
    argpartition: Any = _method("argpartition")
    argsort: Any = _method("argsort")
    astype: Any = _method("astype")
    clip: Any = _method("clip")
    compress: Any = _method("compress")
    conj: Any = _method("conj")
    conjugate: Any = _method("conjugate")
    cumprod: Any = _method("cumprod")
    cumsum: Any = _method("cumsum")
    diagonal: Any = _method("diagonal")
    dot: Any = _method("dot")
    max: Any = _method("max")
    mean: Any = _method("mean")
    min: Any = _method("min")
    nonzero: Any = _method("nonzero")
    prod: Any = _method("prod")
    ptp: Any = _method("ptp")
    ravel: Any = _method("ravel")
    repeat: Any = _method("repeat")
    round: Any = _method("round")
    searchsorted: Any = _method("searchsorted")
    sort: Any = _method("sort")
    squeeze: Any = _method("squeeze")
    std: Any = _method("std")
    sum: Any = _method("sum")
    swapaxes: Any = _method("swapaxes")
    take: Any = _method("take")
    trace: Any = _method("trace")
    var: Any = _method("var")

    def flatten(self, order: str = "C") -> Any:
        """`jnp.ravel` of this array."""
        return wrapped("ravel")(self, order)

    def item(self, *args: int) -> Any:
        """The one element, or that at an index, as a number of Python."""
        return wrapped("asarray")(self).item(*args)

    def tolist(self) -> Any:
        """The elements in nested lists."""
        return wrapped("asarray")(self).tolist()

    def transpose(self, *axes: Any) -> Any:
        """`jnp.transpose` of this array, with the axes in one tuple or one by one."""
        if not axes or axes == (None,):
            return wrapped("transpose")(self)
        one = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return wrapped("transpose")(self, one)

    def reshape(self, *shape: Any) -> Any:
        """`jnp.reshape` of this array, with the sizes in one tuple or one by one."""
        one = shape[0] if len(shape) == 1 else shape
        return wrapped("reshape")(self, one)


for _name, _function in vars(Operators).items():
    if callable(_function):  # as if it were written there: by this name it is pickled
        _function.__name__, _function.__qualname__ = _name, f"Operators.{_name}"
