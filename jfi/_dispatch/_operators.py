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


def _binary(name: str, self: Any, other: Any, *, reflected: bool = False) -> Any:
    if not _is_operand(other):
        return NotImplemented
    function = wrapped(name)
    return function(other, self) if reflected else function(self, other)


class Operators:
    """What arrays answer to, by the functions of jfi: equality is that of elements."""

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    def __eq__(self, other: object) -> Any:
        return _binary("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary("not_equal", self, other)

    def __lt__(self, other: Any) -> Any:
        return _binary("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _binary("greater_equal", self, other)

    def __neg__(self) -> Any:
        return wrapped("negative")(self)

    def __pos__(self) -> Any:
        return wrapped("positive")(self)

    def __abs__(self) -> Any:
        return wrapped("abs")(self)

    def __invert__(self) -> Any:
        return wrapped("invert")(self)

    def __round__(self, digits: int = 0) -> Any:
        return wrapped("round")(self, digits)

    def __add__(self, other: Any) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("add", self, other, reflected=True)

    def __sub__(self, other: Any) -> Any:
        return _binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("subtract", self, other, reflected=True)

    def __mul__(self, other: Any) -> Any:
        return _binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("multiply", self, other, reflected=True)

    def __matmul__(self, other: Any) -> Any:
        return _binary("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _binary("matmul", self, other, reflected=True)

    def __truediv__(self, other: Any) -> Any:
        return _binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("divide", self, other, reflected=True)

    def __floordiv__(self, other: Any) -> Any:
        return _binary("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary("floor_divide", self, other, reflected=True)

    def __mod__(self, other: Any) -> Any:
        return _binary("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary("mod", self, other, reflected=True)

    def __divmod__(self, other: Any) -> Any:
        return _binary("divmod", self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return _binary("divmod", self, other, reflected=True)

    def __pow__(self, other: Any) -> Any:
        return _binary("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _binary("power", self, other, reflected=True)

    def __lshift__(self, other: Any) -> Any:
        return _binary("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _binary("left_shift", self, other, reflected=True)

    def __rshift__(self, other: Any) -> Any:
        return _binary("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _binary("right_shift", self, other, reflected=True)

    def __and__(self, other: Any) -> Any:
        return _binary("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return _binary("bitwise_and", self, other, reflected=True)

    def __or__(self, other: Any) -> Any:
        return _binary("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return _binary("bitwise_or", self, other, reflected=True)

    def __xor__(self, other: Any) -> Any:
        return _binary("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return _binary("bitwise_xor", self, other, reflected=True)

    def all(self, *args: Any, **named: Any) -> Any:
        """`jnp.all` of this array."""
        return wrapped("all")(self, *args, **named)

    def any(self, *args: Any, **named: Any) -> Any:
        """`jnp.any` of this array."""
        return wrapped("any")(self, *args, **named)

    def argmax(self, *args: Any, **named: Any) -> Any:
        """`jnp.argmax` of this array."""
        return wrapped("argmax")(self, *args, **named)

    def argmin(self, *args: Any, **named: Any) -> Any:
        """`jnp.argmin` of this array."""
        return wrapped("argmin")(self, *args, **named)

    def argpartition(self, *args: Any, **named: Any) -> Any:
        """`jnp.argpartition` of this array."""
        return wrapped("argpartition")(self, *args, **named)

    def argsort(self, *args: Any, **named: Any) -> Any:
        """`jnp.argsort` of this array."""
        return wrapped("argsort")(self, *args, **named)

    def astype(self, *args: Any, **named: Any) -> Any:
        """`jnp.astype` of this array."""
        return wrapped("astype")(self, *args, **named)

    def clip(self, *args: Any, **named: Any) -> Any:
        """`jnp.clip` of this array."""
        return wrapped("clip")(self, *args, **named)

    def compress(self, *args: Any, **named: Any) -> Any:
        """`jnp.compress` of this array."""
        return wrapped("compress")(self, *args, **named)

    def conj(self, *args: Any, **named: Any) -> Any:
        """`jnp.conj` of this array."""
        return wrapped("conj")(self, *args, **named)

    def conjugate(self, *args: Any, **named: Any) -> Any:
        """`jnp.conjugate` of this array."""
        return wrapped("conjugate")(self, *args, **named)

    def cumprod(self, *args: Any, **named: Any) -> Any:
        """`jnp.cumprod` of this array."""
        return wrapped("cumprod")(self, *args, **named)

    def cumsum(self, *args: Any, **named: Any) -> Any:
        """`jnp.cumsum` of this array."""
        return wrapped("cumsum")(self, *args, **named)

    def diagonal(self, *args: Any, **named: Any) -> Any:
        """`jnp.diagonal` of this array."""
        return wrapped("diagonal")(self, *args, **named)

    def dot(self, *args: Any, **named: Any) -> Any:
        """`jnp.dot` of this array."""
        return wrapped("dot")(self, *args, **named)

    def flatten(self, order: str = "C") -> Any:
        """`jnp.ravel` of this array."""
        return wrapped("ravel")(self, order)

    def item(self, *args: int) -> Any:
        """The one element, or that at an index, as a number of Python."""
        return wrapped("asarray")(self).item(*args)

    def max(self, *args: Any, **named: Any) -> Any:
        """`jnp.max` of this array."""
        return wrapped("max")(self, *args, **named)

    def mean(self, *args: Any, **named: Any) -> Any:
        """`jnp.mean` of this array."""
        return wrapped("mean")(self, *args, **named)

    def min(self, *args: Any, **named: Any) -> Any:
        """`jnp.min` of this array."""
        return wrapped("min")(self, *args, **named)

    def nonzero(self, *args: Any, **named: Any) -> Any:
        """`jnp.nonzero` of this array."""
        return wrapped("nonzero")(self, *args, **named)

    def prod(self, *args: Any, **named: Any) -> Any:
        """`jnp.prod` of this array."""
        return wrapped("prod")(self, *args, **named)

    def ptp(self, *args: Any, **named: Any) -> Any:
        """`jnp.ptp` of this array."""
        return wrapped("ptp")(self, *args, **named)

    def ravel(self, *args: Any, **named: Any) -> Any:
        """`jnp.ravel` of this array."""
        return wrapped("ravel")(self, *args, **named)

    def repeat(self, *args: Any, **named: Any) -> Any:
        """`jnp.repeat` of this array."""
        return wrapped("repeat")(self, *args, **named)

    def round(self, *args: Any, **named: Any) -> Any:
        """`jnp.round` of this array."""
        return wrapped("round")(self, *args, **named)

    def searchsorted(self, *args: Any, **named: Any) -> Any:
        """`jnp.searchsorted` of this array."""
        return wrapped("searchsorted")(self, *args, **named)

    def sort(self, *args: Any, **named: Any) -> Any:
        """`jnp.sort` of this array."""
        return wrapped("sort")(self, *args, **named)

    def squeeze(self, *args: Any, **named: Any) -> Any:
        """`jnp.squeeze` of this array."""
        return wrapped("squeeze")(self, *args, **named)

    def std(self, *args: Any, **named: Any) -> Any:
        """`jnp.std` of this array."""
        return wrapped("std")(self, *args, **named)

    def sum(self, *args: Any, **named: Any) -> Any:
        """`jnp.sum` of this array."""
        return wrapped("sum")(self, *args, **named)

    def swapaxes(self, *args: Any, **named: Any) -> Any:
        """`jnp.swapaxes` of this array."""
        return wrapped("swapaxes")(self, *args, **named)

    def take(self, *args: Any, **named: Any) -> Any:
        """`jnp.take` of this array."""
        return wrapped("take")(self, *args, **named)

    def tolist(self) -> Any:
        """The elements in nested lists."""
        return wrapped("asarray")(self).tolist()

    def trace(self, *args: Any, **named: Any) -> Any:
        """`jnp.trace` of this array."""
        return wrapped("trace")(self, *args, **named)

    def var(self, *args: Any, **named: Any) -> Any:
        """`jnp.var` of this array."""
        return wrapped("var")(self, *args, **named)

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
