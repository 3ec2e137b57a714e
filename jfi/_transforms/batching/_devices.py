"""The rows of a batch on several devices."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from ..._arrays._devices import devices_named, names_of_devices
from ..._errors import BatchError
from ..._jax_internals import Device


class Spread(NamedTuple):
    """Which devices share the work. They are looked up at the first call.

    Attributes:
        tool: The public name, for messages.
        devices: "all", the name of a platform or of a device, a number of devices, or
            devices and names of some.
        sharding: A mesh, or the sharding of the batch.
    """

    tool: str
    devices: "str | int | tuple[str | Device, ...] | None"
    sharding: Mesh | NamedSharding | None

    def run(
        self,
        block: Callable[..., Any],
        numbers: jax.Array,
        rows: Sequence[jax.Array],
    ) -> Any:
        """Compute a function of rows, each device some of them.

        The batch is filled up to the same number on each device, with copies of the
        last row.

        Args:
            block: The function of the numbers of some rows, and of these.
            numbers: The number of each row.
            rows: All arrays that are batched; the batch comes first.
        """
        mesh, names = self.mesh()
        size = len(numbers)
        parts = int(np.prod([mesh.shape[name] for name in names]))
        missing = -size % parts if size else 0
        if not size:
            return block(numbers, rows)
        if missing:
            numbers, rows = jax.tree.map(
                lambda x: jnp.concatenate([x, jnp.repeat(x[-1:], missing, 0)]),
                (numbers, list(rows)),
            )
        spec = PartitionSpec(names)
        # Each device computes its own rows: XLA may not move data in between. With a
        # sharding of the arguments alone, `jax.jit` would leave to XLA where each
        # operation runs. `check_vma=False`: else JAX refuses loops of the user whose
        # carry begins as a constant and takes in the row ("carry input and carry output
        # must have equal types": float32[] becomes float32[]{V:rows}).
        shard_map: Any = jax.shard_map
        spread = shard_map(
            lambda numbers, rows: block(numbers, rows),
            mesh=mesh,
            in_specs=(spec, spec),
            out_specs=spec,
            check_vma=False,
        )
        out = spread(numbers, list(rows))
        return jax.tree.map(lambda x: x[:size], out) if missing else out

    def mesh(self) -> tuple[Mesh, tuple[str, ...]]:
        """The devices, and the axes of the mesh along which the batch is split."""
        if self.sharding is None:
            devices = np.array(self._devices())
            return Mesh(devices, ("rows",), axis_types=(AxisType.Auto,)), ("rows",)
        if isinstance(self.sharding, Mesh):
            mesh: Any = self.sharding
            names: Any = mesh.axis_names
        else:
            mesh = self.sharding.mesh
            first: Any = self.sharding.spec[0]
            names = first if isinstance(first, tuple) else (first,)
        return _unchecked(mesh), tuple(names)

    def _devices(self) -> "list[Device]":
        if isinstance(self.devices, tuple):
            return [x for one in self.devices for x in self._named(one)]
        if not isinstance(self.devices, int):
            return self._named(self.devices)
        found = self._named("all")
        if not 1 <= self.devices <= len(found):
            message = (
                f"{self.tool}() got devices={self.devices}, and this process has "
                f"{len(found)}.\nWrite a number from 1 to {len(found)}, or devices="
                "'all'. On a CPU: jax.config.update('jax_num_cpu_devices', "
                f"{self.devices}) before anything is computed."
            )
            raise BatchError(message)
        return found[: self.devices]

    def _named(self, device: "str | Device | None") -> "list[Device]":
        if isinstance(device, Device):
            return [device]
        try:
            return jax.local_devices() if device == "all" else devices_named(device)
        except LookupError as error:
            message = (
                f"{self.tool}() got devices={self.devices!r}, and {device!r} is not "
                f"here.\nThere is {names_of_devices()}. Write one of these names, a "
                "list of them, or 'all'."
            )
            raise BatchError(message) from error

    def placed(self, tree: Any) -> Any:
        """A tree whose arrays are on these devices, if they were put on others."""
        mesh, _ = self.mesh()
        everywhere = NamedSharding(mesh, PartitionSpec())

        def place(x: Any) -> Any:
            if not isinstance(x, jax.Array):
                return x
            traced = isinstance(x, Tracer)
            if AxisType.Explicit in jax.typeof(x).sharding.mesh.axis_types:
                # Such a type names the axes of a mesh, which that of the rows lacks.
                x = jax.device_put(x, everywhere if traced else _untyped(x.sharding))
            if traced:
                return x
            if not x.committed or _are_there(x.sharding, mesh):
                return x
            return jax.device_put(x, everywhere)

        return jax.tree.map(place, tree)


def _are_there(sharding: Any, mesh: Any) -> bool:
    """Whether an array is on the devices of a mesh, for JAX in the same order."""
    if isinstance(sharding, NamedSharding):
        own: Any = sharding.mesh
        return list(own.devices.flat) == list(mesh.devices.flat)
    return bool(sharding.device_set == set(mesh.devices.flat))


def _untyped(sharding: Any) -> NamedSharding:
    """The same layout, without a place in the types of arrays."""
    return NamedSharding(_unchecked(sharding.mesh), sharding.spec)


def _unchecked(mesh: Any) -> Mesh:
    types = (AxisType.Auto,) * len(mesh.axis_names)
    return Mesh(mesh.devices, mesh.axis_names, axis_types=types)


def spread_over(tool: str, devices: Any, sharding: Any) -> Spread | None:
    """The devices that the user asked for, or None.

    Raises:
        BatchError: They can't be meant.
    """
    if devices is None and sharding is None:
        return None
    if devices is not None and sharding is not None:
        message = f"{tool}() got devices= and sharding=.\nLeave out one of them."
        raise BatchError(message)
    if sharding is not None:
        _check_sharding(tool, sharding)
        return Spread(tool, None, sharding)
    if isinstance(devices, (str, int)) and not isinstance(devices, bool):
        return Spread(tool, devices, None)
    if isinstance(devices, Device):
        return Spread(tool, (devices,), None)
    if isinstance(devices, Sequence) and devices and _are_devices(devices):
        return Spread(tool, tuple(devices), None)
    message = (
        f"{tool}() got devices={devices!r}.\nWrite 'all', the name of a platform or of "
        "a device ('cpu:1'), the number of devices, or a list of devices: "
        "devices=jax.devices()"
    )
    raise BatchError(message)


def _are_devices(devices: Sequence[Any]) -> bool:
    return all(isinstance(device, (str, Device)) for device in devices)


def _check_sharding(tool: str, sharding: Any) -> None:
    if isinstance(sharding, Mesh):
        return
    if isinstance(sharding, NamedSharding) and (*sharding.spec, None)[0]:
        return
    message = (
        f"{tool}() got sharding={sharding!r}.\nPass a mesh, or a NamedSharding that "
        "splits the first axis: NamedSharding(mesh, PartitionSpec('x'))"
    )
    raise BatchError(message)
