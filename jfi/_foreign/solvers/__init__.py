"""SciPy's solvers of equations that are JAX functions, with derivatives.

Nothing here calls JAX from a host call, which can hang (`host/`). A solver of
SciPy that wants a value of the user's function is asked to wait, and JAX computes it.
Begin in `_driving`. `_hoisting` makes what a function captures an argument, so that
derivatives reach it; `_implicit` finds them by the implicit function theorem.

| modules | hold |
| --- | --- |
| `_hoisting`, `_driving`, `_sessions` | how SciPy and JAX take turns |
| `_implicit`, `_moving`, `_options`, `_bounds` | what the solvers share |
| `_roots`, `_scalar_roots`, `_brackets`, `_fixed_points` | roots: `scipy.optimize` |
| `_least_squares`, `_curve_fit`, `_scalar_minima`, `_programming` | minima |
| `_minimize`, `_constraints`, `_optimality` | `scipy.optimize.minimize`, its minima |
| `_quadrature`, `_sampled` | integrals: `scipy.integrate` |
| `_initial_values`, `_paths`, `_events` | differential equations: `scipy.integrate` |
| `_sparse`, `_operators` | `scipy.sparse.linalg` |
| `_matrix_equations`, `_matrix_functions`, `_matrix_calls` | `scipy.linalg` |
"""
