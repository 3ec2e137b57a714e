"""Code of other libraries, as JAX functions: a wing, which the core never imports.

`torch/` and `numpy_functions/` call it on the host, by `_host`; `pytensor/` and
`_haiku` translate it; `_autoray` is the way back. `jaxify/` is the one door to all of
them, and to what `jfi.scipy` has of SciPy's classes; `_testing` compares what it made.
"""
