"""The functions of `jax.scipy.special` as jfi has them: each is made on first use."""

from typing import Any

from ._namespace import wrapped


def __getattr__(name: str) -> Any:
    return wrapped(f"scipy.special.{name}")
