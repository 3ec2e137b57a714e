"""Sparse systems: SciPy's solutions, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from jax.experimental import sparse

import jfi
from jfi import SolverError
from jfi.scipy.sparse import _direct, linalg

from .differences import check_direction, close


RNG = np.random.default_rng(5)
DENSE = np.where(RNG.random((8, 8)) < 0.3, RNG.normal(size=(8, 8)), 0) + 3 * np.eye(8)
ROWS, COLUMNS = DENSE.nonzero()
VALUES = DENSE[ROWS, COLUMNS]
RIGHT = RNG.normal(size=8)
PLACES = np.stack([ROWS, COLUMNS], axis=1)


def solve(values, b):
    return linalg.spsolve(sparse.BCOO((values, PLACES), shape=(8, 8)), b)


FORMS = {
    "BCOO": sparse.BCOO.fromdense,
    "BCSR": sparse.BCSR.fromdense,
    "CSR": sparse.CSR.fromdense,
    "CSC": sparse.CSC.fromdense,
    "COO": sparse.COO.fromdense,
    "csr_array": scipy.sparse.csr_array,
    "csc_matrix": scipy.sparse.csc_matrix,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("columns", [(), (3,)])
def test_solutions_are_those_of_numpy(form, columns, x64):
    dense = DENSE if form[0].islower() else jnp.asarray(DENSE)
    b = RNG.normal(size=(8, *columns))
    found = linalg.spsolve(FORMS[form](dense), b)
    np.testing.assert_allclose(found, np.linalg.solve(DENSE, b), **close(x64))
    assert found.dtype == (jnp.float64 if x64 else jnp.float32)


@pytest.mark.parametrize("dtype", [float, complex])
def test_derivatives_with_respect_to_values_and_right_hand_side(dtype):
    values = VALUES.astype(dtype)
    if dtype is complex:
        values += 1j * RNG.normal(size=values.shape)
    check_direction(solve, values, RIGHT)
    check_direction(solve, values, RNG.normal(size=(8, 2)))


def test_second_derivatives_and_batches():
    with jax.enable_x64(True):
        norm = lambda s: (solve(s * VALUES, RIGHT) ** 2).sum()
        scales = jnp.array([1.0, 2.0])
        plain = (np.linalg.solve(DENSE, RIGHT) ** 2).sum()
        second = jax.jit(jax.vmap(jax.hessian(norm)))(scales)
        np.testing.assert_allclose(second, 6 * plain / scales**4, rtol=1e-8)
    rights = RNG.normal(size=(3, 8)).astype(np.float32)
    found = jax.jit(jax.vmap(solve, (None, 0)))(VALUES.astype(np.float32), rights)
    np.testing.assert_allclose(found, np.linalg.solve(DENSE, rights.T).T, rtol=1e-4)


def test_one_matrix_is_factored_once(monkeypatch):
    factored = []
    factor = _direct._factored
    monkeypatch.setattr(
        _direct, "_factored", lambda *args: factored.append(1) or factor(*args)
    )
    values = jnp.asarray(VALUES * 1.5, jnp.float32)
    back = jax.jit(jax.grad(lambda v, b: (solve(v, b) ** 2).sum(), (0, 1)))
    for b in (RIGHT, 2 * RIGHT, 3 * RIGHT):
        jax.block_until_ready(back(values, jnp.asarray(b, jnp.float32)))
    assert len(factored) == 1
    changed = values.at[0].add(1.0)
    np.testing.assert_allclose(
        solve(changed, RIGHT), np.linalg.solve(as_dense(changed), RIGHT), rtol=1e-4
    )
    assert len(factored) == 2


def as_dense(values):
    dense = np.zeros((8, 8))
    np.add.at(dense, (ROWS, COLUMNS), np.asarray(values))
    return dense


def test_repeated_places_are_summed_and_padding_is_left_out():
    matrix = sparse.BCOO.fromdense(jnp.asarray(DENSE), nse=VALUES.size + 5)
    parts = [jnp.concatenate([p, p]) for p in (matrix.data, matrix.indices)]
    twice = sparse.BCOO(tuple(parts), shape=(8, 8))
    expected = np.linalg.solve(2 * DENSE, RIGHT)
    for run in (linalg.spsolve, jax.jit(linalg.spsolve)):
        np.testing.assert_allclose(run(twice, RIGHT), expected, rtol=1e-4)


def test_a_singular_matrix_is_nan_and_scipys_warning():
    zero = sparse.BCOO.fromdense(jnp.diag(jnp.array([1.0, 0.0])), nse=2)
    with pytest.warns(scipy.sparse.linalg.MatrixRankWarning):
        assert np.isnan(linalg.spsolve(zero, jnp.ones(2))).all()


def test_autojit_takes_sparse_matrices():
    matrix = sparse.BCOO.fromdense(jnp.asarray(DENSE, jnp.float32))

    @jfi.autojit
    def twice(matrix, b):
        return linalg.spsolve(matrix, linalg.spsolve(matrix, b))

    expected = np.linalg.solve(DENSE, np.linalg.solve(DENSE, RIGHT))
    np.testing.assert_allclose(twice(matrix, RIGHT), expected, rtol=1e-3)


# ---------------------------------------------------------------------- operators


@pytest.mark.parametrize("form", ["dense", "BCOO", "csr_array"])
@pytest.mark.parametrize("is_complex", [False, True])
def test_operators_are_their_matrices(form, is_complex):
    dense = DENSE[:5] + (1j * DENSE[3:] if is_complex else 0)
    make = {"dense": np.asarray, **FORMS}[form]
    matrix = make(jnp.asarray(dense) if form == "BCOO" else dense)
    given = linalg.aslinearoperator(matrix)
    derived = linalg.LinearOperator(
        (5, 8), given.matvec, dtype=jnp.complex64 if is_complex else None
    )
    x, y = RNG.normal(size=8), RNG.normal(size=5)
    if is_complex:
        x, y = x + 1j, y - 2j
    for operator in (given, derived):
        for found, expected in (
            (operator @ x, dense @ x),
            (operator.H @ y, dense.conj().T @ y),
            (operator.T @ y, dense.T @ y),
            ((operator @ operator.T) @ y, dense @ dense.T @ y),
            ((2 * operator + operator) @ x, 3 * dense @ x),
            (operator @ np.stack([x, x], axis=1), dense @ np.stack([x, x], axis=1)),
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_iterative_solvers_take_operators():
    operator = linalg.aslinearoperator(DENSE.astype(np.float32))
    normal = operator.T @ operator
    right = operator.T @ RIGHT.astype(np.float32)
    found = jax.jit(lambda b: linalg.cg(normal, b, tol=1e-7)[0])(right)
    np.testing.assert_allclose(
        found, np.linalg.solve(DENSE, RIGHT), rtol=1e-3, atol=1e-4
    )


def test_autojit_takes_operators():
    @jfi.autojit
    def product(operator, x):
        return operator @ x

    x = np.ones(8, np.float32)
    for scale in (1, 2):
        operator = linalg.aslinearoperator(scale * DENSE)
        np.testing.assert_allclose(product(operator, x), scale * DENSE @ x, rtol=1e-4)


def test_what_is_refused_says_what_to_write():
    with pytest.raises(SolverError, match=r"jfi\.linalg\.solve"):
        linalg.spsolve(DENSE, RIGHT)
    with pytest.raises(SolverError, match=r"\(n, n\) and \(n,\)"):
        solve(jnp.asarray(VALUES), RIGHT[:5])
    with pytest.raises(SolverError, match="operator @ matrix"):
        linalg.aslinearoperator(DENSE).matvec(DENSE)
