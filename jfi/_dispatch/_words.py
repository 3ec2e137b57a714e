"""PyTorch's words for the parameters of `jax.numpy`'s functions: `dim=`, `keepdim=`."""

from typing import Any, NoReturn


_AXIS = {"dim": "axis"}
_AXIS_OR_MORE = {"dim": "axis", "dims": "axis"}
_AXES = {"dims": "axes"}
_REDUCTION = {"dim": "axis", "keepdim": "keepdims"}

#: PyTorch's words for the parameters of each function.
WORDS: dict[str, dict[str, str]] = {
    **dict.fromkeys(
        """all amax amin any argmax argmin average count_nonzero max mean median min
        nanargmax nanargmin nanmax nanmean nanmedian nanmin nanpercentile nanprod
        nanquantile nanstd nansum nanvar percentile prod ptp quantile std sum
        var""".split(),
        _REDUCTION,
    ),
    **dict.fromkeys(
        """argsort array_split concat concatenate cross cumprod cumsum cumulative_prod
        cumulative_sum diff expand_dims gradient nancumprod nancumsum repeat size sort
        split squeeze stack take take_along_axis trapezoid unique unstack
        vecdot""".split(),
        _AXIS,
    ),
    **dict.fromkeys(["flip", "roll"], _AXIS_OR_MORE),
    **dict.fromkeys(["rot90", "tensordot"], _AXES),
}

#: Where PyTorch's function of this name returns something else: what to write.
MEANS_ELSE = {
    "gradient": "PyTorch's returns a tuple, NumPy's one array for one axis. Write "
    "jnp.gradient(x, axis={dim}).",
    "max": "PyTorch's returns values and indices, NumPy's values alone. Write "
    "jnp.max(x, axis={dim}) and jnp.argmax(x, axis={dim}).",
    "min": "PyTorch's returns values and indices, NumPy's values alone. Write "
    "jnp.min(x, axis={dim}) and jnp.argmin(x, axis={dim}).",
    "median": "PyTorch's returns the lower of the two middle elements and its index, "
    "NumPy's their mean. Write jnp.median(x, axis={dim}) for the mean.",
    "nanmedian": "PyTorch's returns the lower of the two middle elements and its "
    "index, NumPy's their mean. Write jnp.nanmedian(x, axis={dim}) for the mean.",
    "sort": "PyTorch's returns values and indices, NumPy's values alone. Write "
    "jnp.sort(x, axis={dim}) and jnp.argsort(x, axis={dim}).",
    "split": "PyTorch's takes the size of a part, NumPy's the number of parts. Write "
    "jnp.split(x, parts, axis={dim}), or jnp.chunk(x, parts, dim={dim}).",
}
#: The same, unless the caller says by which number to divide.
_DIVIDES_BY = (
    "PyTorch's divides by n - 1, NumPy's by n. Write jnp.{name}(x, axis={dim}, ddof=1) "
    "for PyTorch's, ddof=0 for NumPy's."
)
DIVISORS = ("ddof", "correction")


def both(name: str, word: str, target: str) -> NoReturn:
    """Refuse two spellings of one parameter."""
    raise TypeError(
        f"{name}() got both {word} and {target}, which mean the same. "
        f"Pass one of them, by its name."
    )


def several(name: str, dim: Any) -> Any:
    """What PyTorch's `dim=` is as NumPy's `axis=`, where it is no number."""
    if not isinstance(dim, (list, tuple)):
        return dim
    if not dim and WORDS[name] is _REDUCTION:
        raise TypeError(
            f"{name}() got dim=(), which is all dimensions to PyTorch and none to "
            f"NumPy. Write dim=None for all of them."
        )
    return tuple(dim)


def refuse(name: str, dim: object) -> NoReturn:
    """Refuse PyTorch's words where its function returns something else."""
    written = dim if isinstance(dim, (int, tuple, list)) else None
    advice = MEANS_ELSE.get(name, _DIVIDES_BY).format(name=name, dim=written)
    words = " or ".join(WORDS[name])
    raise TypeError(f"{name}() takes no {words} of PyTorch here. {advice}")
