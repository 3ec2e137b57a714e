"""What jfi takes for data, and how values are named in messages and keys."""

import functools
import inspect
import os
import sys
import types
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeGuard, TypeVar

import jax
import numpy as np
from jax.tree_util import KeyEntry, keystr


F = TypeVar("F", bound=Callable[..., Any])


class Constant:
    """A value under a hashable key of our own: equal when the keys are equal.

    `==` of Python takes 1, 1.0 and True for one value, and 0.0 for -0.0; a key that
    decides what a compiled function may reuse must not.
    """

    __slots__ = ("_hash", "key", "value")

    def __init__(self, key: Hashable, value: Any) -> None:
        self.key, self.value = key, value
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and bool(self.key == other.key)

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"


def identity(value: Any) -> Constant:
    """Key of a value that equals only itself. The key keeps the value alive."""
    return Constant((type(value), id(value)), value)


class WeakIdentity(weakref.ref[Any]):
    """A weak reference that equals those to the very same object, while it lives."""

    __slots__ = ("_id",)

    _id: int

    def __new__(
        cls, value: Any, callback: Callable[["WeakIdentity"], Any] | None = None, /
    ) -> "WeakIdentity":
        self = super().__new__(cls, value, callback)
        self._id = id(value)
        return self

    def __reduce__(self) -> Any:
        return WeakIdentity, (self(),)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        value = self()
        return (
            value is not None and isinstance(other, WeakIdentity) and value is other()
        )


def number_key(value: complex | np.generic) -> Hashable:
    """Key of a number by type and bits: 1, True, 1.0 differ, and so do 0.0 and -0.0.

    >>> number_key(1) == number_key(True), number_key(0.0) == number_key(-0.0)
    (False, False)
    >>> number_key(float("nan")) == number_key(float("nan"))
    True
    """
    if isinstance(value, np.generic):
        return type(value), value.dtype, value.tobytes()
    if isinstance(value, int):
        return type(value), int(value)
    if isinstance(value, float):
        return type(value), value.hex()
    return type(value), value.real.hex(), value.imag.hex()


def contents_key(array: np.ndarray[Any, Any]) -> Hashable:
    """Key of a NumPy array by type, shape and bytes."""
    return type(array), array.dtype, array.shape, array.tobytes()


def is_numeric(dtype: Any) -> bool:
    """Whether JAX computes with a NumPy dtype (numbers, bool, bfloat16, float8 ...)."""
    # NumPy counts durations among the integers; JAX has no float of 80 bits.
    if dtype.kind in "mM" or dtype.char in "gG":
        return False
    return dtype.kind in "biufc" or bool(jax.numpy.issubdtype(dtype, np.number))


def is_array(x: object) -> TypeGuard[jax.Array | np.ndarray[Any, Any]]:
    """Whether a value is an array of data: JAX's (tracers, typed keys), or NumPy's.

    >>> is_array(np.ones(3)), is_array(np.array(["a"])), is_array(2.0)
    (True, False, False)
    """
    if isinstance(x, np.ndarray):
        return type(x) in NUMPY_ARRAYS and is_numeric(x.dtype)
    return isinstance(x, jax.Array)


# Others compute in their own way: `np.matrix` multiplies matrices, masks hide numbers.
NUMPY_ARRAYS = (np.ndarray, np.memmap)


def odd_array(x: object, path: str) -> str | None:
    """What to say of a NumPy array that computes in its own way; None for all else."""
    if not isinstance(x, np.ndarray) or type(x) in NUMPY_ARRAYS:
        return None
    masked = isinstance(x, np.ma.MaskedArray)
    plain = f"{path}.filled(0)" if masked else f"np.asarray({path})"
    return (
        f"a {type(x).__name__} for {path}, whose own rules JAX does not know.\n"
        f"Pass a plain array instead: {path} = {plain}"
    )


def is_scalar(x: object) -> TypeGuard[complex | np.generic]:
    """Whether a value is a number that JAX may trace: float, complex, NumPy's scalars.

    An int or a bool is a setting (a size, an axis, a flag), not data.

    >>> is_scalar(0.1), is_scalar(np.int32(3)), is_scalar(3), is_scalar(True)
    (True, True, False, False)
    """
    if isinstance(x, np.generic):
        return is_numeric(x.dtype)
    return type(x) is float or type(x) is complex


_FIXED = (
    *(bool, int, float, complex, str, bytes, type, type(None), type(...)),
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType),
)


def is_fixed(value: Any) -> bool:
    """Whether a default is a constant, which neither code nor its module writes to."""
    if type(value) is tuple:
        return all(map(is_fixed, value))
    return isinstance(value, _FIXED)


