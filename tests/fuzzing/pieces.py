"""What a script is made of: pieces of text with their names and numbers filled in."""

import random
import re
from dataclasses import dataclass, field


# Few values, so that scripts often come back to the first one: A, B, A.
VALUES = ("0.5", "1.5", "2.0", "3.0")
WHOLE = ("1", "2", "3")
# Another type, too: what plain Python takes without a word.
KINDS = (
    "{v}", "{v}", "{v}", "{i}", "np.float32({v})", "np.asarray({v})",
    "jnp.asarray({v})", "True",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A line between two calls.

    Attributes:
        text: The line, or several, with placeholders for numbers.
        number: Of the piece or route: what stands for `<n>`.
        what: In words, for the list of classes of failures.
        level: How many routes there must be for the line to mean something.
    """

    text: str
    number: int
    what: str
    level: int = 0


@dataclass(frozen=True)
class Piece:
    """What a function under a tool reads, by which way, and how that changes.

    Attributes:
        name: In words.
        number: Of this piece: a part of all its names.
        setup: Lines at the top level, before the function.
        read: An expression, whose value is a number.
        changes: What may happen between two calls.
        init: Lines of `Model.__init__`.
        methods: Lines of the body of `class Model`.
        params: Parameters of the function, with what is passed in each call.
        inner: The same piece with one route less.
    """

    name: str
    number: int
    setup: str
    read: str
    changes: tuple[Change, ...]
    init: str = ""
    methods: str = ""
    params: tuple[tuple[str, str], ...] = ()
    inner: "Piece | None" = field(default=None, repr=False)

    @property
    def level(self) -> int:
        """By how many routes it is read."""
        return 0 if self.inner is None else self.inner.level + 1

    @property
    def is_of_self(self) -> bool:
        """Whether the expression has a meaning in methods only."""
        return "self" in self.read

    @property
    def is_local(self) -> bool:
        """Whether the expression has a meaning in this one function only."""
        return self.is_of_self or bool(self.params)


def filled(text: str, number: int, rng: random.Random) -> str:
    """Text with its placeholders filled in.

    `<n>` is the number of the piece, `<v>` a float, `<i>` an int, `<any>` a number of any
    kind; `<a|b|c>` is one of several texts.
    """

    def choice(match: re.Match[str]) -> str:
        token = match[1]
        if token == "n":
            return str(number)
        if token == "v":
            return rng.choice(VALUES)
        if token == "i":
            return rng.choice(WHOLE)
        if token == "any":
            kind = rng.choice(KINDS)
            return kind.format(v=rng.choice(VALUES), i=rng.choice(WHOLE))
        return rng.choice(token.split("|"))

    return re.sub(r"<([^<>\n]+)>", choice, text)
