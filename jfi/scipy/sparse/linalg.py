"""Iterative solvers: `jax.scipy.sparse.linalg`."""

from jax.scipy.sparse.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]