def own_copy(x: Any) -> Any:
    """A NumPy array as a copy that nobody else writes into; all else as it is.

    JAX computes in the background, from the memory of a NumPy array: without a copy,
    what the caller writes into it after the call can change the result. And it takes
    the bytes of other machines for its own (JAX 0.10).
    """
    if not isinstance(x, np.ndarray):
        return x
    return np.array(x) if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def path_name(root: str, path: Sequence[KeyEntry]) -> str:
    """A place in a tree as the user would write it.

    >>> leaves, _ = jax.tree_util.tree_flatten_with_path({"w": [1, 2]})
    >>> path_name("problem", leaves[1][0])
    "problem['w'][1]"
    """
    return root + keystr(tuple(path))


def function_name(fn: object) -> str:
    """The name of a function, a partial or a callable object, for messages."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__name__", None)
    return name if isinstance(name, str) else type(fn).__name__


def refuse_no_function(
    tool: str, fun: Any, error: Callable[[str], Exception] = TypeError
) -> None:
    """Refuse what no tool can transform, as JAX does when the tool is called.

    Args:
        tool: The name of the tool.
        fun: What it got for a function.
        error: What is raised.
    """
    if isinstance(fun, (staticmethod, classmethod)):
        kind = type(fun).__name__
        raise error(
            f"{tool}() got a {kind}. Write it the other way round: "
            f"@{kind} first, @{tool} below it."
        )
    if not callable(fun):
        seen = type(fun).__name__ if isinstance(fun, jax.Array) else f"{fun!r:.60}"
        raise error(
            f"{tool}() got {seen} (of type {type(fun).__name__}), and takes functions. "
            f"Write the function itself: {tool}(f)(x), not {tool}(f(x))."
        )
    if inspect.isgeneratorfunction(fun):
        raise error(
            f"{tool}() got the generator function {function_name(fun)}(). "
            "Collect the values and return them: return jnp.stack(values)."
        )


def argument_names(
    fn: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> list[str]:
    """What the function's signature calls each argument of a call, in order.

    >>> argument_names(lambda x, *rest, **kw: 0, (1, 2, 3), {"k": 4})
    ['x', 'rest[0]', 'rest[1]', 'k']
    """
    positional: list[str] = []
    rest = "args"
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # builtins may have none
        parameters = []
    for p in parameters:
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            positional.append(p.name)
        elif p.kind is p.VAR_POSITIONAL:
            rest = p.name
    positional = positional[: len(args)]
    positional += [f"{rest}[{i}]" for i in range(len(args) - len(positional))]
    return [*positional, *kwargs]


def is_named(x: object) -> bool:
    """Whether a function or class is what its own module calls by its name."""
    name = getattr(x, "__qualname__", None)
    found: object = sys.modules.get(getattr(x, "__module__", None) or "")
    if not isinstance(name, str) or found is None:
        return False
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is x


def own_equality(cls: type) -> tuple[bool, bool]:
    """Whether a class has a hash of its own, and an `==` of its own."""
    hashing, comparing = (getattr(cls, name, None) for name in ("__hash__", "__eq__"))
    return (
        hashing is not None and hashing is not object.__hash__,
        comparing is not object.__eq__,
    )


def own_attributes(x: object) -> dict[str, Any]:
    """The dict of an object's attributes, an empty one if it has none.

    `getattr(x, "__dict__")` may be that of what `x` holds: some classes hand on what
    they don't have themselves, such as the variables of flax.
    """
    return x.__dict__ if type(x).__dictoffset__ else {}


def is_library(cls: type) -> bool:
    """Whether a class comes from Python, JAX or NumPy, which users don't change."""
    root = (getattr(cls, "__module__", None) or "").partition(".")[0]
    if root in ("builtins", "jax", "jaxlib", "numpy"):
        return True
    if root not in sys.stdlib_module_names:
        return False
    # A file of the user may have the name of a module of Python's.
    file = getattr(sys.modules.get(root), "__file__", None)
    return not isinstance(file, str) or file.startswith(_STANDARD_FOLDER)


_STANDARD_FOLDER = os.path.dirname(os.__file__) + os.sep


# On a class of jfi: its instances pass through `autojit` as they are. On a function:
# see `mark_static`.
STATIC_MARK = "__jfi_static__"


def mark_static(fn: F) -> F:
    """Let a function made by jfi pass through `autojit` as it is, by identity.

    For functions whose captured values are read on the host, at run time. The mark
    names the code, so that a wrapper which copies the attributes is not marked.
    """
    function: Any = fn
    setattr(fn, STATIC_MARK, function.__code__)
    return fn
