"""Sparse linear algebra: `jax.scipy.sparse`."""

from jax.scipy.sparse import *  # pyright: ignore[reportWildcardImportFromLibrary]
