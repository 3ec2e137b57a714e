"""The distribution laplace: `jax.scipy.stats.laplace`."""

from jax.scipy.stats.laplace import *  # pyright: ignore[reportWildcardImportFromLibrary]
