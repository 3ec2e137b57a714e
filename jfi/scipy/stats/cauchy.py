"""The distribution cauchy: `jax.scipy.stats.cauchy`."""

from jax.scipy.stats.cauchy import *  # pyright: ignore[reportWildcardImportFromLibrary]
