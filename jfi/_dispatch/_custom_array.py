"""A base class for arrays of one's own."""

import operator
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import jax
import numpy as np
from jax.tree_util import GetAttrKey

from .._values.trees import (
    Settings,
    divided,
    given_attributes,
    put_together,
    refuse_computed_data,
)
from ._attributes import At, derived
from ._calls import dispatched
from ._for_numpy import answer_function, answer_ufunc
from ._materialising import densified, materialise
from ._namespace import OPERATIONS, wrapped
from ._operators import Operators


Self = TypeVar("Self", bound="CustomArray")
_JFI = str(__package__).partition(".")[0]


class CustomArray(Operators):
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

    A subclass takes two keywords. `class Diagonal(CustomArray, data_fields=("d",))`
    names the attributes that are data, where their values shall not decide;
    `pytree=False` leaves it to the subclass to be a tree of JAX
    (`jax.tree_util.register_dataclass`).
    """

    __jfi_rules__: ClassVar[dict[str, Any]] = {}
    _jfi_data_fields: ClassVar[frozenset[str] | None] = None

    def __init_subclass__(
        cls,
        *,
        data_fields: Iterable[str] | None = None,
        pytree: bool = True,
        **named: Any,
    ) -> None:
        super().__init_subclass__(**named)
        if data_fields is not None:
            cls._jfi_data_fields = frozenset(data_fields)
        if "__eq__" not in vars(cls):
            # A dataclass writes an `__eq__` of its own where there is none: it would
            # compare tuples of arrays.
            type.__setattr__(cls, "__eq__", cls.__eq__)  # typed as no attribute of it
        if pytree:
            jax.tree_util.register_pytree_with_keys_class(cls)
        autoray: Any = sys.modules.get("autoray")
        if hasattr(autoray, "register_backend"):
            # autoray asks for the class itself, not for its bases.
            autoray.register_backend(cls, _JFI)

    # ------------------------------------------------------------- a tree of JAX

    def tree_flatten_with_keys(
        self,
    ) -> tuple[tuple[tuple[Any, Any], ...], Settings]:
        """What `jax.tree.flatten_with_path` takes this apart into."""
        children, settings = self._divided()
        return tuple((GetAttrKey(k), v) for k, v in children.items()), settings

    def tree_flatten(self) -> tuple[tuple[Any, ...], Settings]:
        """The data, and the names and settings."""
        children, settings = self._divided()
        return tuple(children.values()), settings

    def _divided(self) -> tuple[dict[str, Any], Settings]:
        children, settings = divided(self, self._jfi_data_fields, is_sorted=True)
        if self._jfi_data_fields is None:
            refuse_computed_data(self, settings)
        return children, settings

    @classmethod
    def tree_unflatten(
        cls: type[Self], settings: Settings, children: Sequence[Any]
    ) -> Self:
        """An object made of what `tree_flatten` returned; the class is not called."""
        found: Self = put_together(cls, settings, children)
        return found

    # ------------------------------------------------------------- what it looks like

    @derived
    def shape(self) -> tuple[int, ...]:
        """The shape of the plain array; override it where it is known at once."""
        return tuple(self._abstract().shape)

    @derived
    def dtype(self) -> Any:
        """The dtype of the plain array; override it where it is known at once."""
        return self._abstract().dtype

    def _abstract(self) -> jax.ShapeDtypeStruct:
        found: jax.ShapeDtypeStruct = jax.eval_shape(lambda: materialise(self))
        return found

    @derived
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @derived
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))

    @derived
    def at(self) -> At:
        """`x.at[index].set(values)`: a new array, as with arrays of JAX."""
        return At(self)

    @derived
    def itemsize(self) -> int:
        """The bytes of one element."""
        return int(self.dtype.itemsize)

    @derived
    def nbytes(self) -> int:
        """The bytes of the plain array."""
        return self.size * self.itemsize

    @derived
    def real(self) -> Any:
        """`jnp.real` of this array."""
        return wrapped("real")(self)

    @derived
    def imag(self) -> Any:
        """`jnp.imag` of this array."""
        return wrapped("imag")(self)

    @derived
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """`jnp.transpose` of this array."""
        return wrapped("transpose")(self)

    @derived
    def mT(self) -> Any:  # noqa: N802 - NumPy's name
        """`jnp.matrix_transpose` of this array."""
        return wrapped("matrix_transpose")(self)

    def __repr__(self) -> str:
        own = ", ".join(
            f"{name}={value!r}" for name, value in given_attributes(self).items()
        )
        return f"{type(self).__name__}({own})"

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
        return dispatched(OPERATIONS["getitem"], [self], (self, index), {})

    def __setitem__(self, index: Any, values: Any) -> None:
        raise TypeError(
            f"a {type(self).__name__} can't be written into, as arrays of JAX can't. "
            f"Write x = x.at[{index!r}].set(values)."
        )

    def __format__(self, spec: str) -> str:
        return format(materialise(self), spec) if spec else str(self)

    def __bool__(self) -> bool:
        return bool(materialise(self))

    def __int__(self) -> int:
        return int(materialise(self))

    def __float__(self) -> float:
        return float(materialise(self))

    def __index__(self) -> int:
        return operator.index(materialise(self))

    def __complex__(self) -> complex:
        return complex(materialise(self))

    # ------------------------------------------------------------- NumPy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        (plain,), _ = densified("asarray", (self,), {})
        try:
            return np.array(plain, dtype) if copy else np.asarray(plain, dtype)
        except jax.errors.TracerArrayConversionError as error:
            error.add_note(
                f"A {type(self).__name__} was passed to a function that takes plain "
                "arrays alone. Pass one: jnp.materialise(x)."
            )
            raise

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any
    ) -> Any:
        return answer_ufunc(ufunc, method, inputs, named)

    def __array_function__(
        self, func: Any, types: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        return answer_function(func, args, named)
