"""Random draws in code that JAX traces. Begin to read in `_draws.py`."""

from ._draws import (
    FoundDraws as FoundDraws,
    Functional as Functional,
    Keys as Keys,
    StreamSource as StreamSource,
    any_draws_traced as any_draws_traced,
    draw_keys as draw_keys,
    functionalize as functionalize,
    is_outermost as is_outermost,
    is_refusing as is_refusing,
    is_staged as is_staged,
    next_key as next_key,
    refuse_caught_draws as refuse_caught_draws,
    refuse_sources as refuse_sources,
    source_of as source_of,
    trace_call as trace_call,
    traced_sources as traced_sources,
    tracing as tracing,
)
from ._policy import (
    PlainJitPolicy as PlainJitPolicy,
    set_plain_jit_policy as set_plain_jit_policy,
)
from ._refusals import (
    is_under_vmap as is_under_vmap,
)
