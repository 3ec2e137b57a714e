"""Rotations: `jax.scipy.spatial.transform`."""

from jax.scipy.spatial.transform import *  # pyright: ignore[reportWildcardImportFromLibrary]
