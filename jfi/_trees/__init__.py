"""Ordinary classes as trees of JAX: `pytree`. `_settings` takes them apart."""

from ._classes import (
    add_advice as add_advice,
    advice as advice,
    pytree as pytree,
)
