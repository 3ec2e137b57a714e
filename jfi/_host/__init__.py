"""Calls of code outside XLA: the base of all that is foreign to JAX.

Start with `_functions`: a `HostFunction` is what others subclass, and `call_host` is
how it is called. `_derivatives` says how it is differentiated, `_forms` in which form
its library sees JAX's memory. `_primitives` are the two operations that JAX sees,
`_runs` what happens when one runs, `_pages` makes its large results cheap, `_settings`
says which calls may be remembered, `_failures` whose trial run failed; `_host_call` is
the short way for a NumPy function.
"""

from ._derivatives import (
    Derivative as Derivative,
    ReadyGradients as ReadyGradients,
    Saved as Saved,
    Transposable as Transposable,
)
from ._failures import (
    failed_function as failed_function,
    mark_failure as mark_failure,
)
from ._forms import (
    NUMPY as NUMPY,
    SHARED_BYTES as SHARED_BYTES,
    Form as Form,
    NumpyForm as NumpyForm,
    Result as Result,
    Spec as Spec,
    canonical as canonical,
    checked as checked,
    describe as describe,
    from_numpy as from_numpy,
    is_numpys as is_numpys,
    mismatch as mismatch,
    narrowed as narrowed,
)
from ._functions import (
    Batched as Batched,
    GivenFunction as GivenFunction,
    HostFunction as HostFunction,
    RowByRow as RowByRow,
    on_trial as on_trial,
    results_as as results_as,
    results_of as results_of,
    signature as signature,
)
from ._host_call import Broadcast as Broadcast, host_call as host_call
from ._primitives import call_host as call_host
from ._runs import (
    device_of as device_of,
    runs_now as runs_now,
    to_jax as to_jax,
)
from ._settings import (
    NUMBERS as NUMBERS,
    constant_of as constant_of,
    is_setting as is_setting,
)
