"""What happens when a program that plain JAX compiled draws random numbers."""

import warnings
from typing import Literal, TypeAlias

from ..._errors import PlainJitWarning, RandomError
from ..._values import user_level


PlainJitPolicy: TypeAlias = Literal["ok", "warn", "error"]

_policy: PlainJitPolicy = "warn"


def set_plain_jit_policy(policy: PlainJitPolicy) -> None:
    """Choose what happens when a program that plain JAX compiled draws.

    Such programs (of `jax.jit`, or of `jax.lax.scan` in eager code) are right, but each
    run starts more slowly than with `jfi.jit` or `autojit`, and its draws are not those
    of eager code.

    >>> import jfi as jnp
    >>> jnp.set_plain_jit_policy("ok")

    Args:
        policy: "warn" (once, the default), "ok" or "error".

    Raises:
        ValueError: It is none of these.
    """
    global _policy
    if policy not in ("ok", "warn", "error"):
        message = (
            f"set_plain_jit_policy() got {policy!r}. Write 'warn', 'ok' or 'error'."
        )
        raise ValueError(message)
    _policy = policy


def apply_policy() -> None:
    global _policy
    if _policy == "ok":
        return
    message = (
        "A program that plain JAX compiled (jax.jit, or jax.lax.scan in eager code) "
        "draws random numbers. Write jfi.jit, jfi.autojit or jfi.scan, around all of it"
    )
    if _policy == "error":
        raise RandomError(f"{message}, or allow it: jfi.set_plain_jit_policy('ok').")
    _policy = "ok"
    warnings.warn(
        f"{message}: each call starts faster, and draws what eager code draws. To "
        "switch this warning off: jfi.set_plain_jit_policy('ok').",
        PlainJitWarning,
        stacklevel=user_level(),
    )
