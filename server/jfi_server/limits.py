"""What a client on the network may have at most.

>>> parsed(["arrays=10", "stored=500MB", "compile=2m"]).stored
500000000
"""

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .errors import ServerError


@dataclass(frozen=True)
class Limits:
    """Limits for each client; what processes of one name have counts together.

    Attributes:
        message: Bytes of the arrays of a message.
        arrays: Arrays that stay here.
        stored: Bytes of those.
        code: Bytes of a program.
        programs: Programs that are kept: the least used ones go.
        kept: Bytes of those, likewise.
        compile: Seconds for which a client waits for a program to be compiled.
    """

    message: int = 2 << 30
    arrays: int = 100_000
    stored: int = 8 << 30
    code: int = 256 << 20
    programs: int = 10_000
    kept: int = 1 << 30
    compile: float = 600.0


_BYTES = frozenset(("message", "stored", "code", "kept"))
_SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SPANS = {"": 1, "S": 1, "M": 60, "H": 3600, "D": 86400}


def parsed(texts: Iterable[str]) -> Limits:
    """The limits that texts such as `stored=8GB` name.

    Raises:
        ServerError: One of them is none.
    """
    names = [field.name for field in dataclasses.fields(Limits)]
    chosen: dict[str, Any] = {}  # whole numbers, but for a time
    for text in texts:
        name, _, value = text.partition("=")
        if name not in names:
            raise ServerError(
                f"--limit {text}: write one of {', '.join(names)}, =VALUE"
            )
        try:
            number = _value(name, value)
        except ValueError as error:
            raise ServerError(f"--limit {text}: {error}") from None
        chosen[name] = number if name == "compile" else int(number)
    return Limits(**chosen)


def _value(name: str, text: str) -> float:
    if name in _BYTES:
        return number_of_bytes(text)
    return number_of_seconds(text) if name == "compile" else measured(text, {"": 1})


def number_of_bytes(text: str) -> int:
    """A size.

    >>> number_of_bytes("500MB")
    500000000

    Raises:
        ValueError: It is none.
    """
    return int(measured(text, _SIZES))


def number_of_seconds(text: str) -> float:
    """A time, of which the smallest unit is the second.

    >>> number_of_seconds("2m")
    120.0

    Raises:
        ValueError: It is none.
    """
    return measured(text, _SPANS)


def measured(text: str, units: dict[str, int]) -> float:
    """A number with a unit.

    Raises:
        ValueError: It is none.
    """
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*([A-Za-z]*)", text)
    if not found or found[2].upper() not in units:
        wanted = ", ".join(f"10{unit}" for unit in units if unit) or "10"
        raise ValueError(f"{text!r} is no such value. Write one like {wanted}")
    return float(found[1]) * units[found[2].upper()]
