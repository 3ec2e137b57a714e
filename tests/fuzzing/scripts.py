"""A script that calls a tool, changes something, calls again ..., as data and as text."""

import random
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace

from . import objects, sources
from .effects import Effect, chosen
from .pieces import Change, Piece, filled
from .routes import routed
from .sources import made
from .threads import ThreadCase, thread_case
from .tools import FORMS, KERNELS, LOOPS


FREE_SOURCES = {
    **sources.GLOBALS, **sources.FUNCTIONS, **objects.CLASSES, **objects.OBJECTS,
    **objects.ODD,
}  # fmt: skip
CELL = "# %%\n"
PRELUDE = """\
import collections, contextvars, dataclasses, enum, functools, itertools, operator, os
import sys, threading, types, weakref
import jax, jax.numpy as jnp, numpy as np
import jfi as tools
X, Y = jnp.asarray([1.0, 2.0], "float32"), jnp.asarray([0.5, 3.0], "float32")
XS = jnp.asarray([[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]], "float32")"""
SHOW = "show = print"  # what the harness has of its own


@dataclass(frozen=True)
class Step:
    """A call of the tool, or a change.

    Attributes:
        text: The lines of a change; for a call, its array.
        what: A change in words; empty for a call.
        owner: The number of the piece or effect that is changed.
        level: How many routes that piece must have.
    """

    text: str
    what: str = ""
    owner: int = -1
    level: int = 0


