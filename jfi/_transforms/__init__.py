"""JAX's transformations under their own names: `_public` lists them for users.

`_vmap` maps functions that draw random numbers over rows and shards; `_draws` warns of
functions that draw by NumPy.
"""
