"""jfi.linalg, fft, nn, random, scipy: every name of JAX's modules, the same objects."""

import importlib
import pkgutil
import types

import jax.scipy
import pytest
from subprocesses import output_of


OURS = {
    "jax.numpy.linalg": "jfi.linalg",
    "jax.numpy.fft": "jfi.fft",
    "jax.random": "jfi.random",
    "jax.nn": "jfi.nn",
    "jax.nn.initializers": "jfi.nn.initializers",
    "jax.scipy": "jfi.scipy",
    **{
        module.name: module.name.replace("jax", "jfi", 1)
        for module in pkgutil.walk_packages(jax.scipy.__path__, "jax.scipy.")
    },
}


KEYS = {
    "PRNGKey", "clone", "fold_in", "key", "key_data", "key_impl", "split",
    "wrap_key_data",
}  # fmt: skip
NUMPY_RANDOM = """
    default_rng integers key_repr manual_seed negative_binomial
    noncentral_chisquare noncentral_f permuted power random seed standard_cauchy
    standard_exponential standard_gamma standard_normal standard_t unwrap_key weibull
    wrap_key
""".split()


# What jfi has in place of JAX's, and beyond JAX.
IN_PLACE = {
    "jax.scipy.interpolate": {"RegularGridInterpolator"},
    "jax.scipy.linalg": {"solve_sylvester", "sqrtm"},
    "jax.scipy.ndimage": {"map_coordinates"},
    "jax.scipy.optimize": {"minimize"},
}
ADDED = {
    "jax.numpy.linalg": {
        "block_diag", "cho_factor", "cholesky_solve", "expm", "householder_product",
        "lu", "lu_factor", "lu_solve", "matrix_exp", "solve_triangular",
    },
    "jax.random": set(NUMPY_RANDOM),
    "jax.scipy.interpolate": {
        "Akima1DInterpolator", "BSpline", "BivariateSpline",
        "CloughTocher2DInterpolator", "CubicHermiteSpline", "CubicSpline",
        "LinearNDInterpolator", "NearestNDInterpolator", "PPoly", "PchipInterpolator",
        "RBFInterpolator", "UnivariateSpline", "griddata", "interp1d", "interpn",
        "make_interp_spline",
    },
    "jax.scipy.linalg": {
        "fractional_matrix_power", "logm", "solve_continuous_are",
        "solve_continuous_lyapunov", "solve_discrete_are", "solve_discrete_lyapunov",
    },
    "jax.scipy.optimize": {
        "CurveFitResult", "LeastSquaresResult", "LinprogResult", "MinimizeResult",
        "MinimizeScalarResult", "RootResult", "RootScalarResult", "bisect", "brenth",
        "brentq", "curve_fit", "fixed_point", "least_squares", "linear_sum_assignment",
        "linprog", "minimize_scalar", "newton", "ridder", "root", "root_scalar",
        "toms748",
    },
    "jax.scipy.ndimage": set(
        """convolve convolve1d correlate correlate1d gaussian_filter gaussian_filter1d
        gaussian_gradient_magnitude gaussian_laplace laplace maximum_filter
        maximum_filter1d median_filter minimum_filter minimum_filter1d
        percentile_filter prewitt rank_filter sobel uniform_filter
        uniform_filter1d binary_closing binary_dilation binary_erosion
        binary_fill_holes binary_hit_or_miss binary_opening binary_propagation
        black_tophat generate_binary_structure grey_closing grey_dilation grey_erosion
        grey_opening morphological_gradient morphological_laplace white_tophat
        affine_transform geometric_transform rotate shift spline_filter
        spline_filter1d zoom center_of_mass label maximum mean minimum
        standard_deviation sum_labels variance""".split()
    ),
    "jax.scipy.integrate": {
        "IvpResult", "IvpSolution", "QuadResult", "cumulative_simpson",
        "cumulative_trapezoid", "fixed_quad", "odeint", "quad", "romb", "simpson",
        "solve_ivp",
    },
    "jax.scipy.sparse.linalg": {
        "LinearOperator", "aslinearoperator", "factorized", "spsolve",
    },
}  # fmt: skip


def public_names(module):
    return {name for name in dir(module) if not name.startswith("_")}


