"""Names that `jax.numpy` gives on demand: those that are deprecated there."""

from typing import Any

import jax.numpy as jnp


def from_numpy(name: str) -> Any:
    """A name that `jax.numpy` gives on demand."""
    try:
        return getattr(jnp, name)
    except AttributeError as error:
        message = f"module 'jfi' has no attribute {name!r}"
        raise AttributeError(message, name=name) from error


# The table behind those names, so that `dir(jfi)` holds all that `dir(jax.numpy)` does:
# JAX 0.12 has none.
deprecated_numpy: dict[str, Any] = getattr(jnp, "_deprecations", {})
