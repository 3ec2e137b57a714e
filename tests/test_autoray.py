"""jfi as a backend of autoray, and as a namespace of the Array API."""

import jax
import numpy as np
import pytest
from subprocesses import output_of

import jfi as jnp


autoray = pytest.importorskip("autoray")
do = autoray.do


@pytest.fixture(autouse=True, scope="module")
def _registered():
    jnp.register_autoray()


# ------------------------------------------------------------ orthogonal columns


def orthonormal(a, like=None):
    """The columns of a matrix made orthonormal, one after the other."""
    columns = []
    for j in range(do("shape", a, like=like)[1]):
        v = a[:, j]
        for q in columns:
            v = v - do("sum", do("conj", q, like=like) * v, like=like) * q
        columns.append(v / do("linalg.norm", v, like=like))
    return do("stack", columns, axis=1, like=like)


def orthonormal_with(xp, a):
    columns = []
    for j in range(a.shape[1]):
        v = a[:, j]
        for q in columns:
            v = v - xp.sum(xp.conj(q) * v) * q
        columns.append(v / xp.linalg.norm(v))
    return xp.stack(columns, axis=1)


def by_context(a):
    with autoray.backend_like("jfi"):
        return orthonormal(a)


WAYS = {
    "by the array": orthonormal,
    "by a name": lambda a: orthonormal(a, like="jfi"),
    "by an example": lambda a: orthonormal(a, like=jnp.zeros(1)),
    "by a context": by_context,
    "by the namespace": lambda a: orthonormal_with(autoray.get_namespace("jfi"), a),
    "jfi itself": lambda a: orthonormal_with(jnp, a),
    "compiled by autoray": autoray.autojit(orthonormal),
    "under autojit": jnp.autojit(lambda a: orthonormal(a, like="jfi")),
}


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(0)
    return jnp.asarray(rng.normal(size=(4, 3)) + 1j * rng.normal(size=(4, 3)))


@pytest.mark.parametrize("way", WAYS)
def test_gram_schmidt_in_every_way_of_calling(way, matrix):
    q = WAYS[way](matrix)
    assert isinstance(q, jax.Array)
    np.testing.assert_allclose(q.conj().T @ q, np.eye(3), atol=1e-5)
    upper = np.asarray(q.conj().T @ matrix)
    np.testing.assert_allclose(np.tril(upper, -1), 0, atol=1e-5)
    np.testing.assert_allclose(q, orthonormal(np.asarray(matrix)), atol=1e-5)


def test_gram_schmidt_lazily(matrix):
    from autoray import lazy

    deferred = orthonormal(lazy.array(matrix))
    assert deferred.shape == (4, 3)
    assert deferred.history_num_nodes() > 10
    np.testing.assert_allclose(deferred.compute(), orthonormal(matrix), atol=1e-6)


# ------------------------------------------------------------ all its functions


def names_of_autoray():
    """Names that autoray knows for some backend or other."""
    from autoray import autoray as module

    tables = module._FUNCS, module._SUBMODULE_ALIASES, module._FUNC_ALIASES
    names = {name for table in tables for _, name in table} | {"random.choice"}
    numpy = {n for n in dir(np) if callable(getattr(np, n)) and not n.startswith("_")}
    return sorted(names | numpy | {f"linalg.{n}" for n in np.linalg.__all__})


def finds(backend, name):
    try:
        return autoray.get_lib_fn(backend, name) is not None
    except ImportError:
        return False


def test_what_autoray_finds_for_jax_it_finds_for_jfi():
    names = names_of_autoray()
    jax_has = {name for name in names if finds("jax", name)}
    jfi_has = {name for name in names if finds("jfi", name)}
    assert len(jax_has) > 300
    assert jax_has <= jfi_has
    assert {"linalg.expm", "linalg.lu", "random.choice", "complex"} <= jfi_has


