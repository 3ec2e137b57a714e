"""What a program's file says besides its code: the results, or why there is no code.

The tree of a result may hold objects of the user's classes, and what the body wrote to
its arguments (`Outcome`). It is pickled with numbers for arrays, and the user's classes
and functions by their numbers in the description of the program: the class of that
number in this process is what the class of that process was.
"""

import importlib
import io
import pickle
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax

from .._autojit._changes import Change
from .._autojit._graphs import INPUT
from .._autojit._outcomes import Delivery
from .._autojit.kinds import _classify, _flax, _known_arrays
from .._autojit.kinds._base import Kind
from .._autojit.kinds._classify import BUILTIN, builtin_base
from .._autojit.kinds._objects import ObjectKind
from .._values import is_tracer, is_user_module


class Record(NamedTuple):
    """What is known of a program.

    Attributes:
        name: What the user calls its function.
        source: The file and line where that is.
        seconds: How long tracing and compiling took.
        made: How it can be had: "compiled"; or why its trace has failed, which the
            next process need not try again: "draws", "numbers", "unread", "counts";
            or "alone": its code can't be loaded.
        details: What was drawn from, or the nodes of the numbers, or of what it counts.
        arguments: For each argument that is a random key, of what kind; else None.
        results: The same of its results.
        weak: Whether the type of each result is weak.
        tree: The results, pickled with numbers for arrays.
    """

    name: str
    source: str
    seconds: float
    made: str = "compiled"
    details: tuple[Any, ...] = ()
    arguments: tuple[str | None, ...] = ()
    results: tuple[str | None, ...] = ()
    weak: tuple[bool, ...] = ()
    tree: bytes = b""


def dumps(record: Record) -> bytes:
    """A record as bytes."""
    return pickle.dumps(tuple(record))


def loads(data: bytes) -> Record:
    """A record that `dumps` wrote.

    Raises:
        Exception: It is none.
    """
    return Record(*pickle.loads(data))


def dump_tree(structure: Any, shared: Sequence[object]) -> bytes:
    """The structure of a result as bytes.

    Raises:
        Exception: It holds something that has no meaning in another process.
    """
    numbered = jax.tree.unflatten(structure, range(structure.num_leaves))
    file = io.BytesIO()
    _Pickler(file, shared).dump(numbered)
    data = file.getvalue()
    again = load_tree(data, shared)
    if again.num_leaves != structure.num_leaves or repr(again) != repr(structure):
        raise pickle.PicklingError("its result changes when it is pickled")
    return data


def load_tree(data: bytes, shared: Sequence[object]) -> Any:
    """The structure of a result that `dump_tree` wrote."""
    return jax.tree.structure(_Unpickler(io.BytesIO(data), shared).load())


# Such as that of functions, which Python knows by no name that pickle can use.
_PYTHONS = {cls: name for name, cls in vars(types).items() if isinstance(cls, type)}


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self._numbers = {id(x): k for k, x in reversed(list(enumerate(shared)))}

    def persistent_id(self, obj: Any) -> Any:
        if is_tracer(obj):
            raise pickle.PicklingError(
                "it keeps a traced value, as a loss that writes its argument to an "
                "attribute"
            )
        if isinstance(obj, Kind):
            return _name_of_kind(obj)
        if isinstance(obj, types.ModuleType):
            return "module", obj.__name__
        number = self._numbers.get(id(obj))
        if number is not None:
            return "shared", number
        if isinstance(obj, type) and obj in _PYTHONS:
            return "type", _PYTHONS[obj]
        named = isinstance(obj, (type, types.FunctionType))
        if named and is_user_module(obj.__module__):
            raise pickle.PicklingError(
                f"its result holds {obj.__qualname__}, which the function does not name"
            )
        return None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Delivery):
            graph = [(_stored_kind(kind), *rest) for kind, *rest in obj.graph]
            changes = [
                (node, _stored_kind(kind), *rest) for node, kind, *rest in obj.changes
            ]
            return _delivery, (graph, changes)
        return NotImplemented


def _stored_kind(kind: Kind) -> Kind | None:
    return None if isinstance(kind, ObjectKind) else kind


def _delivery(graph: Sequence[Any], changes: Sequence[Any]) -> Delivery:
    return Delivery(
        tuple((_restored_kind(kind, part), part, below) for kind, part, below in graph),
        tuple(
            Change(node, _restored_kind(kind, part), part, *rest)
            for node, kind, part, *rest in changes
        ),
    )


def _restored_kind(kind: Kind | None, part: Any) -> Kind:
    """The kind of a node; that of an object is made for its class.

    Objects are put together by it, and compared with nothing.
    """
    if kind is not None:
        return kind
    cls = part[0]
    return ObjectKind(cls, frozen=False, base=builtin_base(cls))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        what, *rest = pid
        if what == "shared":
            return self._shared[rest[0]]
        if what == "type":
            return getattr(types, rest[0])
        if what == "module":
            return importlib.import_module(rest[0])
        return _KINDS[rest[0]]


def _name_of_kind(kind: Kind) -> tuple[Any, ...]:
    name = next((name for name, one in _KINDS.items() if one is kind), None)
    if name is None:
        raise pickle.PicklingError(
            f"its result has a {type(kind).__name__}, which no file can name"
        )
    return "kind", name


_KINDS: dict[str, Kind] = {
    "INPUT": INPUT,
    **{f"of {cls.__name__}": kind for cls, kind in BUILTIN.items()},
    **{
        name: kind
        for module in (_classify, _flax, _known_arrays)
        for name, kind in vars(module).items()
        if isinstance(kind, Kind)
    },
}
