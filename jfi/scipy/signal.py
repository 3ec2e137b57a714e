"""Signals: `jax.scipy.signal`."""

from jax.scipy.signal import *  # pyright: ignore[reportWildcardImportFromLibrary]
