"""Clustering: `jax.scipy.cluster`."""

import importlib as _importlib
import typing as _typing

from jax.scipy.cluster import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from . import vq as vq  # type: ignore[no-redef]
else:
    from ..._advice._missing_names import explained as _explained

    vq = _importlib.import_module(".vq", __name__)  # not JAX's, which it has
    __getattr__ = _explained(__name__)
