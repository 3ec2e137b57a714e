"""Names that a module of JAX gives on demand: those that are deprecated there."""

import inspect
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax.numpy as jnp


def on_demand(
    ours: str, theirs: ModuleType, otherwise: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has what a module of JAX has.

    Args:
        ours: The name of the module.
        theirs: The module of JAX.
        otherwise: Refuses a name that neither has, in more words.
    """

    def get(name: str) -> Any:
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                value = getattr(theirs, name)
        except AttributeError as error:
            if otherwise:
                return otherwise(name)
            message = f"module {ours!r} has no attribute {name!r}"
            raise AttributeError(message, name=name) from error
        for warning in caught:  # Python shows deprecations of the user's own lines
            message = str(warning.message)
            warnings.warn(message, warning.category, stacklevel=_level_outside_jfi())
        return value

    return get


def _level_outside_jfi() -> int:
    """The `stacklevel` of the first frame that is not jfi's.

    `_values.user_level` also skips JAX's, and is out of reach on this floor.
    """
    frame, level = inspect.currentframe(), 0
    while frame and frame.f_globals.get("__name__", "").startswith("jfi."):
        frame, level = frame.f_back, level + 1
    return level


from_numpy = on_demand("jfi", jnp)

# The table behind those names, so that `dir(jfi)` holds all that `dir(jax.numpy)` does:
# JAX 0.12 has none.
deprecated_numpy: dict[str, Any] = getattr(jnp, "_deprecations", {})
