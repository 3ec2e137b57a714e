"""Statistics: `jax.scipy.stats`. Its distributions are modules: `_distributions`."""

import typing as _typing

from jax.scipy.stats import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from .._faces import face as _face
    from ._distributions import distributions as _distributions

    globals().update(_distributions(__name__))  # ours, not JAX's
    __getattr__, __dir__ = _face(__name__)
