"""`jaxify`: what it finds a rule for, and `compare`, which checks what came out."""

import functools
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi import ComparisonError, JaxifyError, jaxify
from jfi.testing import compare


X = np.array([0.3, 1.2, 2.4])


# ------------------------------------------------------------------- the registry


class Gain:
    def __init__(self, factor):
        self.factor = factor


class Louder(Gain):
    pass


class Other:
    pass


def test_rules_are_found_by_class_object_and_name():
    @jaxify.register(Gain)
    def _(gain, extra=0):
        return lambda x: gain.factor * jnp.asarray(x) + extra

    assert jaxify(Louder(3))(2.0) == 6
    assert jaxify(Gain(3), extra=1)(2.0) == 7

    thing = Other()
    jaxify.register(thing)(lambda obj: "this one")
    assert jaxify(thing) == "this one"
    with pytest.raises(JaxifyError):
        jaxify(Other())


def test_a_name_is_not_imported(monkeypatch):
    @jaxify.register("a_late_library.public.Model")
    def _(model):
        return "a model"

    class Model:
        pass

    class OfUser(Model):
        pass

    assert "a_late_library.public" not in sys.modules
    with pytest.raises(JaxifyError, match=r"test_jaxify\.OfUser|OfUser"):
        jaxify(OfUser())
    library = types.ModuleType("a_late_library.public")
    library.Model = Model
    monkeypatch.setitem(sys.modules, "a_late_library.public", library)
    assert jaxify(OfUser()) == "a model"


def test_what_has_no_rule_says_what_to_write():
    with pytest.raises(NotImplementedError, match=r'register\(".*test_jaxify.Other"\)'):
        jaxify(Other())
    with pytest.raises(JaxifyError, match="from_numpy"):
        jaxify(lambda x: x)

    @jaxify.register(Other)
    def _(obj):
        raise NotImplementedError("a variant of it")

    with pytest.raises(JaxifyError, match=r"Other.*a variant of it"):
        jaxify(Other())


# ----------------------------------------------------------------- NumPy and SciPy


def test_functions_are_those_of_jax():
    special = pytest.importorskip("scipy.special")
    linalg = pytest.importorskip("scipy.linalg")
    assert jaxify(np.exp) is jnp.exp
    assert jaxify(np.linalg.inv) is jnp.linalg.inv
    assert jaxify(np.fft.rfft) is jnp.fft.rfft
    assert jaxify(special.erf) is jax.scipy.special.erf
    assert jaxify(linalg.expm).__wrapped__ is jax.scipy.linalg.expm
    assert jaxify(jnp.sin) is jnp.sin
    assert jaxify(functools.partial(np.sum, axis=0))(np.ones((2, 3))).shape == (3,)


@pytest.mark.parametrize(
    "polynomial",
    [
        np.poly1d([1.0, -2.0, 0.5]),
        np.polynomial.Polynomial([1.0, 2.0, 3.0], domain=[0, 3]),
        np.polynomial.Chebyshev([1.0, 2.0, 3.0, -1.0], domain=[0, 3]),
        np.polynomial.Chebyshev([2.0]),
    ],
)
def test_polynomials(polynomial):
    compare(polynomial, X)


def test_arrays_and_sparse_matrices_are_data():
    sparse = pytest.importorskip("scipy.sparse")
    assert isinstance(jaxify(X), jax.Array)
    matrix = sparse.csr_array(np.diag(X))
    np.testing.assert_allclose(jaxify(matrix) @ X, X**2, rtol=1e-6)


