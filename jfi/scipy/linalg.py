"""Linear algebra as in SciPy: `jax.scipy.linalg`."""

from jax.scipy.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]
