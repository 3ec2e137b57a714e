"""Fourier transforms: `jax.numpy.fft`."""

import typing as _typing

from jax.numpy.fft import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from ._dispatch._names import attached as _attached

    __getattr__, __dir__ = _attached(__name__)
    __all__ = [name for name in __dir__() if not name.startswith("_")]
