"""Some rows of a batch, computed by a worker of a cluster."""

import pickle
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..._arrays._surroundings import with_settings
from ..._autojit import MAX_FUNCTIONS, calls_of_copies, code_of
from ..._autojit._loops_and_batches import refusing_bars
from ..._random._streams import Stream, using
from ..._random.traced._rows import RowDraws
from ..._values import Recent, is_key
from ._calls import BatchCalls
from ._choosing import Choice
from ._leaves import Arguments
from ._mapping import Args, Function, Kwargs
from ._results import Results
from ._rows import Rows, as_it_is
from ._sent import Batch


MAX_BATCHES = 4  # of which a worker keeps what is the same for all parts


def compute(sent: bytes, key: str | None, first: int, rows: Sequence[Any]) -> list[Any]:
    """Compute some rows.

    Args:
        sent: The batch.
        key: By which a worker finds the batch again; None to read it anew, with the
            generators in it as they were.
        first: The number of the first of the rows.
        rows: These rows of all batched arrays.

    Returns:
        The leaves of the results, as `as_sent` made them.
    """
    if key is None:
        batch: Batch = pickle.loads(sent)
    else:
        batch = _batches.get(key, lambda: pickle.loads(sent))
    with with_settings(batch.settings), using(Stream(*batch.stream)):
        (args, kwargs), axes = batch.filled([as_received(x) for x in rows])
        known = code_of(batch.fn), batch.name, batch.draws
        calls = _known.get(known, lambda: _calls_of(batch))
        part = np.uint32(first), axes, args, kwargs
        return [as_sent(x) for x in calls.run(batch.fn, part, {})]


_batches: Recent[Batch] = Recent(MAX_BATCHES)
_known: Recent[BatchCalls] = Recent(MAX_FUNCTIONS)


def as_sent(x: Any) -> Any:
    """An array for another process: of NumPy, or as bytes if NumPy has none like it.

    Weak types and keys are read where the settings are those of who computes: a thread
    that receives messages would make 32 bits of 64.
    """
    if isinstance(x, jax.Array) and (is_key(x) or x.weak_type):
        return pickle.dumps(x)
    return np.asarray(x)


def as_received(x: Any) -> Any:
    """What `as_sent` was given."""
    return pickle.loads(x) if isinstance(x, bytes) else x


def _calls_of(batch: Batch) -> BatchCalls:
    mapping = _PartMapping(batch.draws, batch.name)
    return BatchCalls(mapping, batch.name, jit=calls_of_copies)


class _PartMapping:
    """As `Mapping`, where the arguments are the number of a row, axes and a call."""

    __jfi_static__ = True

    def __init__(self, draws: RowDraws, name: str) -> None:
        self._draws, self._name = draws, name

    def run(
        self, fn: Function, args: Args, kwargs: Kwargs, *, compiling: bool = False
    ) -> Any:
        """Compute rows; see `Mapping.run`."""
        first, axes, *call = args
        arguments = Arguments([], tuple(call))
        pairs = zip(arguments.values, axes, strict=True)
        size = next(len(x) for x, axis in pairs if axis is not None)
        results = Results(self._name, arguments.values)
        rows = Rows(fn, arguments, Choice(axes, size), results.arrays)
        guard = refusing_bars if compiling else as_it_is
        return jax.tree.leaves(rows.part(self._draws, first, guard))
