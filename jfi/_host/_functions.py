"""Functions that run outside XLA, and what JAX must know of them."""

import contextlib
import operator
import random
import threading
from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from .._errors import CallbackError
from .._values import not_recording
from ._derivatives import Derivative
from ._forms import NUMPY, Form, Result, Spec, canonical, is_numpys


F = TypeVar("F")


class HostFunction:
    """A flat function of arrays that runs outside XLA.

    It is a constant to JAX, told by identity: what is derived from it (a batch, a
    derivative) is made once, by `derived`, so that JAX finds its programs again.
    It may be called in any thread, and must not call JAX, which may be waiting for it.

    Example:
        >>> import numpy as np
        >>> from jfi._host import HostFunction, call_host
        >>> class Sort(HostFunction):
        ...     def results(self, x):
        ...         return [x]
        ...     def run(self, x):
        ...         return [np.sort(x)]
        >>> sort = Sort("sort()")
        >>> call_host(sort, jax.numpy.array([3.0, 1.0]))
        [Array([1., 3.], dtype=float32)]

    Args:
        name: What the user calls it, for messages.

    Attributes:
        name: The same.
        form: The form in which `run` gets arrays and returns results.
        may_write: Whether it may write into its arguments or keep them: it gets copies.
            Others get views, which are valid during the call only.
        writes_out: Whether `run_into` writes results into given memory. That spares a
            copy of large results.
        may_draw: Whether it runs code of the user's, which may draw by jfi's streams.
    """

    form: Form = NUMPY
    may_write = False
    writes_out = False
    may_draw = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._derived: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    def results(self, *specs: Spec) -> Sequence[Spec | Result]:
        """Shapes and dtypes of the results, from those of the arguments.

        Asked once for each signature and world of dtypes. A 64-bit dtype becomes a
        32-bit one where JAX has no others, and results are cast.
        """
        raise NotImplementedError

    def run(self, *arguments: Any) -> Sequence[Any]:
        """Call it on arrays of its form."""
        raise NotImplementedError

    def run_into(self, out: Sequence[Any], *arguments: Any) -> None:
        """Call it, and write its results into arrays: only if it `writes_out`."""
        raise NotImplementedError

    def batched(self, is_batched: tuple[bool, ...]) -> "HostFunction":
        """The function of a whole batch: one call of it is one call of the host.

        Asked once for each `is_batched`: which arguments have the axis of the batch, in
        front; at least one has. All results of the batch have it. A `Batched` needs no
        derivative of its own: that is the derivative of its rows, in a batch.
        """
        return RowByRow(self, is_batched)

    def derivative(
        self, wanted: tuple[bool, ...], specs: Sequence[Spec]
    ) -> Derivative | None:
        """How to differentiate it; None: it can't be, and JAX is refused.

        Asked once for each `wanted` (inputs with a tangent; at least one) and
        signature, where there is an inexact output.
        """
        return None

    def derived(self, key: Hashable, make: Callable[[], F]) -> F:
        """What is made of this function under a key, made once."""
        with self._lock:
            if key not in self._derived:
                self._derived[key] = make()
            found: F = self._derived[key]
            return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class GivenFunction(HostFunction):
    """A host function made of Python functions: what to run, and what comes out.

    Args:
        name: What the user calls it.
        run: Takes arrays of the form and returns a sequence of them.
        results: Takes a spec for each argument, and returns one for each result.
        form: The form.
        may_write: See `HostFunction`.
    """

    def __init__(
        self,
        name: str,
        run: Callable[..., Sequence[Any]],
        results: Callable[..., Sequence[Spec | Result]],
        form: Form = NUMPY,
        *,
        may_write: bool = False,
    ) -> None:
        super().__init__(name)
        self.run = run  # type: ignore[method-assign]
        self.results = results  # type: ignore[method-assign]
        self.form = form
        self.may_write = may_write


class Batched(HostFunction):
    """A function of a batch: a subclass says how it runs, for its library.

    Args:
        row: The function of one row.
        is_batched: Which arguments have the axis of the batch, in front.
    """

    def __init__(self, row: HostFunction, is_batched: tuple[bool, ...]) -> None:
        super().__init__(row.name)
        self.row, self.is_batched = row, is_batched
        self.form = row.form

    @property
    def may_draw(self) -> bool:  # type: ignore[override]
        """As the row says."""
        return self.row.may_draw

    @property
    def may_write(self) -> bool:  # type: ignore[override]
        """As the row says, which may learn it only now."""
        return self.row.may_write

    def results(self, *specs: Spec) -> Sequence[Spec | Result]:
        """See `HostFunction.results`."""
        pairs = list(zip(specs, self.is_batched, strict=True))
        size = next(spec.shape[0] for spec, batched in pairs if batched)
        rows = [Spec(s.shape[1:], s.dtype) if batched else s for s, batched in pairs]
        found = results_of(self.row, rows)
        return [Spec((size, *result.shape), result.declared) for result in found]


