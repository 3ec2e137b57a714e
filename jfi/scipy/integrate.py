"""Numerical integration: `jax.scipy.integrate`."""

from jax.scipy.integrate import *  # pyright: ignore[reportWildcardImportFromLibrary]
