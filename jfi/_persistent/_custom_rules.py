"""Rules of custom arrays, where they are no part of a class that programs reach."""

from .._dispatch._custom import rules_beside
from .fingerprint import fingerprint


def fingerprint_of_rules() -> str:
    """What the rules for classes of libraries do; "" where there are none.

    Those for the user's own classes are attributes of these, which the walk over what
    a program reaches finds there.

    Raises:
        FingerprintError: One of them can't be distinguished from its like elsewhere.
    """
    return "".join(
        f" {cls} {name} {fingerprint(rule)}" for cls, name, rule in rules_beside()
    )
