"""Clustering: `jax.scipy.cluster`."""

from jax.scipy.cluster import *  # pyright: ignore[reportWildcardImportFromLibrary]
