"""The rows of a batch on several machines: the workers of Dask."""

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import BatchError
from ..._jax_internals import at_top_level
from ..._optional._packages import require
from ..._optional._progress import ProgressBar
from ._parts import as_received, as_sent, compute
from ._sent import Sent


CHUNKS_PER_THREAD = 4  # of the workers, if the user has said nothing: ends meet better
MOST_WAITING = 4  # chunks per thread that were sent: the scheduler holds their rows


class Cluster:
    """The workers that a client of Dask knows.

    Args:
        tool: The public name, for messages.
        client: A `distributed.Client`.

    Raises:
        MissingDependencyError: Dask is not installed.
        BatchError: It is no client.
    """

    def __init__(self, tool: str, client: Any) -> None:
        needed_by = f"{tool}(client=...)"
        self._dask: Any = require("distributed", extra="dask", needed_by=needed_by)
        self._tool, self._client = tool, client
        if not isinstance(client, self._dask.Client):
            message = (
                f"{tool}() got client={client!r}.\nPass a client of Dask: "
                "client=distributed.Client('address:8786'), or distributed.Client() "
                "for workers on this machine."
            )
            raise BatchError(message)

    def check(self) -> None:
        """Refuse to compute what can't be sent from here, or by this client."""
        tool, client = self._tool, self._client
        if client.asynchronous or client.status != "running":
            how = "asynchronous" if client.asynchronous else client.status
            message = (
                f"{tool}() got a client that is {how}.\nPass one that is connected, "
                "and that waits: client=distributed.Client(client.scheduler.address)"
            )
            raise BatchError(message)
        if not at_top_level():
            message = (
                f"{tool}() with client= was called in traced code, under jit, grad or "
                "vmap, and workers need the values.\nLeave out client= there, or call "
                f"{tool}() outside, and the transformation in the function of one row."
            )
            raise BatchError(message)

    def run(
        self, sent: Sent, chunk_size: int | None, bar: ProgressBar | None
    ) -> list[Any]:
        """Compute all rows.

        Args:
            sent: The batch.
            chunk_size: How many rows a task computes.
            bar: What shows how many tasks are done.

        Returns:
            The leaves of the results for all rows.
        """
        threads = max(1, sum(self._client.nthreads().values()))
        size = chunk_size or -(-sent.size // (CHUNKS_PER_THREAD * threads))
        size = min(size, sent.size)
        total = -(-sent.size // size)
        name, key = sent.name, uuid.uuid4().hex
        done: dict[int, list[Any]] = {}
        waiting: dict[Any, int] = {}
        # The rows are part of the tasks, so that those of a worker that dies are sent
        # to another one. Dask warns of large tasks.
        config = {"distributed.admin.large-graph-warning-threshold": "1TB"}
        with require("dask", extra="dask", needed_by="client=").config.set(config):
            batch = self._client.submit(_itself, sent.batch, key=f"batch-{key}")
            finished = self._dask.as_completed()
            try:
                for k, rows in enumerate(_chunks(sent, size)):
                    known = None if sent.reads_anew else key
                    task = self._client.submit(
                        compute, batch, known, k * size, rows, key=f"{name}-{key}-{k}"
                    )
                    waiting[task] = k
                    finished.add(task)
                    if len(waiting) >= MOST_WAITING * threads:
                        _collect(finished, waiting, done, total, bar)
                while waiting:
                    _collect(finished, waiting, done, total, bar)
            finally:
                self._client.cancel([*waiting, batch], force=True)
        parts = [done[k] for k in range(total)]
        return [_joined(leaf, sent.size) for leaf in zip(*parts, strict=True)]


def _itself(batch: bytes) -> bytes:
    return batch


def _collect(
    finished: Any,
    waiting: dict[Any, int],
    done: dict[int, list[Any]],
    total: int,
    bar: ProgressBar | None,
) -> None:
    """Take the result of the next task that ends."""
    task = next(finished)
    done[waiting[task]] = task.result()
    del waiting[task]
    task.release()
    if bar is not None:
        bar.move(len(done), total)


def _chunks(sent: Sent, size: int) -> Iterator[list[Any]]:
    """The rows of each chunk. The last is filled up: workers compile for one size."""
    plain = [as_sent(x) for x in sent.rows]
    for start in range(0, sent.size, size):
        numbers = np.minimum(np.arange(start, start + size), sent.size - 1)
        yield [
            as_sent(jnp.take(x, numbers, axis=0))
            if isinstance(whole, bytes)
            else whole[numbers]
            for x, whole in zip(sent.rows, plain, strict=True)
        ]


def _joined(parts: Sequence[Any], size: int) -> jax.Array:
    """The results of all rows, from those of the chunks."""
    if isinstance(parts[0], bytes):
        return jnp.concatenate([as_received(x) for x in parts])[:size]
    return jnp.asarray(np.concatenate(parts)[:size])
