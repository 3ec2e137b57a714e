"""The distribution gennorm: `jax.scipy.stats.gennorm`."""

from jax.scipy.stats.gennorm import *  # pyright: ignore[reportWildcardImportFromLibrary]
