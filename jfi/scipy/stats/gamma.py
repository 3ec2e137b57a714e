"""The distribution gamma: `jax.scipy.stats.gamma`."""

from jax.scipy.stats.gamma import *  # pyright: ignore[reportWildcardImportFromLibrary]
