"""Methods of ufuncs: with custom arrays `jnp.add.reduce(x)` asks the rule of `sum`."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ._custom import all_known, customs_of_call
from ._lists import TakesLists
from ._materialising import densified


#: Those that compute; they are functions of arrays.
METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")
#: What a method of a ufunc is as a function, where it is one.
_NAMESAKES = {
    "add.accumulate": "cumsum",
    "add.reduce": "sum",
    "logical_and.reduce": "all",
    "logical_or.reduce": "any",
    "maximum.reduce": "max",
    "minimum.reduce": "min",
    "multiply.accumulate": "cumprod",
    "multiply.reduce": "prod",
}


def method_for_all(
    ufunc: Any, name: str, wrapped: Callable[[str], Callable[..., Any]]
) -> Callable[..., Any]:
    """A method of a ufunc that takes custom arrays, too.

    Args:
        ufunc: That of JAX.
        name: The method, with the name of the ufunc: "add.reduce".
        wrapped: Finds the function of jfi with a name.
    """
    plain: Callable[..., Any] = getattr(ufunc, name.rpartition(".")[2])
    lists = TakesLists()

    @functools.wraps(plain)
    def method(*args: Any, **named: Any) -> Any:
        known = all_known(map(type, args)) and all_known(map(type, named.values()))
        if known:
            return plain(*args, **named)
        if not customs_of_call(args, named):
            return lists.call(plain, args, named)
        if name in _NAMESAKES:
            array, given = _bound(plain, args, named)
            return wrapped(_NAMESAKES[name])(array, **given)
        args, named = densified(name, args, named)
        return lists.call(plain, args, named)

    return method


def _bound(
    plain: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The array and what else was given, by name: the axis is 0 if it was not."""
    bound = inspect.signature(plain).bind(*args, **named)
    (_, array), *rest = bound.arguments.items()
    given = {key: x for key, x in rest if x is not None or key == "axis"}
    return array, {"axis": 0, **given}
