"""One call of a NumPy function for a whole batch, where that is right.

A function computes element by element if all it does to its arguments are NumPy's
universal functions (`np.sin`, `+`, `np.where`). Then leading axes change nothing. Each
batch proves it of its own run: the function gets a `_Probe` for each argument, which
hides values and shape, and refuses all else. Then the rows run one after the other.

Things that don't work, and why:

- Comparing some rows of a batch with calls of their own. What a function does to a row
  may depend on values: `if (x > 0).any()` is right for the rows that were compared, and
  wrong for the next. It is done where the user says that the function broadcasts.
- Watching shapes. `x / x.sum()` of a batch has the shape of a batch.
- One proof for all batches. `x / x.sum() if settings.normalise else x` is another
  function when the settings change.
- Counting a call without exceptions as a proof: the function may catch the refusal.
"""

import collections
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
from numpy.typing import NDArray

from ..._errors import CallbackError
from ..._host import Broadcast, HostFunction, Result, RowByRow, Spec


if TYPE_CHECKING:
    from ._calls import NumpyCall


class _NotElementwiseError(Exception):
    """A probe was used for something else."""


class _Proof:
    """What one run of a function on probes has shown."""

    refused = False


class _Probe(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array, and lets a function see neither its values nor its shape."""

    __array_priority__ = 1000.0

    def __init__(self, array: NDArray[Any], proof: _Proof) -> None:
        # Under names that no attribute of an array has: all others are refused.
        self.hidden_array, self._proof = array, proof

    # So that `isinstance(x, np.ndarray)` says what it says of a row.
    __class__ = property(lambda _: np.ndarray)  # pyright: ignore[reportIncompatibleMethodOverride]

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any
    ) -> Any:
        if method != "__call__" or ufunc.signature is not None or kwargs:
            self._refuse()
        return self._compute(ufunc, inputs)

    def __array_function__(
        self, func: Any, types: Any, args: Sequence[Any], kwargs: Any
    ) -> Any:
        if func is not np.where or len(args) != 3 or kwargs:
            self._refuse()
        return self._compute(func, args)

    def _compute(self, func: Any, inputs: Sequence[Any]) -> Any:
        if not all(type(x) is _Probe or np.ndim(x) == 0 for x in inputs):
            self._refuse()
        found = func(*(x.hidden_array if type(x) is _Probe else x for x in inputs))
        if type(found) is tuple:
            return tuple(_Probe(array, self._proof) for array in found)
        return _Probe(found, self._proof)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        self._proof.refused = True
        raise _NotElementwiseError

    __bool__ = __float__ = __int__ = __complex__ = __index__ = __len__ = _refuse
    __iter__ = __getitem__ = __setitem__ = __array__ = __contains__ = _refuse
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = _refuse
    __repr__ = __str__ = __format__ = __getattr__ = _refuse


def elementwise(
    fn: Callable[..., Any], arrays: Sequence[NDArray[Any]]
) -> tuple[list[NDArray[Any]], Any] | None:
    """Run a function on arrays that may have any leading axes.

    Returns:
        The leaves of its result and their structure. None: this run is not proved to
        have computed element by element.
    """
    proof = _Proof()
    try:
        result = fn(*(_Probe(array, proof) for array in arrays))
    except Exception:  # whatever it says to a probe; to a row it says what is wrong
        return None
    leaves, tree = jax.tree.flatten(result)
    if proof.refused or any(type(leaf) is not _Probe for leaf in leaves):
        return None
    return [np.asarray(leaf.hidden_array) for leaf in leaves], tree


class ElementwiseBatch(Broadcast):
    """A batch of a function that computes element by element: one call of it."""

    def __init__(self, row: HostFunction, is_batched: tuple[bool, ...]) -> None:
        super().__init__(row, is_batched)
        self._call = cast("NumpyCall", self.function)
        self._shapes: dict[Shapes, list[tuple[int, ...]]] = {}

    def results(self, *specs: Spec) -> Sequence[Spec | Result]:
        """See `HostFunction.results`."""
        found = super().results(*specs)
        shapes = [tuple(result.shape) for result in found]
        self._shapes[tuple(tuple(spec.shape) for spec in specs)] = shapes
        return found

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        wanted = self._shapes[tuple(array.shape for array in arguments)]
        pairs = list(zip(self.expanded(arguments), self.axes, strict=True))
        batch = len(self.axes[0])
        # Rows of fewer axes get axes in front, so that the batch comes before them all.
        most = max(array.ndim for array, _ in pairs)
        aligned = [
            array.reshape(_aligned(array.shape, batch, most)) for array, _ in pairs
        ]
        values = self._call.run_elementwise(aligned)
        if values is None:
            return RowByRow(self.row, self.is_batched).run(*arguments)
        return [
            np.broadcast_to(value, _aligned(shape, batch, most)).reshape(shape)
            for value, shape in zip(values, wanted, strict=True)
        ]


Shapes = tuple[tuple[int, ...], ...]


def _aligned(shape: tuple[int, ...], batch: int, most: int) -> tuple[int, ...]:
    return (*shape[:batch], *(1,) * (most - len(shape)), *shape[batch:])


class CheckedBatch(Broadcast):
    """A batch of a function of which the user says that it takes leading axes.

    All rows of the first batch are compared with calls of their own, and one row of
    each later batch, another one each time.
    """

    def __init__(self, row: HostFunction, is_batched: tuple[bool, ...]) -> None:
        super().__init__(row, is_batched)
        self._calls: collections.Counter[Shapes] = collections.Counter()

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        expanded = self.expanded(arguments)
        batch = len(self.axes[0])
        sizes = np.broadcast_shapes(*(array.shape[:batch] for array in expanded))
        values = [np.asarray(value) for value in self.function.run(*expanded)]
        if any(value.shape[:batch] != sizes for value in values):
            shapes = ", ".join(str(value.shape) for value in values)
            message = (
                f"{self.name} returned arrays of shape {shapes} for a batch of shape "
                f"{sizes}: it does not broadcast. Write from_numpy(vmap='sequential')."
            )
            raise CallbackError(message)
        shapes_given = tuple(array.shape for array in expanded)
        rows = list(np.ndindex(*sizes))
        calls = self._calls[shapes_given]
        self._calls[shapes_given] += 1
        for row in rows if not calls else [rows[calls % len(rows)]] if rows else []:
            self._compare(row, batch, expanded, values)
        return values

    def _compare(
        self,
        row: tuple[int, ...],
        batch: int,
        expanded: Sequence[NDArray[Any]],
        values: Sequence[NDArray[Any]],
    ) -> None:
        parts = [
            array[tuple(0 if n == 1 else k for k, n in zip(row, array.shape[:batch]))]  # noqa: B905
            for array in expanded
        ]
        found = self.function.run(*map(np.asarray, parts))
        for value, one in zip(values, found, strict=True):
            part = value[row]
            if part.shape != one.shape or not _close(part, one):
                message = (
                    f"{self.name} does not broadcast: for row {row} of a batch it "
                    "returned something else than for this row alone. Write "
                    "from_numpy(vmap='sequential')."
                )
                raise CallbackError(message)


def _close(x: NDArray[Any], y: NDArray[Any]) -> bool:
    if x.dtype.kind not in "fc":
        return bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))
    # The order of sums may differ, and so the last digits.
    digits = float(np.finfo(x.dtype).eps) ** 0.5
    scale = float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y)))
    return bool(np.allclose(x, y, digits, digits * scale, equal_nan=True))
