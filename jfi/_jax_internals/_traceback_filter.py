"""Which frames JAX leaves out of tracebacks.

The option `jax_traceback_filtering` is documented; the list of files behind it is not.
"""

import builtins
import functools
import os
from collections.abc import Callable
from typing import Literal

import jax

from ._pieces import decided_once, piece
from ._settings import setting


Filtering = Literal["off", "tracebackhide", "remove_frames", "quiet_remove_frames"]

_JAX = os.path.dirname(jax.__file__) + os.sep


def filtering() -> Filtering:
    """What JAX does with frames of its own, in this thread."""
    mode: Filtering | Literal["auto"] | None = setting("jax_traceback_filtering")
    if mode is None or mode == "auto":
        return "tracebackhide" if _in_ipython() else "quiet_remove_frames"
    return mode


def _in_ipython() -> bool:
    return hasattr(builtins, "get_ipython")  # which IPython puts there


def shows_file(file: str) -> bool:
    """Whether JAX shows frames of a file."""
    return not file.startswith(_JAX) or _shows()(file)


@decided_once
def _shows() -> Callable[[str], bool]:
    return shown_files() or _nothing


def _nothing(file: str) -> bool:
    return False


@piece(
    uses="jax._src.traceback_util.include_filename",
    without="errors show no frame of JAX at all, also none that JAX shows",
)
def shown_files() -> Callable[[str], bool] | None:
    from jax._src.traceback_util import include_filename

    api = os.path.join(_JAX, "_src", "api.py")
    works = include_filename(__file__) and not include_filename(api)
    # JAX asks the disk for each of its folders.
    return functools.cache(include_filename) if works else None
