"""A base class for arrays of one's own."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import jax
import numpy as np
from jax.tree_util import GetAttrKey

from .._values import is_array, is_scalar
from ._calls import dispatched
from ._custom import is_custom
from ._for_numpy import answer_function, answer_ufunc
from ._materialising import densified, materialise
from ._namespace import GETITEM, wrapped


Self = TypeVar("Self", bound="CustomArray")
_Structure = tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]
#: Where an object made by JAX keeps which of its attributes are data, if its values
#: don't tell: `jax.tree.map(lambda leaf: 0, x)` puts ints in the place of arrays.
_DATA = "_jfi_data"


def _binary(name: str, *, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """An operator that calls a function of jfi."""

    def operate(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        function = wrapped(name)
        return function(other, self) if reflected else function(self, other)

    return operate


def _unary(name: str) -> Callable[[Any], Any]:
    def operate(self: Any) -> Any:
        return wrapped(name)(self)

    return operate


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return wrapped(name)(self, *args, **named)

    method.__name__, method.__doc__ = name, f"`jnp.{name}` of this array."
    return method


def _is_operand(x: Any) -> bool:
    """Whether an operator takes a value; Python asks the value itself otherwise."""
    plain = (bool, int, float, complex, jax.Array, np.ndarray, np.generic)
    return isinstance(x, plain) or is_custom(type(x))


class CustomArray:
    """A base class for arrays of one's own: operators, methods, and JAX's trees.

    A subclass keeps what it has in attributes. Those that hold arrays or floats are its
    data for `jit`, `grad` and `vmap`; all others are settings. It says with
    `register_function` what functions do with it, and with `__jfi_array__` which plain
    array it stands for, where there is no rule.

    >>> import jfi as jnp
    >>> class Diagonal(jnp.CustomArray):
    ...     def __init__(self, diagonal): self.diagonal = diagonal
    ...     def __jfi_array__(self): return jnp.diag(self.diagonal)
    >>> @jnp.implements(jnp.matmul, Diagonal)
    ... def matmul(a, b):
    ...     if not isinstance(a, Diagonal):
    ...         return a * b.diagonal
    ...     return a.diagonal[:, None] * b
    >>> Diagonal(jnp.array([1.0, 2.0])) @ jnp.ones((2, 2))
    Array([[1., 1.],
           [2., 2.]], dtype=float32)

    Args:
        data_fields: A keyword of the subclass: the names of the attributes that are
            data, where their values shall not decide.
        pytree: Another one: False leaves it to the subclass to be a tree of JAX
            (`jax.tree_util.register_dataclass`).
    """

    __jfi_rules__: ClassVar[dict[str, Any]] = {}
    _jfi_data_fields: ClassVar[tuple[str, ...] | None] = None

    def __init_subclass__(
        cls,
        *,
        data_fields: Iterable[str] | None = None,
        pytree: bool = True,
        **named: Any,
    ) -> None:
        super().__init_subclass__(**named)
        if data_fields is not None:
            cls._jfi_data_fields = tuple(sorted(data_fields))
        if pytree:
            jax.tree_util.register_pytree_with_keys_class(cls)

    # ------------------------------------------------------------- a tree of JAX

    def tree_flatten_with_keys(
        self,
    ) -> tuple[tuple[tuple[Any, Any], ...], _Structure]:
        """What `jax.tree.flatten_with_path` takes this apart into."""
        children, structure = self.tree_flatten()
        keys: list[Any] = [GetAttrKey(name) for name in structure[0]]
        return tuple(zip(keys, children, strict=True)), structure

    def tree_flatten(self) -> tuple[tuple[Any, ...], _Structure]:
        """The data, and the names and settings."""
        own = vars(self)
        names = own.get(_DATA) or self._data_names()
        settings = tuple(
            (name, own[name]) for name in sorted(own) if name not in (*names, _DATA)
        )
        return tuple(own[name] for name in names), (names, settings)

    @classmethod
    def tree_unflatten(
        cls: type[Self], structure: _Structure, children: Sequence[Any]
    ) -> Self:
        """An object made of what `tree_flatten` returned; the class is not called."""
        names, settings = structure
        new = object.__new__(cls)
        own = vars(new)
        own.update(settings)
        own.update(zip(names, children, strict=True))
        if new._data_names() != names:
            own[_DATA] = names
        return new

    def _data_names(self) -> tuple[str, ...]:
        declared = self._jfi_data_fields
        if declared is not None:
            return tuple(name for name in declared if name in vars(self))
        return tuple(sorted(n for n, x in vars(self).items() if _holds_data(x)))

    # ------------------------------------------------------------- what it looks like

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the plain array; override it where it is known at once."""
        return tuple(self._abstract().shape)

    @property
    def dtype(self) -> Any:
        """The dtype of the plain array; override it where it is known at once."""
        return self._abstract().dtype

    def _abstract(self) -> jax.ShapeDtypeStruct:
        found: jax.ShapeDtypeStruct = jax.eval_shape(lambda: materialise(self))
        return found

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """`jnp.transpose` of this array."""
        return wrapped("transpose")(self)

    @property
    def mT(self) -> Any:  # noqa: N802 - NumPy's name
        """`jnp.matrix_transpose` of this array."""
        return wrapped("matrix_transpose")(self)

    def __repr__(self) -> str:
        own = ((k, v) for k, v in sorted(vars(self).items()) if k != _DATA)
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in own)})"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        # Without it Python would count up until an IndexError, which JAX never raises.
        if not self.shape:
            raise TypeError("an array without dimensions can't be iterated over")
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return dispatched(GETITEM, [self], (self, index), {})

    def __bool__(self) -> bool:
        return bool(materialise(self))

    def __int__(self) -> int:
        return int(materialise(self))

    def __float__(self) -> float:
        return float(materialise(self))

    def __complex__(self) -> complex:
        return complex(materialise(self))

    # ------------------------------------------------------------- NumPy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        (plain,), _ = densified("asarray", (self,), {})
        return np.array(plain, dtype) if copy else np.asarray(plain, dtype)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any
    ) -> Any:
        return answer_ufunc(ufunc, method, inputs, named)

    def __array_function__(
        self, func: Any, types: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        return answer_function(func, args, named)

    # ------------------------------------------------------------- operators, methods

    # Equality is that of the elements.
    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    __eq__ = _binary("equal")
    __ne__ = _binary("not_equal")
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __neg__, __pos__ = _unary("negative"), _unary("positive")
    __abs__, __invert__ = _unary("abs"), _unary("invert")
    __add__, __radd__ = _binary("add"), _binary("add", reflected=True)
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", reflected=True)
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", reflected=True)
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", reflected=True)
    __truediv__, __rtruediv__ = _binary("divide"), _binary("divide", reflected=True)
    __floordiv__ = _binary("floor_divide")
    __rfloordiv__ = _binary("floor_divide", reflected=True)
    __mod__, __rmod__ = _binary("mod"), _binary("mod", reflected=True)
    __divmod__, __rdivmod__ = _binary("divmod"), _binary("divmod", reflected=True)
    __pow__, __rpow__ = _binary("power"), _binary("power", reflected=True)
    __lshift__, __rlshift__ = (
        _binary("left_shift"),
        _binary("left_shift", reflected=True),
    )
    __rshift__ = _binary("right_shift")
    __rrshift__ = _binary("right_shift", reflected=True)
    __and__, __rand__ = _binary("bitwise_and"), _binary("bitwise_and", reflected=True)
    __or__, __ror__ = _binary("bitwise_or"), _binary("bitwise_or", reflected=True)
    __xor__, __rxor__ = _binary("bitwise_xor"), _binary("bitwise_xor", reflected=True)
    all, any = _method("all"), _method("any")
    argmax, argmin, argsort = _method("argmax"), _method("argmin"), _method("argsort")
    astype, clip, conj = _method("astype"), _method("clip"), _method("conj")
    cumprod, cumsum = _method("cumprod"), _method("cumsum")
    dot = _method("dot")
    max, mean, min = _method("max"), _method("mean"), _method("min")
    prod, ravel, repeat = _method("prod"), _method("ravel"), _method("repeat")
    round, sort, squeeze = _method("round"), _method("sort"), _method("squeeze")
    std, sum, swapaxes = _method("std"), _method("sum"), _method("swapaxes")
    take, trace, var = _method("take"), _method("trace"), _method("var")

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


def _holds_data(x: Any) -> bool:
    if isinstance(x, (list, tuple, dict)):
        return any(map(_holds_data, x.values() if isinstance(x, dict) else x))
    if is_array(x) or is_scalar(x) or isinstance(x, CustomArray):
        return True
    if x is None or isinstance(x, (str, int, type)):
        return False
    return not jax.tree_util.all_leaves([x]) and any(
        map(_holds_data, jax.tree.leaves(x))
    )
