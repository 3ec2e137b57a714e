"""The distribution beta: `jax.scipy.stats.beta`."""

from jax.scipy.stats.beta import *  # pyright: ignore[reportWildcardImportFromLibrary]
