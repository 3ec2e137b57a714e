"""Signals: `jax.scipy.signal`."""

import typing as _typing

from jax.scipy.signal import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from ._faces import face as _face

    __getattr__, __dir__ = _face(__name__)