def test_linear_functions_of_scipy_have_transposes():
    linalg = pytest.importorskip("scipy.sparse.linalg")
    sparse = pytest.importorskip("scipy.sparse")
    matrix = np.random.default_rng(0).normal(size=(3, 3)) + 4 * np.eye(3)
    factors = linalg.splu(sparse.csc_array(matrix))
    solve = compare(factors, X)
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(solve.T(X), inverse.T @ X, rtol=1e-5)
    np.testing.assert_allclose(solve(1j * X), 1j * inverse @ X, rtol=1e-5)

    def energy(b):
        return (solve(b) ** 2).sum() / 2

    expected = inverse.T @ inverse
    for hessian in (jax.hessian, lambda f: jax.jacrev(jax.jacrev(f))):
        np.testing.assert_allclose(hessian(energy)(X), expected, rtol=1e-4, atol=1e-5)
    operator = linalg.aslinearoperator(matrix[:2] + 0.5j)
    apply = jaxify(operator)
    jacobian = jax.jacrev(apply, holomorphic=True)(X + 0j)
    np.testing.assert_allclose(jacobian, matrix[:2] + 0.5j, rtol=1e-5)
    with pytest.raises(ValueError, match="vector of 3 numbers"):
        apply(np.ones(2))


def test_a_tree_of_scipy():
    spatial = pytest.importorskip("scipy.spatial")
    tree = jaxify(spatial.KDTree(np.array([[0.0], [2.0]])))
    assert isinstance(tree, jfi.KDTree)
    assert tree.query(jnp.array([1.5]))[1] == 1


# ----------------------------------------------------------------------- libraries


def test_torch(torch):
    net = torch.nn.Linear(3, 2)
    compare(net, X.astype("float32"))
    assert jaxify(torch.ones(2)).tolist() == [1.0, 1.0]


def test_haiku():
    hk = pytest.importorskip("haiku")
    network = jaxify(hk.transform(lambda x: hk.Linear(2)(x)))
    assert isinstance(network, jfi.HaikuNetwork)


# ------------------------------------------------------------------------- compare


def doubled(x):
    return {"a": 2 * x, "b": [x.sum()]}


def checked(function, *args, **settings):
    return compare(doubled, *args, converted=function, **settings)


def test_compare_returns_the_function():
    def in_jax(x):
        return {"a": 2 * jnp.asarray(x), "b": [jnp.sum(x)]}

    assert checked(in_jax, X) is in_jax
    assert checked(in_jax, X.astype(int)) is in_jax


def is_traced(x):
    return isinstance(x, jax.core.Tracer)


@jax.custom_jvp
def wrong_slope(x):
    return 2 * x


wrong_slope.defjvp(lambda primals, tangents: (2 * primals[0], 3 * tangents[0]))


@jax.custom_vjp
def wrong_in_reverse(x):
    return 2 * x


wrong_in_reverse.defvjp(lambda x: (2 * x, None), lambda _, c: (c,))


@jax.custom_batching.custom_vmap
def mixes_rows(x):
    return jnp.sum(x)


@mixes_rows.def_vmap
def _(size, batched, x):
    return jnp.broadcast_to(jnp.sum(x), size), True


