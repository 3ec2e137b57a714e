"""Which functions have wrappers, and by which names their rules are known."""

import functools
import importlib
from typing import Any

from ._meanings import MEANINGS


#: What takes no arrays, or is of no concern to rules; what jfi has in place of others.
LEFT = frozenset(
    """apply_over_axes arange array_repr array_str bartlett blackman broadcast_shapes
    can_cast diag_indices einsum_path empty eye from_dlpack frombuffer fromfile
    fromfunction fromiter frompyfunc fromstring full geomspace get_printoptions
    hamming hanning identity indices isdtype isscalar issubdtype iterable kaiser
    linspace load logspace mask_indices ones printoptions promote_types save savez
    set_printoptions tri tril_indices triu_indices vectorize zeros
    fft.fftfreq fft.rfftfreq nn.get_scaled_dot_general_config
    scipy.linalg.dft scipy.linalg.hadamard scipy.linalg.helmert scipy.linalg.hilbert
    scipy.linalg.invhilbert scipy.linalg.invpascal scipy.linalg.pascal
    scipy.linalg.solve_sylvester scipy.linalg.sqrtm""".split()
)
#: jfi's own in the place of jax.numpy's that take an array.
OWN = ("array", "asarray", "empty_like", "full_like", "ones_like", "zeros_like")
#: PyTorch's names, of jfi itself and of `linalg`.
TORCH = frozenset(
    """bmm cat cdist cho_factor cholesky_solve chunk clamp cross_entropy flatten gather
    gelu index_select item log_softmax logsumexp lu_factor lu_solve masked_fill
    mse_loss norm one_hot permute relu scatter sigmoid softmax t tensor to_numpy topk
    unsqueeze linalg.block_diag linalg.matrix_exp linalg.solve_triangular""".split()
)
#: Two names of one function have one rule, that of the second name. The parameters of
#: these are the same; `_meanings` has the names where they differ.
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
    "nn.hard_swish": "nn.hard_silu",
    "nn.logsumexp": "scipy.special.logsumexp",
    "nn.swish": "nn.silu",
    "nn.tanh": "tanh",
    "scipy.special.expit": "nn.sigmoid",
}
#: The namespaces, and whose they are.
PLACES = {
    "": "jax.numpy",
    "linalg": "jax.numpy.linalg",
    "fft": "jax.numpy.fft",
    "nn": "jax.nn",
    "scipy.fft": "jax.scipy.fft",
    "scipy.linalg": "jax.scipy.linalg",
    "scipy.signal": "jax.scipy.signal",
    "scipy.special": "jax.scipy.special",
}


def rule_name(name: str) -> str:
    """The name by which the rules of a function are known: `abs` of `absolute`."""
    meant, _ = MEANINGS.get(name, (name, None))
    return _SAME.get(meant, meant)


@functools.cache
def functions_of(place: str) -> list[str]:
    """The names in a namespace ("", "linalg", "nn", ...) that have wrappers."""
    module = importlib.import_module(PLACES[place])
    return [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not isinstance(value, type)
        and not name.startswith("_")
        and qualified(place, name) not in LEFT
    ]


def qualified(place: str, name: str) -> str:
    """The name of a function in jfi: "linalg.det"."""
    return f"{place}.{name}" if place else name


def is_wrapped(name: str) -> bool:
    """Whether jfi has a wrapper with a name such as "linalg.det"."""
    place, _, own = name.rpartition(".")
    return name in TORCH or (place in PLACES and own in functions_of(place))


def homes_of(place: str, module: dict[str, Any]) -> dict[str, str]:
    """Take JAX's functions out of a module of jfi that has imported them.

    Returns:
        For each of them where jfi's is made on first use, as `attach` takes it.
    """
    names = functions_of(place)
    for name in names:
        del module[name]
    up = "." if place == "nn" or "." in place else ""  # it stands in a folder
    return dict.fromkeys(names, f"{up}_dispatch.{file_of(place)}")


def file_of(place: str) -> str:
    """The module that has the functions of a namespace, for pickle."""
    return f"_{(place or 'numpy').replace('.', '_')}_functions"
