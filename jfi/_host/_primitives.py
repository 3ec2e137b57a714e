"""The two operations that JAX sees: a host call, and one that is linear.

The first is the call. Its derivative is the second: it takes what the derivative needs
(inputs, and what was saved), and tangents, in which it is linear. JAX moves it into the
backward pass and transposes it, and that is a call again. So the two have rules for
everything JAX does, and derivatives of every order and mode come out of it.

Things that don't work, and why:

- `jax.custom_vjp` around a callback has no forward mode, and `jax.custom_jvp` no
  reverse one: a callback is not transposed.
- `jax.custom_batching.custom_vmap` inside these: see `_jax_internals/_ruled_call`.
- Derivatives of all inputs, as these ask for: the backward pass of a loss would compute
  the gradient of its labels and its data.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from numpy.typing import ArrayLike

from .._errors import CallbackError
from .._jax_internals import (
    dense,
    is_zero,
    note_host_call,
    operation,
    varying_axes,
    varying_over,
    zero_cotangent,
    zero_tangent,
)
from ._derivatives import Derivative, ReadyGradients, Saved, Transposable
from ._forms import Result, Spec
from ._functions import Batched, HostFunction, batch_of, results_of, signature
from ._linear import Flags, Linear, Redundant
from ._runs import refusing_draws, run_now, staged


def call_host(function: HostFunction, *arguments: ArrayLike) -> list[jax.Array]:
    """Call a host function on arrays: eagerly, or staged where JAX traces.

    Args:
        function: What to call.
        *arguments: Arrays of JAX or NumPy.

    Returns:
        Its results, committed to a device if arguments are, and all to one.

    Raises:
        CallbackError: The function breaks its word about what it returns, or JAX asks
            for a derivative that it has not. Its own exceptions pass through; under
            `jax.jit` an error of JAX has their text.
    """
    arrays = list(map(_as_array, arguments))
    if any(isinstance(x, Tracer) for x in arrays):
        # In `jax.shard_map` a result differs between shards if any argument does.
        axes = frozenset().union(*map(varying_axes, arrays))
        arrays = [varying_over(x, axes) for x in arrays] if axes else arrays
    outs: list[jax.Array] = call_p.bind(*arrays, function=function)
    return outs


def _as_array(x: Any) -> Any:
    """An argument as an array: JAX's own rules are given some as Python's numbers."""
    return x if isinstance(x, jax.Array) else jnp.asarray(x)


# The call: types, runs, batches.


def _types(*avals: Any, function: HostFunction) -> list[Result]:
    note_host_call()
    with refusing_draws(function.name):
        return results_of(function, avals)


def _run(*arguments: Any, function: HostFunction) -> list[jax.Array]:
    if isinstance(function, Redundant):
        return run_now(function.fast, function.of_fast(arguments))
    return run_now(function, arguments)


def _stage(
    platforms: tuple[str, ...], *arguments: Any, function: HostFunction
) -> list[jax.Array]:
    if isinstance(function, Redundant):
        arguments = tuple(function.of_fast(arguments))
        function = function.fast
    on_cpu = platforms == ("cpu",)
    outs: list[jax.Array] = staged(function, arguments, on_cpu=on_cpu)(*arguments)
    return outs


def _batch(args: Any, dims: Any, *, function: HostFunction) -> Any:
    is_batched = tuple(dim is not None for dim in dims)
    outs = call_p.bind(*_in_front(args, dims), function=batch_of(function, is_batched))
    return outs, [0] * len(outs)


def _in_front(args: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
    return [
        x if dim is None or dim == 0 else jnp.moveaxis(x, dim, 0)
        for x, dim in zip(args, dims, strict=True)
    ]


# The call: its derivative.


def _jvp(primals: Any, tangents: Any, *, function: HostFunction) -> Any:
    # Eager grad hands on numbers as they came.
    primals = list(map(_as_array, primals))
    outs, found = _derived(primals, tangents, function)
    if outs is None:
        outs = call_p.bind(*primals, function=function)
    pairs = zip(outs, found, strict=True)
    return outs, [zero_tangent(out) if t is None else t for out, t in pairs]


def _derived(
    primals: Sequence[Any], tangents: Sequence[Any], function: HostFunction
) -> tuple[list[Any] | None, list[Any]]:
    """Tangents of the results, None where zero; and the results, if they came along."""
    wanted = tuple(
        not is_zero(tangent) and _inexact(primal)
        for primal, tangent in zip(primals, tangents, strict=True)
    )
    specs = results_of(function, primals)
    if not any(wanted) or not any(map(_inexact, specs)):
        return None, [None] * len(specs)
    if isinstance(function, Redundant):
        pure = function.of_pure
        _, found = _derived(pure(primals), pure(tangents), function.pure)
        return None, [*found, *[None] * (len(specs) - len(found))]
    if isinstance(function, Batched):
        return _derived_rows(primals, tangents, wanted, function)
    directions = [t for t, want in zip(tangents, wanted, strict=True) if want]
    derivative = _derivative_of(function, wanted, primals)
    if isinstance(derivative, ReadyGradients):
        return _products(primals, directions, derivative.call, specs)
    return _linear(primals, directions, wanted, function, derivative, specs)


def _derivative_of(
    function: HostFunction, wanted: Flags, primals: Sequence[Any]
) -> Derivative:
    def ask() -> Derivative | None:
        plain = [Spec(tuple(x.shape), x.dtype) for x in primals]
        return function.derivative(wanted, plain)

    key = ("derivative", wanted, signature(primals))
    found: Derivative | None = function.derived(key, ask)
    if found is None:
        message = (
            f"{function.name} has no derivative. If none is needed, pass "
            "jax.lax.stop_gradient(x) in place of x, or take the gradient with respect "
            "to other arguments."
        )
        raise CallbackError(message)
    return found


def _derived_rows(
    primals: Sequence[Any], tangents: Sequence[Any], wanted: Flags, function: Batched
) -> tuple[list[Any], list[Any]]:
    """The derivative of the row, in a batch: JAX asks for the batches of its calls."""
    axes = [0 if batched else None for batched in function.is_batched]
    given = [
        tangent if want else None
        for tangent, want in zip(tangents, wanted, strict=True)
    ]

    def of_row(primals: list[Any], given: list[Any]) -> Any:
        pairs = zip(primals, given, strict=True)
        tangents = [zero_tangent(x) if t is None else t for x, t in pairs]
        outs, found = _derived(primals, tangents, function.row)
        if outs is None:
            outs = call_p.bind(*primals, function=function.row)
        return outs, found

    return jax.vmap(of_row, in_axes=(axes, axes))(list(primals), given)  # type: ignore[no-any-return]


def _products(
    primals: Sequence[Any],
    directions: Sequence[Any],
    call: HostFunction,
    specs: Sequence[Result],
) -> tuple[list[Any], list[Any]]:
    """The derivative of a function whose gradients come with its value."""
    every = call_p.bind(*primals, function=call)
    outs, gradients = every[: len(specs)], every[len(specs) :]
    # Not a dot product: that is less precise on a GPU, and this one is fused.
    pairs = zip(gradients, directions, strict=True)
    terms = [jnp.sum(gradient * direction) for gradient, direction in pairs]
    found: list[Any] = []
    for spec in specs:
        if not _inexact(spec):
            found.append(None)
            continue
        total = sum(jnp.real(term).astype(spec.dtype) for term in terms)
        found.append(total)
    return outs, found


def _linear(
    primals: Sequence[Any],
    directions: Sequence[Any],
    wanted: Flags,
    function: HostFunction,
    derivative: Transposable | Saved,
    specs: Sequence[Result],
) -> tuple[list[Any] | None, list[Any]]:
    """The derivative as the linear operation."""
    outs: list[Any] | None = None
    saved: list[Any] = []
    if isinstance(derivative, Saved):
        call = _saving(function, derivative, len(primals))
        every = call_p.bind(*primals, function=call)
        outs, saved = every[: len(specs)], every[len(specs) :]

    def make() -> Linear:
        sizes = (len(primals), len(saved), len(directions))
        if isinstance(derivative, Saved):
            return Linear(
                function.name,
                *sizes,
                derivative.products,
                derivative.transposed,
                takes_inputs=derivative.takes_inputs,
            )
        return Linear(function.name, *sizes, derivative)

    linear = function.derived(("linear", wanted, signature(primals)), make)
    types = tuple(spec for spec in specs if _inexact(spec))
    operands = (*primals, *saved, *directions)
    found = iter(linear_p.bind(*operands, linear=linear, types=types))
    return outs, [next(found) if _inexact(spec) else None for spec in specs]


def _saving(function: HostFunction, derivative: Saved, inputs: int) -> Redundant:
    def make() -> Redundant:
        return Redundant(derivative.call, range(inputs), function, range(inputs))

    return function.derived(("saving", derivative), make)


# The linear operation.


def _linear_types(
    *avals: Any, linear: Linear, types: tuple[Result, ...]
) -> tuple[Result, ...]:
    note_host_call()
    return types


def _linear_run(
    *arguments: Any, linear: Linear, types: tuple[Result, ...]
) -> list[jax.Array]:
    return _run(*linear.forward_takes(arguments), function=linear.forward())


def _linear_stage(
    platforms: tuple[str, ...],
    *arguments: Any,
    linear: Linear,
    types: tuple[Result, ...],
) -> list[jax.Array]:
    given = linear.forward_takes(arguments)
    return _stage(platforms, *given, function=linear.forward())


def _linear_jvp(
    primals: Any, tangents: Any, *, linear: Linear, types: tuple[Result, ...]
) -> Any:
    """The sum of what changes with the point, and with the tangents."""
    primals = list(map(_as_array, primals))
    fixed, moving = primals[: linear.fixed], primals[linear.fixed :]
    outs = linear_p.bind(*primals, linear=linear, types=types)
    found: list[Any] = [None] * len(types)
    at_point, of_moving = tangents[: linear.inputs], tangents[linear.fixed :]
    if any(not is_zero(tangent) for tangent in at_point):
        still = [zero_tangent(x) for x in moving]
        inputs = primals[: linear.inputs]
        _, found = _derived([*inputs, *moving], [*at_point, *still], linear.forward())
    if any(not is_zero(tangent) for tangent in of_moving):
        directions = map(dense, of_moving)
        more = linear_p.bind(*fixed, *directions, linear=linear, types=types)
        found = [
            new if one is None else one + new
            for one, new in zip(found, more, strict=True)
        ]
    pairs = zip(outs, found, strict=True)
    return outs, [zero_tangent(out) if t is None else t for out, t in pairs]


def _linear_batch(
    args: Any, dims: Any, *, linear: Linear, types: tuple[Result, ...]
) -> Any:
    pairs = zip(args, dims, strict=True)
    size = next(x.shape[dim] for x, dim in pairs if dim is not None)
    front = _in_front(args, dims)
    for k in range(linear.fixed, len(front)):
        if dims[k] is None:
            front[k] = jnp.broadcast_to(front[k], (size, *jnp.shape(front[k])))
    of_rows = linear.batched(tuple(dim is not None for dim in dims[: linear.fixed]))
    rows = tuple(replace(spec, shape=(size, *spec.shape)) for spec in types)
    outs = linear_p.bind(*front, linear=of_rows, types=rows)
    return outs, [0] * len(outs)


def _linear_transpose(
    cotangents: Any, *operands: Any, linear: Linear, types: tuple[Result, ...]
) -> list[Any]:
    given = tuple(not is_zero(c) for c in cotangents)
    fixed, moving = operands[: linear.fixed], operands[linear.fixed :]
    nothing: list[Any] = [None] * linear.fixed
    if not any(given):
        return nothing + list(map(zero_cotangent, moving))
    parts = [c for c, is_given in zip(cotangents, given, strict=True) if is_given]
    found = call_p.bind(*fixed, *parts, function=linear.backward(given))
    return nothing + list(found)


def _inexact(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))


# The word "callback" in their names is how the rest of jfi knows what calls back.
call_p = operation(
    "host_callback", types=_types, run=_run, stage=_stage, jvp=_jvp, batch=_batch
)
linear_p = operation(
    "linear_host_callback",
    types=_linear_types,
    run=_linear_run,
    stage=_linear_stage,
    jvp=_linear_jvp,
    batch=_linear_batch,
    transpose=_linear_transpose,
)
