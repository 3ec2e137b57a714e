"""Which backend answers a query faster, from measured sizes."""

from collections.abc import Sequence

import jax


# Measured on two cores, against a call of SciPy's tree from a compiled program.
POINTS_ON_CPU = 64
# Not measured: a host call waits for the device twice, a search in a tree is serial.
POINTS_ON_ACCELERATOR = 20_000


def backend_of_query(n: int, ranks: Sequence[int], eps: float) -> str:
    """The backend of "auto" for a tree of n points.

    It depends on nothing that differs between an eager call, a compiled one and a row
    of a batch, so that points at equal distances are told apart in one way.
    """
    if n > POINTS_ON_ACCELERATOR:  # JAX takes as long to name its devices as the rest
        return "scipy"
    if eps or jax.default_backend() == "cpu":
        small = POINTS_ON_CPU if not eps and max(ranks) == 1 else 0
    else:
        small = POINTS_ON_ACCELERATOR
    return "jax" if 0 < n <= small else "scipy"
