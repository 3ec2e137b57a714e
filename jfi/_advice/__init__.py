"""Common mistakes: which line, and what to write, in the errors that leave jfi's tools.

`_attaching` puts the advice into an error; `_mistakes` knows which errors are common
mistakes, and who has the words: `_branches`, `_numbers`, `_sizes`, `_elements`,
`_shapes`, `_lists`, `_nones`, `_leaks`, `_attributes`. `_finding` looks up the
expression that failed, `_rewriting` writes branches and loops that JAX can trace,
`_wording` has the sentences. `_uncaught` is for plain code, which no tool of jfi sees.
`_arguments` is for calls of `jit` and `vmap` that don't fit; `_missing_names` for names
that jfi does not have, with the lines of `_numpy_lines`, `_torch_lines` and
`_torch_methods`. `_frames` is where errors
leave jfi: it asks for the advice, and leaves the frames of jfi out of tracebacks.
"""

from ._attaching import (
    advice_on_tracers as advice_on_tracers,
    attach_advice as attach_advice,
    attach_axes as attach_axes,
    has_advice as has_advice,
    mark_advised as mark_advised,
)
from ._finding import is_only_shown as is_only_shown
from ._frames import (
    hide_frames as hide_frames,
    hides_frames as hides_frames,
    hiding_frames as hiding_frames,
)
from ._uncaught import explain_errors as explain_errors
from ._wording import array_form as array_form
