"""What to write in place of SciPy's arguments that jfi's functions don't have."""

#: Whatever their value is, the result is the same.
IDLE = frozenset(
    """balanced check_finite copy driver ixpr lapack_driver lwork maxp1 limlst mxhnil
    overwrite_a overwrite_ab overwrite_b overwrite_x printmessg use_umfpack
    workers""".split()
)
#: Values that mean what jfi does, beside SciPy's default.
ALIKE: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(
        ("jac", "hess"), (None, False, "2-point", "3-point", "cs")
    ),  # JAX's derivatives are exact
    **dict.fromkeys(("Dfun", "callback", "fprime", "fprime2", "hessp"), (None, False)),
    "full_output": (0, False),
}
#: The same argument under another name.
RENAMED = {
    f"sparse.linalg.{name}": {"rtol": "tol"} for name in ("bicgstab", "cg", "gmres")
}

_JACOBIAN = "JAX computes the jacobian: leave {} out."
_DERIVATIVE = "JAX computes the derivative: leave {} out."
_HESSIAN = "JAX computes the hessian where the method needs it: leave {} out."
_OPTION = "Write options={{'{0}': ...}}."
_WEIGHT = (
    "Write the weight into the function: quad(lambda x: func(x) * jnp.cos(3 * x), a, b)"
)
_LOOK = (
    "To look at the points of the search, write in the function: "
    "jax.debug.print('{}', x)"
)
_IVP = "solve_ivp has it: solve_ivp(f, (t[0], t[-1]), y0, 'LSODA', t_eval=t, {})"


def _bracketing(method: str) -> dict[str, str | None]:
    whole = f"root_scalar(f, bracket=(a, b), method={method!r})"
    return {
        "full_output": f"For the root with what was found on the way write: {whole}",
        "disp": f"For a root that may not have converged write: {whole}.root",
    }


