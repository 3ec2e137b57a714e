"""Matrix equations of control: Sylvester, Lyapunov, Riccati.

An equation that is linear in its unknown is written down once, as a function of JAX:
its derivatives follow from that, and a derivative is the same equation with another
right-hand side, solved by the same solver. A Riccati equation is not linear, but its
derivative is: a Lyapunov equation of the closed loop.

References:
    T.-C. Kao, G. Hennequin, Automatic differentiation of Sylvester, Lyapunov, and
    algebraic Riccati equations, arXiv:2011.11430.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg

from ..._errors import SolverError
from .._solving._options import precise_dtype
from ._matrix_calls import call_scipy


def solve_sylvester(
    A: Any,  # noqa: N803
    B: Any,  # noqa: N803
    C: Any,  # noqa: N803
    *,
    method: str = "schur",
    tol: float = 1e-8,
) -> jax.Array:
    """Solve `A X + X B = C` for `X`, with derivatives: `scipy.linalg.solve_sylvester`.

    The solution is that of `jax.scipy.linalg.solve_sylvester`.

    Example:
        >>> import jfi as jnp
        >>> A = jnp.array([[2.0, 0.0], [0.0, 3.0]])
        >>> jnp.scipy.linalg.solve_sylvester(A, A, jnp.ones((2, 2))).tolist()
        [[0.25, 0.2], [0.2, 0.167]]

    Args:
        A: `(m, m)` matrix.
        B: `(n, n)` matrix.
        C: `(m, n)` matrix.
        method: "schur" or "eigen", as in JAX, which has the first on the CPU alone.
        tol: As in JAX.

    Returns:
        `(m, n)` matrix.
    """
    a, b, c = _promoted(A, B, C)
    theirs: Any = jax.scipy.linalg.solve_sylvester

    def solve(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        found: jax.Array = theirs(a, b, c, method=method, tol=tol)
        return found.astype(c.dtype)

    found: jax.Array = jax.lax.custom_linear_solve(
        lambda x: a @ x + x @ b,
        c,
        lambda _, c: solve(a, b, c),
        lambda _, c: solve(a.T, b.T, c),
    )
    return found


def solve_continuous_lyapunov(a: Any, q: Any) -> jax.Array:
    """Solve `a x + x aᴴ = q` for `x`: `scipy.linalg.solve_continuous_lyapunov`.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> a = jnp.array([[-1.0, 1.0], [0.0, -2.0]])
        >>> lyapunov = jnp.scipy.linalg.solve_continuous_lyapunov
        >>> x = lyapunov(a, -jnp.eye(2))
        >>> x.tolist()
        [[0.583, 0.083], [0.083, 0.25]]
        >>> jax.grad(lambda s: jnp.trace(lyapunov(s * a, -jnp.eye(2))))(1.0).tolist()
        -0.8333

    Args:
        a: `(n, n)` matrix.
        q: `(n, n)` matrix.

    Returns:
        `(n, n)` matrix.
    """
    a, q = _promoted(a, q)
    return _linear("solve_continuous_lyapunov", lambda a, x: a @ x + x @ _h(a), a, q)


def solve_discrete_lyapunov(a: Any, q: Any) -> jax.Array:
    """Solve `a x aᴴ - x + q = 0` for `x`: `scipy.linalg.solve_discrete_lyapunov`.

    Example:
        >>> import jfi as jnp
        >>> a = jnp.array([[0.5, 0.0], [0.0, 0.0]])
        >>> jnp.scipy.linalg.solve_discrete_lyapunov(a, jnp.eye(2)).tolist()
        [[1.333, 0.0], [0.0, 1.0]]

    Args:
        a: `(n, n)` matrix.
        q: `(n, n)` matrix.

    Returns:
        `(n, n)` matrix.
    """
    a, q = _promoted(a, q)
    return _linear("solve_discrete_lyapunov", lambda a, x: x - a @ x @ _h(a), a, q)


def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None
) -> jax.Array:
    """Solve the continuous Riccati equation: `scipy.linalg.solve_continuous_are`.

    `aᴴ x e + eᴴ x a - (eᴴ x b + s) r⁻¹ (bᴴ x e + sᴴ) + q = 0`, of which the solution is
    returned that stabilises the closed loop.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def cost(q):  # of x' = x + u
        ...     one = jnp.eye(1)
        ...     found = jnp.scipy.linalg.solve_continuous_are(one, one, q * one, one)
        ...     return found[0, 0]
        >>> cost(3.0).tolist(), jax.grad(cost)(3.0).tolist()  # 1 + √(1 + q)
        (3.0, 0.25)

    Args:
        a: `(n, n)` matrix.
        b: `(n, m)` matrix.
        q: `(n, n)` symmetric matrix.
        r: `(m, m)` symmetric matrix that has an inverse.
        e: `(n, n)` matrix that has an inverse; None: the identity.
        s: `(n, m)` matrix; None: zeros.

    Returns:
        `(n, n)` symmetric matrix.

    Raises:
        LinAlgError: SciPy's: there is no such solution. Under jit an error of JAX has
            its text.
    """

    def gain(matrices: Any, x: jax.Array) -> Any:
        _, b, _, r, s = matrices
        return jnp.linalg.solve(r, _h(b) @ x + _h(s))

    def residual(matrices: Any, x: jax.Array) -> Any:
        a, b, q, _, s = matrices
        return _h(a) @ x + x @ a - (x @ b + s) @ gain(matrices, x) + q

    def moved(matrices: Any, x: jax.Array, change: jax.Array) -> jax.Array:
        loop = matrices[0] - matrices[1] @ gain(matrices, x)
        return solve_continuous_lyapunov(_h(loop), -change)

    return _riccati("solve_continuous_are", residual, moved, (a, b, q, r, e, s))


def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None
) -> jax.Array:
    """Solve the discrete Riccati equation: `scipy.linalg.solve_discrete_are`.

    `aᴴ x a - eᴴ x e - (aᴴ x b + s) (r + bᴴ x b)⁻¹ (bᴴ x a + sᴴ) + q = 0`, of which the
    solution is returned that stabilises the closed loop.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def cost(q):  # of x⁺ = x + u
        ...     one = jnp.eye(1)
        ...     found = jnp.scipy.linalg.solve_discrete_are(one, one, q * one, one)
        ...     return found[0, 0]
        >>> cost(1.0).tolist(), jax.grad(cost)(1.0).tolist()  # (q + √(q² + 4 q)) / 2
        (1.618, 1.1708)

    Args:
        a: `(n, n)` matrix.
        b: `(n, m)` matrix.
        q: `(n, n)` symmetric matrix.
        r: `(m, m)` symmetric matrix.
        e: `(n, n)` matrix that has an inverse; None: the identity.
        s: `(n, m)` matrix; None: zeros.

    Returns:
        `(n, n)` symmetric matrix.

    Raises:
        LinAlgError: SciPy's: there is no such solution. Under jit an error of JAX has
            its text.
    """

    def gain(matrices: Any, x: jax.Array) -> Any:
        a, b, _, r, s = matrices
        return jnp.linalg.solve(r + _h(b) @ x @ b, _h(b) @ x @ a + _h(s))

    def residual(matrices: Any, x: jax.Array) -> Any:
        a, b, q, _, s = matrices
        return _h(a) @ x @ a - x - (_h(a) @ x @ b + s) @ gain(matrices, x) + q

    def moved(matrices: Any, x: jax.Array, change: jax.Array) -> jax.Array:
        loop = matrices[0] - matrices[1] @ gain(matrices, x)
        return solve_discrete_lyapunov(_h(loop), change)

    return _riccati("solve_discrete_are", residual, moved, (a, b, q, r, e, s))


def _h(matrix: jax.Array) -> jax.Array:
    return matrix.conj().T


def _promoted(*matrices: Any) -> list[jax.Array]:
    arrays = [jnp.asarray(m) for m in matrices]
    dtype = precise_dtype(*arrays)
    for array in arrays:
        if array.ndim != 2:
            message = (
                f"A matrix equation got an array of shape {array.shape}. Pass "
                "matrices; for many of them use jfi.vmap."
            )
            raise SolverError(message)
    return [array.astype(dtype) for array in arrays]


def _linear(
    name: str,
    equation: Callable[[jax.Array, jax.Array], jax.Array],
    a: jax.Array,
    q: jax.Array,
) -> jax.Array:
    """Solve `equation(a, x) = q` by SciPy; `equation(aᵀ, x)` is its transpose."""
    found: jax.Array = jax.lax.custom_linear_solve(
        lambda x: equation(a, x),
        q,
        lambda _, q: call_scipy(name, q, a, q),
        lambda _, q: call_scipy(name, q, a.T, q),
    )
    return found


def _riccati(
    name: str,
    residual: Callable[[Any, jax.Array], jax.Array],
    moved: Callable[[Any, jax.Array, jax.Array], jax.Array],
    given: tuple[Any, ...],
) -> jax.Array:
    """Solve `residual((a, b, q, r, s), x) = 0` by SciPy.

    With `e` it is the equation of `e⁻¹ a` and `e⁻¹ b` for `z = eᴴ x e`. SciPy takes `e`
    itself, but balances the problem by default, and what it returns then is no solution
    where `e` is not symmetric (1.17).

    Args:
        name: The function of `scipy.linalg`.
        residual: The equation.
        moved: `moved(matrices, x, change)`: how `x` moves if the residual changes.
        given: The matrices a, b, q, r, e, s.
    """
    a, b, q, r, e, s = given
    s = jnp.zeros(jnp.shape(b)) if s is None else s
    if e is not None:
        e, a, b = _promoted(e, a, b)
        both = jnp.linalg.solve(e, jnp.concatenate([a, b], axis=1))
        z = _riccati(
            name, residual, moved, (*jnp.split(both, [a.shape[1]], 1), q, r, None, s)
        )
        half = jnp.linalg.solve(_h(e), z)
        return _h(jnp.linalg.solve(_h(e), _h(half)))

    def solve(a: Any, b: Any, q: Any, r: Any, s: Any) -> jax.Array:
        return call_scipy(name, a, a, b, q, r, jnp.eye(a.shape[0], dtype=a.dtype), s)

    solved = jax.custom_jvp(solve)

    def rule(matrices: Any, moves: Any) -> Any:
        x = solved(*matrices)
        change = jax.jvp(lambda *m: residual(m, x), matrices, moves)[1]
        return x, moved(matrices, x, change)

    solved.defjvp(rule)
    found: jax.Array = solved(*_promoted(a, b, q, r, s))
    return found
