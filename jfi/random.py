"""Random numbers: NumPy's functions without keys, `jax.random`'s with a key first.

>>> import jfi as jnp
>>> x = jnp.random.gamma(2.0, size=3)
>>> y = jnp.random.gamma(jnp.key(0), 2.0, (3,))

With a typed key in the first place, or `key=` together with names of arguments that
only `jax.random` has (`shape=`, `minval=`), a call is that of `jax.random`. All else is
NumPy's, with `key=`, `dtype=` and `device=` besides.
"""

import typing as _typing

from jax.random import (
    PRNGKey as PRNGKey,
    clone as clone,
    fold_in as fold_in,
    key as key,
    key_data as key_data,
    key_dtype as key_dtype,
    key_impl as key_impl,
    split as split,
    wrap_key_data as wrap_key_data,
)

from ._random._generator_objects import default_rng as default_rng
from ._random._key_data import (
    key_repr as key_repr,
    unwrap_key as unwrap_key,
    wrap_key as wrap_key,
)
from ._random._seeding import manual_seed
from ._random.numpy_style import *
from ._random.numpy_style._missing import missing as _missing


seed = manual_seed  # NumPy's name

if _typing.TYPE_CHECKING:
    random_gamma_p: _typing.Any  # untyped in JAX 0.10
else:
    import jax.random as _theirs
    from jax.random import random_gamma_p as random_gamma_p

    def __getattr__(name: str) -> _typing.Any:
        why = _missing(name)
        if why is not None:
            raise AttributeError(why)
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_theirs, name)  # what later versions of JAX add

    def __dir__() -> list[str]:
        return sorted({*globals(), *dir(_theirs)})
