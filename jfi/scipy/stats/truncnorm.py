"""The distribution truncnorm: `jax.scipy.stats.truncnorm`."""

from jax.scipy.stats.truncnorm import *  # pyright: ignore[reportWildcardImportFromLibrary]
