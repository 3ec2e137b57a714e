"""Host functions inside JAX: NumPy arrays in, NumPy arrays out, one call per batch.

This is the common base of everything in jfi that runs outside XLA. A call with
values in hand goes straight to the function, so that its exceptions keep their
type. A call under jit or another transformation is staged:

- on the CPU with `jax.experimental.buffer_callback`. `jax.pure_callback` hands its
  function JAX arrays, and on a machine with one core reading one of some megabytes
  waits for a thread that never comes;
- elsewhere with `jax.pure_callback`, because only the CPU's buffers can be read
  as NumPy arrays.

The function is always given copies: it may keep them or write into them.

Things that don't work, and why (JAX 0.10.2, measured with one core):

- `jax.pure_callback` on the CPU. It hands over JAX arrays (jax-ml/jax#21526); with
  arguments of 4 to 16 MB, 10 of 12 runs hung in `np.asarray`. With two cores none did.
- JAX inside the function. With 16 MB every kind of callback hangs: the function waits
  for the thread that waits for it (jax-ml/jax#24255; more in jax-ml/jax#25861).
- `jax_cpu_enable_async_dispatch=False`. It helps, but only if it is set before JAX has
  looked for its devices.
- `buffer_callback` elsewhere: "Buffer.__array__ is only supported on CPU"
  (jax-ml/jax#38173).
- Views in place of copies. The memory is valid during the call only: what a function
  has kept reads as garbage later, and what it writes changes an array of JAX.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.experimental.buffer_callback import buffer_callback
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._errors import CallbackError
from .._jax_internals import at_top_level


def host_call(
    function: Callable[..., Sequence[ArrayLike]],
    results: Sequence[jax.ShapeDtypeStruct],
    *arguments: jax.Array | NDArray[Any],
    name: str,
    vectorized: bool = False,
) -> list[jax.Array]:
    """Call a NumPy function on JAX arrays, also under jit and vmap.

    Example:
        >>> import jax, numpy as np
        >>> from jfi._foreign._host_calls import host_call
        >>> spec = jax.ShapeDtypeStruct((2,), np.float32)
        >>> x = jax.numpy.array([3, 1], np.float32)
        >>> def sorted_copy(x):
        ...     return host_call(lambda x: [np.sort(x)], [spec], x, name="sort")
        >>> jax.jit(sorted_copy)(x)
        [Array([1., 3.], dtype=float32)]

    Args:
        function: Takes one NumPy array per argument, its own copy, and returns one
            array per result. It must not call JAX, which may be waiting for it.
        results: Shape and dtype of each result for one call without a batch. 64-bit
            dtypes become 32-bit ones where JAX has no others.
        *arguments: Arrays, of any shape and dtype.
        name: What the user calls the function, for messages.
        vectorized: The function takes leading batch dimensions itself: each of its
            arguments then has them (possibly of size 1, where it is the same for
            the whole batch), and so must have its results. Otherwise the rows of a
            batch are passed to it one after the other, within one host call.

    Returns:
        One array per result, on the device of the arguments.

    Raises:
        CallbackError: The results are not as declared, none is declared, or an
            argument has a dtype that NumPy does not know. When the call is staged,
            an error of JAX (`jax.errors.JaxRuntimeError`, ValueError where the
            program ran in the background) has this text, and that of exceptions of
            the function. XLA runs no call of which all results are empty.
    """
    if not results:
        message = (
            f"{name} declares no result, so JAX would never run it. "
            "Return at least one array from it."
        )
        raise CallbackError(message)
    arrays = [jnp.asarray(argument) for argument in arguments]
    for argument in arrays:
        if jnp.issubdtype(argument.dtype, jax.dtypes.extended):
            message = (
                f"{name} got an array of dtype {argument.dtype}, which has no NumPy "
                "form. Pass jax.random.key_data(key) instead of the key."
            )
            raise CallbackError(message)
    forms = tuple(_Argument(a.ndim, np.dtype(a.dtype)) for a in arrays)
    declared = tuple(_Result(r.shape, np.dtype(r.dtype)) for r in results)
    return _HostCall(name, function, declared, forms, vectorized)(*arrays)


def runs_now(arguments: Sequence[Any]) -> bool:
    """Whether a host function can be called on these values at once, without XLA."""
    traced = any(isinstance(argument, Tracer) for argument in arguments)
    return not traced and at_top_level()


def to_jax(values: Sequence[NDArray[Any]], arguments: Sequence[Any]) -> list[jax.Array]:
    """Turn fresh NumPy arrays into JAX arrays on the device of the arguments.

    The memory is JAX's from here on: the caller must not write into it again.
    """
    arrays = [a for a in arguments if isinstance(a, jax.Array)]  # vmap leaves NumPy's
    devices = {d for a in arrays if a.committed for d in a.devices()}
    if len(devices) == 1:
        device = devices.pop()
        return [jax.device_put(jnp.asarray(value), device) for value in values]
    return [jnp.asarray(value) for value in values]


def canonical(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype that JAX gives an array of this dtype: 32-bit where x64 is off."""
    return np.dtype(jax.dtypes.canonicalize_dtype(dtype))


def describe(shape: tuple[int, ...], dtype: DTypeLike) -> str:
    """A shape and dtype as JAX prints them: `float32[2,3]`."""
    return f"{np.dtype(dtype)}[{','.join(map(str, shape))}]"


