"""Fourier transforms: `jax.numpy.fft`."""

import typing as _typing

from jax.numpy.fft import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from ._advice._missing_names import explained as _explained
    from ._dispatch._names import functions_of as _functions_of
    from ._optional._packages import attach as _attach

    _MADE = _functions_of("fft")
    for _name in _MADE:
        del globals()[_name]  # JAX's own: jfi's is made on first use

    __getattr__, __dir__ = _attach(
        __name__,
        dict.fromkeys(_MADE, "_dispatch._fft_functions"),
        _explained(__name__),
    )
    __all__ = [name for name in __dir__() if not name.startswith("_")]
