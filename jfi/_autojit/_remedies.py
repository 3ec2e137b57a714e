"""What to write so that a function is compiled less often."""

import re
from collections.abc import Collection, Sequence

from ._descriptions import Difference


def remedy_of_growth(function: str, path: str) -> str:
    """The line to write for a list that has one more item at each call."""
    _, dot, attribute = path.rpartition(".")
    appended = (
        f"If {function} appends to it, return the value, and append it after the call: "
        f"{path}.append(value)."
    )
    if dot and attribute.isidentifier():
        return (
            f'If {function} does not use it, write @autojit(unused="{attribute}"). '
            f"{appended} Else keep its length the same: {path} = jnp.zeros(1000)"
        )
    return (
        f"{appended} Else keep its length the same, or make it an array: "
        f"jnp.asarray({path})"
    )


def attribute_in(path: str, left_out: Collection[str] = ()) -> str:
    """The last attribute in a path, or nothing.

    Args:
        path: How a value is reached.
        left_out: Attributes that don't count. A value that is reached all the same is
            none of an object's own, as the `__self__` of a method in an attribute.

    >>> attribute_in("task.log['file']"), attribute_in("p['v']")
    ('log', '')
    >>> attribute_in("task.write.__self__", {"__self__"})
    'write'
    """
    found: list[str] = re.findall(r"\.([^\W\d]\w*)", path)
    return next((name for name in reversed(found) if name not in left_out), "")


def remedy_of_refusal(function: str, path: str, read: Collection[str]) -> str:
    """The line to write for what is refused in an attribute that no code names.

    Such attributes count where code makes up names, and in objects whose class comes
    from a library.

    >>> print(remedy_of_refusal("step", "task.log['file']", {"w"}).strip())
    If step() does not use task.log, write @autojit(unused="log").
    """
    for found in re.finditer(r"\.(\w+)", path):
        if found[1] not in read:
            return (
                f"\nIf {function}() does not use {path[: found.end()]}, write "
                f'@autojit(unused="{found[1]}").'
            )
    return ""


def remedy(
    changes: Sequence[Difference],
    parameters: Collection[str],
    settings: Collection[str],
) -> str:
    """The lines to write for values that change often.

    Args:
        changes: What changed lately.
        parameters: Those of the function.
        settings: The parameters that the user has named `static` or `frozen`.
    """
    if not changes:
        return "Call it with the same settings."
    return "\n".join(
        dict.fromkeys(_remedy(c, parameters, settings) for c in changes[:3])
    )


def _remedy(
    change: Difference, parameters: Collection[str], settings: Collection[str]
) -> str:
    path, before, after = change
    if not (before and after) and change.place != path:
        return f"Keep the keys and the length of {change.place} the same."
    (root,) = re.findall(r"^\w+", path) or [""]
    if root in settings:
        return (
            f'If it is data, leave out "{root}" in static= and frozen=; else call it '
            f"with fewer different values of {path}."
        )
    if "[" in before and "[" in after and " " not in before:
        return f"Keep its shape and dtype the same: pad {path} to a fixed shape."
    numbers = [text.partition(" ")[0] for text in (before, after)]
    if numbers == ["float", "float"]:
        return (
            f"Python code needs its value, as in `if {path} > 0`. Write jnp.where or "
            f"jnp.cond, or call it with fewer different values of {path}."
        )
    if not set(numbers) <= {"int", "float"}:
        return f"Call it with fewer different values of {path}."
    if path in parameters:
        return (
            f'If it is data, write @autojit(traced="{path}"), or pass an array: '
            f"{path}=jnp.asarray({path})"
        )
    return f"If it is data, make it an array: {path} = jnp.asarray({path})"
