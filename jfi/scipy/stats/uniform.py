"""The distribution uniform: `jax.scipy.stats.uniform`."""

from jax.scipy.stats.uniform import *  # pyright: ignore[reportWildcardImportFromLibrary]
