"""The distribution logistic: `jax.scipy.stats.logistic`."""

import typing as _typing

from jax.scipy.stats.logistic import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from ..._dispatch._names import attached as _attached

    __getattr__, __dir__ = _attached(__name__)
