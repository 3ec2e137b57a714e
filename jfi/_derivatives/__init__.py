"""Derivatives of functions of any trees.

JAX's own functions do the work, on float leaves alone. Around them:

| module | holds |
| --- | --- |
| `_gradients` | `grad`, `value_and_grad`; of trees of floats they are JAX's own |
| `_products` | `jvp`, `vjp`, `linearize` |
| `_jacobians`, `_directions` | `jacrev`, `jacfwd`, `hessian`; in chunks |
| `_divided_calls` | a call with the float leaves of arguments and result divided off |
| `_selection` | which arguments of a call: `argnums=`, `argnames=` |
| `_leaves` | what has a derivative; a tree divided into that and the rest |
| `_outputs` | results divided likewise, where JAX sees no more than arrays |
| `_matching`, `_zeros` | tangents and cotangents as users give them |
| `_updates` | `apply_updates` |
| `_messages` | how values are called in errors |
"""

from ._gradients import grad as grad, value_and_grad as value_and_grad
from ._jacobians import hessian as hessian, jacfwd as jacfwd, jacrev as jacrev
from ._products import jvp as jvp, linearize as linearize, vjp as vjp
from ._updates import apply_updates as apply_updates
from ._zeros import ZERO as ZERO, zero_cotangent as zero_cotangent


jacobian = jacrev