@dataclass(frozen=True)
class Case:
    """One script.

    Attributes:
        seed: It follows from this.
        pieces: What the function reads.
        effects: What it writes, by number.
        is_method: Whether it is a method of `Model`.
        form: How it comes under autojit: one of `FORMS`.
        kernel: The loop in it: one of `KERNELS`.
        place: Where the function in the loop is written: "inline", "local" or "global".
        steps: What happens.
        cells: Whether each step is compiled by itself, as a notebook does.
    """

    seed: int
    pieces: tuple[Piece, ...]
    effects: tuple[tuple[int, Effect], ...]
    is_method: bool
    form: str
    kernel: str
    place: str
    steps: tuple[Step, ...]
    cells: bool

    def __str__(self) -> str:
        """The script that can be run by itself."""
        return CELL.join([SHOW + "\n", *self.parts()])

    def parts(self) -> list[str]:
        """The cells of the script."""
        setup = "\n".join(piece.setup for piece in self.pieces if piece.setup)
        setup += "".join("\n" + effect.setup for _, effect in self.effects)
        holder = self._method() if self.is_method else self._function()
        steps = [
            step.text if step.what else f"show({self._call(step.text)})"
            for step in self.steps
        ]
        return [part.strip("\n") + "\n" for part in (PRELUDE, setup, holder, *steps)]

    @property
    def first_step(self) -> int:
        """The number of the cell with the first step."""
        return len(self.parts()) - len(self.steps)

    def label(self) -> str:
        """What it is about, in words: the class of a failure."""
        tool = self.kernel if self.form == "eager" else f"autojit ({self.form})"
        if self.form != "eager" and self.kernel != "direct":
            tool += f" with {self.kernel}"
        tool += " in a method" if self.is_method else ""
        reads = "; ".join(piece.name for piece in self.pieces) or "nothing"
        writes = "; ".join(effect.name for _, effect in self.effects)
        changes = "; ".join(
            repr(step.what.replace("\n", " / ")) for step in self.steps if step.what
        )
        parts = [tool, f"reads {reads}"]
        parts += [f"writes {writes}"] if writes else []
        parts += [f"after {changes}"] if changes else []
        return " | ".join(parts)

    # ---- as text ----

    @property
    def _params(self) -> list[tuple[str, str]]:
        params = [param for piece in self.pieces for param in piece.params]
        return params + [
            (f"q{n}", effect.argument) for n, effect in self.effects if effect.argument
        ]

    def _expression(self) -> str:
        reads = [piece.read for piece in self.pieces]
        text = f"x * {reads[0]}" if reads else "x * 2"
        return f"({' + '.join([text, *reads[1:]])}).astype('float32')"

    def _read(self) -> str:
        return " + ".join(piece.read for piece in self.pieces) or "2.0"

    def _place(self) -> str:
        is_local = any(piece.is_local for piece in self.pieces)
        return "local" if is_local and self.place == "global" else self.place

    def _result(self) -> str:
        """The lines of the body that compute the result."""
        if self.kernel == "direct":
            return f"return {self._expression()}"
        name = {"inline": f"(lambda x: {self._expression()})"}.get(self._place(), "F")
        kernel = KERNELS[self.kernel].replace("READ", f"({self._read()})")
        kernel = kernel.replace("F(", f"{name}(").replace("F,", f"{name},")
        kernel = kernel.replace("F]", f"{name}]").replace("F)", f"{name})")
        define = f"def F(x):\n    return {self._expression()}\n"
        return f"{define if self._place() == 'local' else ''}return {kernel}"

    def _function(self) -> str:
        names = ", ".join(["x", *(name for name, _ in self._params)])
        text = ""
        if self._place() == "global" and self.kernel != "direct":
            text += f"def F(x):\n    return {self._expression()}\n"
        name = "run" if self.form in ("decorated", "eager") else "plain"
        text += "@tools.autojit\n" if self.form == "decorated" else ""
        text += f"def {name}({names}):\n{_indented(self._body())}\n"
        if self.form == "wrapped":
            text += "run = tools.autojit(plain)\n"
        elif self.form == "called inside":
            text += f"@tools.autojit\ndef run({names}):\n    return plain({names})\n"
        return text

    def _body(self) -> str:
        effects = "".join(effect.body + "\n" for _, effect in self.effects)
        return effects + self._result()

    def _method(self) -> str:
        names = ", ".join(["self", "x", *(name for name, _ in self._params)])
        init = "".join(piece.init + "\n" for piece in self.pieces if piece.init)
        init += "".join(effect.init + "\n" for _, effect in self.effects)
        methods = "\n".join(piece.methods for piece in self.pieces if piece.methods)
        name = "plain" if self.form in ("called inside", "wrapped anew") else "run"
        run = "@tools.autojit\n" if self.form in ("decorated", "wrapped") else ""
        run += f"def {name}({names}):\n{_indented(self._body())}\n"
        if self.form == "called inside":
            others = names.removeprefix("self, ")
            run += (
                f"@tools.autojit\ndef run({names}):\n    return self.plain({others})\n"
            )
        body = f"def __init__(self):\n{_indented(init + 'self.name = 1')}\n{methods}\n{run}"
        text = f"class Model:\n{_indented(body)}\nmodel = Model()\n"
        if self._place() == "global" and self.kernel != "direct":
            text = f"def F(x):\n    return {self._expression()}\n" + text
        return text

    def _call(self, array: str) -> str:
        args = ", ".join([array, *(value for _, value in self._params)])
        if self.is_method:
            if self.form == "wrapped anew":
                return f"tools.autojit(model.plain)({args})"
            return f"model.run({args})"
        if self.form == "wrapped anew":
            names = ", ".join(["x", *(name for name, _ in self._params)])
            return f"tools.autojit(lambda {names}: plain({names}))({args})"
        return f"run({args})"


def _indented(text: str) -> str:
    return textwrap.indent(text.strip("\n"), "    ")


# ---- at random ----


