"""Torch functions inside JAX.

`_bridge` is what users call; `_runs` runs the torch function and finds out what it
returns, under the eyes of `_guard`, which refuses what would be wrong inside JAX;
`_tensors` converts.
"""

from ._bridge import from_torch as from_torch
