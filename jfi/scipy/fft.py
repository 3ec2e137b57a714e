"""Cosine transforms: `jax.scipy.fft`."""

from jax.scipy.fft import *  # pyright: ignore[reportWildcardImportFromLibrary]
