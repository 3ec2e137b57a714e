"""What functions read and do beyond their arguments and captured variables.

Compiled code holds global variables as constants and works on copies of what functions
captured. Where jfi compiles without being asked to, that must change no result.
`_globals` passes what a function reads from its module as data; `_watching` compares
what functions deeper down read; `_callbacks` finds code that calls back to Python.
"""

from ._callbacks import (
    CallsBackError as CallsBackError,
    without_callbacks as without_callbacks,
)
from ._globals import Reading as Reading
from ._watching import Watched as Watched, WidenedError as WidenedError
