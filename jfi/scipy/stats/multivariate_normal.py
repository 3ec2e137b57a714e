"""The distribution multivariate_normal: `jax.scipy.stats.multivariate_normal`."""

from jax.scipy.stats.multivariate_normal import *  # pyright: ignore[reportWildcardImportFromLibrary]