class RowByRow(Batched):
    """NumPy: the rows one after the other, within one host call."""

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        pairs = list(zip(arguments, self.is_batched, strict=True))
        size = next(len(array) for array, batched in pairs if batched)
        if size == 0:
            specs = [Spec(array.shape, array.dtype) for array in arguments]
            return [np.empty(s.shape, s.dtype) for s in results_of(self, specs)]
        columns: list[NDArray[Any]] = []
        for k in range(size):
            row = [self._part(array, batched, k) for array, batched in pairs]
            values = [np.asarray(value) for value in self.row.run(*row)]
            if not columns:
                columns = [np.empty((size, *v.shape), v.dtype) for v in values]
            self._put(columns, k, values)
        return columns

    def _part(self, array: NDArray[Any], batched: bool, k: int) -> NDArray[Any]:
        if batched:
            return array[k, ...]  # not a NumPy scalar
        return array.copy() if self.may_write else array  # the next row reads it, too

    def _put(
        self, columns: list[NDArray[Any]], k: int, values: list[NDArray[Any]]
    ) -> None:
        forms = [(c.shape[1:], c.dtype) for c in columns]
        if forms != [(v.shape, v.dtype) for v in values]:
            message = (
                f"{self.name} returned arrays of other shapes or dtypes for one row of "
                "a batch than for another. They may depend on those of the arguments "
                "only: return arrays of one shape, for example padded ones with a mask."
            )
            raise CallbackError(message)
        for column, value in zip(columns, values, strict=True):
            column[k] = value


def batch_of(function: HostFunction, is_batched: tuple[bool, ...]) -> HostFunction:
    """The function of a batch, made once."""
    key = ("batched", is_batched)
    return function.derived(key, lambda: function.batched(is_batched))


@contextlib.contextmanager
def on_trial() -> Generator[None]:
    """A block that runs functions only to learn what they return.

    Plain Python makes no such run: it takes no numbers of the generators that Python
    and NumPy share, and nothing that it reads gets into the program.
    """
    pythons, numpys = random.getstate(), np.random.get_state()
    with not_recording():
        try:
            yield
        finally:
            random.setstate(pythons)
            np.random.set_state(numpys)


_x64 = operator.attrgetter("jax_enable_x64")  # unknown to type checkers


def signature(arrays: Sequence[Any]) -> Hashable:
    """Equal for arrays, or specs, for which a function returns the same types."""
    x64 = bool(_x64(jax.config))
    return (x64, *((array.shape, array.dtype) for array in arrays))


def results_of(function: HostFunction, specs: Sequence[Any]) -> list[Result]:
    """What a function returns for arguments like these, in dtypes that JAX has."""
    key = ("results", signature(specs))
    return function.derived(key, lambda: _results(function, specs))


def _results(function: HostFunction, specs: Sequence[Any]) -> list[Result]:
    for spec in specs:
        if jnp.issubdtype(spec.dtype, jax.dtypes.extended):
            message = (
                f"{function.name} got an array of dtype {spec.dtype}, which has no "
                "NumPy form. Pass jax.random.key_data(key) instead of the key."
            )
            raise CallbackError(message)
    plain = [Spec(tuple(spec.shape), np.dtype(spec.dtype)) for spec in specs]
    _refuse_packed(function.name, "got", plain)
    with on_trial():
        found = function.results(*plain)
    if not found:
        message = (
            f"{function.name} declares no result, so JAX would never run it. "
            "Return at least one array from it."
        )
        raise CallbackError(message)
    _refuse_packed(function.name, "declares", found)
    return results_as(found)


def _refuse_packed(name: str, verb: str, specs: Sequence[Spec | Result]) -> None:
    """Refuse int4 and its like: XLA packs two in a byte, NumPy does not.

    A callback of JAX gets such memory as if it had a byte for each, and would write
    behind its end.
    """
    for dtype in [np.dtype(spec.dtype) for spec in specs]:
        if is_numpys(dtype):
            continue
        is_integer = jnp.issubdtype(dtype, jnp.integer)
        info: Any = jnp.iinfo if is_integer else jnp.finfo  # untyped
        if info(dtype).bits < 8:
            wider = "int8" if is_integer else "float32"
            message = (
                f"{name} {verb} an array of dtype {dtype}, which NumPy does not have "
                f"in XLA's form. Convert it: x.astype(jnp.{wider})."
            )
            raise CallbackError(message)


def results_as(specs: Sequence[Spec | Result]) -> list[Result]:
    """What was declared, in dtypes that JAX has."""
    return [
        Result(tuple(spec.shape), canonical(spec.dtype), np.dtype(spec.dtype))
        for spec in specs
    ]
