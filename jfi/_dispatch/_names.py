"""Which functions have wrappers, and by which names their rules are known."""

import functools
import importlib


#: What takes no arrays, or is of no concern to rules; what jfi has in place of others.
LEFT = frozenset(
    """apply_over_axes arange array_repr array_str bartlett blackman broadcast_shapes
    can_cast diag_indices einsum_path empty eye from_dlpack frombuffer fromfile
    fromfunction fromiter frompyfunc fromstring full geomspace get_printoptions
    hamming hanning identity indices isdtype isscalar issubdtype iterable kaiser
    linspace load logspace mask_indices ones printoptions promote_types save savez
    set_printoptions tri tril_indices triu_indices vectorize zeros fftfreq
    rfftfreq""".split()
)
#: jfi's own in the place of jax.numpy's that take an array.
OWN = ("array", "asarray", "empty_like", "full_like", "ones_like", "zeros_like")
#: Two names of one function have one rule, that of the second name.
_SAME = {
    "absolute": "abs",
    "acos": "arccos",
    "acosh": "arccosh",
    "amax": "max",
    "amin": "min",
    "around": "round",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert",
    "bitwise_right_shift": "right_shift",
    "concat": "concatenate",
    "conjugate": "conj",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "permute_dims": "transpose",
    "pow": "power",
    "remainder": "mod",
    "true_divide": "divide",
}
#: The namespaces, and whose they are.
PLACES = {"": "jax.numpy", "linalg": "jax.numpy.linalg", "fft": "jax.numpy.fft"}


def rule_name(name: str) -> str:
    """The name by which the rules of a function are known: `abs` of `absolute`."""
    return _SAME.get(name, name)


@functools.cache
def functions_of(place: str) -> list[str]:
    """The names in a namespace ("", "linalg", "fft") that have wrappers."""
    module = importlib.import_module(PLACES[place])
    return [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not isinstance(value, type)
        and not name.startswith("_")
        and name not in LEFT
    ]