_NEWTON: dict[str, str | None] = {
    "fprime": _DERIVATIVE.format("fprime"),
    "fprime2": _DERIVATIVE.format("fprime2"),
}
#: What to write in place of an argument of one function; None where all its values have
#: the same result.
INSTEAD: dict[str, dict[str, str | None]] = {
    **{
        f"optimize.{method}": _bracketing(method)
        for method in ("bisect", "brenth", "brentq", "ridder", "toms748")
    },
    "integrate.odeint": {
        "Dfun": _JACOBIAN.format("Dfun"),
        "col_deriv": _JACOBIAN.format("col_deriv"),
        "ml": _JACOBIAN.format("ml"),
        "mu": _JACOBIAN.format("mu"),
        "full_output": _IVP.format("...") + ", whose result has nfev and status.",
        "h0": _IVP.format("first_step=h0"),
        "hmax": _IVP.format("max_step=hmax"),
        "hmin": _IVP.format("min_step=hmin"),
        "mxstep": _IVP.format("...") + ", which ends where the equation does.",
        "mxordn": _IVP.format("..."),
        "mxords": _IVP.format("..."),
        "tcrit": "Solve the equation in parts, from one critical time to the next.",
    },
    "integrate.quad": {
        **dict.fromkeys(("weight", "wvar", "wopts"), _WEIGHT),
        "full_output": "The result has the error and whether it converged: leave "
        "full_output out.",
        "complex_func": "Write: quad(lambda x: func(x).real, a, b)[0] + "
        "1j * quad(lambda x: func(x).imag, a, b)[0]",
    },
    "integrate.solve_ivp": {
        **{word: _JACOBIAN.format(word) for word in ("jac", "jac_sparsity")},
        **{word: _JACOBIAN.format(word) for word in ("lband", "uband")},
        "vectorized": "JAX computes the jacobian: leave vectorized out, and let fun "
        "take one state. For many states write jnp.vmap around solve_ivp.",
    },
    "interpolate.RegularGridInterpolator": {
        "solver": "The splines are solved exactly: leave solver and solver_args out.",
        "solver_args": "The splines are solved exactly: leave solver and solver_args "
        "out.",
    },
    "linalg.eigh": dict.fromkeys(
        ("subset_by_index", "subset_by_value"),
        "Take the part of all: w, v = eigh(a); w[i:j], v[:, i:j]",
    ),
    "linalg.inv": {
        "assume_a": "Leave it out: it only says how. To solve a system write: "
        "solve(a, b, assume_a=...)",
        "lower": "Pass the whole matrix: jnp.tril(a) + jnp.tril(a, -1).T",
    },
    "linalg.lu": {"p_indices": "Write: p, l, u = lu(a); p.argmax(axis=1)"},
    "linalg.solve": {"transposed": "Write: solve(a.T, b)"},
    "linalg.solve_discrete_lyapunov": {"method": None},
    "optimize.curve_fit": {
        "args": "Write: curve_fit(lambda x, *p: f(x, *p, *args), xdata, ydata, p0)",
        "jac": _JACOBIAN.format("jac"),
        "full_output": "least_squares returns all: "
        "least_squares(lambda p: f(xdata, *p) - ydata, p0)",
        "nan_policy": "Leave out what is not a number: ok = ~jnp.isnan(ydata); "
        "curve_fit(f, xdata[ok], ydata[ok])",
    },
    "optimize.least_squares": {
        "jac": _JACOBIAN.format("jac"),
        "diff_step": _JACOBIAN.format("diff_step"),
        "jac_sparsity": _JACOBIAN.format("jac_sparsity"),
        "x_scale": _OPTION.format("x_scale"),
        "tr_solver": _OPTION.format("tr_solver"),
        "tr_options": _OPTION.format("tr_options"),
        "verbose": _LOOK,
        "callback": _LOOK,
        "kwargs": "Write: least_squares(lambda x: fun(x, name=value), x0)",
    },
    "optimize.linprog": {
        "callback": "There are no steps to look at: leave callback out.",
        "x0": "The methods of HiGHS find a start themselves: leave x0 out.",
        "integrality": "For integers SciPy's own runs on the CPU; write: "
        "jnp.from_numpy(lambda c: scipy.optimize.linprog(c, ..., integrality=1).x)",
    },
    "optimize.minimize": {
        "jac": "JAX computes the gradient: leave jac out. Where fun returns the "
        "gradient too, write: minimize(lambda x: fun(x)[0], x0)",
        "hess": _HESSIAN.format("hess"),
        "hessp": _HESSIAN.format("hessp"),
        "callback": _LOOK,
    },
    "optimize.newton": {
        **_NEWTON,
        "full_output": "For the root with what was found on the way write: "
        "root_scalar(func, x0=x0)",
        "disp": "For a root that may not have converged write: "
        "root_scalar(func, x0=x0).root",
    },
    "optimize.root": {"jac": _JACOBIAN.format("jac"), "callback": _LOOK},
    "optimize.root_scalar": _NEWTON,
    **{
        f"sparse.linalg.{name}": {
            "callback": "To look at the steps, write in the function of A: "
            "jax.debug.print('{}', x)"
        }
        for name in ("bicgstab", "cg", "gmres")
    },
}
#: What to write in place of a name of SciPy's: another one of jfi.
ELSEWHERE = {
    "constants": "from scipy import constants, which are numbers",
    "ndimage.find_objects": "scipy.ndimage.find_objects(np.asarray(labels)), outside "
    "of jit: slices of sizes that depend on values",
    "ndimage.sum": "jnp.scipy.ndimage.sum_labels",
    "optimize.fsolve": "jnp.scipy.optimize.root(func, x0, args).x",
    "optimize.leastsq": "jnp.scipy.optimize.least_squares(func, x0, args=args).x",
    "optimize.fmin": "jnp.scipy.optimize.minimize(func, x0, args, 'Nelder-Mead').x",
    "optimize.fmin_bfgs": "jnp.scipy.optimize.minimize(f, x0, args).x",
    "optimize.fmin_l_bfgs_b": "jnp.scipy.optimize.minimize(func, x0, args, 'L-BFGS-B')",
    "spatial.KDTree": "jnp.KDTree",
    "spatial.cKDTree": "jnp.KDTree",
    "spatial.distance": "jnp.cdist(x, y), or "
    "jnp.from_numpy(scipy.spatial.distance.cdist)",
}
#: What to write in place of an argument that many functions have.
USUAL = {
    "out": "JAX's arrays don't change: leave out= away, and take the result.",
    "where": "Write: jnp.where(where, result, otherwise)",
    "dtype": "Write: result.astype(dtype)",
}
