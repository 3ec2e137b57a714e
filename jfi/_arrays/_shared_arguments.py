"""What `dtype`, `device` and `out_sharding` mean to every function that creates arrays.

Such a function is its signature, its documentation, and a call of JAX's own:

    @creates(LIKE_DATA, "a")
    def zeros_like(a: ArrayLike, dtype: DTypeLike = None, ..., device=None, ...):
        return plain.zeros_like(a, dtype, ..., device=device, ...)

The decorator names the rule for the dtype and the parameters that are data. Before the
body runs, it makes a dtype and a device of JAX of what the user gave. It also writes
what is the same in every docstring.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import jax
import jax.numpy
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from .._docstrings import Docstring, Function
from .._values import listed
from ._config import created_dtype, has_64_bits
from ._placement import dtype_of_data, float_dtype, float_dtype_of_data, place
from ._torch_words import explain_words


OutSharding: TypeAlias = NamedSharding | PartitionSpec | None


class _Plain(Protocol):
    """`jax.numpy`; the types of its functions know no devices by name."""

    def __getattr__(self, name: str, /) -> Callable[..., jax.Array]: ...


plain = cast("_Plain", jax.numpy)


class Rule(NamedTuple):
    """Which dtype an array gets.

    Attributes:
        dtype: A function of the `dtype` and the data of a call, and of the name to use
            in errors. It returns what JAX gets, None to leave it to JAX.
        text: The same for users.
    """

    dtype: Callable[[Any, Any, str], np.dtype[Any] | None]
    text: str


_NO_WIDER_INTEGERS = (
    "This is the 32-bit world, whose integers are below 2**31. Write "
    'jfi.set_default_dtype("float64") at the start of the script.'
)
FLOAT = Rule(float_dtype, "The default float dtype if not given.")
LIKE_DATA = Rule(
    dtype_of_data,
    "If not given, that of {data}, where Python floats have the default float dtype.",
)
FLOAT_LIKE_DATA = Rule(
    float_dtype_of_data,
    "If not given, that of float arrays among {data}, else the default float dtype.",
)


def creates(rule: Rule, *data: str) -> Callable[[Function], Function]:
    """Let a function that creates an array take every `dtype` and `device` of jfi's.

    Args:
        rule: For the dtype.
        data: The parameters that the rule looks at.

    Returns:
        A decorator.
    """

    def decorate(create: Function) -> Function:
        _explain(create, rule.text, data)
        names, caller = create.__code__.co_varnames, create.__name__
        at, places = names.index("dtype"), [(names.index(name), name) for name in data]
        # By hand in the most common case: half a microsecond is 5 % of an `asarray`.
        first, name = places[0] if len(places) == 1 else (0, names[0])
        takes_device = "device" in names
        is_several, dtype_of = len(places) > 1, rule.dtype

        @functools.wraps(create)
        def created(*args: Any, **kwargs: Any) -> Any:
            is_positional = len(args) > at
            dtype = args[at] if is_positional else kwargs.get("dtype")
            # In most calls JAX's own default is right: nothing to pass.
            if dtype is not None or created_dtype() is not None:
                seen = args[first] if args[first:] else kwargs.get(name)
                if is_several:
                    seen = [args[i] if args[i:] else kwargs.get(n) for i, n in places]
                dtype = dtype_of(dtype, seen, caller)
                if is_positional:
                    args = (*args[:at], dtype, *args[at + 1 :])
                else:
                    kwargs["dtype"] = dtype
            if takes_device and kwargs.get("device") is not None:
                kwargs["device"] = place(kwargs["device"], caller)
            try:
                return create(*args, **kwargs)
            except TypeError as error:
                explain_words(error, caller, kwargs)
                raise
            except OverflowError as error:
                if dtype is None and " int32" in str(error) and not has_64_bits():
                    error.add_note(_NO_WIDER_INTEGERS)
                raise

        return cast("Function", created)

    return decorate


def _explain(create: Callable[..., Any], rule: str, data: tuple[str, ...]) -> None:
    """Add what is the same for all to the docstring."""
    if create.__doc__ is None:  # under `python -OO`
        return
    of_data = listed([f"`{n}`" for n in data])
    shared = {
        "dtype": rule.format(data=of_data),
        "device": "Where to create it; see `resolve_device`.",
        "out_sharding": f"As in `jax.numpy.{create.__name__}`.",
    }
    doc = Docstring.of(create)
    doc.args = {**shared, **doc.args}
    doc.returns = doc.returns or "An array."
    names = inspect.signature(create).parameters
    refused = " or ".join(name for name in ("dtype", "device") if name in names)
    doc.raises["DefaultsError"] = f"There is no such {refused} here."
    doc.write(create)
