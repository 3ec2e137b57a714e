"""`summary`: the arrays in anything that `autojit` opens, as a table."""

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

import jax
import numpy as np

from .._autojit._graphs import paths
from .._autojit._opening import open_values
from .._autojit._reading import Mode
from .._shown import aligned_lines, html_table
from .._values import has_dtype, is_tracer
from ._text import of_bytes


class ArrayRow(NamedTuple):
    """An array of a summary.

    Attributes:
        path: Where it is, as the user would write it behind the name of the whole.
        shape: Its shape.
        dtype: Its dtype.
        nbytes: How large it is, in bytes.
        devices: Where it is: "cpu:0"; "host" for NumPy's.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    devices: str


class Summary(NamedTuple):
    """The arrays in an object; print it, or show it in a notebook.

    Attributes:
        name: The class of the object.
        arrays: A row for each array; one that is met twice has one row.
        unopened: What `autojit` can't open, and nobody has looked into: its path, and
            what it is.
    """

    name: str
    arrays: tuple[ArrayRow, ...]
    unopened: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """How large all of them are, in bytes."""
        return sum(row.nbytes for row in self.arrays)

    @property
    def size(self) -> int:
        """How many numbers they hold."""
        return sum(int(np.prod(row.shape, dtype=np.int64)) for row in self.arrays)

    @property
    def wide(self) -> tuple[str, ...]:
        """The paths of float64 arrays, where there are narrower floats, too."""
        floats = {row.dtype for row in self.arrays if "float" in row.dtype}
        if len(floats) < 2:
            return ()
        return tuple(row.path for row in self.arrays if row.dtype == "float64")

    def __repr__(self) -> str:
        table = aligned_lines([_COLUMNS, *_cells(self)]) if self.arrays else ()
        return "\n".join([_headline(self), *table])

    def _repr_html_(self) -> str:
        table = html_table(_COLUMNS, _cells(self))
        return f"<div><b>{escape(_headline(self))}</b>{table}</div>"


def summary(tree: object) -> Summary:
    """List the arrays in an object: paths, shapes, dtypes, sizes, devices.

    Example:
        >>> import jfi as jnp
        >>> class Model:
        ...     def __init__(self):
        ...         self.w, self.layers = jnp.ones((2, 3)), [jnp.zeros(3)]
        >>> jnp.summary(Model())
        Model: 2 arrays, 9 numbers, 36 B; float32 2
        array      shape   dtype    size  on
        layers[0]  (3,)    float32  12 B  cpu:0
        w          (2, 3)  float32  24 B  cpu:0

    Args:
        tree: Anything: objects of any class, their containers, NumPy's arrays of
            objects, and what functions have captured.

    Returns:
        The summary, which is printed as a table, and has it as data.
    """
    found: dict[int, ArrayRow] = {}
    unopened = tuple(_list_arrays(tree, _ROOT, found))
    rows = sorted(found.values(), key=lambda row: _in_order(row.path))
    return Summary(type(tree).__name__, tuple(rows), unopened)


_ROOT = "tree"


def _list_arrays(tree: object, root: str, found: dict[int, ArrayRow]) -> Iterator[str]:
    """Add the arrays in an object to what was found; yield what can't be opened."""
    opened = open_values((tree,), lambda: [root], mode=Mode.SHOWN)
    names = paths(opened.graph, opened.objects, [root])
    for path, x in zip(names, opened.objects, strict=True):
        if not has_dtype(x) or isinstance(x, np.generic) or id(x) in found:
            continue
        found[id(x)] = _row(_below_root(path) or type(x).__name__, x)
        if isinstance(x, np.ndarray) and x.dtype.kind == "O":
            yield from _list_arrays(x.tolist(), path, found)
    for text in opened.read.unseen:
        if not text.endswith(f"({_OF_OBJECTS})"):
            yield _below_root(text).lstrip()


def _below_root(path: str) -> str:
    """A path as the user writes it behind the name of the whole."""
    return path.removeprefix(_ROOT).removeprefix(".")


_OF_OBJECTS = "a NumPy array of Python objects"


_COLUMNS = ("array", "shape", "dtype", "size", "on")


def _row(path: str, x: Any) -> ArrayRow:
    on = "host"
    if is_tracer(x):
        on = "traced"
    elif isinstance(x, jax.Array):
        on = ", ".join(sorted(f"{d.platform}:{d.id}" for d in x.devices()))
    return ArrayRow(path, tuple(x.shape), x.dtype.name, int(x.nbytes), on)


def _in_order(path: str) -> list[tuple[int, str]]:
    """A key that puts layers[2] before layers[10]."""
    parts = re.findall(r"\d+|\D+", path)
    return [(int(p), "") if p.isdigit() else (-1, p) for p in parts]


def _headline(found: Summary) -> str:
    n = len(found.arrays)
    dtypes = Counter(row.dtype for row in found.arrays)
    counted = ", ".join(f"{name} {count}" for name, count in dtypes.most_common())
    text = f"{found.name}: {n} array{'s' * (n != 1)}, {found.size} numbers, "
    text += of_bytes(found.nbytes)
    if counted:
        text += f"; {counted}"
    if found.unopened:
        text += f"\nnot opened: {', '.join(found.unopened)}"
    if found.wide:
        text += f"\nfloat64 among narrower floats: {', '.join(found.wide)}"
    return text


def _cells(found: Summary) -> list[tuple[str, ...]]:
    return [
        (
            row.path,
            str(row.shape),
            f"{row.dtype} !" if row.path in found.wide else row.dtype,
            of_bytes(row.nbytes),
            row.devices,
        )
        for row in found.arrays
    ]
