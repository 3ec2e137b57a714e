"""Vector quantization: `jax.scipy.cluster.vq`."""

import typing as _typing

from jax.scipy.cluster.vq import *  # pyright: ignore[reportWildcardImportFromLibrary]


if not _typing.TYPE_CHECKING:
    from ..._advice._missing_names import explained as _explained

    __getattr__ = _explained(__name__)
