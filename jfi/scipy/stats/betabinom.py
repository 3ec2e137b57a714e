"""The distribution betabinom: `jax.scipy.stats.betabinom`."""

from jax.scipy.stats.betabinom import *  # pyright: ignore[reportWildcardImportFromLibrary]
