"""Rotations: `jax.scipy.spatial.transform`."""

import typing as _typing

from jax.scipy.spatial.transform import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from .._faces import plain_face as _plain_face

    __getattr__, __dir__ = _plain_face(__name__)
