"""The only place where jfi touches JAX beyond its documented interface.

One function per difference. What each relies on is a `Piece`, which is proved at first
use and has a way without it: a new release of JAX is a change of this folder alone.
`python -m jfi` shows which pieces are in use. Checked in JAX 0.10.2 and 0.12.0.
"""

from typing import TYPE_CHECKING

import jax

from ._array_classes import array_classes as array_classes
from ._batch_tracers import is_batched as is_batched
from ._buffer_calls import called_on_buffers as called_on_buffers
from ._call_stack import (
    condition_draws as condition_draws,
    enclosing_transformations as enclosing_transformations,
    in_uneven_loop as in_uneven_loop,
)
from ._callback_slots import (
    Slots as Slots,
    digest_of as digest_of,
    slots_of as slots_of,
)
from ._committing import uncommitted as uncommitted
from ._compiling import cache_size as cache_size, on_compiled as on_compiled
from ._constants import consts_as_arguments as consts_as_arguments
from ._effects import (
    RefusedEffectsError as RefusedEffectsError,
    callbacks_of as callbacks_of,
    called_back as called_back,
    calls_back as calls_back,
    calls_back_in_branches as calls_back_in_branches,
    communicates as communicates,
    exchanging_axes as exchanging_axes,
    inner_jaxprs as inner_jaxprs,
    is_primitive as is_primitive,
    is_ref as is_ref,
    may_raise_for_equinox as may_raise_for_equinox,
    names_of_axes as names_of_axes,
    raises_where_called as raises_where_called,
    rules_in as rules_in,
)
from ._ended_traces import forget_traces as forget_traces
from ._equations import (
    Inner as Inner,
    called_name as called_name,
    inside as inside,
    is_call as is_call,
    is_literal as is_literal,
    replayed as replayed,
    source_files as source_files,
)
from ._executables import (
    callback_slots as callback_slots,
    compiled_anew as compiled_anew,
    deserialized as deserialized,
    serialized as serialized,
    use_jax_cache as use_jax_cache,
    without_source_lines as without_source_lines,
)
from ._fast_calls import find_quick_ways_again as find_quick_ways_again
from ._host_arrays import copied_from_host as copied_from_host
from ._host_errors import (
    XLA_ERRORS as XLA_ERRORS,
    awaited as awaited,
    carried as carried,
    carrying as carrying,
    host_calls as host_calls,
    note_host_call as note_host_call,
    original as original,
    raise_original as raise_original,
    recorded as recorded,
    wait_for as wait_for,
    without_log_of as without_log_of,
)
from ._key_state import JitKeyState as JitKeyState, jit_key_state as jit_key_state
from ._loop_calls import (
    linear_calls as linear_calls,
    refuses_forward_mode as refuses_forward_mode,
    ruled_calls as ruled_calls,
    with_kept_rules as with_kept_rules,
)
from ._numpy_names import (
    deprecated_numpy as deprecated_numpy,
    from_numpy as from_numpy,
    on_demand as on_demand,
)
from ._operations import (
    dense as dense,
    is_zero as is_zero,
    operation as operation,
    zero_cotangent as zero_cotangent,
    zero_tangent as zero_tangent,
)
from ._pieces import (
    TESTED as TESTED,
    check_names as _check_names,
    outside_of_tracing as outside_of_tracing,
    rows as rows,
    without as without,
)
from ._plain_classes import (
    of_plain_classes as of_plain_classes,
    plain_class as plain_class,
    wide_dtype as wide_dtype,
)
from ._pytrees import (
    WholeStructure as WholeStructure,
    pytree_from_node as pytree_from_node,
    pytree_node as pytree_node,
)
from ._retracing import trace_again as trace_again, trace_apart as trace_apart
from ._ruled_functions import (
    dense_tangents as dense_tangents,
    floats_of as floats_of,
    has_derivatives as has_derivatives,
    is_none as is_none,
    is_zero_tangent as is_zero_tangent,
    leaves_where as leaves_where,
    merge as merge,
    with_rules as with_rules,
    with_zeros as with_zeros,
)
from ._same_code import (
    code_key as code_key,
    compares_code as compares_code,
    has_rules as has_rules,
)
from ._settings import (
    all_settings as all_settings,
    backend_started as backend_started,
    compilation_context as compilation_context,
    cut_64_bits as cut_64_bits,
    cuts_64_bits as cuts_64_bits,
    jit_options as jit_options,
    refuse_64_bits as refuse_64_bits,
    setting as setting,
)
from ._source_lines import (
    origin_of_float64 as origin_of_float64,
    origin_of_output as origin_of_output,
    user_line as user_line,
)
from ._symbolic_zeros import (
    is_zero_of_type as is_zero_of_type,
    zero_of_type as zero_of_type,
)
from ._traceback_filter import filtering as filtering, shows_file as shows_file
from ._traced_draws import hidden_state as hidden_state
from ._tracing import (
    at_top_level as at_top_level,
    current_trace as current_trace,
    has_ended as has_ended,
    is_derived as is_derived,
    is_outermost as is_outermost,
    is_staged as is_staged,
)
from ._value_errors import (
    makers_of_value_errors as makers_of_value_errors,
    value_errors_are_seen as value_errors_are_seen,
)
from ._varying_axes import varying_axes as varying_axes, varying_over as varying_over


# `jax.Device` comes from jaxlib, which ships no types: this is what checkers see of it.
if TYPE_CHECKING:

    class Device:
        """A device: `id`, `platform` ("cpu", "gpu", "tpu"), `device_kind`."""

        id: int
        platform: str
        device_kind: str
        process_index: int
else:
    Device = jax.Device

_check_names()
