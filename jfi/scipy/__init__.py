"""SciPy's functions in JAX: `jax.scipy`, each submodule imported on first use.

A wing: nothing else in jfi imports it but the table of contents. `_faces` makes a
module of SciPy's names; `_scipy_words`, `_scipy_names` and `_scipy_lines` know what
SciPy has and jfi does not; `_solving` is what the solvers share, `spatial/_kdtree` the
k-d tree.
"""

import typing as _typing


if _typing.TYPE_CHECKING:
    from . import (
        cluster as cluster,
        fft as fft,
        integrate as integrate,
        interpolate as interpolate,
        linalg as linalg,
        ndimage as ndimage,
        optimize as optimize,
        signal as signal,
        sparse as sparse,
        spatial as spatial,
        special as special,
        stats as stats,
    )
else:
    from .._advice._missing_names import explained as _explained
    from .._optional._packages import attach as _attach
    from ._scipy_names import line_of_scipy as _line_of_scipy

    _SUBMODULES = """cluster fft integrate interpolate linalg ndimage optimize signal
    sparse spatial special stats""".split()
    __getattr__, __dir__ = _attach(
        __name__,
        {name: name for name in _SUBMODULES},
        _explained(__name__, advice=_line_of_scipy),
    )
