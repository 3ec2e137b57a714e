"""The distribution t: `jax.scipy.stats.t`."""

from jax.scipy.stats.t import *  # pyright: ignore[reportWildcardImportFromLibrary]
