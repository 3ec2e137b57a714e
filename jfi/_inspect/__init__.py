"""A look inside a function: what it computes, what that costs, how long it takes.

`_public` is what users call. `_tracing` makes a jaxpr of a function of any kind,
`_flow` a list of operations of the jaxpr. `_costs` and `_memory` say what these take;
`_report` holds what users get, made of the `_rows`, and `_compiled` what XLA makes of
it. `_text`, `_html`, `_hints` and `_amounts` show it. `_summary` lists the arrays in an
object.

`_graphs` folds the operations to nodes that a person can look at. `_layout` and
`_plotting` draw them, `_texts_of_graphs` writes them down for other programs;
`_pictures` is what users call.

`_timing` is `timeit`: `_rounds` measures several functions side by side, `_waiting`
waits for their results.
"""

from ._compiled import Compilation as Compilation
from ._public import inspect as inspect
from ._report import Inspection as Inspection
from ._summary import ArrayRow as ArrayRow, Summary as Summary, summary as summary
from ._timing import Timing as Timing, timeit as timeit
