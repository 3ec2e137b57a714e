"""The fingerprint: the same in every process, another after any change.

Of a function, or of whatever a function uses. `_identity` walks over all that a
program is made of; `_walk` is the walk itself, over plain values; `_given` finds what
users have put into libraries, and `_libraries` what these hold and a trace reads there;
`_pytree_classes` finds out how a class is registered with JAX; `_names` has the names
of functions.
"""

from ._given import add_attribute as add_attribute, given as given
from ._identity import ProgramWalk as ProgramWalk, fingerprint as fingerprint
from ._libraries import (
    LibraryReads as LibraryReads,
    LibraryState as LibraryState,
    contents as contents,
    is_as_noted as is_as_noted,
    is_left_out as is_left_out,
)
from ._names import (
    differs_by_process as differs_by_process,
    library_state as library_state,
)
from ._pytree_classes import registration as registration
from ._walk import is_copy as is_copy
