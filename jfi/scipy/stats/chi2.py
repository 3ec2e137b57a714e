"""The distribution chi2: `jax.scipy.stats.chi2`."""

from jax.scipy.stats.chi2 import *  # pyright: ignore[reportWildcardImportFromLibrary]
