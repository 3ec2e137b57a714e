"""Interpolation: `jax.scipy.interpolate`."""

from jax.scipy.interpolate import *  # pyright: ignore[reportWildcardImportFromLibrary]
