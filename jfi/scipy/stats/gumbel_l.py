"""The distribution gumbel_l: `jax.scipy.stats.gumbel_l`."""

from jax.scipy.stats.gumbel_l import *  # pyright: ignore[reportWildcardImportFromLibrary]
