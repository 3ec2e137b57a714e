"""JAX's transformations under their own names: `_public` lists them for users.

`_vmap` maps functions that draw random numbers over rows and shards, `batching` finds
out over what (`vmap_automatically`); `_draws` warns of functions that draw by NumPy.
"""
