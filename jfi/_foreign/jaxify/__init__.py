"""`jaxify`: one door for all that is foreign to JAX. The registry is `_registry`.

Rules live with what they make; `_numpy` and `_scipy` have those that need no more.
"""

from . import _numpy as _numpy, _parts as _parts, _scipy as _scipy
from ._registry import jaxify as jaxify
