"""What a server has loaded, written down for the next one."""

import contextlib
import json
from collections.abc import Iterable
from typing import Any, TypeAlias

from .errors import FolderError
from .folders import Folder


Name: TypeAlias = tuple[str, str]
"""The folder of a store, and a key in it."""


def remember(folder: Folder, names: Iterable[Name]) -> None:
    """Write down what is loaded; a disk that is full keeps what it had."""
    with contextlib.suppress(OSError):
        folder.write("loaded", [json.dumps(list(names)).encode()])


def remembered(folder: Folder) -> list[Name]:
    """What the last server had loaded, the least recently used first."""
    try:
        loaded: Any = json.loads(folder.read("loaded"))
        return [(str(store), str(key)) for store, key in loaded]
    except (FolderError, OSError, ValueError, TypeError):
        return []
