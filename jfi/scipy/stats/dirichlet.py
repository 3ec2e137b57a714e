"""The distribution dirichlet: `jax.scipy.stats.dirichlet`."""

from jax.scipy.stats.dirichlet import *  # pyright: ignore[reportWildcardImportFromLibrary]
