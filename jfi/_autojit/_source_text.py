"""Where kinds write down how their values are recognised."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol


if TYPE_CHECKING:
    from .kinds._base import Kind


class Source(Protocol):
    """Where a kind writes down how its values are recognised (see `_layouts`)."""

    def require(self, condition: str) -> None:
        """Go on only if an expression is true."""

    def require_kind(self, name: str) -> None:
        """Go on only if the value is of the kind that is being written."""

    def local(self, expression: str) -> str:
        """Give a name to the value of an expression."""
        ...

    def unpack(self, expression: str, n: int) -> list[str]:
        """Give names to the n items of an iterable."""
        ...

    def constant(self, value: Any, key: Any = None) -> str:
        """Give a name to a value, one for each key; the key is its id by default."""
        ...

    def is_constant(self, name: str, value: Any) -> bool:
        """Whether a name is that of a constant."""
        ...

    def kinds(self) -> Sequence["Kind"]:
        """The kinds of the children of the value that is being written."""
        ...

    def variables(self, variables: dict[str, Any]) -> str:
        """The name of the variables of a module."""
        ...

    def variables_from(self, k: int) -> Sequence[str]:
        """The names of the children from the k-th on, which are variables."""
        ...

    def setting(self, expression: str, value: Any) -> None:
        """Have a program for each value of an expression; here it is `value`."""

    def leaf(self, name: str, convert: str, usual: str) -> None:
        """Pass a value to the program; if not of the usual class, check and convert."""
