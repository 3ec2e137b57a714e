"""jfi.linalg: cho_factor, cholesky_solve, lu_factor, lu_solve."""

import jax
import numpy as np
import pytest
import scipy.linalg
from against_torch import assert_same

import jfi as jnp


DTYPES = ["float32", "float64", "complex64"]
BATCHES = [(), (1,), (4,), (2, 3)]


@pytest.fixture(autouse=True)
def _both_precisions(x64):
    """Each test of this file runs with 64-bit types allowed and not."""


def matrix(shape, dtype="float32", seed=0):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=shape)
    if dtype.startswith("complex"):
        x = x + 1j * draw.normal(size=shape)
    return x.astype(dtype)


def positive(batch, n, dtype="float32", seed=0):
    x = matrix((*batch, n, n), dtype, seed)
    return (x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)


def close(ours, expected, rtol=2e-4):
    np.testing.assert_allclose(np.asarray(ours), expected, rtol=rtol, atol=rtol)


# ----------------------------------------------------------------------- Cholesky


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
def test_cho_factor_is_scipys(dtype, lower):
    a = positive((), 4, dtype)
    factor, flag = jnp.linalg.cho_factor(a, lower=lower)
    expected, _ = scipy.linalg.cho_factor(a, lower=lower)
    part = np.tril if lower else np.triu
    close(part(factor), part(expected))
    assert flag is lower


@pytest.mark.parametrize("lower", [False, True])
def test_cho_factor_reads_one_triangle(lower):
    a = positive((), 4)
    wrong = np.where((np.tri(4) if lower else np.tri(4).T) > 0, a, np.nan)
    close(jnp.linalg.cho_factor(wrong, lower)[0], jnp.linalg.cho_factor(a, lower)[0])


def test_cho_factor_of_an_indefinite_matrix_is_nan():
    assert np.isnan(jnp.linalg.cho_factor(-np.eye(2, dtype="float32"))[0]).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(
    ("batch", "rhs"), [(b, b) for b in BATCHES] + [((4,), ()), ((), (4,))]
)
def test_cholesky_solve_is_torchs(torch, batch, rhs, upper, dtype):
    factor = np.linalg.cholesky(positive(batch, 3, dtype))
    factor = factor.conj().swapaxes(-1, -2).copy() if upper else factor
    b = matrix((*rhs, 3, 2), dtype)
    expected = torch.cholesky_solve(
        torch.from_numpy(b), torch.from_numpy(factor), upper
    )
    assert_same(jnp.linalg.cholesky_solve(b, factor, upper), expected, 5e-4, 5e-4)


@pytest.mark.parametrize("batch", [(3,), (5,)])
def test_a_matrix_beside_a_batch_is_no_batch_of_vectors(batch):
    a, b = positive(batch, 3), matrix((3, 3))
    close(jnp.linalg.cholesky_solve(b, np.linalg.cholesky(a)), np.linalg.solve(a, b))
    close(jnp.linalg.lu_solve(jnp.linalg.lu_factor(a), b), np.linalg.solve(a, b))


@pytest.mark.parametrize("batch", BATCHES)
def test_solving_for_one_vector(batch):
    a, b = positive(batch, 3), matrix(3)
    expected = np.linalg.solve(a, b)
    close(jnp.linalg.cholesky_solve(b, jnp.linalg.cholesky(a)), expected)
    close(jnp.linalg.cholesky_solve(b, jnp.linalg.cho_factor(a)), expected)
    close(jnp.linalg.lu_solve(jnp.linalg.lu_factor(a), b), expected)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_cholesky_solve_takes_scipys_pairs(lower, dtype):
    a, b = positive((), 4, dtype), matrix((4, 2), dtype)
    expected = scipy.linalg.solve(a, b)
    # LAPACK leaves the numbers of `a` in the triangle that does not count.
    keep = np.tril if lower else np.triu
    factor, _ = scipy.linalg.cho_factor(a, lower=lower)
    garbage = keep(factor) + (a - keep(a)), lower
    for pair in (garbage, jnp.linalg.cho_factor(a, lower)):
        close(jnp.linalg.cholesky_solve(b, pair), expected)
        close(jnp.linalg.cholesky_solve(pair, b), expected)
        close(jax.jit(jnp.linalg.cholesky_solve)(b, pair), expected)
        close(jnp.linalg.cholesky_solve(b, jax.jit(lambda pair: pair)(pair)), expected)


