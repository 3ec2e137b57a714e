"""The distribution wrapcauchy: `jax.scipy.stats.wrapcauchy`."""

from jax.scipy.stats.wrapcauchy import *  # pyright: ignore[reportWildcardImportFromLibrary]
