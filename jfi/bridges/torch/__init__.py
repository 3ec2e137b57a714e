"""Torch functions and modules inside JAX.

`_bridge` is what users call. A module is a `_modules.TorchModule`, whose calls are
those of a function of its arrays (`_skeletons`).

A call goes down these floors:

| file | has |
| --- | --- |
| `_calls` | arguments of every form: arrays become tensors, all else is a constant |
| `_signatures` | one form of arguments: eager calls, calls that JAX traces |
| `_inference` | what the function returns and does, by a run without values |
| `_guard` | what it must not do, seen operator by operator |
| `_operations` | its runs, and the look at what they did |
| `_functions`, `_remembering` | what is derived from it: tangents, gradients, batches |
| `_host_function`, `_form` | all of this as JAX calls it; memory of both |
| `_results`, `_tensors`, `_drawing` | leaves of results, dtypes, seeds |
"""

from ._bridge import from_torch as from_torch
