"""PyTensor's graphs as JAX functions, by its rules for JAX. Begin in `_functions`.

`_graphs` makes a graph ready; `_library` imports PyTensor's rules, `_rules` mends them.
"""

from ._functions import from_pytensor as from_pytensor
