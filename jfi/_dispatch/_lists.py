"""Lists of numbers where JAX wants an array: NumPy's functions take them, so jfi's do.

JAX refuses them, to say that each of their elements becomes an operation of its own.
Some of its functions take lists of arrays, and lists of sizes: so what JAX has refused,
and no more, is made an array, and the call repeated.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .._arrays._conversion import asarray
from .._values import in_native_order


Place = int | str  # of an argument: its position, or its name
# "any": an argument of a function that takes any number of them.
Holds = Literal["any", "array", "arrays", "setting"]

_REFUSAL = re.compile(
    r"requires ndarray or scalar arguments, got <class '(list|tuple|range)'>"
    r"|of type '?<class '(list|tuple|range)'>"
    r"|^Cannot determine dtype of [\[(]"
    # A function under `jit`, to which a list is a tree of numbers.
    r"|__array__\(\) was called (?s:.*) the arguments? \w+\[\d"
)


def _array(place: Place) -> Holds:
    return "array"


@dataclass
class TakesLists:
    """What a function of JAX does with lists, learned from its refusals.

    Attributes:
        holds: What is passed in a place.
        refused: Places of one array, in which lists have been refused. Without it each
            call would be traced, in vain: 2 ms.
    """

    holds: Callable[[Place], Holds] = _array
    refused: set[Place] = field(default_factory=set)

    def call(
        self, plain: Callable[..., Any], args: Sequence[Any], named: Mapping[Any, Any]
    ) -> Any:
        """Call the function, with lists of numbers as arrays if it refuses them."""
        given: dict[Place, Any] = {**dict(enumerate(args)), **named}
        given = {k: in_native_order(x) for k, x in given.items()}
        given |= {k: _as_array(given[k]) for k in self.refused & given.keys()}
        try:
            return _called(plain, given)
        except TypeError as error:
            lists = {k: self.holds(k) for k, x in given.items() if _is_list(x)}
            lists = {k: held for k, held in lists.items() if held != "setting"}
            if not lists or not _REFUSAL.search(str(error)):
                raise
        arrays = {
            k: _as_arrays(given[k]) if held == "arrays" else asarray(given[k])
            for k, held in lists.items()
        }
        found = _called(plain, given | arrays)
        self.refused.update(k for k, held in lists.items() if held == "array")
        return found


def _called(plain: Callable[..., Any], given: dict[Place, Any]) -> Any:
    args = [x for k, x in given.items() if isinstance(k, int)]
    return plain(*args, **{k: x for k, x in given.items() if isinstance(k, str)})


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | range)


def _as_arrays(values: Sequence[Any]) -> Any:
    """Several arrays; a list that has no lists in it is one."""
    some = any(map(_is_list, values))
    return list(map(_as_array, values)) if some else asarray(values)


def _as_array(value: Any) -> Any:
    return asarray(value) if _is_list(value) else value
