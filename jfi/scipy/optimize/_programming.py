"""Linear programs and assignments, solved by SciPy on the CPU."""

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import SolverError
from ..._host import host_call
from .._solving._options import frozen, real_array
from ._bounds import bounds_of_pairs


class LinprogResult(NamedTuple):
    """What `linprog` returns: an `OptimizeResult` of SciPy.

    Attributes:
        x: `(n,)` the variables; NaN where there is no solution.
        fun: The cost.
        slack: What is left of each inequality.
        con: By how much each equation is missed.
        success: Boolean: there is a solution.
        status: SciPy's status as an integer.
        nit: The iterations.
        ineqlin: By how much the cost changes with each number of `b_ub`.
        eqlin: By how much the cost changes with each number of `b_eq`.
    """

    x: jax.Array
    fun: jax.Array
    slack: jax.Array
    con: jax.Array
    success: jax.Array
    status: jax.Array
    nit: jax.Array
    ineqlin: jax.Array
    eqlin: jax.Array


def linprog(
    c: Any,
    A_ub: Any = None,  # noqa: N803  # SciPy's name
    b_ub: Any = None,
    A_eq: Any = None,  # noqa: N803
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    *,
    options: Mapping[str, Any] | None = None,
) -> LinprogResult:
    """Minimise a linear cost with linear constraints: `scipy.optimize.linprog`.

    SciPy (HiGHS) solves it on the CPU, in a host call. There are no derivatives: a
    solution is a corner, which stays where it is or jumps. The cost changes with the
    right-hand sides by `ineqlin` and `eqlin`, and with `c` by `x`.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> c, a = jnp.array([-1.0, -2.0]), jnp.array([[1.0, 1.0]])
        >>> found = jax.jit(jnp.scipy.optimize.linprog)(c, a, jnp.array([4.0]))
        >>> found.x, found.ineqlin
        (Array([0., 4.], dtype=float32), Array([-2.], dtype=float32))

    Args:
        c: `(n,)` costs.
        A_ub: `(m, n)` matrix of `A_ub @ x <= b_ub`.
        b_ub: `(m,)` array.
        A_eq: `(k, n)` matrix of `A_eq @ x == b_eq`.
        b_eq: `(k,)` array.
        bounds: One pair for all variables, or one for each, None where there is none.
        method: "highs", "highs-ds" or "highs-ipm", as in SciPy.
        options: As in SciPy.

    Returns:
        `LinprogResult`.

    Raises:
        SolverError: Shapes don't fit, or a derivative is asked for.
    """
    cost = real_array(c, "c of linprog()").ravel()
    n, dtype = cost.size, cost.dtype
    above = _system("A_ub", A_ub, "b_ub", b_ub, n, dtype)
    equal = _system("A_eq", A_eq, "b_eq", b_eq, n, dtype)
    bounds = (0, None) if bounds is None else bounds
    if not hasattr(bounds, "lb") and np.ndim(bounds[0]) == 0 and len(bounds) == 2:
        bounds = [tuple(bounds)] * n
    limits = bounds_of_pairs(bounds, cost)
    settings = dict(frozen(options))
    integer = jax.ShapeDtypeStruct((), np.int32)
    m, k = above[1].size, equal[1].size
    shapes = (n,), (), (m,), (k,), (m,), (k,)
    of_n, one, of_m, of_k, *duals = (jax.ShapeDtypeStruct(s, dtype) for s in shapes)
    flag = jax.ShapeDtypeStruct((), np.bool_)
    specs = [of_n, one, of_m, of_k, flag, integer, integer, *duals]

    def solve(*numbers: Any) -> list[Any]:
        doubles = (np.asarray(a, np.float64) for a in numbers)
        found = _solved(method, settings, *doubles)
        return [np.asarray(v, s.dtype) for v, s in zip(found, specs, strict=True)]

    @jax.custom_jvp
    def solved(*numbers: jax.Array) -> list[jax.Array]:
        return host_call(solve, specs, *numbers, name="linprog()")

    solved.defjvp(_no_derivative)
    return LinprogResult(*solved(cost, *above, *equal, *limits))


