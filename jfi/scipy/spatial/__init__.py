"""Geometry: `jax.scipy.spatial`."""

from jax.scipy.spatial import *  # pyright: ignore[reportWildcardImportFromLibrary]

from . import transform as transform
