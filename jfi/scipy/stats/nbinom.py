"""The distribution nbinom: `jax.scipy.stats.nbinom`."""

from jax.scipy.stats.nbinom import *  # pyright: ignore[reportWildcardImportFromLibrary]
