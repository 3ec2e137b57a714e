"""The distribution betabinom: `jax.scipy.stats.betabinom`."""

import typing as _typing

from jax.scipy.stats.betabinom import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from ..._dispatch._names import attached as _attached

    __getattr__, __dir__ = _attached(__name__)
