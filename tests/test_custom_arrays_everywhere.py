"""Every public function that takes arrays asks rules, or makes plain arrays aloud."""

import importlib
import inspect
import pkgutil
from functools import cache, partial
from types import ModuleType

import jax
import numpy as np
import pytest

import jfi as jnp
from jfi._dispatch._names import DISTRIBUTIONS, TORCH


PLACES = ["linalg", "fft", "nn"] + [
    module.name.removeprefix("jfi.")
    for module in pkgutil.walk_packages(jnp.scipy.__path__, "jfi.scipy.")
    if "._" not in module.name
]
PLACES += [f"scipy.stats.{name}" for name in DISTRIBUTIONS]  # which have no files
M = np.eye(2, dtype="float32")
#: Of JAX's and jfi's functions those that have nothing to do with rules, and why.
LEFT = {
    "they take sizes and settings": """fft.fftfreq fft.rfftfreq
        nn.get_scaled_dot_general_config scipy.linalg.dft scipy.linalg.hadamard
        scipy.linalg.helmert scipy.linalg.hilbert scipy.linalg.invhilbert
        scipy.linalg.invpascal scipy.linalg.pascal scipy.special.bernoulli
        scipy.ndimage.generate_binary_structure""",
    "they take trees, sparse matrices and operators as they are": """
        scipy.sparse.linalg.aslinearoperator scipy.sparse.linalg.bicgstab
        scipy.sparse.linalg.cg scipy.sparse.linalg.factorized
        scipy.sparse.linalg.gmres scipy.sparse.linalg.spsolve""",
}
#: The same of `jfi` itself, where names of jax.numpy are meant.
LEFT_OF_NUMPY = """arange array_repr array_str bartlett blackman broadcast_shapes
    can_cast diag_indices einsum_path empty eye from_dlpack frombuffer fromfile
    fromfunction fromiter frompyfunc fromstring get_printoptions hamming hanning
    identity indices isdtype isscalar issubdtype iterable kaiser load mask_indices ones
    printoptions promote_types save savez set_printoptions tri tril_indices
    triu_indices vectorize zeros""".split()
#: Who calls these asks for a plain array, or for what costs nothing.
ASKED_FOR = {*"array asarray item ndim result_type shape size tensor to_numpy".split()}


#: Parameters that take no arrays; elsewhere arrays may be called so.
SETTINGS = """axes axis axis1 axis2 chunks destination dim dims dimension_numbers
    deg dtype f func func1d fun funclist index k kth mapping n new_shape num_classes
    num_segments percentile rank reps shape size source subscripts text""".split()
WITH_SUCH_ARRAYS = {
    "k": ["scipy.special", "scipy.stats"],
    "n": ["scipy.special", "scipy.stats"],
    "index": ["gather", "index_select", "scatter"],
}

#: What functions need beside the parameters without defaults.
MISSING = {
    "clamp": ["min"],
    "cumulative_prod": ["axis"],
    "cumulative_sum": ["axis"],
    "log_softmax": ["dim"],
    "softmax": ["dim"],
    "unsqueeze": ["dim"],
}
#: What takes arrays of three dimensions alone.
OF_BATCHES = ["bmm"]


def is_function(name, value):
    has_no_arrays = isinstance(value, (type, ModuleType)) or hasattr(value, "dtype")
    return callable(value) and not has_no_arrays and not name.startswith("_")


@cache
def functions():
    """Not before the tests run: pytest would run the examples in JAX's docstrings."""
    return dict(public_functions())


def public_functions():
    left = {name for names in LEFT.values() for name in names.split()}
    torch = {name for name in TORCH if "." not in name}
    names = {*dir(jax.numpy), *torch} - {*LEFT_OF_NUMPY}
    for place in ["", *PLACES]:
        module = importlib.import_module(f"jfi.{place}".rstrip("."))
        for name in sorted(names) if not place else dir(module):
            whole = f"{place}.{name}".lstrip(".")
            value = getattr(module, name)
            if is_function(name, value) and whole not in left:
                yield whole, value


class Ruled(jnp.CustomArray):
    """Every function has a rule for it."""

    shape, ndim, dtype = (2, 2), 2, np.dtype("float32")


class Bare(jnp.CustomArray):
    """No function has a rule for it."""

    shape, ndim, dtype = (2, 2), 2, np.dtype("float32")

    def __jfi_array__(self):
        return M


class Foreign:
    """A class that knows nothing of jfi, and can be an array of JAX."""

    shape, ndim, dtype = (2, 2), 2, np.dtype("float32")

    def __jax_array__(self):
        return M


def needed(name):
    """The names of the arguments that a function needs, and those by keyword."""
    function = functions()[name]
    if isinstance(function.__wrapped__, jax.numpy.ufunc):
        return ["x", "y"][: function.nin], {}
    parameters = inspect.signature(function).parameters.values()
    found = [p for p in parameters if p.default is p.empty and p.kind != p.VAR_KEYWORD]
    by_name = [p.name for p in found if p.kind is p.KEYWORD_ONLY]
    settings = dict.fromkeys([*by_name, *MISSING.get(name, [])], 0)
    return [p.name for p in found if p.name not in by_name], settings


