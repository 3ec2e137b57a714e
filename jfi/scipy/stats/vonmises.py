"""The distribution vonmises: `jax.scipy.stats.vonmises`."""

from jax.scipy.stats.vonmises import *  # pyright: ignore[reportWildcardImportFromLibrary]
