"""What functions do beyond their arguments and results, where jfi compiles unasked.

`_callbacks` finds code that calls back to Python, `_generators` code that draws from
NumPy's random generators.
"""

from ._callbacks import (
    CallsBackError as CallsBackError,
    without_callbacks as without_callbacks,
)
from ._generators import generators_read as generators_read
