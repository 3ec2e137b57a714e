"""Types that keep the signature of a function through JAX's transformations.

JAX's own annotations lose it: `jax.jit(f)` takes anything, `jax.grad(f)` is unknown.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    overload,
)

import jax
from jax import custom_jvp as custom_jvp, custom_vjp as custom_vjp
from jax.stages import Lowered, Traced
from jax.typing import ArrayLike

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
T = TypeVar("T")

class _Jitted(Generic[P, R_co]):
    __wrapped__: Callable[P, R_co]
    __name__: str
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered: ...
    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Traced: ...
    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    def clear_cache(self) -> None: ...
    @overload
    def __get__(
        self, instance: None, owner: type | None = None
    ) -> _Jitted[P, R_co]: ...
    @overload
    def __get__(
        self: _Jitted[Concatenate[S, Q], R_co], instance: S, owner: type | None = None
    ) -> _Jitted[Q, R_co]: ...

# As a text, which jedi does not read: it then shows the decorated function.
_Compiled: TypeAlias = "_Jitted[P, R]"

@overload
def jit(
    fun: Callable[P, R],
    /,
    *,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    **options: Any,
) -> _Compiled[P, R]: ...
@overload
def jit(
    *,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    **options: Any,
) -> Callable[[Callable[P, R]], _Compiled[P, R]]: ...
def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | None = None,
    *,
    randomness: Literal["different", "same", "error"] = "different",
    chunk_size: int | None = None,
) -> Callable[P, R]: ...
@overload
def shard_map(
    f: Callable[P, R],
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Any = None,
    axis_names: Any = ...,
    check_vma: bool = True,
) -> Callable[P, R]: ...
@overload
def shard_map(
    f: None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Any = None,
    axis_names: Any = ...,
    check_vma: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def eval_shape(fun: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Any: ...
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[P, Any]: ...
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any: ...
def block_until_ready(x: T) -> T: ...
def device_put(
    x: T,
    device: Any = None,
    *,
    src: Any = None,
    donate: Any = False,
    may_alias: Any = None,
) -> T: ...
def key(seed: ArrayLike, *, impl: Any = None) -> jax.Array: ...
def stop_gradient(x: T) -> T: ...