class _Result:
    """What one result must look like, and the dtype in which JAX gets it."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = tuple(shape)
        self.declared = dtype
        # Read here and not on the host: XLA's threads don't see this thread's x64.
        self.dtype = canonical(dtype)

    def accepts(self, value: NDArray[Any], batch: tuple[int, ...]) -> bool:
        right_shape = value.shape == (*batch, *self.shape)
        return right_shape and value.dtype in (self.declared, self.dtype)


class _Argument(NamedTuple):
    """What one argument looks like without a batch."""

    ndim: int
    dtype: np.dtype[Any]


@dataclass(frozen=True, eq=False)
class _HostCall:
    """One call; the axes in front of the `ndim` of an argument are those of batches."""

    name: str
    function: Callable[..., Sequence[ArrayLike]]
    results: tuple[_Result, ...]
    forms: tuple[_Argument, ...]
    vectorized: bool

    def __call__(self, *arguments: jax.Array) -> list[jax.Array]:
        if runs_now(arguments):
            return to_jax(self._run(*arguments), arguments)
        # Not `vmap_method=` of `pure_callback`: with "expand_dims" nested batches have
        # shapes like (1, 5, 3), with "sequential" each row is a host call of its own.
        staged = jax.custom_batching.custom_vmap(self._stage)
        staged.def_vmap(self._with_another_batch_axis)
        called: list[jax.Array] = staged(*arguments)
        return called

    def _with_another_batch_axis(
        self, size: int, batched: Sequence[bool], *arguments: jax.Array
    ) -> tuple[list[jax.Array], list[bool]]:
        del size  # the batched arguments have it
        pairs = zip(arguments, batched, strict=True)
        expanded = [a if is_batched else a[None] for a, is_batched in pairs]
        return self(*expanded), [True] * len(self.results)

    def _stage(self, *arguments: jax.Array) -> list[jax.Array]:
        specs = self._specs(self._batch(arguments))

        def elsewhere(*arguments: jax.Array) -> Any:
            return jax.pure_callback(self._run, specs, *arguments)

        staged: list[jax.Array] = jax.lax.platform_dependent(
            *arguments,
            cpu=buffer_callback(self._run_on_buffers, specs),
            default=elsewhere,
        )
        return staged

    def _run_on_buffers(self, _: object, out: list[Any], *arguments: Any) -> None:
        # The buffers are JAX's own memory, and valid during this call only.
        self._fill([np.asarray(o) for o in out], [np.asarray(a) for a in arguments])

    def _run(self, *arguments: jax.Array) -> list[NDArray[Any]]:
        pairs = zip(arguments, self.forms, strict=True)
        # Eager vmap hands on NumPy arrays as they came, with x64 off float64 too.
        views = [np.asarray(argument, form.dtype) for argument, form in pairs]
        specs = self._specs(self._batch(views))
        out = [np.empty(spec.shape, spec.dtype) for spec in specs]
        self._fill(out, views)
        return out

    def _fill(self, out: list[NDArray[Any]], arguments: list[NDArray[Any]]) -> None:
        """Call the function on copies of the arguments and write what it returns."""
        batch = self._batch(arguments)
        if self.vectorized:
            returned = self.function(*(np.array(argument) for argument in arguments))
            for array, value in zip(out, self._checked(returned, batch), strict=True):
                array[...] = value
            return
        for row in np.ndindex(*batch):
            returned = self.function(*self._copies_of_row(row, batch, arguments))
            for array, value in zip(out, self._checked(returned, ()), strict=True):
                array[row] = value

    def _copies_of_row(
        self,
        row: tuple[int, ...],
        batch: tuple[int, ...],
        arguments: list[NDArray[Any]],
    ) -> Iterator[NDArray[Any]]:
        for argument, form in zip(arguments, self.forms, strict=True):
            core = argument.shape[argument.ndim - form.ndim :]
            yield np.array(np.broadcast_to(argument, (*batch, *core))[row])

    def _batch(self, arguments: Sequence[Any]) -> tuple[int, ...]:
        pairs = zip(arguments, self.forms, strict=True)
        return np.broadcast_shapes(*(a.shape[: a.ndim - f.ndim] for a, f in pairs))

    def _specs(self, batch: tuple[int, ...]) -> list[jax.ShapeDtypeStruct]:
        return [
            jax.ShapeDtypeStruct((*batch, *result.shape), result.dtype)
            for result in self.results
        ]

    def _checked(
        self, returned: Sequence[ArrayLike] | None, batch: tuple[int, ...]
    ) -> list[NDArray[Any]]:
        values = [] if returned is None else [np.asarray(r) for r in returned]
        fits = len(values) == len(self.results) and all(
            result.accepts(value, batch)
            for result, value in zip(self.results, values, strict=True)
        )
        if fits:
            return values
        got = ", ".join(describe(value.shape, value.dtype) for value in values)
        wanted = ", ".join(
            describe((*batch, *result.shape), result.declared)
            for result in self.results
        )
        message = (
            f"{self.name} returned {got or 'nothing'}, where {wanted} was declared or "
            "inferred before. Shapes and dtypes may depend on those of the arguments "
            "only: return arrays of one shape, for example padded ones with a mask. "
            "If what the function reads has changed since, wrap and compile it again."
        )
        raise CallbackError(message)
