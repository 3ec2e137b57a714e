"""What several docstrings say, written once.

A function writes what is its own: a sentence, an example, its parameters. Decorators
add what it shares with others (`explained_as`, or one that a room makes of
`Docstring`), so that `help` shows everything.
"""

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar


Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass
class Docstring:
    """A docstring in Google's style, taken apart.

    Attributes:
        opening: What stands before the sections: sentences and examples.
        args: What it says of each parameter, by name without stars.
        returns: The text of "Returns"; "" if there is none.
        raises: When each error comes, by its class.
        closing: The sections behind these, such as "References".
    """

    opening: str
    args: dict[str, str]
    returns: str
    raises: dict[str, str]
    closing: str

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Docstring":
        """Take the docstring of a function apart."""
        titles = "Args|Returns|Raises|References"
        doc = inspect.cleandoc(function.__doc__ or "")
        opening, *rest = re.split(rf"\n\n({titles}):\n", doc)
        sections = dict(zip(rest[::2], rest[1::2], strict=True))
        references = sections.get("References")
        return cls(
            opening,
            _entries(sections.get("Args", "")),
            textwrap.dedent(sections.get("Returns", "")),
            _entries(sections.get("Raises", "")),
            f"References:\n{references}" if references else "",
        )

    def write(self, function: Callable[..., Any]) -> None:
        """Make it the docstring of a function, which it must explain as a whole."""
        parameters = inspect.signature(function).parameters
        silent = ", ".join(name for name in parameters if name not in self.args)
        called = getattr(function, "__name__", function)
        assert not silent, f"the docstring of {called} does not explain {silent}"
        args = {
            f"{_STARS.get(parameter.kind, '')}{name}": self.args[name]
            for name, parameter in parameters.items()
        }
        returns = textwrap.indent(self.returns, "    ")
        parts = [
            self.opening,
            _section("Args", args),
            f"Returns:\n{returns}" if returns else "",
            _section("Raises", self.raises),
            self.closing,
        ]
        function.__doc__ = "\n\n".join(filter(None, parts))


_STARS: dict[object, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def explained_as(other: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorate a function of which another one explains what it does not itself.

    >>> from jfi._docstrings import explained_as
    >>> def area(width, height):
    ...     '''The area of a rectangle.
    ...
    ...     Args:
    ...         width: In meters.
    ...         height: In meters.
    ...
    ...     Returns:
    ...         A number.
    ...     '''
    >>> @explained_as(area)
    ... def volume(width, height, depth):
    ...     '''The volume of a box.
    ...
    ...     Args:
    ...         depth: In feet.
    ...     '''
    >>> print(volume.__doc__)
    The volume of a box.
    <BLANKLINE>
    Args:
        width: In meters.
        height: In meters.
        depth: In feet.
    <BLANKLINE>
    Returns:
        A number.

    Args:
        other: Its parameters of the same names, its results and its errors are meant.

    Returns:
        A decorator, which returns the very function that it gets.
    """

    def decorate(function: Function) -> Function:
        if function.__doc__ is not None:  # it is under `python -OO`
            own, shared = Docstring.of(function), Docstring.of(other)
            own.args = {**shared.args, **own.args}
            own.returns = own.returns or shared.returns
            own.raises = own.raises or shared.raises
            own.write(function)
        return function

    return decorate


def _entries(section: str) -> dict[str, str]:
    """What a section says of each name."""
    _, *rest = re.split(r"^    \*{0,2}([\w.]+): ", section, flags=re.MULTILINE)
    return {
        name: " ".join(text.split())
        for name, text in zip(rest[::2], rest[1::2], strict=True)
    }


def _section(title: str, entries: dict[str, str]) -> str:
    if not entries:
        return ""
    lines = [
        textwrap.fill(
            f"{name}: {text}",
            84,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
            break_on_hyphens=False,
        )
        for name, text in entries.items()
    ]
    return "\n".join([f"{title}:", *lines])
