"""The names of `jax.numpy` for which jfi has something of its own."""

import typing as _typing  # its own name would become one of jfi's

from . import fft as fft, linalg as linalg
from ._arrays._conversion import (
    array as array,
    asarray as asarray,
    empty_like as empty_like,
    full_like as full_like,
    ones_like as ones_like,
    zeros_like as zeros_like,
)
from ._arrays._creation import (
    empty as empty,
    eye as eye,
    full as full,
    identity as identity,
    ones as ones,
    tri as tri,
    zeros as zeros,
)
from ._arrays._ranges import (
    arange as arange,
    geomspace as geomspace,
    linspace as linspace,
    logspace as logspace,
)


if _typing.TYPE_CHECKING:
    from ._dispatch._numpy_functions import *  # made on first use
