"""Code that is no JAX code, as JAX functions.

Begin in `host/`: how compiled code calls other code, and what the derivative of a call
is. `torch/`, `kdtree/` and `numpy_functions/` stand on it, and `solvers/` in part: they
call SciPy on values of JAX functions. `images/` and `interpolation/` are SciPy's
functions written in JAX, without a host call. `pytensor/` and `_haiku` translate;
`jaxify/` is the one door to all of them.
"""
