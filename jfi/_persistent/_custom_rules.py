"""Rules of custom arrays, where they are no part of a class that programs reach."""

from .._dispatch._custom import rules_beside
from .fingerprint import ProgramWalk


def fingerprint_of_rules() -> tuple[str, frozenset[bytes]]:
    """What the rules for classes of libraries do, and digests of their code.

    Those for the user's own classes are attributes of these, which the walk over what
    a program reaches finds there.

    Raises:
        FingerprintError: One of them can't be distinguished from its like elsewhere.
    """
    rules = rules_beside()
    if not rules:
        return "", frozenset()
    walk = ProgramWalk("a rule")
    for cls, name, rule in rules:
        walk.put("rule", cls, name)
        walk.look_at(rule)
    return f" {walk.digest()}", frozenset(walk.codes)
