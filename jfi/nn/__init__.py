"""Functions for neural networks: `jax.nn`."""

from jax.nn import *  # pyright: ignore[reportWildcardImportFromLibrary]
