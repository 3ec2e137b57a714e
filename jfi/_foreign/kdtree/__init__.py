"""SciPy's k-d tree inside JAX: `_tree`, with differentiable `_distances`."""

from ._tree import KDTree as KDTree, Neighbors as Neighbors
