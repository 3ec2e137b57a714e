"""Functions for neural networks: `jax.nn`."""

import typing as _typing

from jax.nn import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from .._advice._missing_names import explained as _explained
    from .._dispatch._names import homes_of as _homes_of
    from .._optional._packages import attach as _attach

    __getattr__, __dir__ = _attach(
        __name__, _homes_of("nn", globals()), _explained(__name__)
    )