def test_plain_factors_may_hold_garbage_too():
    a, b = positive((), 4), matrix((4, 2))
    lower = np.linalg.cholesky(a)
    dirty = lower + np.triu(np.full((4, 4), np.nan, "float32"), 1)
    close(
        jnp.linalg.cholesky_solve(b, np.nan_to_num(dirty, nan=9)), np.linalg.solve(a, b)
    )


def test_cholesky_itself_is_numpys():
    assert jnp.linalg.cholesky.__wrapped__ is jax.numpy.linalg.cholesky
    assert jnp.linalg.cholesky(positive((), 2)).shape == (2, 2)


# ----------------------------------------------------------------------------- LU


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (1, 1)])
def test_lu_factor_is_scipys_and_torchs(torch, shape, dtype):
    a = matrix(shape, dtype)
    lu, pivots = jnp.linalg.lu_factor(a)
    if shape[0] == shape[1]:
        expected, rows = scipy.linalg.lu_factor(a)
        close(lu, expected)
        assert pivots.tolist() == rows.tolist()
    theirs, from_one = torch.linalg.lu_factor(torch.from_numpy(a))
    assert_same(lu, theirs, 1e-4, 1e-5)
    assert (pivots + 1).tolist() == from_one.tolist()
    assert pivots.dtype == np.int32


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_lu_solve_is_torchs(torch, batch, dtype):
    a, b = matrix((*batch, 3, 3), dtype), matrix((*batch, 3, 2), dtype, seed=1)
    a = (a + 4 * np.eye(3)).astype(dtype)
    pair = jnp.linalg.lu_factor(a)
    expected = torch.linalg.lu_solve(
        *torch.linalg.lu_factor(torch.from_numpy(a)), torch.from_numpy(b)
    )
    assert_same(jnp.linalg.lu_solve(pair, b), expected, 1e-3, 1e-4)
    close(jax.jit(jnp.linalg.lu_solve)(pair, b), expected)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_lu_solve_is_scipys(trans, shape):
    a, b = matrix((3, 3), "complex64"), matrix(shape, "complex64", seed=1)
    expected = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, trans=trans)
    close(jnp.linalg.lu_solve(jnp.linalg.lu_factor(a), b, trans), expected, 2e-3)
    close(jnp.linalg.lu_solve(scipy.linalg.lu_factor(a), b, trans), expected, 2e-3)


def test_lu_solve_takes_pivots_of_any_integer_dtype():
    lu, pivots = scipy.linalg.lu_factor(matrix((3, 3)))
    expected = scipy.linalg.lu_solve((lu, pivots), np.ones(3))
    for dtype in ("int64", "uint8"):
        close(
            jnp.linalg.lu_solve((lu, pivots.astype(dtype)), np.ones(3)), expected, 1e-3
        )


def test_lu_solve_broadcasts_a_batch_of_right_hand_sides():
    a, b = matrix((3, 3)), matrix((5, 3, 2))
    close(jnp.linalg.lu_solve(jnp.linalg.lu_factor(a), b), np.linalg.solve(a, b), 1e-3)


# ------------------------------------------------------------------ transformations


def solve_by_cholesky(a, b):
    return jnp.linalg.cholesky_solve(b, jnp.linalg.cholesky(a))


def solve_by_pair(a, b):
    return jnp.linalg.cholesky_solve(b, jnp.linalg.cho_factor(a, lower=True))


def solve_by_lu(a, b):
    return jnp.linalg.lu_solve(jnp.linalg.lu_factor(a), b)


SOLVERS = [solve_by_cholesky, solve_by_pair, solve_by_lu]


@pytest.mark.parametrize("solve", SOLVERS)
def test_solvers_derive(solve):
    a, b = positive((), 3), matrix((3, 2))

    def loss(solve):
        def of(a, b):
            a = (a + a.T) / 2
            return (solve(a, b) ** 2).sum()

        return jax.jit(jax.grad(of, argnums=(0, 1)))(a, b)

    for ours, expected in zip(loss(solve), loss(jax.numpy.linalg.solve), strict=True):
        close(ours, expected, 1e-3)


@pytest.mark.parametrize("solve", SOLVERS)
def test_solvers_under_vmap(solve):
    a, b = positive((5,), 3), matrix((5, 3))
    expected = np.linalg.solve(a, b[..., None])[..., 0]
    close(jax.vmap(solve)(a, b), expected)
    close(jax.jit(jax.vmap(solve))(a, b), expected)


