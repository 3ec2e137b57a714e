"""Functions that return float leaves alone, and keep all else aside."""

from collections.abc import Callable, Iterable
from typing import Any

import jax

from .._errors import DerivativeError
from .._values import (
    Rest,
    function_name,
    is_differentiable,
    is_traced_text,
    partition,
)
from ._leaves import blank
from ._messages import described


def value_and_aux(fun: Any, out: Any) -> tuple[Any, Any]:
    """What a function with `has_aux=True` returned."""
    if isinstance(out, (tuple, list)) and len(out) == 2:
        value, aux = out
        _refuse_traced_texts(jax.tree.leaves(aux))
        return value, aux
    name = function_name(fun)
    message = (
        f"{name}() returned {described(out)}. With has_aux=True it must return a pair: "
        "return value, aux"
    )
    raise DerivativeError(message)


class Outputs:
    """What a function returned in its latest call, but for arrays that JAX traces.

    Attributes:
        types: The types of the float leaves.
        rest: The tree of the result without these; `blank` in the places of others.
    """

    types: list[Any]
    rest: Rest
    _kept: Rest

    def of(self, fun: Callable[..., Any], *, has_aux: bool) -> Callable[..., Any]:
        """The function that returns its float leaves, and what else JAX must see."""

        def floats_alone(*args: Any) -> tuple[list[Any], list[Any]]:
            out = fun(*args)
            return self.parted(*(value_and_aux(fun, out) if has_aux else (out, None)))

        return floats_alone

    def parted(self, value: Any, aux: Any) -> tuple[list[Any], list[Any]]:
        """The float leaves of a value, and what else JAX must see; keep the rest."""
        floats, rest = partition(value, is_differentiable)
        carried, self._kept = partition((rest.others, aux), _may_be_traced)
        _refuse_traced_texts(rest.others)
        self.types = [jax.typeof(x) for x in floats]
        self.rest = rest.replaced(blank)
        return floats, carried

    def restored(self, floats: list[Any], carried: list[Any]) -> tuple[Any, Any]:
        """What the function returned: the value and the auxiliary data."""
        others, aux = self._kept.filled(carried)
        leaf = iter(others)
        return self.rest.replaced(lambda _: next(leaf)).filled(floats), aux


def _refuse_traced_texts(leaves: Iterable[Any]) -> None:
    for text in filter(is_traced_text, leaves):
        message = (
            f"A function whose derivative is taken returned the text {text!r}: data "
            "was written as text, which shows how JAX traces it.\n"
            "Return the data and write it outside the function."
        )
        raise DerivativeError(message)


def _may_be_traced(x: object) -> bool:
    return isinstance(x, jax.Array)
