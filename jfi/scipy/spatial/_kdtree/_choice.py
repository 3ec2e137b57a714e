"""Which backend answers a query faster, from measured sizes."""

import math

import jax

from ._brute_force import orders_alike
from ._calls import GivenTree
from ._queries import Question


# Measured on two cores, against a call of SciPy's tree from a compiled program.
POINTS_ON_CPU = 64
# Not measured: a host call waits for the device twice, a search in a tree is serial.
POINTS_ON_ACCELERATOR = 20_000
# So many searches through all points take less than building a tree of them.
SEARCHES_PER_TREE = 32


def backend_of_query(
    tree: GivenTree, question: Question, shape: tuple[int, ...]
) -> str:
    """The backend of "auto".

    Args:
        tree: A tree of n points.
        question: What it is asked.
        shape: The shape of the query points.
    """
    n, m = tree.shape
    if len(tree.arrays) > 1:  # digits that the device does not have
        return "scipy"
    if tree.is_of_results and not question.eps:
        # SciPy's tree would be built whenever the program computes other points.
        # Queries of a batch are not in the shape, and an eager call has a tree that is
        # built: there the backends must find the same points.
        searches = math.prod(shape[:-1]) * max(question.ranks)
        box = tree.settings.boxsize
        if searches <= SEARCHES_PER_TREE and orders_alike(m, question.order, box):
            return "jax"
    # All else depends on nothing that differs between an eager call, a compiled one and
    # a row of a batch, so that points at equal distances are told apart in one way.
    if n > POINTS_ON_ACCELERATOR:  # JAX takes as long to name its devices as the rest
        return "scipy"
    if question.eps or jax.default_backend() == "cpu":
        is_simple = not question.eps and max(question.ranks) == 1
        small = POINTS_ON_CPU if is_simple else 0
    else:
        small = POINTS_ON_ACCELERATOR
    return "jax" if 0 < n <= small else "scipy"
