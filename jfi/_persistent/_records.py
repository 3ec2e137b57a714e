"""What a program's file says besides its code: the results, or why there is no code."""

import json
from typing import Any, NamedTuple

import jax
import numpy as np

from ._structures import Data
from .fingerprint import LibraryState


class Result(NamedTuple):
    """One array of a result, as a compiled program returns it.

    Attributes:
        dtype: The name of its type; of a random key that of its numbers.
        shape: Its shape, likewise.
        weak: Whether its type is weak.
        key: Of what kind the random keys are, such as "threefry2x32"; else None.
    """

    dtype: str
    shape: tuple[int, ...]
    weak: bool
    key: str | None

    @classmethod
    def of(cls, type_: Any, key: str | None) -> "Result":
        """That of a type, as JAX traces it."""
        numbers = type_
        if key is not None:
            keys = jax.ShapeDtypeStruct(type_.shape, type_.dtype)
            numbers = jax.eval_shape(jax.random.key_data, keys)
        return cls(numbers.dtype.name, numbers.shape, bool(type_.weak_type), key)

    @property
    def may_stay(self) -> bool:
        """Whether it may stay in a server: an array, while numbers come back."""
        return bool(self.shape) and not self.weak and self.key is None

    def fits(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether an array may be this one."""
        return (array.dtype.name, array.shape) == (self.dtype, self.shape)


class CalledBack(NamedTuple):
    """What is known of the callbacks of a program, which its code has by number.

    Attributes:
        digest: That of the lowered program: which callback has which number.
        size: How many there are.
        in_branches: Whether most runs call none: they are errors, as of equinox.
        waits: Whether calls wait for the results, to raise an error of a callback.
    """

    digest: str
    size: int
    in_branches: bool
    waits: bool


class Record(NamedTuple):
    """What is known of a program.

    Attributes:
        name: What the user calls its function.
        source: The file and line where that is.
        seconds: How long tracing and compiling took.
        made: How it can be had: "compiled"; or why its trace has failed, which the
            next process need not try again: "draws", "numbers", "unread", "counts",
            "unforeseen".
        details: What was drawn from, or the nodes of the numbers, or of what it counts;
            or the names of functions that ran unforeseen.
        arguments: For each argument that is a random key, of what kind; else None.
        results: What it returns.
        tree: What the results are put into: see `_structures`.
        libraries: What the trace has read in libraries: see `fingerprint._libraries`.
        called_back: What it calls back; None: nothing.
    """

    name: str
    source: str
    seconds: float
    made: str = "compiled"
    details: tuple[Any, ...] = ()
    arguments: tuple[str | None, ...] = ()
    results: tuple[Result, ...] = ()
    tree: Data = None
    libraries: LibraryState | None = None
    called_back: CalledBack | None = None


def dumps(record: Record) -> bytes:
    """A record as bytes."""
    return json.dumps(record, separators=(",", ":")).encode()


def loads(data: bytes) -> Record:
    """A record that `dumps` wrote.

    Raises:
        ValueError, TypeError: It is none.
    """
    fields: list[Any] = json.loads(data)
    *plain, details, arguments, results, tree, libraries, called_back = fields
    listed = tuple(
        Result(dtype, tuple(shape), *rest) for dtype, shape, *rest in results
    )
    name, source, seconds, made = plain
    sequences = tuple(details), tuple(arguments), listed
    calls = called_back and CalledBack(*called_back)
    return Record(name, source, seconds, made, *sequences, tree, libraries, calls)
