"""`from_numpy` and the function that it returns."""

import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, overload

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..._advice import hide_frames
from ..._errors import CallbackError
from ..._host import (
    SHARED_BYTES,
    call_host,
    constant_of,
    is_setting,
    narrowed,
    runs_now,
    to_jax,
)
from ..._values import Rest, function_name, is_array_data, partition
from ._calls import NumpyCall
from ._ordered import call_in_order
from ._rules import GivenRules


R = TypeVar("R")
Derivative: TypeAlias = Literal["complex_step", "differences"]
Vmap: TypeAlias = Literal["auto", "broadcast", "sequential"]


@overload
def from_numpy(
    fn: Callable[..., R],
    *,
    jvp: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    derivative: Derivative | None = None,
    vmap: Vmap = "auto",
    out: Any = None,
    ordered: bool = False,
) -> Callable[..., Any]: ...
@overload
def from_numpy(
    fn: None = None,
    *,
    jvp: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    derivative: Derivative | None = None,
    vmap: Vmap = "auto",
    out: Any = None,
    ordered: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def from_numpy(
    fn: Callable[..., Any] | None = None,
    *,
    jvp: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    derivative: Derivative | None = None,
    vmap: Vmap = "auto",
    out: Any = None,
    ordered: bool = False,
) -> Any:
    """Turn a function of NumPy arrays into a function of JAX arrays.

    The result works eagerly and under `jit`, `vmap` and `scan`; with a rule, under
    `grad` and all other derivatives too. The function itself runs, on the CPU, and is
    given NumPy arrays. It is a decorator, too.

    Example:
        >>> import jax
        >>> import numpy as np
        >>> import jfi as jnp
        >>> @jnp.from_numpy(vjp=lambda primals, ct: (np.cos(primals[0]) * ct,))
        ... def sine(x):
        ...     return np.sin(x)
        >>> jax.jit(sine)(jnp.array([0.0, 2.0]))
        Array([0.       , 0.9092974], dtype=float32)
        >>> jax.grad(sine)(0.0)
        Array(1., dtype=float32)
        >>> gamma = jnp.from_numpy(lambda x: x**3, derivative="complex_step")
        >>> jax.grad(gamma)(2.0)
        Array(12., dtype=float32)

    Args:
        fn: Takes and returns arrays, in any pytree. Shapes and dtypes of what it
            returns may depend on those of its arguments only. It must not call JAX, and
            may be called from several threads. Arrays come read-only where it has not
            been seen to write into them.
        jvp: `jvp(primals, tangents, **keywords)` returns the tangents of the result.
            Both are tuples like the positional arguments; integers have tangents None.
        vjp: `vjp(primals, cotangents, **keywords)` returns a tuple of cotangents for
            the positional arguments, None where zero. With one of the two rules the
            other mode is computed from it, one call for each element.
        derivative: "complex_step" calls the function with complex numbers, which is
            exact to rounding for functions that compute with them as with real ones;
            "differences" are central differences, with a third of the digits lost. With
            a rule, it is used for derivatives of the rule.
        vmap: "auto" makes one call for a whole batch if the function is seen to compute
            element by element, and else one after the other within one host call;
            "broadcast" says that the function takes leading axes, which is checked on
            the rows of the first batch, and one row of each later one; "sequential"
            never does so.
        out: Shapes and dtypes of the result, as a tree of `jax.ShapeDtypeStruct`, or a
            function of trees of them. Otherwise the function is called once on sample
            values to learn them, where JAX traces.
        ordered: For functions with effects: each call of the program runs it exactly
            once, in order. Then there is no `vmap` and no derivative.

    Returns:
        A function of the same arguments. Arrays become NumPy arrays, of JAX's dtypes;
        all else (numbers, strings, None, objects) is passed as it is.

    Raises:
        CallbackError: The function returns what JAX has no arrays for, or no derivative
            is known. Exceptions of the function pass through; under `jax.jit` an error
            of JAX (`jax.errors.JaxRuntimeError`) has their text.
    """
    options: dict[str, Any] = {
        "jvp": jvp,
        "vjp": vjp,
        "derivative": derivative,
        "vmap": vmap,
        "out": out,
        "ordered": ordered,
    }
    _refuse_options(fn, options)
    if fn is None:
        return lambda fn: from_numpy(fn, **options)
    return _NumpyFunction(fn, options)


def _refuse_options(fn: Any, options: dict[str, Any]) -> None:
    if isinstance(fn, (np.ndarray, jax.Array)):
        message = (
            "from_numpy() turns NumPy functions into JAX functions, and got an array. "
            "Write jnp.asarray(array)."
        )
        raise TypeError(message)
    if fn is not None and not callable(fn):
        message = f"from_numpy() takes a function, not {fn!r}."
        raise TypeError(message)
    for name, allowed in {
        "derivative": (None, "complex_step", "differences"),
        "vmap": ("auto", "broadcast", "sequential"),
    }.items():
        if options[name] not in allowed:
            listed = ", ".join(map(repr, allowed))
            message = f"from_numpy({name}={options[name]!r}): write one of {listed}."
            raise ValueError(message)
    ruled = any(options[name] is not None for name in ("jvp", "vjp", "derivative"))
    if options["ordered"] and ruled:
        message = (
            "from_numpy(ordered=True) is for functions with effects, which have no "
            "derivative: leave out jvp=, vjp= and derivative=."
        )
        raise ValueError(message)


class _NumpyFunction:
    """What `from_numpy` returns: a `NumpyCall` for each form of the arguments."""

    __jfi_static__ = True  # `autojit` does not open it: it reads values when it runs
    __jfi_calls_back__ = True

    def __init__(self, fn: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, fn, updated=())
        self._fn, self._options = fn, options
        self._name = f"{function_name(fn)}()"
        self._rules = GivenRules(options["jvp"], options["vjp"], options["derivative"])
        self._cached_call = functools.lru_cache(maxsize=256)(
            lambda constant: self._call(constant.value)
        )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._run(args, kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Masked arrays and the like reach the function as they are, as settings do.
        found, rest = partition((args, kwargs), is_array_data)
        leaves = [_in_jax(leaf, self._name) for leaf in found]
        call = self._call_of(rest)
        if runs_now(leaves) and not (call.writes_out and any(map(_is_large, leaves))):
            arrays = [_numpy(leaf) for leaf in leaves]
            values, tree = call.run_eagerly(arrays)
            return self._filled(tree, to_jax(values, leaves))
        if self._options["ordered"]:
            return call_in_order(call, [jnp.asarray(leaf) for leaf in leaves])
        outs = call_host(call, *leaves)
        return self._filled(call.tree(leaves), outs)

    def _filled(self, tree: Any, values: Sequence[Any]) -> Any:
        """The result of the function around new arrays.

        Raises:
            CallbackError: It can't be made of them.
        """
        try:
            return jax.tree.unflatten(tree, values)
        except TypeError as error:
            name = self._name.removesuffix("()")
            raise CallbackError(
                f"{self._name} returned a tuple of a class of its own, which can't be "
                f"made of arrays ({error}).\nReturn a plain one: "
                f"jnp.from_numpy(lambda *args: tuple({name}(*args)))"
            ) from None

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str | tuple[Any, ...]:
        # The name of a decorated function is that of what decorates it.
        name = getattr(self._fn, "__qualname__", "")
        found: Any = sys.modules.get(getattr(self._fn, "__module__", ""))
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (_again, (self._fn, self._options))

    def __repr__(self) -> str:
        return f"from_numpy({self._fn!r})"

    def _call_of(self, rest: Rest) -> NumpyCall:
        if not all(map(is_setting, rest.others)):
            return self._call(rest)
        return self._cached_call(constant_of(rest))

    def _call(self, rest: Rest) -> NumpyCall:
        vmap, out = self._options["vmap"], self._options["out"]
        return NumpyCall(self._name, self._fn, rest, self._rules, vmap, out)


def _again(fn: Callable[..., Any], options: dict[str, Any]) -> Any:
    return from_numpy(fn, **options)


def _is_large(leaf: Any) -> bool:
    return bool(leaf.nbytes >= SHARED_BYTES)


def _in_jax(leaf: Any, name: str) -> Any:
    """An argument in the dtype that JAX gives it."""
    if isinstance(leaf, jax.Array):
        return leaf
    return narrowed(np.asarray(leaf), name, verb="got")


def _numpy(leaf: jax.Array | NDArray[Any]) -> NDArray[Any]:
    if isinstance(leaf, jax.Array):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
            message = (
                f"A random key ({leaf.dtype}) has no NumPy form. Pass "
                "jax.random.key_data(key) instead of the key."
            )
            raise CallbackError(message)
        return np.asarray(leaf)
    return leaf
