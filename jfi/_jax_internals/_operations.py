"""Operations of jfi's own, with a rule for everything that JAX does.

By the tables of `jax.interpreters`, which JAX documents as unstable: this module and
`_buffer_calls` are their only users.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.core import ShapedArray
from jax.interpreters import ad, batching, mlir

from ._varying_axes import varying_axes


def primitive(name: str) -> Any:
    """A new primitive of JAX, without any rule.

    Its class is that of JAX's own. `jax.extend.core` has it by name, and imports
    Pallas, which takes long and adds states to JAX's contexts (in 0.12): all that was
    traced before is traced again, the user's programs too.
    """
    return type(jax.lax.add_p)(name)


def operation(
    name: str,
    *,
    types: Callable[..., Any],
    run: Callable[..., Any],
    stage: Callable[..., Any],
    jvp: Callable[..., Any],
    batch: Callable[..., Any],
    transpose: Callable[..., Any] | None = None,
) -> Any:
    """Make an operation with several results.

    All rules get the parameters of the operation by keyword. Inside `jax.shard_map` all
    arguments must differ over the same axes: see `varying_over`.

    Args:
        name: What it is called in jaxprs.
        types: Takes types of arguments, and returns something with `shape` and `dtype`
            for each result.
        run: Takes values and returns the results.
        stage: Takes the platforms of a program, such as ("cpu",), and traced arguments,
            and returns the results by operations of JAX.
        jvp: Takes the primals and their tangents, some of them zeros (`is_zero`).
        batch: Takes arguments and their batch axes, or None.
        transpose: Takes cotangents and arguments, for linear operations.

    Returns:
        Its `bind` applies it.
    """
    made = primitive(name)
    made.multiple_results = True

    def lower(context: Any, *operands: Any, **parameters: Any) -> Any:
        platforms = tuple(context.module_context.platforms)

        def staged(*arguments: Any) -> Any:
            return stage(platforms, *arguments, **parameters)

        return mlir.lower_fun(staged, multiple_results=True)(context, *operands)

    def avals(*arguments: Any, **parameters: Any) -> list[Any]:
        found = types(*arguments, **parameters)
        varying = next((a for a in arguments if varying_axes(a)), None)
        if varying is None:
            return [ShapedArray(x.shape, x.dtype) for x in found]
        return [_of_shard(x.shape, x.dtype, varying) for x in found]

    made.def_impl(run)
    made.def_abstract_eval(avals)
    mlir.register_lowering(made, lower)
    ad.primitive_jvps[made] = jvp
    batching.primitive_batchers[made] = batch
    if transpose is not None:
        ad.primitive_transposes[made] = transpose
    return made


def _of_shard(shape: tuple[int, ...], dtype: Any, argument: Any) -> Any:
    """The type of a result in `jax.shard_map`: shards differ as in an argument."""
    spec = jax.sharding.PartitionSpec(*(None for _ in shape))
    sharding = jax.sharding.NamedSharding(argument.sharding.mesh, spec)
    kind = argument.manual_axis_type
    return ShapedArray(shape, dtype, sharding=sharding, manual_axis_type=kind)


def is_zero(x: object) -> bool:
    """Whether a tangent or cotangent is zero for sure, and no array."""
    return isinstance(x, ad.Zero)


def zero_tangent(x: Any) -> Any:
    """Such a zero, as the tangent of an array."""
    return ad.Zero(jax.typeof(x).to_tangent_aval())


def zero_cotangent(argument: Any) -> Any:
    """Such a zero, for an argument of an operation that is transposed."""
    return ad.Zero(argument.aval)


def dense(x: Any) -> Any:
    """A tangent as an array."""
    return ad.instantiate_zeros(x)
