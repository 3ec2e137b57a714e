"""The distribution expon: `jax.scipy.stats.expon`."""

from jax.scipy.stats.expon import *  # pyright: ignore[reportWildcardImportFromLibrary]
