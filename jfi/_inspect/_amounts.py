"""Numbers, and lists of lines, as people read them."""

from collections.abc import Iterable

from ._flow import Line


def of_bytes(n: float | None) -> str:
    """An amount of memory.

    >>> of_bytes(40), of_bytes(1_500_000)
    ('40 B', '1.5 MB')
    """
    if n is None:
        return "unknown"
    return f"{of_number(n)}B" if n >= 1000 else f"{n:.0f} B"


def of_number(n: float | None) -> str:
    """A number with three digits.

    >>> of_number(12), of_number(45_300), of_number(2.5e9)
    ('12', '45.3 k', '2.5 G')
    """
    if n is None:
        return "unknown"
    for unit in ("", "k", "M", "G", "T"):
        if abs(n) < 999.5:
            return f"{n:.3g} {unit}".strip()
        n /= 1000
    return f"{n:.3g} P"


def of_lines(lines: Iterable[Line | None], most: int = 4) -> str:
    """Some lines, each once, with their files.

    >>> of_lines([Line("a/b.py", 3), Line("a/b.py", 5), Line("c.py", 1), None])
    'b.py, line 3, 5; c.py, line 1'
    """
    by_file: dict[str, list[str]] = {}
    distinct = [line for line in dict.fromkeys(lines) if line is not None]
    for line in distinct[:most]:
        by_file.setdefault(str(line).rpartition(" ")[0], []).append(str(line.number))
    named = "; ".join(f"{file} {', '.join(n)}" for file, n in by_file.items())
    more = len(distinct) - most
    return f"{named} and {more} more" if more > 0 else named
