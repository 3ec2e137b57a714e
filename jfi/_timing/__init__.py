"""How long functions take: `timeit`; `_rounds` measures several side by side."""

from ._public import Timing as Timing, timeit as timeit
