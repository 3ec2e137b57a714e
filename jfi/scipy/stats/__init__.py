"""Statistics: `jax.scipy.stats`."""

from jax.scipy.stats import *  # pyright: ignore[reportWildcardImportFromLibrary]
