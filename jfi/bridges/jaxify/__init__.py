"""`jaxify`: one door for all that is foreign to JAX. The registry is `_registry`.

`_parts` has the rules for what other rooms translate, `_numpy` and `_scipy` those that
need no more.
"""

from . import _numpy as _numpy, _parts as _parts, _scipy as _scipy
from ._registry import jaxify as jaxify
