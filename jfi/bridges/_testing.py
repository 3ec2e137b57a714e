"""Tests of code that was made of other code: `compare`."""

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import DictKey

from .._advice import hiding_frames
from .._errors import ComparisonError
from .._values import is_key, path_name
from .jaxify import jaxify


@hiding_frames
def compare(
    obj: Any,
    *args: Any,
    converted: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    grad: bool | Literal["forward", "reverse"] = True,
    vmap: bool = True,
    jit: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """Check what `jaxify` makes of an object against the object itself.

    Values are compared eagerly, under `jit` and `vmap`; derivatives in forward and
    reverse mode with differences of the original, in one direction.

    Example:
        >>> import numpy as np
        >>> import scipy.interpolate
        >>> import jfi as jnp
        >>> spline = scipy.interpolate.CubicSpline([0, 1, 2, 3], [0, 1, 8, 27])
        >>> f = jnp.testing.compare(spline, np.array([0.5, 2.5]))
        >>> f(0.5)
        Array(0.125, dtype=float32)

    Args:
        obj: The object. One that can't be called needs a `reference`.
        *args: What to call it with: arrays, numbers, trees of them.
        converted: The JAX function; None is `jaxify(obj, **options)`.
        reference: What the values are to be: a function of NumPy arrays. None calls the
            object: torch gets tensors, PyTensor's graphs are compiled.
        grad: Whether to compare derivatives with respect to all floats in `args`, or in
            which mode alone.
        vmap: Whether to compare a batch: a row with the arguments, and one with all
            floats 3 % smaller.
        jit: Whether to compare under `jit`.
        rtol: The largest error relative to the largest number; None: by the dtype.
        atol: The largest absolute error; None: the same.
        **options: For `jaxify`.

    Returns:
        The JAX function.

    Raises:
        ComparisonError: They differ. The text says where: in which variant, at which
            place of the result, by which numbers.
        ValueError: `grad` is none of those above.
    """
    if grad not in (True, False, "forward", "reverse"):
        raise ValueError(
            f"compare() got grad={grad!r}. Write grad=True, False, "
            '"forward" or "reverse".'
        )
    function = jaxify(obj, **options) if converted is None else converted
    original = _original(obj, function) if reference is None else reference
    if not callable(function) or not callable(original):
        message = (
            f"compare() got a {type(obj).__name__}, which can't be called.\nWrite what "
            "is to be compared: compare(obj, *args, converted=f, reference=g)"
        )
        raise ComparisonError(message)
    check = _Comparison(function, original, args, rtol, atol)
    expected = check.expected(args)
    found = function(*args)
    check.values("eager", found, expected)
    check.keys(found)
    if jit:
        check.values("jit", jax.jit(function)(*args), expected)
    if vmap:
        check.rows(expected)
    if grad:
        check.derivatives(*(("forward", "reverse") if grad is True else (grad,)))
    return function


class _Comparison:
    """One function, what it is compared with, and arguments of both."""

    def __init__(
        self,
        function: Callable[..., Any],
        original: Callable[..., Any],
        args: Sequence[Any],
        rtol: float | None,
        atol: float | None,
    ) -> None:
        self._function, self._original = function, original
        self._rtol, self._atol = rtol, atol
        self._leaves, self._tree = jax.tree.flatten(tuple(args))
        self._floats = [k for k, x in enumerate(self._leaves) if _has_rounding(x)]
        self._paths: list[Any] = []  # of the original's results

    def expected(self, args: Sequence[Any]) -> list[Any]:
        """The leaves of the original's result, as NumPy arrays."""
        found = self._original(*jax.tree.map(_numpy, tuple(args)))
        leaves = jax.tree_util.tree_leaves_with_path(found)
        self._paths = [path for path, _ in leaves]
        return [np.asarray(leaf) for _, leaf in leaves]

    def keys(self, found: Any) -> None:
        """Compare the keys of dicts; lists and tuples are taken for each other."""
        paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(found)]
        for path, there in zip(paths, self._paths, strict=True):
            for key, other in zip(path, there, strict=False):
                both = isinstance(key, DictKey) and isinstance(other, DictKey)
                if both and key != other:
                    raise ComparisonError(
                        f"compare(): {path_name('result', path)} is "
                        f"{path_name('result', there)} in the original."
                    )

    def with_floats(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with other floats."""
        leaves = list(self._leaves)
        for k, value in zip(self._floats, values, strict=True):
            leaves[k] = value
        made: tuple[Any, ...] = jax.tree.unflatten(self._tree, leaves)
        return made

    def values(
        self, variant: str, found: Any, expected: Sequence[Any], *, factor: float = 1.0
    ) -> None:
        """Compare results; `factor` is how much larger errors may be."""
        leaves = jax.tree_util.tree_leaves_with_path(found)
        if len(leaves) != len(expected):
            raise ComparisonError(
                f"compare(): {variant} has {len(leaves)} results, and the original has "
                f"{len(expected)}."
            )
        for (path, got), want in zip(leaves, expected, strict=True):
            place = f"{variant}, {path_name('result', path)}"
            if not isinstance(got, jax.Array):
                raise ComparisonError(
                    f"compare(): {place} is a {type(got).__name__}, no array of JAX."
                )
            if got.shape != want.shape or _kind_of_numbers(got) != _kind_of_numbers(
                want
            ):
                raise ComparisonError(
                    f"compare(): {place} is {got.dtype}{list(got.shape)}, and in the "
                    f"original {want.dtype}{list(want.shape)}."
                )
            self._numbers(place, np.asarray(got), want, factor)

    def _numbers(self, place: str, got: Any, want: Any, factor: float) -> None:
        exact = _kind_of_numbers(want) not in "fc"
        of_values = factor == 1
        least = max(_precision(x, of_values=of_values) for x in (got, want))
        precision = 0.0 if exact else factor * least
        if got.dtype == jnp.bfloat16:
            got = got.astype(np.float32)
        largest = np.max(np.abs(want), initial=0, where=np.isfinite(want))
        relative = precision if self._rtol is None else self._rtol * factor
        absolute = precision if self._atol is None else self._atol * factor
        near = np.isclose(got, want, 0, relative * float(largest) + absolute, True)
        if near.all():
            return
        worst = tuple(int(k) for k in np.argwhere(~near)[0])
        index = f" at {list(worst)}" if worst else ""
        raise ComparisonError(
            f"compare(): {place}: {int((~near).sum())} of {near.size} numbers differ "
            f"from the original.\nThe first{index}: {got[worst]}, and in the original "
            f"{want[worst]}."
        )

    def rows(self, expected: Sequence[Any]) -> None:
        """Compare a batch of two rows."""
        if not self._floats:
            return
        floats = [jnp.asarray(self._leaves[k]) for k in self._floats]
        others = [x * jnp.asarray(0.97, x.dtype) for x in floats]

        def of_row(*values: Any) -> Any:
            return self._function(*self.with_floats(values))

        pairs = [jnp.stack(pair) for pair in zip(floats, others, strict=True)]
        found = jax.vmap(of_row)(*pairs)
        second = self.expected(self.with_floats(others))
        for k, want in enumerate((expected, second)):
            row = jax.tree.map(lambda x, k=k: x[k], found)
            self.values(f"vmap, row {k}", row, want)

    def derivatives(self, *modes: str) -> None:
        """Compare derivatives with differences of the original."""
        if not self._floats:
            return
        random = np.random.default_rng(0)
        points = [jnp.asarray(self._leaves[k]) for k in self._floats]
        directions = [_random_like(random, x) for x in points]

        def function(*values: Any) -> list[Any]:
            found = jax.tree.leaves(self._function(*self.with_floats(values)))
            return [x for x in found if _has_rounding(x)]

        slopes = self._differences(directions)
        if not slopes:
            return
        finite = [np.isfinite(slope) for slope in slopes]
        slopes = [_where(*pair) for pair in zip(finite, slopes, strict=True)]
        if "forward" in modes:
            _, tangents = jax.jvp(function, points, list(map(jnp.asarray, directions)))
            tangents = [_where(*pair) for pair in zip(finite, tangents, strict=True)]
            self.values("forward derivative", tangents, slopes, factor=_LOOSER)
        if "reverse" not in modes:
            return
        out, transposed = jax.vjp(function, *points)
        weights = [_random_like(random, x) for x in out]
        weights = [_where(*pair) for pair in zip(finite, weights, strict=True)]
        cotangents = transposed([jnp.asarray(w) for w in weights])
        reverse = sum(
            (jnp.sum(c * d) for c, d in zip(cotangents, directions, strict=True)),
            start=jnp.asarray(0.0),
        )
        along = np.asarray(
            sum(np.sum(w * s) for w, s in zip(weights, slopes, strict=True))
        )
        scale = sum(np.abs(w * s).sum() for w, s in zip(weights, slopes, strict=True))
        found = [jnp.real(reverse) / max(scale, 1.0)]
        expected = [np.real(along) / max(scale, 1.0)]
        self.values("reverse derivative", found, expected, factor=_LOOSER)

    def _differences(self, directions: Sequence[Any]) -> list[Any]:
        """Central differences of the original's inexact results."""
        points = [_numpy(self._leaves[k]) for k in self._floats]
        precision = max(map(_eps, points))
        largest = max(
            float(np.max(np.abs(x), initial=1.0, where=np.isfinite(x))) for x in points
        )
        step = precision ** (1 / 3) * largest
        ends = [
            self.expected(
                self.with_floats(
                    [
                        (x + sign * step * d).astype(x.dtype)
                        for x, d in zip(points, directions, strict=True)
                    ]
                )
            )
            for sign in (1, -1)
        ]
        with np.errstate(invalid="ignore"):  # infinite ones
            return [
                (high - low) / (2 * step)
                for high, low in zip(*ends, strict=True)
                if _has_rounding(high)
            ]


_LOOSER = 30.0  # derivatives, and differences of them, to values


def _original(obj: Any, function: Any) -> Any:
    """The object as a function of NumPy arrays."""
    torch = sys.modules.get("torch")
    module = str(getattr(obj, "__module__", None) or type(obj).__module__)
    if torch is not None and (
        isinstance(obj, torch.nn.Module) or module.partition(".")[0] == "torch"
    ):
        return lambda *args: _of_torch(torch, obj, args)
    if hasattr(function, "inputs") and module.partition(".")[0] == "pytensor":
        compiler: Any = importlib.import_module("pytensor")
        return compiler.function(function.inputs, obj, mode="FAST_COMPILE")
    if type(obj).__name__ == "SuperLU":
        return obj.solve
    return obj


def _of_torch(torch: Any, function: Any, args: Sequence[Any]) -> Any:
    tensors = jax.tree.map(lambda x: torch.as_tensor(np.array(x)), tuple(args))
    found = function(*tensors)
    return jax.tree.map(lambda x: x.detach().numpy(), found)


def _numpy(x: Any) -> Any:
    """A number or an array as NumPy's, a copy; other things as they are."""
    is_number = hasattr(x, "dtype") or isinstance(x, (float, complex))
    return np.array(x) if is_number and not is_key(x) else x


def _where(mask: Any, x: Any) -> Any:
    """An array of JAX or NumPy with zeros where a mask has False."""
    return (
        x if mask.all() else (jnp if isinstance(x, jax.Array) else np).where(mask, x, 0)
    )


def _has_rounding(x: Any) -> bool:
    is_number = hasattr(x, "dtype") or isinstance(x, (float, complex))
    return is_number and bool(jnp.issubdtype(jnp.result_type(x), jnp.inexact))


def _kind_of_numbers(x: Any) -> str:
    kind = np.dtype(x.dtype).kind
    return "f" if x.dtype == jnp.bfloat16 else "i" if kind == "u" else kind


def _precision(x: Any, *, of_values: bool) -> float:
    if _kind_of_numbers(x) not in "fc":
        return 0.0
    # Central differences lose a third of the digits: in float32 as much as this is.
    return max(200 * _eps(x), 0 if of_values else _eps(x) ** (2 / 3))


def _eps(x: Any) -> float:
    return float(jnp.finfo(x.dtype).eps)  # type: ignore[no-untyped-call]


def _random_like(random: np.random.Generator, x: Any) -> Any:
    values = random.normal(size=x.shape)
    return np.asarray(values, x.dtype)
