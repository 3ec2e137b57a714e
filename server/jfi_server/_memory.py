"""What a server has loaded, written down for the next one."""

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias


Name: TypeAlias = tuple[str, str]
"""The folder of a store, and a key in it."""


def remember(folder: Path, names: Iterable[Name]) -> None:
    """Write down what is loaded; a disk that is full keeps what it had."""
    path = folder / "loaded"
    new = folder / "loaded.new"
    with contextlib.suppress(OSError):
        new.write_text(json.dumps(list(names)))
        os.replace(new, path)


def remembered(folder: Path) -> list[Name]:
    """What the last server had loaded, the least recently used first."""
    try:
        found: Any = json.loads((folder / "loaded").read_text())
        return [(str(store), str(key)) for store, key in found]
    except (OSError, ValueError, TypeError):
        return []
