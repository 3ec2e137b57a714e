"""What functions hold besides their code."""

import functools
import types
from collections.abc import Iterator
from typing import Any

import jax


def captured(code: Any) -> Iterator[object]:
    """What a function holds: its object, its captured variables, its defaults.

    Functions among these are opened, and so are containers.
    """
    seen: dict[int, object] = {}  # which keeps methods, and with them their ids
    waiting = [code]
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        parts = _held_by(x)
        if parts is None:
            yield x
        else:
            waiting += jax.tree.leaves(parts, is_leaf=_is_leaf)


def _held_by(x: Any) -> list[Any] | None:
    if isinstance(x, types.FunctionType):
        cells = [cell.cell_contents for cell in x.__closure__ or () if _is_full(cell)]
        defaults = [*(x.__defaults__ or ()), x.__kwdefaults__ or {}]
        return [*cells, *defaults, getattr(x, "__wrapped__", None)]
    if isinstance(x, types.MethodType):
        return [x.__self__, x.__func__]
    if isinstance(x, functools.partial):
        return [x.func, x.args, x.keywords]
    if isinstance(x, types.BuiltinFunctionType):
        return [] if isinstance(x.__self__, types.ModuleType) else [x.__self__]
    if not isinstance(x, type) and callable(x) and hasattr(x, "__wrapped__"):
        return [getattr(x, "__wrapped__")]  # noqa: B009 - what jit and lru_cache make
    return None


def _is_leaf(x: object) -> bool:
    return not isinstance(x, (list, tuple, dict))


def _is_full(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading it is the question
    except ValueError:
        return False
    return True
