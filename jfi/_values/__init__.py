"""Values of any kind, looked at without JAX's transformations.

`_data` says what is data, `_keys` when two values are the same, `_origins` whose code
something is, `_bytecode` which names code reads, `_plain_changes` which of them it
only changes, `_naming` what messages call things; `_classes` says what classes define,
`_captured` what functions hold, `_generators` by which random generators they draw,
`_class_questions` whether they ask for classes, `_handlers` what they catch,
`_made_up_names` whether code spells out what it reads. `_recording` tells which
functions are called while a body is traced, `_world` which of them read the world.
`_partition` takes trees apart, `_warnings` warns once, `_caches` keeps what was made;
`trees` are objects as trees of JAX. Every question has its one answer here; all other
rooms ask it.
"""

from ._bytecode import (
    References as References,
    code_digest as code_digest,
    codes_within as codes_within,
    constant as constant,
    references as references,
    token as token,
)
from ._caches import Recent as Recent
from ._captured import captured as captured
from ._classes import (
    STATIC_MARK as STATIC_MARK,
    attributes_of as attributes_of,
    is_cached as is_cached,
    is_marked_pytree as is_marked_pytree,
    is_marked_static as is_marked_static,
    is_writable as is_writable,
    mark_static as mark_static,
    own_attributes as own_attributes,
    own_equality as own_equality,
    set_attributes as set_attributes,
    slots as slots,
)
from ._data import (
    NEEDS_VALUE as NEEDS_VALUE,
    copied_if_numpy as copied_if_numpy,
    counts_as_data as counts_as_data,
    has_dtype as has_dtype,
    in_native_order as in_native_order,
    is_array as is_array,
    is_array_data as is_array_data,
    is_data as is_data,
    is_differentiable as is_differentiable,
    is_fixed as is_fixed,
    is_key as is_key,
    is_long as is_long,
    is_numeric as is_numeric,
    is_plain_int as is_plain_int,
    is_scalar as is_scalar,
    is_small as is_small,
    is_traced_text as is_traced_text,
    is_tracer as is_tracer,
    numbers_of as numbers_of,
    odd_array as odd_array,
    why_unknown as why_unknown,
)
from ._generators import (
    generators_read as generators_read,
    is_generator as is_generator,
    one_draw as one_draw,
)
from ._handlers import Handlers as Handlers
from ._keys import (
    KeyedValue as KeyedValue,
    WeakIdentity as WeakIdentity,
    contents_key as contents_key,
    identity_key as identity_key,
    is_identity_key as is_identity_key,
    number_key as number_key,
    order_in_memory as order_in_memory,
    typed_key as typed_key,
)
from ._naming import (
    argument_names as argument_names,
    array_label as array_label,
    file_label as file_label,
    full_name as full_name,
    function_label as function_label,
    function_name as function_name,
    line_label as line_label,
    listed as listed,
    names_to_copy as names_to_copy,
    path_name as path_name,
    refuse_no_function as refuse_no_function,
    shown_line as shown_line,
    source_line as source_line,
)
from ._origins import (
    LIBRARIES as LIBRARIES,
    has_effects as has_effects,
    is_installed as is_installed,
    is_installed_module as is_installed_module,
    is_library as is_library,
    is_library_file as is_library_file,
    is_named as is_named,
    is_own_frame as is_own_frame,
    is_python_frame as is_python_frame,
    is_user_code as is_user_code,
    is_user_frame as is_user_frame,
    is_user_function as is_user_function,
    is_user_module as is_user_module,
    library_version as library_version,
    reads_surroundings as reads_surroundings,
    user_level as user_level,
)
from ._partition import Rest as Rest, partition as partition
from ._plain_changes import used_otherwise as used_otherwise
from ._recording import (
    Record as Record,
    WorldReadError as WorldReadError,
    not_recording as not_recording,
    recording as recording,
    watching as watching,
)
from ._warnings import Warner as Warner
from ._world import WorldCall as WorldCall
