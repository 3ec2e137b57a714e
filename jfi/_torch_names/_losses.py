"""Losses as `torch.nn.functional` has them, and classes as vectors.

Signatures and results are those of PyTorch 2.13 (https://docs.pytorch.org/docs/2.13).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike, DTypeLike

from .._values import is_tracer
from ._arguments import as_array, floats, is_integer


def one_hot(
    x: ArrayLike,
    num_classes: int = -1,
    *,
    dtype: DTypeLike | None = None,
    axis: int = -1,
) -> jax.Array:
    """A vector for each class number: one at its place and zero elsewhere.

    It is JAX's `jnp.nn.one_hot`: floats, and zeros alone for a number that is out of
    range. PyTorch's returns integers: write `jnp.one_hot(x, num_classes, dtype=int)`.

    >>> import jfi as jnp
    >>> jnp.one_hot(jnp.array([0, 2]), 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]

    Args:
        x: An integer array.
        num_classes: How many classes there are, the length of the vectors; required.
        dtype: JAX's default float dtype if not given.
        axis: Where the new dimension stands in the result.

    Raises:
        TypeError: `num_classes` is missing or -1, PyTorch's word for counting them,
            which compiled code can't do.
    """
    if num_classes == -1:
        raise TypeError(
            "one_hot() got no num_classes. Compiled code can't count the classes: "
            "pass their number, for example int(x.max()) + 1."
        )
    kind = jnp.result_type(float) if dtype is None else dtype
    return jax.nn.one_hot(
        as_array(x, "one_hot", "x"), num_classes, dtype=kind, axis=axis
    )


def mse_loss(
    input: ArrayLike,
    target: ArrayLike,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    weight: ArrayLike | None = None,
) -> jax.Array:
    """The mean of the squared differences.

    >>> import jfi as jnp
    >>> float(jnp.mse_loss(jnp.array([1.0, 2.0]), jnp.array([1.0, 4.0])))
    2.0

    Args:
        input: An array of predictions.
        target: An array of the same shape; other shapes are broadcast, which PyTorch
            warns of.
        size_average: Deprecated in PyTorch; must be None.
        reduce: Deprecated in PyTorch; must be None.
        reduction: `"mean"`, `"sum"` or `"none"`.
        weight: A factor for each element; the mean is then divided by their sum.

    Raises:
        ValueError: There is no such reduction, or the shapes do not fit.
    """
    _refuse_deprecated("mse_loss", size_average, reduce)
    prediction = as_array(input, "mse_loss")
    squares = jnp.square(prediction - as_array(target, "mse_loss", "target"))
    if weight is None:
        return _reduced(squares, None, reduction, "mse_loss")
    factors = as_array(weight, "mse_loss", "weight")
    if factors.shape != prediction.shape:
        raise ValueError(
            f"mse_loss() got weights of shape {factors.shape} for an array of shape "
            f"{prediction.shape}. Both must have the same shape."
        )
    return _reduced(squares * factors, factors.sum(), reduction, "mse_loss")


def cross_entropy(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    size_average: None = None,
    ignore_index: int = -100,
    reduce: None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> jax.Array:
    """The cross entropy between logits and classes, or probabilities of classes.

    >>> import jfi as jnp
    >>> logits = jnp.array([[0.0, 0.0], [0.0, 100.0]])
    >>> jnp.cross_entropy(logits, jnp.array([0, 1]), reduction="none").tolist()
    [0.69314..., 0.0]

    Args:
        input: Logits: a float array `(classes,)` or `(batch, classes, ...)`.
        target: Class numbers, an integer array `()` or `(batch, ...)`; or
            probabilities, a float array of the shape of `input`.
        weight: A factor for each class, `(classes,)`. The mean is divided by the sum of
            the weights of the targets.
        size_average: Deprecated in PyTorch; must be None.
        ignore_index: Elements with this class number count for nothing.
        reduce: Deprecated in PyTorch; must be None.
        reduction: `"mean"`, `"sum"` or `"none"`.
        label_smoothing: How much of the probability is spread over all classes, from 0
            to 1.

    Returns:
        A number, or for `"none"` an array with an element for each target.

    Raises:
        IndexError: A class number is out of range. (Not seen under a trace: NaN.)
        TypeError: The logits are not floats.
        ValueError: The shapes do not fit, or an option is not among those above.
    """
    logits = floats(input, "cross_entropy")
    goal = as_array(target, "cross_entropy", "target")
    _refuse_deprecated("cross_entropy", size_average, reduce)
    _check_logits(logits, goal, label_smoothing)
    at = min(logits.ndim - 1, 1)
    classes = logits.shape[at]
    factors = _class_weights(weight, classes, logits.dtype)
    logs = jnp.moveaxis(jax.nn.log_softmax(logits, axis=at), at, -1)
    weighted = logs * factors.reshape((1,) * (logs.ndim - 1) + (classes,))
    if jnp.issubdtype(goal.dtype, jnp.floating):
        probabilities = jnp.moveaxis(goal, at, -1).astype(logits.dtype)
        smooth = probabilities * (1 - label_smoothing) + label_smoothing / classes
        losses = -(smooth * weighted).sum(-1)
        count = jnp.asarray(losses.size, losses.dtype)
        return _reduced(losses, count, reduction, "cross_entropy")
    is_counted = goal != ignore_index
    if not is_tracer(goal):
        _check_classes(np.asarray(goal)[np.asarray(is_counted)], classes)
    in_range = (goal >= 0) & (goal < classes)
    number = jnp.where(in_range, goal, 0)
    own = factors[number]
    hits = jnp.take_along_axis(logs, number[..., None], axis=-1)[..., 0]
    losses = -own * hits * (1 - label_smoothing)
    if label_smoothing:
        losses -= label_smoothing / classes * weighted.sum(-1)
    losses = jnp.where(in_range, losses, jnp.nan)
    losses = jnp.where(is_counted, losses, 0)
    total = jnp.where(is_counted, own, 0).sum()
    return _reduced(losses, total, reduction, "cross_entropy")


def _refuse_deprecated(function: str, size_average: object, reduce: object) -> None:
    """Refuse the options that stand before `reduction` for the sake of old scripts."""
    if size_average is not None or reduce is not None:
        raise ValueError(
            f"{function}() got size_average or reduce, which PyTorch gave up. "
            f"Write reduction='mean', 'sum' or 'none'."
        )


def _check_logits(logits: jax.Array, target: jax.Array, label_smoothing: float) -> None:
    """Refuse what is no pair of logits and targets, and options that are none."""
    if not 0 <= label_smoothing <= 1:
        raise ValueError(
            f"cross_entropy() got label_smoothing={label_smoothing}; it must lie "
            f"between 0 and 1."
        )
    expected: tuple[int, ...] = logits.shape
    if is_integer(target.dtype):
        expected = logits.shape[:1] * (logits.ndim > 1) + logits.shape[2:]
    elif not jnp.issubdtype(target.dtype, jnp.floating):
        raise TypeError(
            f"cross_entropy() got a target of {target.dtype}; it takes class numbers "
            f"(integers) or probabilities (floats)."
        )
    if logits.ndim == 0 or target.shape != expected:
        raise ValueError(
            f"cross_entropy() got logits of shape {logits.shape} and a target of "
            f"{target.dtype} and shape {target.shape}. The classes are dimension 1 of "
            f"the logits, (batch, classes, ...); class numbers have shape "
            f"(batch, ...), probabilities that of the logits."
        )


def _class_weights(weight: Any, classes: int, dtype: np.dtype[Any]) -> jax.Array:
    """The factor of each class."""
    if weight is None:
        return jnp.ones(classes, dtype)
    factors = as_array(weight, "cross_entropy", "weight")
    if factors.shape != (classes,):
        raise ValueError(
            f"cross_entropy() got weights of shape {factors.shape} for {classes} "
            f"classes; it takes one for each class, ({classes},)."
        )
    return factors.astype(dtype)


def _check_classes(numbers: np.ndarray[Any, Any], classes: int) -> None:
    """Refuse class numbers that are out of range."""
    wrong = numbers[(numbers < 0) | (numbers >= classes)]
    if wrong.size:
        raise IndexError(
            f"cross_entropy() got the class {wrong.flat[0]} among {classes} classes, "
            f"which are counted from 0 to {classes - 1}."
        )


def _reduced(
    losses: jax.Array, total: jax.Array | None, reduction: str, function: str
) -> jax.Array:
    """The losses as one number, or as they are."""
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean":
        return losses.mean() if total is None else losses.sum() / total
    raise ValueError(
        f"{function}() got reduction={reduction!r}; it takes 'mean', 'sum' or 'none'."
    )
