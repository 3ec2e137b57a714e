"""Runs of a NumPy function with values and without, and what it returns."""

import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..._errors import CallbackError
from ..._host import (
    Derivative,
    HostFunction,
    RowByRow,
    Spec,
    canonical,
    describe,
    mismatch,
    narrowed,
    on_trial,
    results_of,
    signature,
)
from ..._values import Rest, is_long
from ._broadcasting import CheckedBatch, ElementwiseBatch, elementwise
from ._rules import GivenRules
from ._samples import failure


class NumpyCall(HostFunction):
    """A NumPy function with all its arguments that are not arrays.

    Args:
        name: What the user calls it.
        fn: The function.
        rest: Its arguments without the arrays.
        rules: Its derivatives.
        vmap: How batches are called.
        out: What it returns, if the user said so.
    """

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        rest: Rest,
        rules: GivenRules,
        vmap: str,
        out: Any,
    ) -> None:
        super().__init__(name)
        self.rest, self._rules, self._vmap = rest, rules, vmap
        self._fn, self._out = fn, out
        # The data among the arguments: with None in place of all else.
        others = (None,) * len(rest.others)
        self.data = Rest(rest.structure, rest.is_taken, others)
        self._outcomes: dict[Any, tuple[Any, list[Spec]]] = {}
        self._seen: set[Any] = set()  # signatures for which writes were looked for

    @property
    def writes_out(self) -> bool:  # type: ignore[override]
        """Universal functions with one result write into given memory."""
        fn = self._fn
        if not isinstance(fn, np.ufunc) or self.rest.others:
            return False
        return fn.nout == 1 and sum(self.rest.is_taken) == fn.nin

    def run_into(self, out: Sequence[NDArray[Any]], *arguments: NDArray[Any]) -> None:
        """See `HostFunction.run_into`."""
        args, kwargs = self.rest.filled(arguments)
        self._fn(*args, out=out[0], **kwargs)

    def on_arrays(self, *arrays: Any) -> Any:
        """The user's function on its arrays: its result as it comes."""
        args, kwargs = self.rest.filled(arrays)
        return self._fn(*args, **kwargs)

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        counts = _counts(arguments)
        values, tree = flat_result(self._explaining_read_only(arguments), self.name)
        self._refuse_other_tree(tree, arguments)
        if not self.may_write:
            values = [_own(value, arguments) for value in values]
            self._refuse_kept(arguments, counts)
        return values

    def run_elementwise(
        self, arguments: Sequence[NDArray[Any]]
    ) -> list[NDArray[Any]] | None:
        """Run it on arrays with any leading axes; None: it needs the rows."""
        counts = _counts(arguments)
        found = elementwise(self.on_arrays, arguments)
        if found is None or _counts(arguments) != counts:
            return None
        values, tree = found
        self._refuse_other_tree(tree, arguments)
        return [_own(value, arguments) for value in values]

    def run_eagerly(
        self, arguments: Sequence[NDArray[Any]]
    ) -> tuple[list[NDArray[Any]], Any]:
        """Call it on arrays of JAX's memory; also returns the structure of its result.

        The first time it gets copies, to see whether it writes into them.
        """
        key = signature(arguments)
        if self.may_write or key not in self._seen:
            copies = [np.array(argument) for argument in arguments]
            values, tree = flat_result(self.on_arrays(*copies), self.name)
            pairs = zip(arguments, copies, strict=True)
            if any(_bits(x) != _bits(y) for x, y in pairs):
                self.may_write = True
            self._seen.add(key)
        else:
            views = [_read_only(argument) for argument in arguments]
            values, tree = flat_result(self._explaining_read_only(views), self.name)
        if self._out is not None:
            self._compare(values, arguments)
            self._refuse_other_tree(tree, arguments)
        return [narrowed(value, self.name) for value in values], tree

    def _explaining_read_only(self, arguments: Sequence[NDArray[Any]]) -> Any:
        try:
            return self.on_arrays(*arguments)
        except ValueError as error:
            if "read-only" in str(error):
                error.add_note(
                    f"{self.name} was given arrays that JAX uses, too. Copy what you "
                    "write into: x = np.array(x)."
                )
            raise

    def _compare(self, values: Sequence[Any], arguments: Sequence[Any]) -> None:
        results = results_of(self, arguments)
        forms = [(v.shape, canonical(v.dtype)) for v in values]
        if forms != [(r.shape, r.dtype) for r in results]:
            mismatch(self.name, [describe(v.shape, v.dtype) for v in values], results)

    def _refuse_other_tree(self, tree: Any, arguments: Sequence[Any]) -> None:
        known = self._outcomes.get(_shapes(arguments))
        # A batch has shapes of its own, and the structure of the rows.
        trees = [known[0]] if known else [found for found, _ in self._outcomes.values()]
        refuse_other_tree(tree, trees, self.name)

    def _refuse_kept(
        self, arguments: Sequence[NDArray[Any]], counts: list[int]
    ) -> None:
        """The memory of arguments is gone after the call: nobody may keep them."""
        if _counts(arguments) == counts:
            return
        gc.collect()  # a cycle may hold it that nobody needs
        pairs = zip(_counts(arguments), counts, strict=True)
        if any(now > before for now, before in pairs):
            message = (
                f"{self.name} keeps an array that it was given, whose memory JAX uses "
                "for something else after the call. Keep a copy: np.array(x)."
            )
            raise CallbackError(message)

    def results(self, *specs: Spec) -> list[Spec]:
        """See `HostFunction.results`."""
        found, tree = self._infer(specs)
        self._outcomes[_shapes(specs)] = tree, found
        return found

    def outcome(self, arguments: Sequence[Any]) -> tuple[Any, list[Spec]]:
        """The structure of the result, and its leaves, for shapes that came before."""
        return self._outcomes[_shapes(arguments)]

    def tree(self, arguments: Sequence[Any]) -> Any:
        """The structure of the result, for arguments whose results are known."""
        results_of(self, arguments)
        return self.outcome(arguments)[0]

    def declared(self, arguments: Sequence[Any]) -> tuple[Any, list[Spec]]:
        """The structure of the result and its leaves, as the user said; or nothing."""
        if self._out is None:
            return jax.tree.structure(None), []
        specs = [Spec(tuple(x.shape), x.dtype) for x in arguments]
        found, tree = _declared(self._out, self.rest, specs)
        return tree, found

    def _infer(self, specs: Sequence[Spec]) -> tuple[list[Spec], Any]:
        if self._out is not None:
            return _declared(self._out, self.rest, specs)
        error: Exception | None = None
        for samples in (_halves, _rising):
            arrays = [samples(spec) for spec in specs]
            before = list(map(_bits, arrays))
            counts = _counts(arrays)
            try:
                with np.errstate(all="ignore"):
                    values, tree = flat_result(self.on_arrays(*arrays), self.name)
            except CallbackError:
                raise
            except Exception as failed:  # of these samples: the user gets the first
                error = error or failed
                continue
            values = [_own(value, arrays) for value in values]
            kept = _counts(arrays) != counts
            if kept or before != list(map(_bits, arrays)):
                self.may_write = True
            self._refuse_nothing(values, arrays)
            return [Spec(value.shape, value.dtype) for value in values], tree
        assert error is not None
        raise failure(error, self._fn, self.name)

    def _refuse_nothing(
        self, values: Sequence[NDArray[Any]], samples: Sequence[NDArray[Any]]
    ) -> None:
        """Refuse empty results: XLA runs nothing for them, so no check would follow."""
        if not values or any(array.size for array in values):
            return
        if any(not array.size for array in samples):
            return
        message = (
            f"{self.name} returned an empty array for sample values. A shape must not "
            "depend on values under jit and vmap: return a mask in place of a "
            "selection. If it is always empty, say so: from_numpy(fn, "
            "out=jax.ShapeDtypeStruct(shape, dtype))."
        )
        raise CallbackError(message)

    def batched(self, is_batched: tuple[bool, ...]) -> HostFunction:
        """See `HostFunction.batched`."""
        if self._vmap == "broadcast":
            return CheckedBatch(self, is_batched)
        if self._vmap == "auto" and self.is_elementwise():
            return ElementwiseBatch(self, is_batched)
        return RowByRow(self, is_batched)

    def is_elementwise(self) -> bool:
        """Whether it is proved to compute element by element."""
        samples = [np.zeros(())] * sum(self.rest.is_taken)

        def prove() -> bool:
            with on_trial():
                return elementwise(self.on_arrays, samples) is not None

        return self.derived("elementwise", prove)

    def derivative(
        self, wanted: tuple[bool, ...], specs: Sequence[Spec]
    ) -> Derivative | None:
        """See `HostFunction.derivative`."""
        return self._rules.of(self, wanted)


