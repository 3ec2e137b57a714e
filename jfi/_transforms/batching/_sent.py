"""A batch on its way to the workers of a cluster."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax

from ..._arrays._surroundings import settings_here
from ..._errors import BatchError
from ..._random._streams import Root, current
from ..._random.traced._rows import RowDraws
from ..._values import references
from ._leaves import Arguments
from ._marks import ordered_as
from ._plan import Plan


class Hole:
    """Where the rows of a batched array belong among the arguments."""


class Batch(NamedTuple):
    """What is the same for all parts of a batch.

    Attributes:
        name: What the user calls the function.
        fn: The function of one row.
        call: Its arguments and those with names, with holes for what is batched.
        kinds: The classes of its leaves, in the process that sends it.
        draws: How the rows draw.
        stream: Where the random stream stands before they draw.
        settings: Those of JAX and jfi in the process that sends it.
    """

    name: str
    fn: Any
    call: tuple[tuple[Any, ...], dict[str, Any]]
    kinds: tuple[str, ...]
    draws: RowDraws
    stream: tuple[Root, int]
    settings: dict[str, Any]

    def filled(self, rows: Sequence[Any]) -> tuple[Any, tuple[int | None, ...]]:
        """The arguments with some rows; and of each leaf, the axis of the batch.

        Raises:
            BatchError: JAX does not know a class here that it knows there.
        """
        leaves, structure = jax.tree.flatten(self.call)
        kinds = _kinds_of(leaves)
        if kinds != self.kinds:
            names = ", ".join(sorted(set(kinds) - set(self.kinds)))
            message = (
                f"{self.name}() got a {names}, which your script registered with JAX, "
                f"and a worker did not.\nWrite {names} in a module that the workers "
                "can import, with the registration."
            )
            raise BatchError(message)
        axes = tuple(0 if isinstance(x, Hole) else None for x in leaves)
        rest = iter(rows)
        values = [next(rest) if isinstance(x, Hole) else x for x in leaves]
        return ordered_as(self.call, jax.tree.unflatten(structure, values)), axes


class Sent(NamedTuple):
    """A batch for the workers.

    Attributes:
        name: What the user calls the function.
        batch: What is the same for all rows, as bytes.
        rows: The batched arrays.
        size: The number of rows.
        reads_anew: Whether each part begins with what is in these bytes: generators.
    """

    name: str
    batch: bytes
    rows: Sequence[jax.Array]
    size: int
    reads_anew: bool


def _kinds_of(leaves: Sequence[Any]) -> tuple[str, ...]:
    return tuple(type(x).__qualname__ for x in leaves)


def pickled_batch(
    plan: Plan, name: str, fn: Any, arguments: Arguments, axes: Sequence[int | None]
) -> bytes:
    """A batch without its rows, as bytes.

    Raises:
        BatchError: Something in it can't be pickled.
    """
    pairs = list(zip(arguments.values, axes, strict=True))
    call = arguments.around([x if axis is None else Hole() for x, axis in pairs])
    stream = current().position()
    kinds = _kinds_of(jax.tree.leaves(call))
    batch = Batch(name, fn, call, kinds, plan.draws, stream, settings_here())
    try:
        sent = dumps(batch)
    except Exception as error:
        shared = {
            leaf.name: x
            for leaf, (x, axis) in zip(arguments.leaves, pairs, strict=True)
            if axis is None
        }
        raise BatchError(_unpicklable(plan.tool, name, fn, shared, error)) from error
    return sent


def _unpicklable(
    tool: str, name: str, fn: Any, shared: dict[str, Any], error: Exception
) -> str:
    why = f"{type(error).__name__}: {error}".partition("\n")[0]
    found = f"{name}() can't be sent to the workers: {why}."
    for path, value in shared.items():
        if not _can_be_sent(value):
            return (
                f"{found}\n{path} is a {type(value).__name__}, which can't be "
                f"pickled. Leave it out of the arguments, and make it inside {name}()."
            )
    for variable, value in _variables_of(fn):
        if not _can_be_sent(value):
            return (
                f"{found}\nIt uses {variable}, a {type(value).__name__}, which can't "
                f"be pickled. Make it inside {name}(), or pass what it holds as "
                f"arguments of {tool}()."
            )
    return f"{found}\nWrite it as a function of a module that the workers can import."


def _can_be_sent(value: Any) -> bool:
    try:
        dumps(value)
    except Exception:  # whatever its class says: an error is being explained
        return False
    return True


def dumps(value: Any) -> bytes:
    """Pickle a value, functions of a script by what they are."""
    import cloudpickle  # a tenth of the time of `import jfi`

    found: bytes = cloudpickle.dumps(value)
    return found


def _variables_of(fn: Any) -> Iterator[tuple[str, Any]]:
    """The captured and global variables that a function reads, with their names."""
    code = getattr(fn, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    for name in dict.fromkeys(chain[0] for chain in references(code).chains):
        if name in fn.__globals__:
            yield name, fn.__globals__[name]
