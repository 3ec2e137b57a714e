"""Random draws in code that JAX traces. Begin to read in `_draws.py`.

`_sources` is what traced code draws from, `_finding` the signal that it draws,
`_policy` and `_refusals` what is warned of and refused. `_own_stream` runs functions on
keys of their own, `_rows` does so for the rows of a batch, also in chunks.
"""

from ._draws import (
    Keys as Keys,
    any_draws_traced as any_draws_traced,
    functionalize as functionalize,
    next_key_data as next_key_data,
    next_keys as next_keys,
    refuse_sources as refuse_sources,
    trace_call as trace_call,
    traced_sources as traced_sources,
)
from ._finding import (
    FoundDraws as FoundDraws,
    is_refusing as is_refusing,
    tracing as tracing,
)
from ._policy import (
    PlainJitPolicy as PlainJitPolicy,
    set_plain_jit_policy as set_plain_jit_policy,
)
from ._refusals import is_under_vmap as is_under_vmap
from ._sources import StreamSource as StreamSource, source_of as source_of
