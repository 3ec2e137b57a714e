"""Images: `jax.scipy.ndimage`."""

from jax.scipy.ndimage import *  # pyright: ignore[reportWildcardImportFromLibrary]
