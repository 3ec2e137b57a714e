"""Devices by name, and the default one.

The default device is JAX's own (`jax_default_device`), so that plain JAX agrees with
jfi about it.
"""

from contextlib import AbstractContextManager
from typing import Any, TypeAlias, cast

import jax
from jax.sharding import Sharding

from .._errors import DefaultsError, DeviceError
from .._jax_internals import Device, setting


DeviceLike: TypeAlias = str | Device | Sharding
"""What `device=` takes: "cpu", "gpu", "cuda:1", "tpu", a Device or a Sharding."""

_PLATFORMS = ("cpu", "gpu", "cuda", "rocm", "tpu", "metal")


def get_default_device() -> Device:
    """Tell the device on which arrays are created.

    >>> import jfi as jnp
    >>> jnp.get_default_device().platform
    'cpu'

    Returns:
        The device. JAX's backend is started to find it.
    """
    device = configured_device()
    if device is None:
        return cast("Device", jax.local_devices()[0])
    return _one_device(device, "get_default_device")


def set_default_device(device: str | Device | None) -> None:
    """Choose the device on which arrays are created, in every thread.

    It is JAX's own default device, so plain `jax.numpy` follows it too. Arrays that are
    created there stay free to move: they follow the arrays that they meet.

    >>> import jfi as jnp
    >>> jnp.set_default_device("cpu")

    Args:
        device: "cpu", "gpu", "cuda:1", a Device, or None to leave the choice to JAX.

    Raises:
        DeviceError: There is no such device here.
    """
    if device is not None:
        device = _one_device(device, "set_default_device")
    jax.config.update("jax_default_device", device)


def default_device(device: str | Device | None) -> AbstractContextManager[None]:
    """Choose where arrays are created within a `with` block, in this thread alone.

    >>> import jfi as jnp
    >>> with jnp.default_device("cpu"):
    ...     x = jnp.zeros(3)

    Args:
        device: As in `set_default_device`.

    Returns:
        A context manager.

    Raises:
        DeviceError: There is no such device here.
    """
    if device is not None:
        device = _one_device(device, "default_device")
    return cast("AbstractContextManager[None]", jax.default_device(device))


def resolve_device(device: DeviceLike | None = None) -> Device | Sharding:
    """Turn whatever names a device into a JAX device.

    >>> import jfi as jnp
    >>> jnp.resolve_device("cpu:0").platform
    'cpu'

    Args:
        device: "cpu", "gpu", "cuda:1", "tpu", a Device, a Sharding, or None for the
            default device.

    Returns:
        A Device, or the Sharding itself.

    Raises:
        DeviceError: There is no such device here.
    """
    if device is None:
        return get_default_device()
    if isinstance(device, (Device, Sharding)):
        return device
    return named_device(device, "resolve_device")


def configured_device() -> str | Device | None:
    """JAX's default device as it was configured; None leaves it to JAX."""
    return cast("str | Device | None", setting("jax_default_device"))


def _one_device(device: Any, caller: str) -> Device:
    if isinstance(device, Device):
        return device
    if isinstance(device, Sharding):
        raise DefaultsError(
            f"{caller}() got a Sharding, which is no single device. Pass it to the "
            "creation function instead: jnp.zeros(shape, device=sharding)."
        )
    return named_device(device, caller)


def named_device(device: Any, caller: str) -> Device:
    """The device of that name, or an error that lists those that are here."""
    try:
        return devices_named(device)[0]
    except LookupError as error:
        raise DeviceError(
            f"{caller}() got the device {device!r}, which is not here. "
            f"There is {names_of_devices()}; a Device or a Sharding is taken too."
        ) from error


def devices_named(name: Any) -> list[Device]:
    """All devices of a platform, "cpu", or the one of them with a number, "cpu:1".

    Raises:
        LookupError: There is none of that name.
    """
    platform, _, number = str(name).lower().partition(":")
    if not isinstance(name, str) or not platform or (number and not number.isdecimal()):
        raise LookupError(name)
    try:
        found: list[Device] = jax.local_devices(backend=platform)
    except RuntimeError as error:
        raise LookupError(name) from error
    return [found[int(number)]] if number else found


def names_of_devices() -> str:
    """What `devices_named` finds here, for messages."""
    here: dict[str, None] = {}  # an ordered set: "gpu" and "cuda" name the same devices
    for platform in _PLATFORMS:
        try:
            here.update(
                dict.fromkeys(map(device_name, jax.local_devices(backend=platform)))
            )
        except RuntimeError:
            continue
    return ", ".join(map(repr, here))


def device_name(device: Device) -> str:
    """The name by which `named_device` finds the device again."""
    # On a machine with one process the id is the position among the local devices.
    return f"{device.platform}:{device.id}"