def flat_result(result: Any, name: str) -> tuple[list[NDArray[Any]], Any]:
    """The leaves of a result as NumPy arrays, and its structure.

    Raises:
        CallbackError: There is a leaf that is no array and no number.
    """
    leaves, tree = jax.tree.flatten(result)
    return [_leaf(leaf, name) for leaf in leaves], tree


def refuse_other_tree(tree: Any, trees: Sequence[Any], name: str) -> None:
    """Refuse a result that is built in another way than was declared to JAX.

    Raises:
        CallbackError: Its structure is not among those that are known, if any is.
    """
    if not trees or tree in trees:
        return
    message = (
        f"{name} returned {tree}, where {trees[0]} was declared or inferred before. "
        "Return the same containers, dict keys and None each time, whatever the values."
    )
    raise CallbackError(message)


def _leaf(leaf: Any, name: str) -> NDArray[Any]:
    if isinstance(leaf, jax.Array):
        message = (
            f"{name} returned an array of JAX: it must not call JAX, which may be "
            "waiting for it. Compute with NumPy, or call JAX before or after it."
        )
        raise CallbackError(message)
    if type(leaf) is np.ndarray and leaf.dtype.kind in "biufc":
        return leaf if not is_long(leaf.dtype) else _refuse_long(leaf, name)
    if isinstance(leaf, np.ma.MaskedArray):
        message = (
            f"{name} returned a masked array, and JAX's arrays have no mask. Return "
            "array.filled(value), or the array and its mask."
        )
        raise CallbackError(message)
    array = np.asarray(leaf)
    if is_long(array.dtype):
        _refuse_long(array, name)
    if array.dtype.kind in "biufc" or jnp.issubdtype(array.dtype, jnp.number):
        return array
    message = (
        f"{name} returned {leaf!r:.80} ({type(leaf).__name__}), which is no array. "
        "Return arrays and numbers, and containers of them: tuples, lists, dicts, None."
    )
    raise CallbackError(message)


