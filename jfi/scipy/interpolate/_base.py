"""What all interpolators have in common: trees of arrays, checked knots, dtypes."""

from typing import Any, ClassVar, Literal, Self, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import ArrayLike

from ..._dispatch._materialising import of_plain_arrays
from ..._errors import InterpolationError
from ..._values import why_unknown


Numbers: TypeAlias = ArrayLike | jax.Array
Extrapolation: TypeAlias = bool | Literal["periodic"]
# The methods that take arrays.
_CALLS = frozenset("__init__ __call__ ev integral integrate".split())


class Interpolator:
    """Base: a tree of JAX whose leaves are the arrays, and that never changes.

    Attributes:
        arrays: The names of the attributes that are traced.
        settings: The names of those that are static.
    """

    arrays: ClassVar[tuple[str, ...]] = ()
    settings: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        for name in _CALLS & vars(cls).keys():
            setattr(cls, name, of_plain_arrays(vars(cls)[name]))
        jax.tree_util.register_pytree_with_keys(
            cls,
            lambda x: (
                [(jax.tree_util.GetAttrKey(k), getattr(x, k)) for k in cls.arrays],
                tuple(getattr(x, k) for k in cls.settings),
            ),
            lambda settings, arrays: cls.of_fields(
                **dict(zip(cls.settings, settings, strict=True)),
                **dict(zip(cls.arrays, arrays, strict=True)),
            ),
        )

    @classmethod
    def of_fields(cls, **fields: Any) -> Self:
        """Make one of its attributes, without any check."""
        made = object.__new__(cls)
        made._set(**fields)
        return made

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """For a name that is not there, such as `spline.roots`."""
        raise AttributeError(_without(type(self), name), name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        message = f"a {kind} does not change: make a new {kind} with another {name}"
        raise AttributeError(message)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.arrays + self.settings}
        return _of_fields, (type(self), fields)


def _without(cls: type[Interpolator], name: str) -> str:
    """Says that there is no such attribute, and what to write for one of SciPy's."""
    said = f"{cls.__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):
        return said
    import scipy.interpolate

    theirs: Any = None
    for parent in cls.__mro__:  # CubicSpline is a PPoly
        theirs = theirs or getattr(scipy.interpolate, parent.__name__, None)
    if not hasattr(theirs, name):
        return said
    return (
        f"{said}. SciPy's has; its results have sizes that depend on values, or change "
        f"the object. Make SciPy's where values are known: "
        f"scipy.interpolate.{theirs.__name__}(...).{name}"
    )


def _of_fields(cls: type[Interpolator], fields: dict[str, Any]) -> Interpolator:
    return cls.of_fields(**fields)


def inexact(*values: Numbers) -> list[jax.Array]:
    """Arrays of floats or complex numbers, in the one dtype that they promote to."""
    arrays = [jnp.asarray(value) for value in values]
    dtype = jnp.result_type(*arrays)
    if not jnp.issubdtype(dtype, jnp.inexact):
        dtype = jnp.result_type(dtype, float)
    return [array.astype(dtype) for array in arrays]


def with_knots(name: str, x: Numbers, y: Numbers) -> tuple[jax.Array, jax.Array]:
    """Real knots and values of the same precision; the knots are checked."""
    knots, values = inexact(x, y)
    if jnp.iscomplexobj(jnp.asarray(x)):
        raise InterpolationError(f"{name} got complex knots. Pass real ones: x.real")
    if jnp.iscomplexobj(knots):
        knots = knots.real
    check_increasing(name, x, knots, strictly=True)
    return knots, values


def check_increasing(
    name: str, given: Numbers, knots: jax.Array, *, strictly: bool
) -> None:
    """Refuse knots that are not finite or don't increase; traced ones are trusted.

    Raises:
        InterpolationError: They are no such knots, or not in the precision of JAX.
    """
    if knots.ndim != 1 or knots.size < 2:
        message = (
            f"{name} got knots of shape {knots.shape}. Pass at least two numbers in "
            "one dimension."
        )
        raise InterpolationError(message)
    if isinstance(knots, Tracer):
        return
    seen, exact = np.asarray(knots), np.asarray(given)

    def increases(values: Any) -> bool:
        steps = np.diff(values)
        return bool((steps > 0 if strictly else steps >= 0).all())

    if np.isfinite(seen).all() and increases(seen):
        return
    if np.isfinite(exact).all() and increases(exact):
        message = (
            f"{name} got knots of {exact.dtype} that {seen.dtype} can't tell apart, or "
            f"can't hold: {exact[0]} ... {exact[-1]}.\nSubtract the first one "
            "(x - x[0]), or use 64-bit numbers: jnp.set_default_dtype('float64')"
        )
        raise InterpolationError(message)
    order = "strictly increase" if strictly else "not decrease"
    message = (
        f"{name} got knots that are not finite, or don't {order}.\n"
        "Sort them, and the values with them: i = np.argsort(x); x[i], y[i]"
    )
    raise InterpolationError(message)


