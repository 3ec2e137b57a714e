"""JAX's transformations under their own names; `_transforms.pyi` holds their types.

Those that can't take random draws as they are have a form here that can.
"""

import functools
from typing import Any

import jax
from jax import (
    block_until_ready as block_until_ready,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    device_put as device_put,
    make_jaxpr as make_jaxpr,
    pure_callback as pure_callback,
)
from jax.lax import stop_gradient as stop_gradient
from jax.random import key as key

from .._advice import hiding_frames
from .._jit import _function as _jit
from .._random.traced._own_stream import Function
from .._random.traced._rows import Randomness
from .._values import refuse_no_function
from .._values.trees import add_advice
from . import _vmap
from ._draws import warn_of_one_draw


_NONE: Any = object()  # None is what a function returns that forgot to


@functools.wraps(jax.jit)
def jit(fun: Any = _NONE, /, **options: Any) -> Any:
    if fun is _NONE:
        return functools.partial(jit, **options)

    def find() -> _jit.CompiledFunction:
        warn_of_one_draw(fun, "calls")
        from .._autojit._shared_programs import (
            shared_program,  # which takes a third of `import jfi`
        )

        return shared_program(fun, options)

    return _jit.jit(fun, options, find)


@functools.wraps(jax.eval_shape)
@hiding_frames
def eval_shape(fun: Any, *args: Any, **kwargs: Any) -> Any:
    if _jit.is_jitted(fun):
        return fun.eval_shape(*args, **kwargs)
    if hasattr(fun, "lower"):  # compiled: some of its arguments may be static
        return jax.eval_shape(fun, *args, **kwargs)
    refuse_no_function("eval_shape", fun)
    try:
        return jit(fun).eval_shape(*args, **kwargs)  # `jit(fun)` finds this trace
    except TypeError as error:
        add_advice(error, (args, kwargs))
        raise


@functools.wraps(jax.vmap)
@hiding_frames
def vmap(
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    *,
    randomness: Randomness = "different",
    chunk_size: int | None = None,
) -> Function:
    if isinstance(in_axes, str):
        from .batching import vmap_of_axes  # which few scripts need

        given = {
            "axis_name": axis_name,
            "axis_size": axis_size,
            "spmd_axis_name": spmd_axis_name,
        }
        options = {
            "out_axes": out_axes,
            "randomness": randomness,
            "chunk_size": chunk_size,
        }
        return vmap_of_axes(fun, in_axes, given, options)
    return _vmap.vmap(
        fun,
        in_axes,
        out_axes,
        randomness=randomness,
        chunk_size=chunk_size,
        axis_name=axis_name,
        axis_size=axis_size,
        spmd_axis_name=spmd_axis_name,
    )


@functools.wraps(jax.shard_map)
def shard_map(fun: Any = None, /, **options: Any) -> Any:
    if fun is None:
        return functools.partial(shard_map, **options)
    return _vmap.shard_map(fun, options)
