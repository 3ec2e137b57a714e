"""Which arguments of a call to differentiate: `argnums=` and `argnames=`."""

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax

from .._errors import DerivativeError
from .._values import (
    Rest,
    argument_names,
    function_name,
    is_differentiable,
    path_name,
)
from .._values.trees import float_line, pytree_line
from ._leaves import divided_floats
from ._messages import as_float, check_function, described, traced_as


Place: TypeAlias = int | str  # of an argument: among args, or in kwargs
Call: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


class Selection:
    """The arguments that `argnums=` and `argnames=` name, in this order.

    Attributes:
        is_single: Whether one argument was named by itself, not in a sequence.
        argnums: What to give JAX where only positions were named.
    """

    def __init__(self, fun: Any, argnums: Any, argnames: Any) -> None:
        check_function(fun)
        self._fun = fun
        self.argnums: Any = 0 if argnums is None else argnums
        self._numbers, is_number = _numbers(self.argnums)
        self._names = _names(argnames)
        self.is_single = is_number
        if argnums is None and argnames is not None:
            self._numbers, self.is_single = (), isinstance(argnames, str)
        elif argnames is not None:
            self.is_single = False
        self._refuse_unknown_names()

    def positional(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arguments, if all are positions of this call; else None."""
        if self._names or min(self._numbers) < 0:
            return None
        try:
            return tuple([args[i] for i in self._numbers])
        except IndexError:
            return None

    def places(self, call: Call) -> list[Place]:
        """Where the arguments are in a call."""
        args, kwargs = call
        places = [
            *(self._place(i, args, kwargs) for i in self._numbers),
            *(self._place_of_name(name, args, kwargs) for name in self._names),
        ]
        for i, place in enumerate(places):
            if place in places[:i]:
                name = (
                    argument_names(self._fun, args, {})[place]
                    if (isinstance(place, int))
                    else place
                )
                message = f"The argument {name} is named twice. Leave out one of them."
                raise DerivativeError(message)
        return places

    def _place(self, i: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Place:
        if -len(args) <= i < len(args):
            return i % len(args)
        named = self._parameters[i] if 0 <= i < len(self._parameters) else None
        if named in kwargs:
            return named
        raise DerivativeError(self._missing(f"argument {i}", named, args, kwargs))

    def _place_of_name(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Place:
        if name in kwargs:
            return name
        if name in self._parameters and self._parameters.index(name) < len(args):
            return self._parameters.index(name)
        raise DerivativeError(self._missing(repr(name), name, args, kwargs))

    def _missing(
        self, what: str, name: str | None, args: tuple[Any, ...], kwargs: Any
    ) -> str:
        fun = function_name(self._fun)
        given = ", ".join(argument_names(self._fun, args, kwargs)) or "nothing"
        write = f"{name}=..." if name else "that many arguments"
        return (
            f"The derivative of {fun}() is taken in {what}, and the call passed "
            f"{given}. Pass {write}, also where it has a default."
        )

    def _refuse_unknown_names(self) -> None:
        if not self._names or self._signature is None:
            return
        kinds = {p.kind for p in self._signature.values()}
        if inspect.Parameter.VAR_KEYWORD in kinds:
            return
        for name in self._names:
            if name not in self._signature:
                message = (
                    f"argnames={name!r} is no parameter of "
                    f"{function_name(self._fun)}(). It has "
                    f"{', '.join(map(repr, self._signature)) or 'none'}."
                )
                raise DerivativeError(message)

    @functools.cached_property
    def _signature(self) -> dict[str, inspect.Parameter] | None:
        try:
            return dict(inspect.signature(self._fun).parameters)
        except (TypeError, ValueError):  # builtins may have none
            return None

    @functools.cached_property
    def _parameters(self) -> list[str]:
        """The names of parameters that take positional arguments, one each."""
        kinds = (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        signature = (self._signature or {}).values()
        return [p.name for p in signature if p.kind in kinds]


def _numbers(argnums: Any) -> tuple[tuple[int, ...], bool]:
    """The positions, and whether it is one by itself."""
    try:
        return (operator.index(argnums),), True
    except TypeError:
        pass
    try:
        numbers = tuple(map(operator.index, argnums))
    except TypeError:
        message = (
            f"argnums={argnums!r} is no position. Write an int, a sequence of ints, "
            "or the name: argnames='x'."
        )
        raise DerivativeError(message) from None
    if not numbers or len(set(numbers)) < len(numbers):
        message = (
            f"argnums={argnums!r} selects {'one twice' if numbers else 'nothing'}. "
            "Write each position once: argnums=(0, 1)."
        )
        raise DerivativeError(message)
    return numbers, False


def _names(argnames: Any) -> tuple[str, ...]:
    if argnames is None:
        return ()
    names = (argnames,) if isinstance(argnames, str) else argnames
    if (
        not isinstance(names, Sequence)
        or not names
        or not all(isinstance(name, str) for name in names)
    ):
        message = (
            f"argnames={argnames!r} is no name. Write a str or a sequence of them: "
            "argnames=('x', 'y')."
        )
        raise DerivativeError(message)
    return tuple(names)


@dataclass(frozen=True)
class Selected:
    """A call with the float leaves of the selected arguments taken out.

    Attributes:
        chosen: The selected arguments.
        floats: These leaves.
        rest: The tuple of the selected arguments without them.
    """

    fun: Any
    call: Call
    places: list[Place]
    chosen: tuple[Any, ...]
    floats: list[Any]
    rest: Rest

    def of_floats(self) -> Callable[[list[Any]], Any]:
        """The function of these leaves alone."""

        @traced_as(self.fun)
        def of_floats(floats: list[Any]) -> Any:
            args, kwargs = list(self.call[0]), dict(self.call[1])
            for place, value in zip(self.places, self.rest.filled(floats), strict=True):
                if isinstance(place, int):
                    args[place] = value
                else:
                    kwargs[place] = value
            return self.fun(*args, **kwargs)

        return of_floats

    def refuse_nothing(self, tool: str) -> None:
        """Raise if the arguments hold numbers, and none with a derivative."""
        if self.floats:
            return
        if not self.rest.others:
            if text := float_line(self.chosen):
                name = function_name(self.fun)
                raise DerivativeError(
                    f"{tool}() of {name}() has nothing to differentiate: {text}"
                )
            return
        args, kwargs = self.call
        names = argument_names(self.fun, args, kwargs)
        roots = [names[p] if isinstance(p, int) else p for p in self.places]
        arguments = self.rest.filled(())
        paths, _ = jax.tree_util.tree_flatten_with_path(arguments)
        seen = [(path_name(roots[p[0].idx], p[1:]), leaf) for p, leaf in paths]
        shown = ", ".join(f"{name} is {described(x)}" for name, x in seen[:4])
        instead = next(filter(None, (as_float(x, name) for name, x in seen)), None)
        write = f"Write {instead}." if instead else ""
        write = write or next(filter(None, (pytree_line(x) for _, x in seen)), "")
        write = write or self._line_for_another(names)
        message = (
            f"{tool}() of {function_name(self.fun)}() has nothing to differentiate: "
            f"{shown}. {write}"
        )
        raise DerivativeError(message)

    def _line_for_another(self, names: Sequence[str]) -> str:
        args, kwargs = self.call
        leaves = [
            (p, jax.tree.leaves(x)) for p, x in (*enumerate(args), *kwargs.items())
        ]
        others = [p for p, leaves in leaves if any(map(is_differentiable, leaves))]
        if not others:
            return "Pass a float, or an array of floats."
        if isinstance(place := others[0], int):
            return f"Name another argument: argnums={place}, for {names[place]}."
        return f"Name another argument: argnames={place!r}."


def selected(selection: Selection, fun: Any, call: Call) -> Selected:
    """Take the float leaves out of the selected arguments of a call."""
    args, kwargs = call
    places = selection.places(call)
    chosen = tuple(args[p] if isinstance(p, int) else kwargs[p] for p in places)
    return Selected(fun, call, places, chosen, *divided_floats(chosen))
