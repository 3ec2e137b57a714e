"""Fourier transforms: `jax.numpy.fft`."""

from jax.numpy.fft import *  # pyright: ignore[reportWildcardImportFromLibrary]
