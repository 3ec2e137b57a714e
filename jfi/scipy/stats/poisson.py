"""The distribution poisson: `jax.scipy.stats.poisson`."""

from jax.scipy.stats.poisson import *  # pyright: ignore[reportWildcardImportFromLibrary]