@pytest.mark.parametrize("theirs", OURS)
def test_every_name_is_there_and_the_same(theirs):
    module = importlib.import_module(theirs)
    ours = importlib.import_module(OURS[theirs])
    for name in public_names(module):
        value = getattr(module, name)
        if theirs == "jax.random" and name not in KEYS:
            assert hasattr(ours, name)  # NumPy's without a key: test_numpy_random
            continue
        if isinstance(value, types.ModuleType):
            assert public_names(value) <= public_names(getattr(ours, name))
        elif name in IN_PLACE.get(theirs, ()):
            assert callable(getattr(ours, name))
        else:
            own = getattr(ours, name)
            is_ours = getattr(own, "__module__", "").startswith("jfi.")
            assert (own.__wrapped__ if is_ours else own) is value
    assert public_names(module) <= set(dir(ours))


def deprecated_names():
    """Names that modules of JAX give on demand, with a warning."""
    for theirs, ours in {**OURS, "jax.numpy": "jfi"}.items():
        table = getattr(importlib.import_module(theirs), "_deprecations", {})
        for name, (_, value) in table.items():
            if value is not None:
                yield theirs, ours, name


def test_deprecated_names_warn_at_the_line_of_the_user():
    for theirs, ours, name in deprecated_names():
        module = importlib.import_module(theirs)
        module.__getattr__.cache_clear()  # JAX warns once
        with pytest.warns(DeprecationWarning, match=f"{theirs}.{name} is dep") as told:
            value = getattr(importlib.import_module(ours), name)
        assert value is getattr(module, name)
        assert [warning.filename for warning in told] == [__file__]


def test_some_names_are_deprecated():
    assert ("jax.scipy.special", "jfi.scipy.special", "lpmn") in set(deprecated_names())


def test_the_submodules_were_found():
    assert {
        "jax.scipy.linalg",
        "jax.scipy.stats.norm",
        "jax.scipy.spatial.transform",
    } <= set(OURS)


@pytest.mark.parametrize("theirs", [name for name in OURS if name != "jax.scipy"])
def test_what_is_added_beyond_jax(theirs):
    module = importlib.import_module(theirs)
    extra = public_names(importlib.import_module(OURS[theirs])) - public_names(module)
    assert extra == ADDED.get(theirs, set())


def test_modules_import_in_every_way():
    code = """
import jfi
import jfi.nn.initializers
import jfi.scipy.special
from jfi.linalg import cholesky_solve
from jfi.scipy.linalg import cho_factor
import jfi.scipy.stats.norm as normal
from jfi.fft import fft
from jfi.random import split
print(jfi.nn.initializers.zeros.__name__, jfi.scipy.special.gamma.__name__,
      cholesky_solve.__name__, cho_factor.__name__, normal.pdf.__name__,
      fft.__name__, split.__name__)
"""
    names = "zeros gamma cholesky_solve cho_factor pdf fft split"
    assert output_of(code) == names


def loaded_by(code, modules):
    """Which of some modules are loaded after a piece of code."""
    return output_of(
        f"{code}\nimport sys\nprint([m for m in {modules} if m in sys.modules])",
        fresh=True,
    )


HEAVY = ["torch", "scipy.spatial", "scipy.linalg", "haiku"]


def test_jax_scipy_comes_on_first_use():
    inner = ["jax.scipy.linalg", "jax.scipy.special", "jax.scipy.stats"]
    code = "import jfi.scipy, jfi.linalg, jfi.fft, jfi.random, jfi.nn.initializers"
    assert loaded_by(code, HEAVY + inner) == "[]"
    assert loaded_by(f"{code}; jfi.scipy.special", inner) == "['jax.scipy.special']"


def test_a_loaded_module_is_seen():
    assert loaded_by("import json, jax.scipy.linalg", ["jax.scipy.linalg"]) != "[]"


def test_using_the_factorizations_loads_nothing_heavy():
    code = """
import jfi.linalg, numpy
pair = jfi.linalg.lu_factor(numpy.eye(2, dtype="float32"))
jfi.linalg.lu_solve(pair, numpy.ones(2, "float32"))
"""
    assert loaded_by(code, ["torch", "scipy.spatial", "haiku"]) == "[]"


def test_an_unknown_module_of_scipy_is_no_attribute():
    import jfi.scipy

    with pytest.raises(AttributeError, match=r"'jfi\.scipy' has no attribute 'io'"):
        _ = jfi.scipy.io
    assert {"special", "optimize", "spatial"} <= set(dir(jfi.scipy))
