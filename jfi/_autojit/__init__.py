"""`autojit`: jit that finds by itself what is data and what is a setting.

`_wrapper` is what users hold; read it first, then `_calls`. A call is opened
(`_opening`) into a hashable graph (`_graphs`) of what its arguments are and what its
code reads outside (`_reading`); what each node of the graph is, its kind says
(`kinds/`). For each graph there is a program (`_programs`), which runs the body on
clones and returns an outcome (`_outcomes`): the result, and what the
body changed. Opening is exact and slow: what comes often is written down as code that
recognises it (`_layouts`). The map of all files is in docs/design.md, "autojit".
"""

from typing import TYPE_CHECKING

from ._calls import Calls as Calls, calls_of_copies as calls_of_copies
from ._copies import (
    MAX_FUNCTIONS as MAX_FUNCTIONS,
    code_of as code_of,
)
from ._loops_and_batches import (
    assigns_alike as assigns_alike,
    undoing_writes as undoing_writes,
)
from ._opening import contents_of as contents_of, variables_read as variables_read
from ._programs import (
    errors_caught as errors_caught,
    refusing_writes as refusing_writes,
)
from ._reading import Mode as Mode
from ._watching import (
    BRANCHES as BRANCHES,
    UntracedError as UntracedError,
    UnwatchedError as UnwatchedError,
    WritesOnceError as WritesOnceError,
    reaches_outside as reaches_outside,
)
from ._wrapper import CacheInfo as CacheInfo, autojit as autojit


if TYPE_CHECKING:
    from ._wrapper import AutoJIT as AutoJIT
else:
    from ._as_class import AutoJIT as AutoJIT

AdvancedAutoJIT = AutoJIT  # the name in old scripts
