"""The distribution bernoulli: `jax.scipy.stats.bernoulli`."""

from jax.scipy.stats.bernoulli import *  # pyright: ignore[reportWildcardImportFromLibrary]
