"""Geometry: `jax.scipy.spatial`."""

import typing as _typing

from jax.scipy.spatial import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from . import transform as transform
else:
    from .._faces import plain_face as _plain_face

    globals().pop("transform", None)  # JAX's; ours is imported on first use
    __getattr__, __dir__ = _plain_face(__name__, transform="transform")
