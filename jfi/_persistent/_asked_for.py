"""The arrays of a call: which program they need, in this process and in others."""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from .._jax_internals import Device
from .._values import is_key, token
from ._environment import device_in_force, numeric_settings


def form_of(x: Any) -> Any:
    """What decides which program an argument needs; equal for those that share one."""
    if isinstance(x, Tracer):
        return object()  # of a trace that has ended: JAX refuses it
    if isinstance(x, jax.Array):
        return jax.typeof(x), x.sharding, x.committed
    if isinstance(x, (np.ndarray, np.generic)):
        return type(x), x.dtype, x.shape
    return type(x)


class AskedFor(NamedTuple):
    """The arrays of a call, all on one device.

    Attributes:
        device: Where they are, or will be.
        types: Their types, as JAX traces them.
        committed: Which of them may not be moved to another device.
        keys: Of what kind those are that are random keys; else None.
        converts: Which are NumPy's with a dtype that JAX changes: 64 bits to 32.
    """

    device: Device
    types: tuple[Any, ...]
    committed: tuple[bool, ...]
    keys: tuple[str | None, ...]
    converts: tuple[int, ...]

    def key(
        self,
        description: str,
        streams: Sequence[int | None],
        options: Mapping[str, Any],
        around: bytes,
    ) -> str:
        """The key of the program in the store: 64 hexadecimal digits."""
        types = [f"{t.str_short()} {t.dtype} {t.weak_type}" for t in self.types]
        fields = (
            description,
            repr(tuple(streams)),
            repr(sorted(options.items())),
            repr(types),
            repr(self.committed),
            numeric_settings(),
        )
        parts = token(around, *(f.encode() for f in fields))
        return hashlib.sha256(parts).hexdigest()

    def converted(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The arrays as a compiled program takes them: JAX converts for `jit` alone."""
        if not self.converts:
            return leaves
        found = list(leaves)
        for k in self.converts:
            found[k] = np.asarray(found[k], self.types[k].dtype)
        return found


def asked_for(leaves: Sequence[Any]) -> AskedFor | str:
    """What a call asks for; or why its program can't be kept."""
    device = device_in_force()
    committed: list[bool] = []
    for x in leaves:
        if isinstance(x, (Tracer, jax.Ref)):
            return "it takes a reference, or a value of another trace"
        of_device = isinstance(x, jax.Array)
        if of_device and x.sharding.device_set != {device}:
            return f"its arrays are not all on {device.platform}:{device.id}"
        committed.append(of_device and x.committed)
    types = tuple(map(jax.typeof, leaves))
    converts = tuple(
        k
        for k, (x, t) in enumerate(zip(leaves, types, strict=True))
        if isinstance(x, (np.ndarray, np.generic)) and x.dtype != t.dtype
    )
    try:
        keys = tuple(map(kind_of_key, types))
    except KeyError:
        return "its random keys are of a kind of their own"
    return AskedFor(device, types, tuple(committed), keys, converts)


def kind_of_key(type_: Any) -> str | None:
    """Of what kind random keys of a type are, such as "threefry2x32"; else None.

    Raises:
        KeyError: It is none of JAX's own.
    """
    if not is_key(type_):
        return None
    return _kinds_of_keys()[type_.dtype]


@functools.cache
def _kinds_of_keys() -> dict[Any, str]:
    make = functools.partial(jax.random.key, 0)
    return {
        jax.eval_shape(functools.partial(make, impl=name)).dtype: name
        for name in ("threefry2x32", "rbg", "unsafe_rbg")
    }
