"""The identity of a function: the same in every process, another after any change.

`_identity` walks over all that a program is made of; `_walk` is the walk itself, over
plain values; `_pytree_classes` tells how a class is registered with JAX.
"""

from ._identity import (
    Identity as Identity,
    fingerprint as fingerprint,
    identify as identify,
)
from ._pytree_classes import (
    Registration as Registration,
    register as register,
    registration as registration,
)
