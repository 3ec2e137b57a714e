"""Calls of a function as JAX differentiates them: floats in, floats out.

Where all leaves are floats, they stay in their trees, and nothing is done.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from .._errors import DerivativeError
from .._values import Rest, function_name, is_differentiable, partition
from .._values.trees import pytree_line
from ._leaves import all_differentiable, blank
from ._matching import Target
from ._messages import check_function, traced_as
from ._outputs import Outputs, value_and_aux


class DividedCall:
    """A call whose float leaves, of arguments and result, are divided from the rest.

    Attributes:
        floats: The arguments, if all their leaves are floats; else their float leaves.
    """

    def __init__(self, fun: Any, args: tuple[Any, ...], *, has_aux: bool) -> None:
        check_function(fun)
        self._fun, self._has_aux = fun, has_aux
        self._outputs: Outputs | None = None
        self._rest: Rest | None = None
        self.floats = args
        if not all_differentiable(args):
            floats, self._rest = partition(args, is_differentiable)
            self.floats = tuple(floats)

    def refuse_nothing(self, tool: str) -> None:
        """Raise if the only arrays are in objects, whose classes JAX does not know."""
        if self._rest is None or any(self._rest.is_taken):
            return
        for leaf in self._rest.others:
            if text := pytree_line(leaf):
                raise DerivativeError(
                    f"{tool}() of {function_name(self._fun)}() has nothing to "
                    f"differentiate: it got a {type(leaf).__name__}. {text}"
                )

    @property
    def is_whole(self) -> bool:
        """Whether all leaves of the arguments are floats."""
        return self._rest is None

    def hold(self, is_held: Sequence[bool]) -> None:
        """Make constants of some of the float leaves, of which nothing is derived."""
        if not any(is_held):
            return
        floats, rest = jax.tree.flatten(self.floats)[0], self._rest
        if rest is None:
            _, rest = partition(self.floats, is_differentiable)
        self._rest = rest.with_more(floats, is_held)
        self.floats = tuple(
            x for x, held in zip(floats, is_held, strict=True) if not held
        )

    def of_floats(self) -> Callable[..., Any]:
        """The function of `floats`, which returns floats, and auxiliary data."""

        @traced_as(self._fun)
        def of_floats(*floats: Any) -> tuple[Any, Any]:
            args = self._rest.filled(floats) if self._rest else floats
            out = self._fun(*args)
            value, aux = value_and_aux(self._fun, out) if self._has_aux else (out, None)
            if all_differentiable(value):
                self._outputs = None
                return value, aux
            self._outputs = Outputs()
            return self._outputs.parted(value, aux)

        return of_floats

    def returned(self, values: Any, carried: Any) -> tuple[Any, Any]:
        """What the function returned: the value and the auxiliary data."""
        if self._outputs is None:
            return values, carried
        return self._outputs.restored(values, carried)

    def blank_rest(self) -> Rest | None:
        """The arguments without their float leaves; None if there is nothing else."""
        return None if self._rest is None else self._rest.replaced(blank)

    def blank_rest_of_output(self) -> Rest | None:
        """The result without its float leaves; None if there is nothing else."""
        return None if self._outputs is None else self._outputs.rest

    def inputs(self) -> Target:
        """What tangents of the arguments must fit."""
        given, of = "tangents", "the argument"
        if self._rest is None:
            return Target.whole(given, of, self.floats)
        types = tuple(jax.typeof(x) for x in self.floats)
        return Target(given, of, self._rest.replaced(blank), types)

    def outputs(self, values: Any) -> Target:
        """What cotangents of the result must fit."""
        given, of = "cotangent", "the output"
        if self._outputs is None:
            return Target.whole(given, of, values)
        return Target(given, of, self._outputs.rest, tuple(self._outputs.types))

    def arranged(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Values of the float leaves in the form of `floats`."""
        if self._rest is not None:
            return tuple(leaves)
        tree: tuple[Any, ...] = jax.tree.unflatten(
            jax.tree.structure(self.floats), leaves
        )
        return tree
