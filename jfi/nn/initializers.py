"""Initial weights for neural networks: `jax.nn.initializers`."""

from jax.nn.initializers import *  # pyright: ignore[reportWildcardImportFromLibrary]
