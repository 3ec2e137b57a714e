"""Tests of code that was made of other code: `compare`."""

import typing as _typing

from ._advice._missing_names import explained as _explained
from .bridges._testing import compare as compare


if not _typing.TYPE_CHECKING:  # which would take any name for one of the module
    __getattr__ = _explained(__name__)
