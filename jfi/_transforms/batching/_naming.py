"""Which leaves a path or glob of an option means."""

import difflib
import fnmatch
from collections.abc import Sequence

from ..._errors import BatchError
from ..._values import listed
from ._leaves import Leaf
from ._messages import not_an_array
from ._plan import Plan


def said_axes(plan: Plan, leaves: Sequence[Leaf]) -> dict[int, int | None]:
    """The axis of each leaf for which the user said one; None for shared ones.

    Raises:
        BatchError: A path means no leaf, or one is said to be both.
    """
    said: dict[int, int | None] = {}
    for i, leaf in enumerate(leaves):
        if leaf.mark is not None and (leaf.mark.axis is None or leaf.is_array):
            said[i] = leaf.mark.axis
    _refuse_empty_marks(plan, leaves)
    by_path: dict[int, str] = {}
    options: list[tuple[str, str, int | None]] = [
        (f"shared={path!r}", path, None) for path in plan.shared
    ]
    options += [
        (f"batched={{{path!r}: {axis}}}", path, axis) for path, axis in plan.batched
    ]
    for option, path, axis in options:
        for i in _matching(plan, option, path, leaves):
            if i in by_path and said[i] != axis:
                message = (
                    f"{plan.tool}() got {by_path[i]} and {option}, which disagree "
                    f"about {leaves[i].name}.\nLeave out one of them."
                )
                raise BatchError(message)
            if axis is None or leaves[i].shape or path == leaves[i].path:
                said[i], by_path[i] = axis, option
    return said


def _refuse_empty_marks(plan: Plan, leaves: Sequence[Leaf]) -> None:
    """Refuse `batched(x)` of what has no array to batch."""
    empty: dict[int, Leaf] = {}
    for leaf in leaves:
        if leaf.mark is not None and leaf.mark.axis is not None:
            empty.setdefault(id(leaf.mark), leaf)
    for leaf in leaves:
        if leaf.is_array:
            empty.pop(id(leaf.mark), None)
    for leaf in empty.values():
        raise BatchError(not_an_array(plan.tool, leaf))


def _matching(
    plan: Plan, option: str, path: str, leaves: Sequence[Leaf]
) -> Sequence[int]:
    """The numbers of the leaves at a path, below it, or that fit a glob."""
    found = [i for i, leaf in enumerate(leaves) if _means(path, leaf.path)]
    if found:
        return found
    paths = [leaf.path for leaf in leaves]
    parts = dict.fromkeys(p for whole in paths for p in _with_those_above(whole))
    close = difflib.get_close_matches(path, list(parts), n=3, cutoff=0.5)
    close += [p for p in paths if p.split(".")[-1] == path and p not in close]
    ordered = list(dict.fromkeys([*close, *filter(None, paths)]))
    message = (
        f"{plan.tool}() got {option}, and no path matches {path!r}. The paths are: "
        f"{listed(list(map(repr, ordered))) or '(none)'}."
    )
    if close:
        message += f"\nDid you mean {close[0]!r}?"
    raise BatchError(message)


def _means(pattern: str, path: str) -> bool:
    return (
        path == pattern
        or path.startswith(pattern + ".")
        or fnmatch.fnmatchcase(path, pattern)
    )


def places(leaves: Sequence[Leaf]) -> dict[str, set[int]]:
    """The leaves at each path, and below each that is above several."""
    found: dict[str, set[int]] = {}
    for i, leaf in enumerate(leaves):
        for path in _with_those_above(leaf.path):
            found.setdefault(path, set()).add(i)
    single = {path: below for path, below in found.items() if len(below) == 1}
    return single | {path: below for path, below in found.items() if len(below) > 1}


def _with_those_above(path: str) -> list[str]:
    """A path and all that are above it."""
    steps = path.split(".")
    return [".".join(steps[: n + 1]) for n in range(len(steps))]
