"""Numbers as people read them."""


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