def _refuse_long(array: NDArray[Any], name: str) -> NoReturn:
    message = (
        f"{name} returned an array of dtype {array.dtype}, with which JAX can't "
        "compute. Convert it: array.astype(float)."
    )
    raise CallbackError(message)


def _counts(arrays: Sequence[NDArray[Any]]) -> list[int]:
    """How many references there are to each array; its views have one."""
    return list(map(sys.getrefcount, arrays))


def _shapes(arrays: Sequence[Any]) -> Any:
    return tuple(tuple(array.shape) for array in arrays)


def _own(value: NDArray[Any], arguments: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """A value that is no view of an argument."""
    if any(np.may_share_memory(value, argument) for argument in arguments):
        return value.copy()
    return value


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _bits(array: NDArray[Any]) -> bytes:
    return array.tobytes()


def _halves(spec: Spec) -> NDArray[Any]:
    """Sample values: 0.5 for real and complex numbers, 0 for others."""
    inexact = jnp.issubdtype(spec.dtype, jnp.inexact)
    return np.full(spec.shape, 0.5 if inexact else 0, spec.dtype)


def _rising(spec: Spec) -> NDArray[Any]:
    """Sample values that rise along the last axis; a well-conditioned matrix."""
    rising = np.zeros(spec.shape)
    if len(spec.shape) >= 2 and spec.shape[-1] == spec.shape[-2]:
        rising = rising + 2.0 * np.eye(spec.shape[-1])
    elif spec.shape:
        rising = rising + np.arange(1, spec.shape[-1] + 1)
    if jnp.issubdtype(spec.dtype, jnp.inexact):
        rising = rising / (1.0 + rising.max(initial=0.0))
    return rising.astype(spec.dtype)


def _declared(out: Any, rest: Rest, specs: Sequence[Spec]) -> tuple[list[Spec], Any]:
    if callable(out) and not hasattr(out, "shape"):
        args, kwargs = rest.filled(specs)
        out = out(*args, **kwargs)
    leaves, tree = jax.tree.flatten(out)
    for leaf in leaves:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            message = (
                f"from_numpy(out=): got {leaf!r:.80}, which has no shape and dtype. "
                "Write jax.ShapeDtypeStruct(shape, dtype), in a tree like the result."
            )
            raise CallbackError(message)
    return [Spec(tuple(leaf.shape), leaf.dtype) for leaf in leaves], tree
