"""Sparse linear algebra: `jax.scipy.sparse`."""

import importlib as _importlib
import typing as _typing

from jax.scipy.sparse import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from . import linalg as linalg  # type: ignore[no-redef]
else:
    from ..._advice._missing_names import explained as _explained

    linalg = _importlib.import_module(".linalg", __name__)  # not JAX's, which it has
    __getattr__ = _explained(__name__)
