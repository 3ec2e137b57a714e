"""`autojit`: jit that finds by itself what is data and what is a setting.

`_wrapper` is what users hold. A call is opened (`_opening`, in the `_modes` of its
parameters) into a hashable graph (`_graphs`) of what its arguments are and what its
code reads outside (`_reading`), and the arrays, which are traced. The nodes of the
graph are of some kind: the folder `kinds/`. For each graph there is a
program (`_programs`). It runs the body on clones (`_rebuilding`), and gives back an
outcome (`_outcomes`): the result, and what the body changed (`_changes`, `_effects`).

Opening is exact and slow. What comes often is written down as code that recognises it
(`_layouts`, `_layout_table`; `_sources` is what kinds write to, `_checks` what the
code may call); what stays as it is in all calls, such as a model of linen, is
remembered (`_still`). `_calls` tries that first. Copies of a function that a cluster
sends share programs (`_recent`). `_varying` finds out which captured
numbers of an eager loop are constants. `_messages` holds what is refused, in the
user's words, `_watching` what can't be watched, `_history` why a function was
compiled, `_ahead` what is made of it ahead of time; `_options` and `_shardings` hold
what users may ask for; `_keeping` is where programs are kept for other processes.
"""

from ._calls import Calls as Calls, calls_of_copies as calls_of_copies
from ._modes import Mode as Mode
from ._opening import contents_of as contents_of, variables_read as variables_read
from ._recent import (
    MAX_FUNCTIONS as MAX_FUNCTIONS,
    code_of as code_of,
)
from ._watching import (
    GlobalWritesError as GlobalWritesError,
    UntracedError as UntracedError,
    UnwatchedError as UnwatchedError,
)
from ._wrapper import AutoJIT as AutoJIT, CacheInfo as CacheInfo, autojit as autojit


AdvancedAutoJIT = AutoJIT  # the name in old scripts
