"""Geometry: `jax.scipy.spatial`."""

import typing as _typing

from jax.scipy.spatial import *  # pyright: ignore[reportWildcardImportFromLibrary]

from . import transform as transform


if not _typing.TYPE_CHECKING:
    from ..._advice._missing_names import explained as _explained

    __getattr__ = _explained(__name__)
