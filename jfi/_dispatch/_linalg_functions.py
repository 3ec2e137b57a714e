"""The functions of `jax.numpy.linalg` as jfi has them: each is made on first use."""

from typing import Any

from ._namespace import wrapped


def __getattr__(name: str) -> Any:
    return wrapped(f"linalg.{name}")