@pytest.mark.parametrize("solve", SOLVERS)
def test_solvers_take_integers_and_empty_right_hand_sides(solve):
    close(solve(np.array([[4, 2], [2, 3]]), np.array([8, 8])), [1, 2])
    assert solve(positive((), 3), np.zeros((3, 0), "float32")).shape == (3, 0)
    assert solve(np.zeros((0, 3, 3), "float32"), np.zeros((0, 3, 2))).shape == (0, 3, 2)


@pytest.mark.parametrize("shape", [(3,), (3, 2), (4, 3, 2)])
def test_cholesky_solve_tells_the_order_by_the_shapes(shape):
    a = np.array([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]])
    b, factor = np.random.default_rng(0).normal(size=shape), np.linalg.cholesky(a)
    expected = np.linalg.solve(a, b)
    close(jnp.linalg.cholesky_solve(b, factor), expected)
    close(jnp.linalg.cholesky_solve(factor, b), expected)
    close(jax.jit(jnp.linalg.cholesky_solve)(factor, b), expected)
    upper = np.ascontiguousarray(factor.T)
    close(jnp.linalg.cholesky_solve(upper, b, upper=True), expected)


def test_cholesky_solve_of_squares_takes_torchs_order():
    a = np.array([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]])
    b, factor = np.random.default_rng(0).normal(size=(3, 3)), np.linalg.cholesky(a)
    expected = np.linalg.solve(a, b)
    close(jnp.linalg.cholesky_solve(b, factor), expected)
    close(jnp.linalg.cholesky_solve(factor, b, factor_first=True), expected)


# ----------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: jnp.linalg.cho_factor(np.ones((2, 3))),
            ValueError,
            r"\(2, 3\) for a;",
        ),
        (lambda: jnp.linalg.cho_factor(np.ones(2)), ValueError, "must be square"),
        (lambda: jnp.linalg.cho_factor([[1.0]]), TypeError, "got a list for a"),
        (lambda: jnp.linalg.lu_factor(np.ones(2)), ValueError, r"a matrix or a batch"),
        (
            lambda: jnp.linalg.cholesky_solve(
                np.eye(3), np.ones((3, 2)), factor_first=False
            ),
            ValueError,
            r"\(3, 2\) for L.*The right-hand side comes first",
        ),
        (
            lambda: jnp.linalg.cholesky_solve(np.ones(2), np.eye(3)),
            ValueError,
            r"\(2,\) for B and a matrix of shape \(3, 3\); B must be \(\.\.\., 3, k\)",
        ),
        (
            lambda: jnp.linalg.cholesky_solve(np.ones((2, 3)), np.eye(3)),
            ValueError,
            r"\(2, 3\) for B",
        ),
        (lambda: jnp.linalg.cholesky_solve(1.0, np.eye(3)), ValueError, r"\(\) for B"),
        (
            lambda: jnp.linalg.lu_solve(np.eye(3), np.zeros(3, int)),
            TypeError,
            r"got a ndarray.*jnp\.linalg\.lu_solve\(\(lu, pivots\), b\)",
        ),
        (
            lambda: jnp.linalg.lu_solve(
                (np.ones((2, 3)), np.zeros(2, int)), np.ones(2)
            ),
            ValueError,
            r"lu_solve\(\) got an array of shape \(2, 3\) for lu",
        ),
        (
            lambda: jnp.linalg.lu_solve((np.eye(3), np.zeros(3, int)), np.ones(2)),
            ValueError,
            r"\(2,\) for b",
        ),
        (
            lambda: jnp.linalg.lu_solve((np.eye(3), np.zeros(3)), np.ones(3)),
            ValueError,
            "pivots of float.*the pair of lu_factor",
        ),
        (
            lambda: jnp.linalg.lu_solve((np.eye(3), np.zeros(2, int)), np.ones(3)),
            ValueError,
            r"pivots of int.* shape \(2,\)",
        ),
        (
            lambda: jnp.linalg.cholesky_solve(np.ones(3), (np.eye(3),)),
            TypeError,
            "a tuple of 1 for L",
        ),
        (
            lambda: jnp.linalg.lu_solve((np.eye(3), np.zeros(3, int)), np.ones(3), 3),
            ValueError,
            "trans=3; it takes 0, 1 or 2",
        ),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