def is_setting(name, parameter):
    arrays = tuple(WITH_SUCH_ARRAYS.get(parameter, ["-"]))
    return parameter in SETTINGS and not name.startswith(arrays)


def calls(names, make):
    """Calls with an array of a class for one parameter, plain ones for the others."""
    for name in names:
        needs, by_name = needed(name)
        for k, parameter in enumerate(needs):
            if not is_setting(name, parameter):
                plain, x = M, make()
                if name in OF_BATCHES:
                    plain, x.ndim = M[None], 3
                args = [plain] * k + [x] + [plain] * (len(needs) - k - 1)
                yield (name, parameter), partial(functions()[name], *args, **by_name)


def test_every_function_that_takes_arrays_asks_for_rules():
    for function in functions().values():
        jnp.register_function(Ruled, function, lambda *args, **named: "rule")
    asked = {place: call() for place, call in calls(functions(), Ruled)}
    assert len(asked) > 700
    assert {place for place, answer in asked.items() if answer != "rule"} == set()


@pytest.mark.parametrize("make", [Bare, Foreign])
def test_no_function_makes_plain_arrays_where_that_is_refused(make):
    silent = []
    for place, call in calls(functions().keys() - ASKED_FOR, make):
        with jnp.on_materialise("error"):
            try:
                call()
            except jnp.MaterialiseError:
                continue
            except Exception as error:
                silent.append((*place, error))
            else:
                silent.append(place)
    assert silent == []


def test_optional_arguments_are_looked_at():
    scipy, x = jnp.scipy, Bare()
    norm = jnp.scipy.stats.norm
    for call in (
        lambda: norm.pdf(M, x),
        lambda: norm.pdf(M, scale=x),
        lambda: scipy.integrate.simpson(M, dx=x),
        lambda: scipy.ndimage.median_filter(M, footprint=x),
        lambda: scipy.optimize.root_scalar(jnp.sin, x0=x),
        lambda: scipy.optimize.minimize_scalar(jnp.sin, bounds=(0.0, x)),
        lambda: scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), M[0], t_eval=x),
        lambda: jnp.full((2, 2), fill_value=x),
    ):
        with jnp.on_materialise("error"), pytest.raises(jnp.MaterialiseError):
            call()


class Diagonal(jnp.CustomArray):
    def __init__(self, diagonal):
        self.diagonal = diagonal

    def __jfi_array__(self):
        return jax.numpy.diag(self.diagonal)


@jnp.implements(jnp.matmul, Diagonal)
def matmul(a, b):
    return a.diagonal * b


V = np.array([1.0, 4.0], "float32")
D, DENSE = Diagonal(V), np.diag(V)


def test_functions_warn_and_give_what_the_plain_array_gives():
    for call, text in (
        (jnp.scipy.stats.norm.cdf, r"^scipy.stats.norm.cdf\(\) has no rule"),
        (jnp.scipy.linalg.sqrtm, r"jnp.register_function\(Diagonal, 'scipy.linalg.sqr"),
        (jnp.scipy.integrate.simpson, "simpson"),
        (lambda x: jnp.scipy.optimize.linear_sum_assignment(x)[1], "linear_sum"),
        (lambda x: jnp.KDTree(x).query(M)[0], r"^KDTree\(\) .* bytes. Allow it: "),
        (lambda x: jnp.KDTree(DENSE).query(x)[0], "^KDTree.query"),
        (lambda x: jnp.scipy.interpolate.CubicSpline(V, V)(x), r"^CubicSpline\(\)"),
        (lambda x: jnp.scipy.interpolate.interp1d(V, x)(1.5), "^interp1d"),
    ):
        with pytest.warns(jnp.MaterialiseWarning, match=text) as caught:
            found = call(D)
        assert [w.filename for w in caught] == [__file__]
        np.testing.assert_array_equal(found, call(DENSE))


def test_a_class_without_rules_says_what_to_write():
    text = r"not allowed here. Make the plain array yourself: jnp.materialise\(x\)\."
    with jnp.on_materialise("error"), pytest.raises(jnp.MaterialiseError, match=text):
        jnp.KDTree(D)


def test_arguments_of_the_users_function_stay_what_they_are():
    def loss(x, weights):
        assert isinstance(weights, Diagonal)
        return jnp.sum((weights @ x - 1) ** 2)

    with jnp.on_materialise("error"):
        found = jnp.scipy.optimize.minimize(loss, V, args=(D,))
        by_place = jnp.scipy.optimize.minimize(loss, V, D)
    np.testing.assert_allclose(found.x, 1 / V, rtol=1e-3)
    np.testing.assert_array_equal(found.x, by_place.x)


def test_an_operator_asks_the_rule_of_its_matrix():
    with jnp.on_materialise("error"):
        found = jnp.scipy.sparse.linalg.aslinearoperator(D)
        np.testing.assert_array_equal(found @ V, V**2)
        np.testing.assert_array_equal(found.T @ V, V**2)
