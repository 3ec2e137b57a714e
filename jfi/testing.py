"""Tests of code that was made of other code: `compare`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._advice._missing_names import explained as _explained
from .bridges._testing import compare as compare


if not _TYPE_CHECKING:  # which would take any name for one of the module
    __getattr__ = _explained(__name__)
