"""The distribution logistic: `jax.scipy.stats.logistic`."""

from jax.scipy.stats.logistic import *  # pyright: ignore[reportWildcardImportFromLibrary]
