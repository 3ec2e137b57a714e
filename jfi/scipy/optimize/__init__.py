"""Minimisation: `jax.scipy.optimize`."""

from jax.scipy.optimize import *  # pyright: ignore[reportWildcardImportFromLibrary]
