"""Vector quantization: `jax.scipy.cluster.vq`."""

from jax.scipy.cluster.vq import *  # pyright: ignore[reportWildcardImportFromLibrary]
