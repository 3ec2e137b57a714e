"""Python's `if`, `while`, `and` ... on a traced value: which line, and what to write.

`_finding` looks up the expression whose truth value Python asked for, `_rewriting`
writes the code that JAX can trace, `_advice` says both, `_telling` puts it into the
error.
"""

from ._attaching import (
    advice as advice,
    is_told as is_told,
    mark_told as mark_told,
    tell as tell,
    told as told,
)
