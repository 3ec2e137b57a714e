"""The distribution geom: `jax.scipy.stats.geom`."""

from jax.scipy.stats.geom import *  # pyright: ignore[reportWildcardImportFromLibrary]
