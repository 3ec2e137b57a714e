"""Custom arrays: classes with rules of their own for the functions of jfi.

`_namespace` makes the functions, one wrapper for a name, by the text that `_written`
writes; `_data_parameters` says where arrays come, `_words` are PyTorch's words. A call
whose arguments are no plain arrays (`_custom`) goes to `_calls`, which asks rules
(`_rules`), methods of the classes and libraries, and else makes plain arrays
(`_materialising`). `_overriding` swaps functions for a block, `_swapping` does it, also
for good; `_retracing` keeps compiled functions up to date with all of that.
`_names` says which functions have wrappers, `_meanings` which names mean another one,
`_for_numpy` is for NumPy's functions. `_custom_array` is the base class for arrays of
one's own, with its `_operators` and `_attributes`.
"""
