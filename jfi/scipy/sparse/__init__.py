"""Sparse linear algebra: `jax.scipy.sparse`."""

from jax.scipy.sparse import *  # pyright: ignore[reportWildcardImportFromLibrary]


del linalg  # JAX's: ours has what it has, and more

from . import linalg as linalg
