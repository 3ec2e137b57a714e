"""Statistics: `jax.scipy.stats`."""

import typing as _typing

from jax.scipy.stats import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from ..._dispatch._names import (
        DISTRIBUTIONS as _DISTRIBUTIONS,
        attached as _attached,
    )

    for _name in _DISTRIBUTIONS:  # ours, not JAX's, which came with the other names
        globals().pop(_name, None)
    __getattr__, __dir__ = _attached(
        __name__, beside={name: name for name in _DISTRIBUTIONS}
    )
