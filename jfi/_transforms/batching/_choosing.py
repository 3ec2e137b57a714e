"""Which axis of each array is the batch: said by the user, or found by trials."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..._advice import hide_frames
from ..._errors import AmbiguousBatchError, BatchError
from ..._values import NEEDS_VALUE
from . import _messages as messages
from ._leaves import Leaf
from ._naming import places, said_axes
from ._plan import Plan


class Choice(NamedTuple):
    """The axis of each leaf, or None where it is shared; and the size of the batch."""

    axes: tuple[int | None, ...]
    size: int


Trial = Callable[[Choice], Exception | None]


def choose(plan: Plan, name: str, leaves: Sequence[Leaf], trial: Trial) -> Choice:
    """Find the batch.

    Args:
        plan: What the user said.
        name: The name of the function, for messages.
        leaves: All leaves of its arguments.
        trial: Gives the reason why a choice does not work, without computing.

    Raises:
        AmbiguousBatchError: More than one choice is possible.
        BatchError: None is.
    """
    said = _checked(plan, leaves, said_axes(plan, leaves))
    choice_of = _Choices(leaves, said)
    size = _said_size(plan, leaves, said)
    if size is None:
        size = _found_size(plan, name, leaves, choice_of, trial)
    if plan.batch_size is None:
        _refuse_squares(plan, leaves, size, said)
    choice = choice_of(size)
    if all(axis is None for axis in choice.axes):
        raise BatchError(messages.nothing_has_size(plan.tool, size, leaves))
    _refuse_foreign_arrays(leaves, size, said)
    return choice


class _Choices:
    """The choice for each size of the batch."""

    def __init__(self, leaves: Sequence[Leaf], said: dict[int, int | None]) -> None:
        self._leaves, self._said = leaves, said

    def __call__(self, size: int) -> Choice:
        axes = (
            self._said.get(i, 0 if leaf.leading == size else None)
            for i, leaf in enumerate(self._leaves)
        )
        return Choice(tuple(axes), size)

    def candidates(self) -> list[int]:
        """The leading sizes of the arrays of which nothing was said."""
        sizes = {
            leaf.leading
            for i, leaf in enumerate(self._leaves)
            if leaf.leading is not None and i not in self._said
        }
        return sorted(sizes)


def _checked(
    plan: Plan, leaves: Sequence[Leaf], said: dict[int, int | None]
) -> dict[int, int | None]:
    """The same axes, none negative."""
    checked = dict(said)
    for i, axis in said.items():
        if axis is None:
            continue
        leaf = leaves[i]
        if not leaf.is_array:
            raise BatchError(messages.not_an_array(plan.tool, leaf))
        if not -len(leaf.shape) <= axis < len(leaf.shape):
            raise BatchError(messages.no_such_axis(plan.tool, leaf, axis))
        checked[i] = axis % len(leaf.shape)
    return checked


def _said_size(
    plan: Plan, leaves: Sequence[Leaf], said: dict[int, int | None]
) -> int | None:
    """The size that `batch_size=` or the arrays said to be batched have."""
    known, source = plan.batch_size, f"batch_size={plan.batch_size}"
    for i, axis in said.items():
        if axis is None:
            continue
        leaf = leaves[i]
        size = leaf.shape[axis]
        description = f"{leaf.name} {leaf.shape} along axis {axis}"
        if known is None:
            known, source = size, description
        elif size != known:
            raise BatchError(messages.sizes_disagree(plan.tool, source, description))
    return known


def _found_size(
    plan: Plan,
    name: str,
    leaves: Sequence[Leaf],
    choice_of: _Choices,
    trial: Trial,
) -> int:
    """The one leading size with which the function works."""
    sizes = choice_of.candidates()
    if not sizes:
        raise BatchError(messages.no_arrays(plan.tool, leaves))
    if len(sizes) > 1:
        failures = {size: trial(choice_of(size)) for size in sizes}
        sizes = [size for size, failure in failures.items() if failure is None]
        if not sizes:
            error = next(iter(failures.values()))
            ways = _ways_that_work(leaves, choice_of, failures, trial)
            message = messages.none_works(plan.tool, name, failures, leaves, ways)
            if error is not None:
                hide_frames(error)  # of JAX and jfi, as of all errors that users see
            raise BatchError(message) from error
        # A size whose trial needs the values of the batch may be the right one too.
        sizes += [n for n, e in failures.items() if isinstance(e, NEEDS_VALUE)]
        if len(sizes) > 1:
            message = messages.several_work(plan.tool, name, sorted(sizes), leaves)
            raise AmbiguousBatchError(message)
    return sizes[0]


MAX_TRIALS = 40  # of what to suggest, after everything failed
MAX_WAYS = 3


def _ways_that_work(
    leaves: Sequence[Leaf],
    choice_of: _Choices,
    sizes: dict[int, Exception | None],
    trial: Trial,
) -> list[str]:
    """What to write so that the function works: an array or a tree that is shared."""
    ways: list[str] = []
    trials = 0
    for size in sizes:
        axes, _ = choice_of(size)
        for path, below in places(leaves).items():
            others = tuple(None if i in below else axis for i, axis in enumerate(axes))
            if others == axes or set(others) == {None} or trials >= MAX_TRIALS:
                continue
            trials += 1
            if trial(Choice(others, size)) is None:
                ways.append(f"batch_size={size}, shared={path!r}")
    return ways[:MAX_WAYS]


def _refuse_squares(
    plan: Plan, leaves: Sequence[Leaf], size: int, said: dict[int, int | None]
) -> None:
    """No trial distinguishes a batch of rows from a shared matrix of the same shape."""
    square = [
        leaf
        for i, leaf in enumerate(leaves)
        if i not in said and leaf.is_array and leaf.shape[:2] == (size, size)
    ]
    if square:
        message = messages.may_be_a_matrix(plan.tool, square, size, leaves)
        raise AmbiguousBatchError(message)


def _refuse_foreign_arrays(
    leaves: Sequence[Leaf], size: int, said: dict[int, int | None]
) -> None:
    """An array of strings, a torch tensor ... as long as the batch, but not batched."""
    for i, leaf in enumerate(leaves):
        if not leaf.is_array and leaf.shape[:1] == (size,) and i not in said:
            raise BatchError(messages.foreign_array(leaf))
