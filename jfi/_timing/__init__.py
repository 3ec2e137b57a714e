"""How long functions take: `timeit`. Begin in `_public`.

`_rounds` measures several functions side by side, `_waiting` waits for their results.
"""

from ._public import Timing as Timing, timeit as timeit
