"""Loops and branches.

`_control_flow` holds JAX's own (`scan`, `cond` ...) and `_operations` what they do.
Called by eager code they run as compiled programs (`_programs`); what JAX refuses,
`_diagnosis` explains in the user's words, with the checks of `_carry`. `_branches` is
`cond` in a batch, `_progress_loops` the loops with a progress bar, `_safe_where` a
`where` with a safe gradient.

`_scan_while` is the loop that stops by itself and keeps its history, `_bounded` what it
does, and what a while loop with `max_steps` does. `_traced_loop` makes it of the user's
functions; `_by_steps` runs these in Python. `_loop_forms` are what runs it: a while
loop, one loop for a whole batch, a scan. `_loop_derivatives` differentiates it, and
`_jax_internals` hands these to JAX.
"""

from ._control_flow import (
    associative_scan as associative_scan,
    checkpoint as checkpoint,
    cond as cond,
    fori_loop as fori_loop,
    map as map,
    scan as scan,
    switch as switch,
    while_loop as while_loop,
)
from ._safe_where import safe_where as safe_where
from ._scan_while import ScanWhileResult as ScanWhileResult, scan_while as scan_while


remat = checkpoint  # JAX has both names
