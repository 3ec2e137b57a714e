"""Sorting networks: which pairs of places to compare to sort a fixed number of values.

For a filter over few neighbors that is one pass over the image, of minima and maxima
alone, where sorting the neighbors of each element is a hundred times slower on a CPU.

References:
    K. E. Batcher, Sorting networks and their applications, AFIPS 1968.
"""

import functools


@functools.lru_cache(maxsize=64)
def selecting(count: int, place: int) -> tuple[tuple[int, int], ...]:
    """Comparisons after which a place holds what it holds in sorted order.

    Example:
        >>> from jfi.scipy.ndimage._networks import selecting
        >>> values = [5, 2, 9]
        >>> for low, high in selecting(3, 1):
        ...     pair = values[low], values[high]
        ...     values[low], values[high] = min(pair), max(pair)
        >>> values[1]
        5

    Args:
        count: How many values there are.
        place: The place in sorted order that is wanted.

    Returns:
        Pairs of places, the smaller value belongs to the first.
    """
    needed, kept = {place}, []
    for low, high in reversed(_sorting(count)):
        if low in needed or high in needed:  # all others don't reach the place
            needed |= {low, high}
            kept.append((low, high))
    return tuple(reversed(kept))


def _sorting(count: int) -> list[tuple[int, int]]:
    """Batcher's odd-even merge sort of any number of values."""
    pairs: list[tuple[int, int]] = []
    run = 1
    while run < count:
        step = run
        while step:
            for start in range(step % run, count - step, 2 * step):
                for low in range(start, min(start + step, count - step)):
                    high = low + step
                    if low // (2 * run) == high // (2 * run):
                        pairs.append((low, high))
            step //= 2
        run *= 2
    return pairs
