"""The distribution pareto: `jax.scipy.stats.pareto`."""

from jax.scipy.stats.pareto import *  # pyright: ignore[reportWildcardImportFromLibrary]
