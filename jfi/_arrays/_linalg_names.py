"""Linear algebra that JAX has elsewhere than in `jax.numpy.linalg`."""

from jax.lax.linalg import householder_product as householder_product
from jax.scipy.linalg import expm as expm, lu as lu