X = np.arange(12.0, dtype=np.float32).reshape(4, 3) + np.eye(4, 3, dtype=np.float32)
SQUARE = X[:3] + 3 * np.eye(3, dtype=np.float32)
CASES = {
    "exp": (X,),
    "sum": (X, 0),
    "transpose": (X,),
    "reshape": (X, (6, 2)),
    "tensordot": (X, X.T, 1),
    "einsum": ("ij,ik->jk", X, X),
    "concatenate": ((X, X), 0),
    "take": (X, np.array([0, 2]), 1),
    "linalg.expm": (SQUARE / 10,),
    "linalg.inv": (SQUARE,),
    "linalg.solve": (SQUARE, SQUARE[0]),
    "scipy.linalg.solve_triangular": (SQUARE, SQUARE),
    "complex": (X, X),
    "eye": (3,),
    "astype": (X, "int32"),
    "to_numpy": (X,),
    "from_numpy": (X,),
    "stop_gradient": (X,),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_give_what_they_give_for_jax(name):
    args = [jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in CASES[name]]
    ours, theirs = (do(name, *args, like=backend) for backend in ("jfi", "jax"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert ours.dtype == theirs.dtype


def test_factorizations_have_autorays_conventions():
    x = jnp.asarray(X)
    u, s, vh = do("linalg.svd", x, like="jfi")
    assert [u.shape, s.shape, vh.shape] == [(4, 3), (3,), (3, 3)]
    assert do("linalg.svd", x, full_matrices=True, like="jfi")[0].shape == (4, 4)
    wide = jnp.asarray(X.T)
    gradient = jax.grad(lambda x: do("linalg.qr", x, like="jfi")[1].sum())(wide)
    assert gradient.shape == (3, 4)
    p, low, up = do("linalg.lu", jnp.asarray(SQUARE), like="jfi")
    np.testing.assert_allclose(p @ low @ up, SQUARE, atol=1e-5)
    reflectors, taus = jnp.linalg.qr(x, mode="raw")
    q = do("linalg.householder_product", reflectors.T, taus, like="jfi")
    np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-5)


@pytest.mark.parametrize("dist", ["normal", "uniform", "rademacher"])
def test_random_arrays_come_from_the_stream(dist):
    def draw(seed):
        do("random.seed", seed, like="jfi")
        return do("random.array", (2, 3), dist, like="jfi")

    first, again, other = draw(1), draw(1), draw(2)
    assert first.dtype == jnp.get_default_dtype()
    np.testing.assert_array_equal(first, again)
    assert dist == "rademacher" or not np.array_equal(first, other)
    compiled = jnp.jit(lambda: do("random.array", (2, 3), dist, like="jfi"))
    jnp.manual_seed(1)
    np.testing.assert_allclose(compiled(), first, rtol=1e-6)
    assert dist == "rademacher" or not np.array_equal(compiled(), first)


def test_random_numbers_have_numpys_arguments():
    x = do("random.normal", 100.0, 0.1, size=(3,), like="jfi")
    y = do("random.uniform", -2.0, -1.0, size=(3,), like="jfi")
    assert ((x > 99) & (x < 101)).all()
    assert ((y >= -2) & (y < -1)).all()
    generator = do("random.default_rng", 3, like="jfi")
    assert autoray.infer_backend(generator) == "jfi"
    assert do("random.array", (2,), rng=generator).shape == (2,)


def test_conversions_go_by_name():
    x = do("from_numpy", np.ones(2), dtype="float32", device="cpu", like="jfi")
    assert isinstance(x, jax.Array)
    assert do("to_device", x, "cpu", like="jfi").devices() == x.devices()
    assert do("to_device", x, None, like="jfi") is x
    assert autoray.to_backend_dtype("float32", like="jfi") == np.float32
    assert autoray.infer_backend(x) == "jax"


@pytest.mark.parametrize(
    "lines",
    [
        "import autoray\nimport jfi",
        "import sys, jfi\nassert 'autoray' not in sys.modules\njfi.register_autoray()",
    ],
)
def test_one_import_or_one_line_registers_it(lines):
    code = """
from autoray import do
print([x.shape for x in do("linalg.svd", jfi.ones((3, 2)), like="jfi")])
"""
    assert output_of(f"{lines}\n{code}").strip() == "[(3, 2), (2,), (2, 2)]"


class Before(jnp.CustomArray):
    pass


def test_custom_arrays_are_arrays_of_jfi_to_autoray():
    jnp.register_autoray()

    class After(Before):
        pass

    jnp.register_function(Before, "exp", lambda x: "rule")
    assert [do("exp", cls()) for cls in (Before, After)] == ["rule", "rule"]
    assert autoray.infer_backend(After()) == "jfi"


# ------------------------------------------------------------ the Array API


def test_the_namespace_says_what_it_has():
    info, theirs = jnp.__array_namespace_info__(), jax.numpy.__array_namespace_info__()
    assert info.capabilities() == theirs.capabilities()
    assert info.default_dtypes() == theirs.default_dtypes()
    assert info.dtypes(kind="real floating") == theirs.dtypes(kind="real floating")
    assert jnp.__array_api_version__ == jax.numpy.__array_api_version__
    for device in info.devices():
        assert jnp.zeros(2, device=device).devices() <= {device, *jax.devices()}


# Functions of the standard, version 2024.12, with arguments that NumPy takes, too.
FUNCTIONS = {
    "asarray": ([1, 2, 3],), "arange": (1, 7, 2), "empty_like": (X,), "eye": (3, 4),
    "full": ((2, 3), 7.0), "full_like": (X, 2), "linspace": (0.0, 1.0, 5),
    "meshgrid": (X[0], X[1]), "ones": ((2, 3),), "tril": (X,), "zeros": ((2,),),
    "add": (X, X), "atan2": (X, X), "bitwise_left_shift": (np.array([1, 2]), 2),
    "clip": (X, 1, 5), "concat": ([X, X],), "copysign": (X, -X), "count_nonzero": (X,),
    "cumulative_sum": (X[0],), "diff": (X,), "expand_dims": (X, 0), "flip": (X,),
    "hypot": (X, X), "isin": (X, np.array([1.0])), "logaddexp": (X, X),
    "matmul": (X, X.T), "matrix_transpose": (X,), "maximum": (X, 2.0),
    "moveaxis": (X, 0, 1), "nonzero": (X,), "permute_dims": (X, (1, 0)), "pow": (X, 2),
    "prod": (X,), "repeat": (X, 2), "roll": (X, 1), "searchsorted": (X[0], X[0]),
    "sort": (X,), "stack": ([X, X],), "std": (X,), "take": (X, np.array([0]), 1),
    "tensordot": (X, X.T, 1), "tile": (X, (2, 1)), "unique_values": (X,),
    "unstack": (X,), "vecdot": (X, X), "where": (X > 2, X, 0.0), "sign": (X,),
    "linalg.vector_norm": (X,), "linalg.matrix_norm": (X,), "linalg.pinv": (X,),
    "linalg.outer": (X[0], X[0]), "linalg.trace": (SQUARE,), "fft.rfft": (X[0],),
    "isdtype": (np.dtype("float32"), "real floating"), "result_type": (X, X),
    "can_cast": (np.dtype("int32"), np.dtype("int64")),
    "finfo": (np.dtype("float32"),), "broadcast_to": (X[0], (2, 3)),
}  # fmt: skip


def found(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_the_standard_are_those_of_jax(name):
    args = jax.tree.map(
        lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x, FUNCTIONS[name]
    )
    ours, theirs = (found(m, name)(*args) for m in (jnp, jax.numpy))
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        if isinstance(a, jax.Array):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            if name != "empty_like":
                np.testing.assert_allclose(a, b, rtol=1e-5)
        else:
            assert str(a) == str(b)


def test_every_name_of_the_standard_that_jax_has_is_there():
    for part in ("", "linalg", "fft"):
        ours, theirs = (getattr(m, part) if part else m for m in (jnp, jax.numpy))
        names = {name for name in dir(theirs) if not name.startswith("_")}
        assert {name for name in names if not hasattr(ours, name)} == set()


@pytest.mark.parametrize("copy", [None, True, False])
def test_asarray_has_the_arguments_of_the_standard(copy):
    x = jnp.ones(3)
    y = jnp.asarray(x, dtype=x.dtype, device=x.device, copy=copy)
    assert (y is x or y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()) == (
        copy is not True
    )
    assert jnp.asarray(True).dtype == jnp.bool_
    assert jnp.asarray(np.float32(2)).dtype == jnp.float32


def test_scipy_takes_jfi_arrays_for_arrays_of_the_standard():
    compat = pytest.importorskip("scipy._lib.array_api_compat.common._helpers")
    assert compat.array_namespace(jnp.ones(2)) is jax.numpy
    assert compat.is_jax_array(jnp.ones(2))