WRONG = {
    r"eager, result\['a'\]: 3 of 3 numbers differ": lambda x: {
        "a": 3 * jnp.asarray(x), "b": [jnp.sum(x)],
    },
    r"jit, result\['b'\]\[0\].*1 of 1": lambda x: {
        "a": 2 * jnp.asarray(x), "b": [jnp.sum(x) + is_traced(x)],
    },
    "vmap, row 0": lambda x: {"a": 2 * jnp.asarray(x), "b": [mixes_rows(x)]},
    r"forward derivative, result\[0\]": lambda x: {
        "a": wrong_slope(jnp.asarray(x)), "b": [jnp.sum(x)],
    },
    "is float32\\[\\], and in the original float64\\[3\\]": lambda x: {
        "a": jnp.sum(x), "b": [jnp.sum(x)],
    },
    "has 1 results": lambda x: {"a": 2 * jnp.asarray(x)},
    "is a ndarray": lambda x: {"a": 2 * np.asarray(x), "b": [jnp.sum(x)]},
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_compare_says_what_differs(message):
    with pytest.raises(ComparisonError, match=message):
        checked(WRONG[message], np.array([0.3, 1.2, 2.41]))


def test_compare_in_one_direction():
    def f(x):
        return {"a": wrong_in_reverse(jnp.asarray(x)), "b": [jnp.sum(x)]}

    assert checked(f, X, grad=False) is f
    with pytest.raises(ComparisonError, match="reverse derivative"):
        checked(f, X, grad="reverse")


def test_compare_keeps_arrays_that_the_original_writes_into():
    def added(x):
        x += 1
        return x

    x = np.ones(3)
    compare(added, x, converted=lambda x: jnp.asarray(x) + 1)
    assert (x == 1).all()
    with pytest.raises(ComparisonError, match="eager"):
        compare(added, x, converted=lambda x: jnp.asarray(x) + 2)


def test_compare_sees_other_keys():
    def other(x):
        return {"a": 2 * jnp.asarray(x), "c": [jnp.sum(x)]}

    with pytest.raises(
        ComparisonError, match=r"result\['c'\]\[0\].*result\['b'\]\[0\]"
    ):
        checked(other, X)
    compare(lambda x: (x, x), X, converted=lambda x: [jnp.asarray(x)] * 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compare_takes_derivatives_in_both_worlds(dtype):
    def wrong(x):
        x = jnp.asarray(x)
        return jnp.sin(x) + 1e-2 * (x - jax.lax.stop_gradient(x))

    with jfi.default_dtype(dtype):
        compare(np.sin, X, converted=jnp.sin)
        with pytest.raises(ComparisonError, match="forward derivative"):
            compare(np.sin, X, converted=wrong)


def test_compare_leaves_out_derivatives_where_the_original_is_not_finite():
    def positive(x):
        return np.where(x > 0, x, 0.0)

    def converted(x):
        return jnp.where(jnp.asarray(x) > 0, x, 0.0)

    compare(positive, np.array([np.nan, 1.0, -np.inf]), converted=converted)
    compare(lambda x: x, np.array([np.inf, 1.0]), converted=jnp.asarray)
    wrong = lambda x: jnp.where(jnp.asarray(x) > 0, jax.lax.stop_gradient(x), 0.0)
    with pytest.raises(ComparisonError, match="forward derivative"):
        compare(positive, np.array([np.nan, 1.0]), converted=wrong)


def test_compare_takes_bfloat16():
    compare(lambda x: x * 2, jnp.ones(3, "bfloat16"), converted=lambda x: x * 2)


def test_compare_refuses_other_modes():
    with pytest.raises(ValueError, match='Write grad=True, False, "forward" or'):
        checked(lambda x: {"a": 2 * x, "b": [x.sum()]}, X, grad="backward")


def test_compare_needs_something_to_call():
    with pytest.raises(ComparisonError, match="can't be called"):
        compare(X)


class Terrain:
    """Holds objects of SciPy, as a user's class would."""

    def __init__(self, heights):
        interpolate = pytest.importorskip("scipy.interpolate")
        sparse = pytest.importorskip("scipy.sparse")
        self.spline = interpolate.CubicSpline(np.arange(4.0), heights)
        self.matrix = sparse.csr_array(np.diag(heights))

    def height(self, x):
        return jaxify(self.spline)(x)

    def product(self, x):
        return jaxify(self.matrix) @ x

    def on_the_host(self, x):
        return jfi.from_numpy(self.spline)(x)


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_objects_of_scipy_in_attributes_are_settings_of_compiled_code():
    terrain = Terrain(np.arange(4.0) ** 2)
    calls = [
        (jfi.autojit(terrain.height), terrain.spline, jnp.array(1.5)),
        (jfi.autojit(terrain.product), terrain.matrix, jnp.ones(4)),
        (jfi.autojit(terrain.on_the_host), terrain.spline, jnp.array(1.5)),
    ]
    for _ in range(3):
        for call, plain, x in calls:
            want = plain @ x if plain is terrain.matrix else plain(x)
            np.testing.assert_allclose(call(x), want, rtol=1e-5)
        terrain.spline.c[:] *= 2  # in place
        terrain.matrix.data[1] += 1
    assert calls[0][0].cache_info().traces == 3
