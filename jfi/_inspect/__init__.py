"""A look inside a function: what it computes, what that costs, how long it takes.

`_tracing` makes a jaxpr of a function of any kind, with the user's names for its
inputs and constants (`_constant_names`). `_flow` makes a list of operations of it that
know their line, the loops around them and where their inputs come from; `_costs` says
what each takes. All that users get is made of this list, when they ask for it:
`_report` has `inspect` and the figures, in `_rows` of plain data; `_text` shows them;
`_graphs` folds the operations to nodes that a person can look at, and `_drawing` hands
these to Graphviz.

`_summary` lists the arrays in an object. `_timing` is `timeit`: `_rounds` measures
several functions side by side, `_waiting` waits for their results.

The core imports none of it. The folder is not named `inspect`, since `jfi.inspect` is
the function: importing a module of that name would put the module in its place.
"""

from ._report import Inspection as Inspection, inspect as inspect
from ._rows import Compilation as Compilation
from ._summary import ArrayRow as ArrayRow, Summary as Summary, summary as summary
from ._timing import Timing as Timing, timeit as timeit
