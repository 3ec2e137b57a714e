"""SciPy's k-d tree inside JAX: `_tree`, with differentiable `_distances`."""

from ._results import Neighbors as Neighbors, Pairs as Pairs
from ._tree import KDTree as KDTree
