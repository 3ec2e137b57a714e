"""Python's `if`, `while`, `and` ... on a traced value: which line, and what to write.

`_finding` looks up the expression whose truth value Python asked for, `_rewriting`
writes the code that JAX can trace, `_advice` says both, `_telling` puts it into the
error.
"""

from ._attaching import (
    advice as advice,
    attach_advice as attach_advice,
    has_advice as has_advice,
    mark_advised as mark_advised,
    with_advice as with_advice,
)
