"""Code that is no JAX code, as JAX functions: torch, k-d trees, haiku networks.

Begin in `_host_calls.py`: a compiled function calls Python there, one call a batch.
"""
