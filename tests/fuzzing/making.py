"""Makes scripts: at random from a seed, or one for each change of each source."""

import functools
import random
from collections.abc import Iterator

from . import objects, sources
from .effects import Effect, chosen
from .floats import FloatCase, float_case
from .pieces import Change, Piece, filled
from .routes import routed
from .scripts import AGAIN, Case, Step
from .sources import Source, made
from .threads import ThreadCase, thread_case
from .tools import EAGER, FUNCTION_FORMS, LOOPS, METHOD_FORMS


TOOLS = ("autojit", "loops", "writes", "writes in loops", "threads", "floats")
FREE_SOURCES = {
    **sources.GLOBALS, **sources.FUNCTIONS, **objects.CLASSES, **objects.OBJECTS,
    **objects.ODD,
}  # fmt: skip


def case(seed: int, tool: str) -> Case | FloatCase | ThreadCase:
    """The script of a seed.

    Args:
        seed: Any int.
        tool: "autojit", "loops" (called by eager code), "writes" (of autojitted
            functions), "writes in loops", "threads", or "floats" (what is data in
            arguments). Or "each autojit", "each map",
            "each scan" ...: the seed is the number of a change of a source.
    """
    if tool.startswith("each "):
        return single(seed, tool.removeprefix("each "))
    if tool == "threads":
        return thread_case(seed)
    if tool == "floats":
        return float_case(seed)
    rng = random.Random(f"{tool} {seed}")
    writes = tool.startswith("writes")
    is_method = rng.random() < (0.6 if writes else 0.3)
    form, kernel = EAGER, "direct"
    if "loops" not in tool:
        form = rng.choice(list(METHOD_FORMS if is_method else FUNCTION_FORMS))
    if "loops" in tool or (tool == "autojit" and rng.random() < 0.2):
        kernel = rng.choice(list(LOOPS))
    pieces = tuple(
        _piece(10 * n + 1, rng, is_method)
        for n in range(rng.choice((0, 1) if writes else (1, 1, 2)))
    )
    effects: tuple[tuple[int, Effect], ...] = ()
    if writes:
        numbers = [100 + n for n in range(rng.choice((1, 1, 2, 3)))]
        effects = tuple((n, chosen(n, rng, is_method)) for n in numbers)
    is_inside = tool == "writes in loops"
    other = rng.choice(list(LOOPS)) if not is_inside and rng.random() < 0.2 else ""
    arrays = "XXXYSI" if kernel == "direct" and not other else "XXXY"
    return Case(
        seed,
        pieces,
        effects,
        is_method,
        form,
        kernel,
        rng.choice(("inline", "local", "global")),
        tuple(_steps(pieces, effects, arrays, bool(other), rng)),
        rng.random() < 0.5,
        other,
        is_inside,
    )


def _piece(number: int, rng: random.Random, of_self: bool) -> Piece:
    table = objects.OF_SELF if of_self and rng.random() < 0.4 else FREE_SOURCES
    name = rng.choice(list(table))
    piece = made(name, table[name], number, rng)
    for level in range(rng.choice((0, 0, 1, 1, 1, 2, 3))):
        piece = routed(piece, number + level + 1, rng, of_self)
    return piece


def _steps(
    pieces: tuple[Piece, ...],
    effects: tuple[tuple[int, Effect], ...],
    arrays: str,
    two: bool,
    rng: random.Random,
) -> Iterator[Step]:
    changes = [(piece.number, change) for piece in pieces for change in piece.changes]
    changes += [(n, Change(t, n, t)) for n, effect in effects for t in effect.changes]
    taken: list[Step] = []
    calls = rng.randint(4, 7)
    for n in range(calls):
        yield Step(rng.choice(arrays), other=two and rng.random() < 0.5)
        if n == calls - 1 or rng.random() < 0.15:
            continue
        if rng.random() < 0.04:
            yield Step("", AGAIN)
        for _ in range(rng.choice((1, 1, 1, 2, 3)) if changes else 0):
            if not taken or rng.random() < 0.7:
                owner, change = rng.choice(changes)
                text = filled(change.text, change.number, rng)
                taken.append(Step(text, change.what, owner, change.level))
                yield taken[-1]
            else:  # as it was before
                yield rng.choice(taken)


# ---- one change ----


@functools.cache
def single_changes() -> tuple[tuple[str, Source, str, bool], ...]:
    """Each change of each source: name, source, change, whether it is of `self`."""
    tables = ((FREE_SOURCES, False), (objects.OF_SELF, True))
    return tuple(
        (name, source, change, of_self)
        for table, of_self in tables
        for name, source in table.items()
        for change in source.changes
    )


def single(number: int, tool: str) -> Case:
    """Two calls with one change between them, and a third after the way back.

    Args:
        number: Of the change, from 0.
        tool: "autojit", or one of `LOOPS`.
    """
    name, source, change, of_self = single_changes()[number % len(single_changes())]
    rng = random.Random(number)
    piece = made(name, source, 1, rng)
    steps = [Step("X")]
    for _ in range(2):
        steps += [Step(filled(change, 1, rng), change, 1), Step("X")]
    is_jitted = tool == "autojit"
    form = "decorated" if is_jitted else EAGER
    kernel = "direct" if is_jitted else tool
    return Case(
        number, (piece,), (), of_self, form, kernel, "inline", tuple(steps)
    )  # fmt: skip
