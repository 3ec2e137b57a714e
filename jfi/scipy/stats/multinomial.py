"""The distribution multinomial: `jax.scipy.stats.multinomial`."""

from jax.scipy.stats.multinomial import *  # pyright: ignore[reportWildcardImportFromLibrary]
