"""Clustering: `jax.scipy.cluster`."""

import typing as _typing

from jax.scipy.cluster import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from . import vq as vq  # type: ignore[no-redef]
else:
    from .._faces import plain_face as _plain_face

    globals().pop("vq", None)  # JAX's; ours is imported on first use
    __getattr__, __dir__ = _plain_face(__name__, vq="vq")
