"""NumPy and SciPy functions as JAX functions.

`_public` is what users call: it takes arguments apart. `_calls` runs the function and
learns what it returns; `_samples` says why that failed; `_broadcasting` proves that one
call can stand for a batch; `_rules` are derivatives that users give, `_numeric` those
by differences; `_ordered` are functions with effects.
"""

from ._public import from_numpy as from_numpy
