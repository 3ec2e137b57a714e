"""Batches without `in_axes`: which arrays are batched is found out, or said by name.

`_public` holds what users call, `_plan` the options, `_marks` how they say in the data
what is batched. A call (`_calls`) runs compiled where it can, with the `_defaults` of
the function as if the caller had given them. Inside, the arguments are flattened to
named leaves (`_leaves`), an axis is chosen for each (`_choosing`, by `_trials`;
`_naming` finds leaves by path), the function is run on the rows (`_rows`): with draws
of their own, in chunks, on several `_devices`; then the results are put together
(`_results`). `_mapping` is the whole of that. `_messages` holds the refusals.
`_cluster` lets the workers of Dask compute the rows: `_sent` is what travels, `_parts`
what they run. `_given_axes` is `vmap` in chunks. `_stacking` makes batches out of
lists.
"""

from ._given_axes import vmap_in_chunks as vmap_in_chunks
from ._marks import batched as batched, shared as shared
from ._public import (
    auto_vmap as auto_vmap,
    vmap_automatically as vmap_automatically,
    vmap_of_axes as vmap_of_axes,
)
from ._stacking import stack_trees as stack_trees, unstack_tree as unstack_tree
