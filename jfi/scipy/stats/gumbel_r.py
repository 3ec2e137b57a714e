"""The distribution gumbel_r: `jax.scipy.stats.gumbel_r`."""

from jax.scipy.stats.gumbel_r import *  # pyright: ignore[reportWildcardImportFromLibrary]
