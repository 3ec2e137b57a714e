"""SciPy's trees, and how one is found again from the arrays of its points.

Under jit a tree that is an argument is an array like any other. The search on the host
needs the tree that SciPy built of it. It is looked for in this order:

- by the memory. JAX's arrays don't change, and a tree holds on to its own: the same
  address is the same data, which costs nothing to know (XLA does not copy arguments).
- by the number. Where JAX has no float64, the array of a tree of float64 has lost
  digits; a second array, with the number of the tree, leads to all of them.
- by the content, compared in full.

If there is none it is built, and kept for the next calls. A number or an address alone
is never believed: `jax.tree.map` may have changed the data, or a program taken over the
memory of an argument.
"""

import itertools
import threading
import weakref
from collections import OrderedDict
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ._checks import TreeSettings


# Trees that were built for arrays found at run time: the latest of them are kept.
KEPT_AT_LEAST, KEPT_AT_MOST, KEPT_BYTES = 8, 1000, 1 << 26

_numbers = itertools.count(1)
_lock = threading.RLock()
_by_address: weakref.WeakValueDictionary[int, "HostTree"] = (
    weakref.WeakValueDictionary()
)
_by_number: weakref.WeakValueDictionary[int, "HostTree"] = weakref.WeakValueDictionary()
_by_content: weakref.WeakValueDictionary[Any, "HostTree"] = (
    weakref.WeakValueDictionary()
)
_kept: OrderedDict["HostTree", None] = OrderedDict()


class HostTree:
    """A tree of SciPy, with its points in float64 and their form in JAX.

    Args:
        values: `(n, m)` real numbers, which nobody else writes into.
        settings: How to build the tree.
    """

    def __init__(self, values: NDArray[Any], settings: TreeSettings) -> None:
        from scipy import spatial

        # The last row stands for missing neighbors, whose index is n.
        self.points = np.zeros((len(values) + 1, values.shape[1]))
        self.points[:-1] = values
        exact = values.dtype == np.float64
        self.values = self.points[:-1] if exact else values
        self.settings = settings
        box = settings.boxsize
        self.box = None if box is None else np.array(box)
        # Not its subclass KDTree, which takes longer to say the same.
        build: Any = spatial.cKDTree  # pyright: ignore[reportAttributeAccessIssue]
        self.search: Any = build(
            self.points[:-1],
            leafsize=settings.leafsize,
            compact_nodes=settings.compact_nodes,
            balanced_tree=settings.balanced_tree,
            boxsize=self.box,
        )
        self.n: int = values.shape[0]
        self.m: int = values.shape[1]
        self._arrays: tuple[jax.Array, jax.Array | None] | None = None

    def arrays(self) -> tuple[jax.Array, jax.Array | None]:
        """The points as JAX has them, and the number of the tree if digits are lost."""
        with _lock:
            if self._arrays is None:
                with jax.ensure_compile_time_eval():  # no tracers, under jit too
                    data = jnp.asarray(self.values)
                    self._arrays = data, self._register(data)
            return self._arrays

    def is_of(self, data: NDArray[Any]) -> bool:
        """Whether these are the points of this tree as JAX has them."""
        if self._arrays is None or data.dtype != self._arrays[0].dtype:
            return False
        return np.array_equal(np.asarray(self._arrays[0]), data)

    def offsets(self, queries: NDArray[Any], indices: NDArray[Any]) -> NDArray[Any]:
        """Queries minus neighbors, in float64; zero where there is none."""
        found: NDArray[Any] = queries[..., None, :] - self.points[indices]
        if self.box is not None:
            lengths = np.where(self.box > 0, self.box, np.inf)
            periods = np.round(found / lengths)
            found -= np.where(self.box > 0, self.box, 0) * periods
        found[indices == self.n] = 0
        return found

    def _register(self, data: jax.Array) -> jax.Array | None:
        """Make it known to `find`; its number, if the array has lost digits."""
        image = np.asarray(data)
        number = None
        if np.array_equal(image.astype(np.float64), self.points[:-1]):
            key = _content_key(image, self.settings)
            _by_content[key] = self  # of several with one key the last is found
        else:
            hint = next(_numbers)
            number = jnp.asarray(hint, jnp.float32)
            _by_number[int(np.float32(hint))] = self
        _by_address[_address(image)] = self
        return number

    def owns(self, data: NDArray[Any]) -> bool:
        """Whether the array lies in the memory of this tree."""
        if self._arrays is None or self._arrays[0].is_deleted():
            return False  # its memory was donated, and may hold anything
        own = np.asarray(self._arrays[0])
        return (
            _address(own) == _address(data)
            and own.shape == data.shape
            and own.dtype == data.dtype
            and data.flags.c_contiguous
        )


def find(
    data: NDArray[Any], number: NDArray[Any] | None, settings: TreeSettings
) -> HostTree:
    """The tree of these points: one that there is, or a new one.

    Args:
        data: `(n, m)` points, as JAX has them; may be memory of XLA.
        number: What `HostTree.arrays` has given for them.
        settings: How the tree is built.
    """
    with _lock:
        found = _by_address.get(_address(data))
        if found is not None and found.settings == settings and found.owns(data):
            return found
        if number is not None and np.isfinite(number):
            found = _by_number.get(int(number))
            if found is not None and found.settings == settings and found.is_of(data):
                return found
        found = _by_content.get(_content_key(data, settings))
        if found is not None and found.is_of(data):
            if found in _kept:
                _kept.move_to_end(found)
            return found
        tree = HostTree(np.array(data), settings)
        tree.arrays()
        _keep(tree)
        return tree


def _keep(tree: HostTree) -> None:
    _kept[tree] = None
    size = sum(kept.points.nbytes for kept in _kept)
    while len(_kept) > KEPT_AT_LEAST and (
        size > KEPT_BYTES or len(_kept) > KEPT_AT_MOST
    ):
        oldest, _ = _kept.popitem(last=False)
        size -= oldest.points.nbytes


def _content_key(data: NDArray[Any], settings: TreeSettings) -> Any:
    """What equal points have in common; cheap, and not enough to know."""
    some = data[:: max(1, len(data) // 16)] + data.dtype.type(0)  # -0.0 is 0.0
    return data.shape, data.dtype.name, settings, some.tobytes()


def _address(data: NDArray[Any]) -> int:
    address: int = data.__array_interface__["data"][0]
    return address
