"""PyTorch's names as jfi has them: each is made on first use."""

from typing import Any

from ._names import TORCH
from ._namespace import wrapped


def __getattr__(name: str) -> Any:
    return wrapped(name if name in TORCH else f"linalg.{name}")
