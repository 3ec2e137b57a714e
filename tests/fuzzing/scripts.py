"""A script that calls a tool, changes something, calls again ..., as data and as text."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .effects import Effect
from .pieces import Piece
from .tools import DIRECT, EAGER, FUNCTION_FORMS, KERNELS, METHOD_FORMS


CELL = "# %%\n"
PRELUDE = """\
import collections, contextvars, dataclasses, enum, functools, itertools, operator, os
import sys, threading, types, weakref
import jax, jax.numpy as jnp, numpy as np
import jfi as tools
X, Y = jnp.asarray([1.0, 2.0], "float32"), jnp.asarray([0.5, 3.0], "float32")
S, I = jnp.asarray(2.0, "float32"), jnp.asarray([1, 2])
XS = jnp.asarray([[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]], "float32")"""
SHOW = "show = print"  # what the harness has of its own
AGAIN = "the function is defined again"


@dataclass(frozen=True)
class Step:
    """A call of the tool, or a change.

    Attributes:
        text: The lines of a change; for a call, its array.
        what: A change in words; empty for a call.
        owner: The number of the piece or effect that is changed.
        level: How many routes that piece must have.
        other: Whether a call is one of the other function.
    """

    text: str
    what: str = ""
    owner: int = -1
    level: int = 0
    other: bool = False


@dataclass(frozen=True)
class Case:
    """One script.

    Attributes:
        seed: It follows from this.
        pieces: What the function reads.
        effects: What it writes, by number.
        is_method: Whether it is a method of `Model`.
        form: How it comes under autojit: one of the forms of `tools.py`.
        kernel: The loop in it: one of `KERNELS`.
        place: Where the function in the loop is written: "inline", "local" or "global".
        steps: What happens.
        cells: Whether each step is compiled by itself, as a notebook does.
        other: The loop of another function that reads the same; "" for none.
        is_inside: Whether the effects happen inside the loop.
    """

    seed: int
    pieces: tuple[Piece, ...]
    effects: tuple[tuple[int, Effect], ...]
    is_method: bool
    form: str
    kernel: str
    place: str
    steps: tuple[Step, ...]
    cells: bool = False
    other: str = ""
    is_inside: bool = False

    def __str__(self) -> str:
        """The script that can be run by itself."""
        return CELL.join([SHOW + "\n", *self.parts()])

    def parts(self) -> list[str]:
        """The cells of the script."""
        setup = "\n".join(piece.setup for piece in self.pieces if piece.setup)
        setup += "".join("\n" + effect.setup for _, effect in self.effects)
        first = f"{setup}\n{self._holder()}"
        steps = [self._step(step) for step in self.steps]
        return [part.strip("\n") + "\n" for part in (PRELUDE, first, *steps)]

    @property
    def first_step(self) -> int:
        """The number of the cell with the first step."""
        return len(self.parts()) - len(self.steps)

    def label(self) -> str:
        """What it is about, in words: the class of a failure."""
        tool = self.kernel if self.form == EAGER else f"autojit ({self.form})"
        if self.form != EAGER and self.kernel != "direct":
            tool += f" with {self.kernel}"
        tool += " in a method" if self.is_method else ""
        tool += f" beside {self.other}" if self.other else ""
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

    def _step(self, step: Step) -> str:
        if step.what == AGAIN:
            return self._holder(factor=" * 2")
        return step.text if step.what else f"show({self._call(step)})"

    @property
    def _params(self) -> list[tuple[str, str]]:
        params = [param for piece in self.pieces for param in piece.params]
        return params + [
            (f"q{n}", effect.argument) for n, effect in self.effects if effect.argument
        ]

    @property
    def _names(self) -> str:
        return ", ".join(["x", *(name for name, _ in self._params)])

    def _expression(self) -> str:
        reads = [piece.read for piece in self.pieces]
        text = f"x * {reads[0]}" if reads else "x * 2"
        return f"({' + '.join([text, *reads[1:]])}).astype('float32')"

    def _place(self) -> str:
        if self.is_inside:
            return "local"
        is_local = any(piece.is_local for piece in self.pieces)
        return "local" if is_local and self.place == "global" else self.place

    def _effects(self) -> str:
        return "".join(effect.body + "\n" for _, effect in self.effects)

    def _define(self) -> str:
        """`F`, the function in a loop."""
        inside = self._effects() if self.is_inside else ""
        return f"def F(x):\n{_indented(inside + 'return ' + self._expression())}\n"

    def _result(self, kernel: str, factor: str = "") -> str:
        """The lines of the body that compute the result."""
        text = KERNELS[kernel]
        if text == DIRECT:
            return f"return {self._expression()}{factor}"
        name = "F"
        if self._place() == "inline":
            name = f"(lambda x: {self._expression()}{factor})"
        read = " + ".join(piece.read for piece in self.pieces) or "2.0"
        text = text.replace("READ", f"({read})").replace("F(", f"{name}(")
        for end in ",])":
            text = text.replace(f"F{end}", f"{name}{end}")
        define = self._define() if self._place() == "local" else ""
        return f"{define}return {text}"

    def _holder(self, factor: str = "") -> str:
        """What is called: one function, or two, or a class."""
        forms = METHOD_FORMS if self.is_method else FUNCTION_FORMS
        text = "{run}" if self.form == EAGER else forms[self.form][0]
        names = f"self, {self._names}" if self.is_method else self._names
        outside = "" if self.is_inside else self._effects()
        body = _indented(outside + self._result(self.kernel, factor))
        run = f"def run({names}):\n{body}"
        text = text.format(
            run=run,
            run_inside=_indented(run),
            plain=f"def plain({names}):\n{body}",
            names=self._names,
        )
        if self.other:
            text += f"\ndef other({names}):\n{_indented(self._result(self.other))}"
        before = ""
        if self._place() == "global" and {self.kernel, self.other} - {"direct", ""}:
            before = self._define()
        return before + (self._class(text) if self.is_method else text)

    def _class(self, run: str) -> str:
        init = "".join(piece.init + "\n" for piece in self.pieces if piece.init)
        init += "".join(effect.init + "\n" for _, effect in self.effects if effect.init)
        methods = "\n".join(piece.methods for piece in self.pieces if piece.methods)
        init = f"def __init__(self):\n{_indented(init + 'self.name = 1')}"
        body = "\n".join(part for part in (init, methods, run) if part)
        return f"class Model:\n{_indented(body)}\nmodel = Model()"

    def _call(self, step: Step) -> str:
        args = ", ".join([step.text, *(value for _, value in self._params)])
        owner = "model." if self.is_method else ""
        if step.other or self.form == EAGER:
            return f"{owner}{'other' if step.other else 'run'}({args})"
        forms = METHOD_FORMS if self.is_method else FUNCTION_FORMS
        return f"{forms[self.form][1].format(names=self._names)}({args})"


def _indented(text: str) -> str:
    return textwrap.indent(text.strip("\n"), "    ")


# ---- smaller ----


def smaller(case: Case) -> Iterator[Case]:
    """Scripts with a little less in them, the boldest first."""
    yield from _with_fewer_parts(case)
    if case.form != EAGER and case.kernel != "direct" and not case.is_inside:
        yield replace(case, kernel="direct")
    if case.form not in (EAGER, "decorated"):
        yield replace(case, form="decorated")
    if case.other:
        steps = tuple(step for step in case.steps if not step.other)
        yield replace(case, other="", steps=steps)
    parts = [*case.pieces, *(effect for _, effect in case.effects)]
    if case.is_method and not any(part.is_of_self for part in parts):
        yield replace(case, is_method=False, form=_function_form(case.form))
    if case.form == EAGER and case.kernel != "map":
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


def _function_form(form: str) -> str:
    return form if form in FUNCTION_FORMS or form == EAGER else "decorated"


def _with_fewer_parts(case: Case) -> Iterator[Case]:
    """Without a piece, without a route, without an effect."""
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
