"""Which functions have wrappers, and by which names their rules are known."""

import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .._advice._missing_names import explained
from .._optional._packages import attach, without_collections
from ._meanings import MEANINGS


#: Makes a decorator for a wrapper, of its name and the function behind it.
Decorator: TypeAlias = Callable[[str, Callable[..., Any]], Callable[[Any], Any]]

_JFI = str(__package__).partition(".")[0]

#: What takes no arrays, or is of no concern to rules; what jfi has in place of others.
LEFT = frozenset(
    """arange array_repr array_str bartlett blackman broadcast_shapes
    can_cast diag_indices einsum_path empty eye from_dlpack frombuffer fromfile
    fromfunction fromiter frompyfunc fromstring get_printoptions
    hamming hanning identity indices isdtype isscalar issubdtype iterable kaiser
    load mask_indices ones printoptions promote_types save savez
    set_printoptions tri tril_indices triu_indices vectorize zeros
    fft.fftfreq fft.rfftfreq nn.get_scaled_dot_general_config
    scipy.linalg.dft scipy.linalg.hadamard scipy.linalg.helmert scipy.linalg.hilbert
    scipy.linalg.invhilbert scipy.linalg.invpascal scipy.linalg.pascal""".split()
)
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
    "pow": "power",
    "remainder": "mod",
    "true_divide": "divide",
    "nn.hard_swish": "nn.hard_silu",
    "nn.logsumexp": "scipy.special.logsumexp",
    "nn.swish": "nn.silu",
    "nn.tanh": "tanh",
    "scipy.integrate.trapezoid": "trapezoid",
    "scipy.special.expit": "nn.sigmoid",
}
_OF_SCIPY = """cluster.vq fft integrate interpolate linalg ndimage optimize signal
    special stats""".split()
DISTRIBUTIONS = """bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma
    gennorm geom gumbel_l gumbel_r laplace logistic multinomial multivariate_normal
    nbinom norm pareto poisson t truncnorm uniform vonmises wrapcauchy""".split()
#: The namespaces, and whose they are.
PLACES = {
    "": "jax.numpy",
    "linalg": "jax.numpy.linalg",
    "fft": "jax.numpy.fft",
    "nn": "jax.nn",
    **{f"scipy.{name}": f"jax.scipy.{name}" for name in _OF_SCIPY},
    **{f"scipy.stats.{name}": f"jax.scipy.stats.{name}" for name in DISTRIBUTIONS},
}
# The modules that define jfi's own functions of each namespace: `homes_of` gets
# those of others.
_own: dict[str, Mapping[str, str]] = {
    "": {
        **dict.fromkeys(
            "array asarray empty_like full_like ones_like zeros_like".split(),
            "_arrays._conversion",
        ),
        "full": "_arrays._creation",
        **dict.fromkeys("geomspace linspace logspace".split(), "_arrays._ranges"),
    }
}
_decorators: dict[str, Decorator] = {}


def rule_name(name: str) -> str:
    """The name by which the rules of a function are known: `abs` of `absolute`."""
    meant, _ = MEANINGS.get(name, (name, None))
    return _SAME.get(meant, meant)


@functools.cache
def functions_of(place: str) -> list[str]:
    """The names in a namespace ("", "linalg", "nn", ...) that have wrappers."""
    module = importlib.import_module(PLACES[place])
    theirs = [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not isinstance(value, type)
        and not name.startswith("_")
        and qualified(place, name) not in LEFT
    ]
    return list(dict.fromkeys([*theirs, *own_functions(place)]))


def own_functions(place: str) -> Mapping[str, str]:
    """The functions of a namespace that jfi defines itself, and their modules."""
    with without_collections():
        importlib.import_module(f"{_JFI}.{place}".rstrip("."))  # it calls `homes_of`
    return _own.get(place, {})


def decorator_of(place: str) -> Decorator | None:
    """What decorates the wrappers of a namespace, if its module has said so."""
    return _decorators.get(place)


def qualified(place: str, name: str) -> str:
    """The name of a function in jfi: "linalg.det"."""
    return f"{place}.{name}" if place else name


def is_wrapped(name: str) -> bool:
    """Whether jfi has a wrapper with a name such as "linalg.det"."""
    place, _, own = name.rpartition(".")
    return name in TORCH or (place in PLACES and own in functions_of(place))


def homes_of(
    place: str, module: dict[str, Any], own: Mapping[str, str] | None = None
) -> dict[str, Callable[[str], Any]]:
    """Take JAX's functions out of a module of jfi that has imported them.

    Args:
        place: The namespace.
        module: The variables of the module.
        own: Functions of jfi's own, and the modules that define them, from the top.

    Returns:
        How each of them is made on first use, as `attach` takes it.
    """
    if own:
        _own[place] = own
    names = functions_of(place)
    for name in names:
        module.pop(name, None)
    return dict.fromkeys(names, made_by(place))


def attached(
    module: str,
    own: Mapping[str, str] | None = None,
    last: Callable[[str], Any] | None = None,
    decorator: Decorator | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a namespace.

    Args:
        module: Its `__name__`; it has imported JAX's names.
        own: Functions of jfi's own, and the modules that define them, from the top.
        last: Gives names on demand, or raises AttributeError with advice.
        decorator: Decorates each wrapper.
    """
    place = module.removeprefix(f"{_JFI}.")
    if decorator:
        _decorators[place] = decorator
    homes = homes_of(place, vars(sys.modules[module]), own)
    return attach(module, homes, last or explained(module))


def made_by(place: str) -> Callable[[str], Any]:
    """What makes the functions of a namespace, by their names in it."""

    def make(name: str) -> Any:
        from ._namespace import wrapped

        return wrapped(qualified(place, name))

    return make


def module_of(name: str) -> str:
    """The module where pickle finds a function."""
    place = name.rpartition(".")[0]
    if name in TORCH:
        return f"{__package__}._torch_functions"
    return f"{_JFI}.{place}" if place else f"{__package__}._numpy_functions"
