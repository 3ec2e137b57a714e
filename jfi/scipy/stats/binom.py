"""The distribution binom: `jax.scipy.stats.binom`."""

from jax.scipy.stats.binom import *  # pyright: ignore[reportWildcardImportFromLibrary]
