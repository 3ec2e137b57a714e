"""PyTensor's graphs as JAX functions, by its rules for JAX. Begin in `_functions`."""

from ._functions import from_pytensor as from_pytensor