def check_finite(name: str, values: jax.Array) -> None:
    """Refuse values that spoil all others, as SciPy does; traced ones are trusted."""
    if not isinstance(values, Tracer) and not np.isfinite(np.asarray(values)).all():
        message = (
            f"{name} got values that are not finite: NaN or infinity. Leave such "
            "points out: ok = np.isfinite(y); x[ok], y[ok]"
        )
        raise InterpolationError(message)


def axis_first(name: str, values: jax.Array, axis: int, n: int) -> jax.Array:
    """The values with the axis of the knots in front."""
    if not -values.ndim <= axis < values.ndim or values.shape[axis] != n:
        message = (
            f"{name} got {n} knots, and values of shape {values.shape} with axis={axis}"
            f". Pass one value for each knot, of shape ({n}, ...), or another axis."
        )
        raise InterpolationError(message)
    return jnp.moveaxis(values, axis, 0)


def query_points(name: str, x: Numbers, dtype: Any) -> jax.Array:
    """Real points in the precision of the values, or in their own if it is higher."""
    points = jnp.asarray(x)
    if jnp.iscomplexobj(points):
        raise InterpolationError(f"{name} got complex points. Pass real ones: x.real")
    real: Any = jnp.finfo(dtype)  # type: ignore[no-untyped-call]
    return points.astype(promoted(points.dtype, real.dtype))


def promoted(*dtypes: Any) -> Any:
    """The dtype of a result; what was made in the 64-bit world may be used in this."""
    return jnp.result_type(*map(jax.dtypes.canonicalize_dtype, dtypes))


def derivative_order(name: str, nu: Any) -> int:
    """The order of a derivative, a number known before tracing."""
    if isinstance(nu, Tracer) or nu != int(nu) or nu < 0:
        message = f"{name} got nu={nu}. Pass the order of a derivative: 0, 1, 2 ..."
        raise InterpolationError(message) from why_unknown(nu)
    return int(nu)


def extrapolation(name: str, given: Any, otherwise: Extrapolation) -> Extrapolation:
    """What is to be done outside the knots: the given setting, or another."""
    if given is None:
        return otherwise
    if given == "periodic":
        return "periodic"
    if isinstance(given, (bool, np.bool_, int)):
        return bool(given)
    message = (
        f"{name} got extrapolate={given!r}. Pass True, False (NaN outside), 'periodic' "
        "or None."
    )
    raise InterpolationError(message)


def end_value(value: Numbers, y: jax.Array) -> jax.Array:
    """What a derivative is at an end, in the precision of the values; maybe complex."""
    number = jnp.asarray(value)
    parts = [y.dtype, *[jnp.complex64] * bool(jnp.iscomplexobj(number))]
    return number.astype(jnp.result_type(*parts))


def place_axis(values: jax.Array, dimensions: int, axis: int) -> jax.Array:
    """Move the axes of the points, which are in front, to the place of the knots'."""
    if not axis:
        return values
    return jnp.moveaxis(values, range(dimensions), range(axis, axis + dimensions))


def no_tracers(name: str, instead: str, *values: Any) -> list[Any]:
    """NumPy arrays for SciPy, or a refusal that names what takes traced ones."""
    reasons = [why for value in values if (why := why_unknown(value))]
    if reasons:
        message = (
            f"{name} got traced numbers, and SciPy fits it, which needs values.\n"
            f"Make it outside jit, vmap and grad, or use {instead}, which takes traced "
            "numbers."
        )
        raise InterpolationError(message) from reasons[0]
    return [None if value is None else np.asarray(value) for value in values]
