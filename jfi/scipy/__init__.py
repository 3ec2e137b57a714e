"""SciPy's functions in JAX: `jax.scipy`, each submodule imported on first use."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING


_SUBMODULES = (
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)

if TYPE_CHECKING:
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


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    from .._advice._missing_names import explained

    found: ModuleType = explained(__name__)(name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})
