"""Python's `if`, `while`, `and` ... on a traced value: which line, and what to write.

`_finding` looks up the expression whose truth value Python asked for, `_rewriting`
writes the code that JAX can trace, `_branches` says both, `_attaching` puts it into the
error. `_frames` leaves the frames of jfi out of tracebacks.
"""

from ._attaching import (
    advice as advice,
    attach_advice as attach_advice,
    has_advice as has_advice,
    mark_advised as mark_advised,
    with_advice as with_advice,
)
from ._frames import hide_frames as hide_frames, hiding_frames as hiding_frames