def linear_sum_assignment(
    cost_matrix: Any, maximize: bool = False
) -> tuple[jax.Array, jax.Array]:
    """Assign rows to columns at the lowest cost: SciPy's `linear_sum_assignment`.

    SciPy solves it on the CPU, in a host call. The result is integers, without
    derivatives; the cost `c[rows, columns].sum()` has that of its numbers.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> c = jnp.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
        >>> rows, columns = jax.jit(jnp.scipy.optimize.linear_sum_assignment)(c)
        >>> columns, c[rows, columns].sum()
        (Array([1, 0, 2], dtype=int32), Array(5., dtype=float32))

    Args:
        cost_matrix: `(n, m)` costs.
        maximize: Whether the highest cost is searched.

    Returns:
        `rows` and `columns`, integers of the shape `(min(n, m),)`.

    Raises:
        SolverError: It is no matrix of real numbers.
        ValueError: SciPy's: numbers are NaN, or no assignment is finite. Under jit an
            error of JAX has its text.
    """
    cost = jax.lax.stop_gradient(jnp.asarray(cost_matrix))
    if cost.ndim != 2 or jnp.iscomplexobj(cost):
        message = (
            f"linear_sum_assignment() got costs of shape {cost.shape} and "
            f"{cost.dtype}. Pass an (n, m) real matrix; for many of them, use jnp.vmap."
        )
        raise SolverError(message)
    kind = jax.dtypes.canonicalize_dtype(np.int64)
    spec = jax.ShapeDtypeStruct((min(cost.shape),), kind)

    def solve(cost: Any) -> list[Any]:
        from scipy import optimize

        rows, columns = optimize.linear_sum_assignment(cost, maximize)
        return [rows.astype(kind), columns.astype(kind)]

    name = "linear_sum_assignment()"
    found = host_call(solve, [spec, spec], cost, name=name)
    return found[0], found[1]


def _system(
    matrix_name: str, matrix: Any, vector_name: str, vector: Any, n: int, dtype: Any
) -> tuple[jax.Array, jax.Array]:
    if matrix is None and vector is None:
        return jnp.zeros((0, n), dtype), jnp.zeros(0, dtype)
    rows = jnp.asarray(0.0 if matrix is None else matrix, dtype)
    values = jnp.asarray(() if vector is None else vector, dtype).ravel()
    if rows.shape != (values.size, n):
        message = (
            f"linprog() got {matrix_name} of shape {rows.shape} and "
            f"{vector_name} of shape {values.shape} for {n} variables. "
            f"Pass (m, {n}) and (m,)."
        )
        raise SolverError(message)
    return rows, values


def _solved(method: str, options: dict[str, Any], c: Any, *numbers: Any) -> list[Any]:
    from scipy import optimize

    a_ub, b_ub, a_eq, b_eq, low, high = numbers
    found: Any = optimize.linprog(
        c, a_ub, b_ub, a_eq, b_eq, np.stack([low, high], 1), method, options=options
    )
    nothing = found.x is None

    def of(value: Any, like: Any) -> Any:
        return np.full_like(like, np.nan) if nothing else value

    return [
        of(found.x, c), np.nan if nothing else found.fun, of(found.slack, b_ub),
        of(found.con, b_eq), found.success, found.status, found.nit,
        of(found.ineqlin.marginals, b_ub), of(found.eqlin.marginals, b_eq),
    ]  # fmt: skip


def _no_derivative(primals: Any, tangents: Any) -> NoReturn:
    message = (
        "linprog() has no derivatives: a solution is a corner, which stays or jumps. "
        "Write jax.lax.stop_gradient(...) around its arguments. The cost changes by "
        "result.x with c, by result.ineqlin with b_ub and by result.eqlin with b_eq."
    )
    raise SolverError(message)
