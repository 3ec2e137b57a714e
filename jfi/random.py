"""Random numbers from keys that the caller holds: `jax.random`."""

import typing as _typing

from jax.random import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    random_gamma_p: _typing.Any  # type: ignore[no-redef]  # untyped in JAX 0.10
