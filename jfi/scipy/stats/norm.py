"""The distribution norm: `jax.scipy.stats.norm`."""

from jax.scipy.stats.norm import *  # pyright: ignore[reportWildcardImportFromLibrary]
