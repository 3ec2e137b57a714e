"""SciPy's k-d tree inside JAX. Begin in `_tree.py`, which holds the public class.

`_points` is what a tree is to JAX, `_host_trees` SciPy's tree of it. A call (`_calls`)
asks SciPy for neighbours, or compares all points where that is faster (`_choice`,
`_brute_force`); `_distances` are computed again in JAX, so that they differentiate.
"""

from ._results import Neighbors as Neighbors, Pairs as Pairs
from ._tree import KDTree as KDTree
