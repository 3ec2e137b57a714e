"""Sparse linear algebra: `jax.scipy.sparse`."""

import typing as _typing

from jax.scipy.sparse import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from . import linalg as linalg  # type: ignore[no-redef]
else:
    from .._faces import plain_face as _plain_face

    globals().pop("linalg", None)  # JAX's; ours is imported on first use
    __getattr__, __dir__ = _plain_face(__name__, linalg="linalg")
