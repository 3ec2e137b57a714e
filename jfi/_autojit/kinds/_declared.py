"""What classes and functions say of themselves: fields, slots, annotations."""

import inspect
import re
from typing import Any


def declared(cls: type) -> tuple[Any, ...]:
    """What a class says of itself, which stays what it is as long as the class."""
    fields: dict[str, Any] = vars(cls).get("__dataclass_fields__", {})
    return (
        vars(cls).get("__match_args__"),
        repr(vars(cls).get("__slots__")),
        annotations_of(cls),
        [
            (f.name, f.init, f.repr, f.hash, f.compare, f.kw_only, dict(f.metadata))
            for f in fields.values()
        ],
    )


def annotations_of(x: Any) -> str:
    """The annotations of a class or function, as a text without addresses."""
    try:
        found = inspect.get_annotations(x)
    except Exception:  # some are evaluated when they are read
        return ""
    return _ADDRESS.sub("", repr(found))


_ADDRESS = re.compile(r" at 0x\w+")
