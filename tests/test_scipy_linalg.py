"""Matrix equations and functions of matrices: SciPy's values, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from jfi import SolverError
from jfi.scipy import linalg

from .differences import check_direction, close


RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 3)) - 2.5 * np.eye(3)
B = RNG.normal(size=(3, 2))
SMALL = A / 6
Q = np.eye(3) + 0.1 * (A + A.T) @ (A + A.T)
R = np.diag([1.0, 2.0])
E = np.eye(3) + 0.2 * RNG.normal(size=(3, 3))
S = 0.02 * RNG.normal(size=(3, 2))
COMPLEX = A + 1j * RNG.normal(size=(3, 3))
POSITIVE = scipy.linalg.expm(0.4 * A)

CASES = {
    "solve_sylvester": (A, R, B),
    "solve_continuous_lyapunov": (A, Q),
    "solve_discrete_lyapunov": (SMALL, Q),
    "solve_continuous_are": (A, B, Q, R),
    "solve_discrete_are": (SMALL, B, Q, R),
    "logm": (POSITIVE,),
    "sqrtm": (POSITIVE,),
    "fractional_matrix_power": (POSITIVE, 0.3),
}
MORE = [
    ("solve_continuous_are", (A, B, Q, R, Q, S)),
    ("solve_discrete_are", (SMALL, B, Q, R, Q, S)),
    ("solve_continuous_lyapunov", (COMPLEX, Q)),
    ("solve_discrete_lyapunov", (COMPLEX / 9, Q)),
    ("solve_sylvester", (COMPLEX, R, B)),
    ("logm", (COMPLEX,)),
    ("sqrtm", (COMPLEX,)),
    ("fractional_matrix_power", (COMPLEX, -0.7)),
]


@pytest.mark.parametrize(("name", "matrices"), [*CASES.items(), *MORE])
def test_values_are_scipys(name, matrices, x64):
    expected = getattr(scipy.linalg, name)(*matrices)
    function = getattr(linalg, name)
    tolerance = close(x64)
    np.testing.assert_allclose(function(*matrices), expected, **tolerance)
    if not x64:
        compiled = jax.jit(jax.vmap(function))(*(np.stack([m, m]) for m in matrices))
        np.testing.assert_allclose(compiled[1], expected, **tolerance)


@pytest.mark.parametrize(
    ("name", "matrices"),
    # Programs with `expm` in them take long to compile: complex ones stand for both.
    [
        (name, matrices)
        for name, matrices in [*CASES.items(), *MORE]
        if np.iscomplexobj(matrices[0])
        or name not in ("logm", "fractional_matrix_power")
    ],
)
def test_derivatives_are_those_of_differences(name, matrices):
    check_direction(getattr(linalg, name), *matrices)


def test_riccati_equations_with_a_matrix_in_front_of_the_state(x64):
    x = linalg.solve_continuous_are(A, B, Q, R, E, S)
    pull = (E.T @ x @ B + S) @ np.linalg.solve(R, B.T @ x @ E + S.T)
    residual = A.T @ x @ E + E.T @ x @ A - pull + Q
    np.testing.assert_allclose(residual, 0, atol=1e-9 if x64 else 1e-4)
    x = linalg.solve_discrete_are(SMALL, B, Q, R, E, S)
    weight = R + B.T @ x @ B
    pull = (SMALL.T @ x @ B + S) @ np.linalg.solve(weight, B.T @ x @ SMALL + S.T)
    residual = SMALL.T @ x @ SMALL - E.T @ x @ E - pull + Q
    np.testing.assert_allclose(residual, 0, atol=1e-9 if x64 else 1e-4)


def test_second_derivatives():
    with jax.enable_x64(True):
        one = jnp.eye(1)
        cost = lambda q: linalg.solve_continuous_are(one, one, q * one, one)[0, 0]
        np.testing.assert_allclose(jax.grad(jax.grad(cost))(3.0), -1 / 32, rtol=1e-9)


def test_what_is_not_real_is_nan_as_with_jnp_log():
    assert np.isnan(linalg.logm(-jnp.eye(2))).all()
    np.testing.assert_allclose(
        linalg.logm(-jnp.eye(2) + 0j), np.pi * 1j * np.eye(2), atol=1e-6
    )


def test_a_square_root_is_complex_as_jaxs():
    found = linalg.sqrtm(jnp.diag(jnp.array([1.0, -1.0])))
    np.testing.assert_allclose(found, np.diag([1, 1j]), atol=1e-6)
    assert linalg.sqrtm(POSITIVE).dtype == jnp.complex64


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_solvers_under_strict_promotion(dtype):
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        matrix = jnp.asarray(RNG.normal(size=(4, 4)) + 4 * np.eye(4), dtype)
        root = linalg.sqrtm(matrix)
        solution = linalg.solve_sylvester(matrix, matrix, matrix)
        assert solution.dtype == matrix.dtype
        np.testing.assert_allclose(root @ root, matrix, atol=1e-4)
        np.testing.assert_allclose(solution, np.eye(4) / 2, atol=1e-4)


def test_a_float32_product_is_symmetric_enough():
    factor = jnp.asarray(RNG.normal(size=(30, 30)), jnp.float32)
    weight = factor @ factor.T + 1e-7 * factor
    with pytest.raises(ValueError, match="should be symmetric"):
        linalg.solve_discrete_are(
            np.eye(30) / 2, np.eye(30), weight + factor, np.eye(30)
        )
    found = linalg.solve_discrete_are(np.eye(30) / 2, np.eye(30), weight, np.eye(30))
    assert np.isfinite(found).all()


def test_stacks_of_matrices_are_refused():
    with pytest.raises(SolverError, match=r"jfi\.vmap"):
        linalg.solve_continuous_lyapunov(jnp.ones((2, 3, 3)), jnp.ones((2, 3, 3)))


def test_integers_are_computed_in_the_precision_of_the_world(x64):
    a, q = np.array([[2, 1], [1, 3]]), np.array([[1, 0], [0, 1]])
    found = linalg.solve_continuous_lyapunov(a, q), linalg.logm(a)
    expected = scipy.linalg.solve_continuous_lyapunov(a, q), scipy.linalg.logm(a)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == (jnp.float64 if x64 else jnp.float32)
        np.testing.assert_allclose(ours, theirs, **close(x64))