def case(seed: int, tool: str) -> Case | ThreadCase:
    """The script of a seed.

    Args:
        seed: Any int.
        tool: "autojit", "loops" (called by eager code), "writes" (of autojitted
            functions), or "threads".
    """
    if tool == "threads":
        return thread_case(seed)
    rng = random.Random(f"{tool} {seed}")
    is_method = rng.random() < (0.6 if tool == "writes" else 0.3)
    form = "eager" if tool == "loops" else rng.choice(FORMS[:-1])
    kernel = "direct"
    if tool == "loops" or (tool == "autojit" and rng.random() < 0.25):
        kernel = rng.choice(list(LOOPS))
    pieces = tuple(
        _piece(10 * n + 1, rng, is_method)
        for n in range(rng.choice((1, 1, 2) if tool != "writes" else (0, 1)))
    )
    effects = ()
    if tool == "writes":
        numbers = [100 + n for n in range(rng.choice((1, 1, 2, 3)))]
        effects = tuple((n, chosen(n, rng, is_method)) for n in numbers)
    return Case(
        seed,
        pieces,
        effects,
        is_method,
        form,
        kernel,
        rng.choice(("inline", "local", "global")),
        tuple(_steps(pieces, effects, rng)),
        rng.random() < 0.5,
    )


def _piece(number: int, rng: random.Random, of_self: bool) -> Piece:
    table = objects.OF_SELF if of_self and rng.random() < 0.4 else FREE_SOURCES
    name = rng.choice(list(table))
    piece = made(name, table[name], number, rng)
    for level in range(rng.choice((0, 0, 1, 1, 1, 2, 3))):
        piece = routed(piece, number + level + 1, rng, of_self)
    return piece


def _steps(pieces, effects, rng: random.Random) -> Iterator[Step]:
    changes = [(piece.number, change) for piece in pieces for change in piece.changes]
    changes += [(n, Change(t, n, t)) for n, effect in effects for t in effect.changes]
    made: list[Step] = []
    calls = rng.randint(4, 7)
    for n in range(calls):
        yield Step(rng.choice("XXXY"))
        if n < calls - 1 and changes and rng.random() < 0.85:
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                if made and rng.random() < 0.3:  # as it was before
                    yield rng.choice(made)
                    continue
                owner, change = rng.choice(changes)
                text = filled(change.text, change.number, rng)
                made.append(Step(text, change.what, owner, change.level))
                yield made[-1]


# ---- smaller ----


def smaller(case: Case | ThreadCase) -> Iterator[Case | ThreadCase]:
    """Scripts with a little less in them, the boldest first."""
    if isinstance(case, ThreadCase):
        yield from case.smaller()
        return
    for piece in case.pieces:
        others = tuple(p for p in case.pieces if p is not piece)
        steps = tuple(s for s in case.steps if s.owner != piece.number)
        yield replace(case, pieces=others, steps=steps)
        if piece.inner is not None:
            inner = tuple(p.inner if p is piece else p for p in case.pieces)
            steps = tuple(
                s
                for s in case.steps
                if s.owner != piece.number or s.level < piece.level
            )
            yield replace(case, pieces=inner, steps=steps)
    for number, effect in case.effects:
        effects = tuple(e for e in case.effects if e[1] is not effect)
        steps = tuple(s for s in case.steps if s.owner != number)
        yield replace(case, effects=effects, steps=steps)
    if case.form != "eager" and case.kernel != "direct":
        yield replace(case, kernel="direct")
    if case.form not in ("eager", "decorated"):
        yield replace(case, form="decorated")
    parts = [*case.pieces, *(effect for _, effect in case.effects)]
    if case.is_method and not any(part.is_of_self for part in parts):
        yield replace(case, is_method=False)
    if case.form == "eager" and case.kernel != "map":
        yield replace(case, kernel="map")
    if case.place != "inline":
        yield replace(case, place="inline")
    if case.cells:
        yield replace(case, cells=False)
    for n in range(len(case.steps)):
        yield replace(case, steps=case.steps[:n] + case.steps[n + 1 :])
    for n, step in enumerate(case.steps):
        if not step.what and step.text != "X":
            x = replace(step, text="X")
            yield replace(case, steps=(*case.steps[:n], x, *case.steps[n + 1 :]))
