"""How SciPy's solvers work on JAX functions, with derivatives.

Nothing here calls JAX from a host call, which can hang (`jfi/_host`). A solver of
SciPy that wants a value of the user's function is asked to wait, and JAX computes it.
Begin in `_driving` and `_sessions`, where the two take turns. `_hoisting` makes what a
function captures an argument, so that derivatives reach it; `_implicit` finds them by
the implicit function theorem; `_options` checks arguments.
"""
