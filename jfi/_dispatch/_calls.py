"""Calls with custom arrays: which rule answers, and with which arguments."""

import contextvars
import functools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

import jax
import numpy as np

from .._advice import hide_frames
from ._custom import customs_of_call, is_quax, is_sparse, rules_for
from ._data_parameters import takes_data, takes_several
from ._lists import Holds, Place, TakesLists
from ._materialising import densified, is_conversion
from ._passed_on import NOT_GIVEN
from ._retracing import note
from ._words import both


class Function:
    """A function that has a wrapper.

    Attributes:
        name: Its name in jfi: "exp", "linalg.det".
        rule: The name that its rules have: that of "absolute" is "abs".
        names: The global variables of its wrapper.
        meant: Makes the call that it means for custom arrays, if that is one of
            another function; that may return NotImplemented.
        spellings: NumPy's words for parameters that PyTorch has named.
        lists: What it does with lists.
    """

    def __init__(self, name: str, rule: str, parameters: Sequence[Parameter]) -> None:
        self.name, self.rule = name, rule
        self.names: dict[str, Any] = {}
        self.meant: Callable[..., Any] | None = None
        self.spellings: Mapping[str, str] = {}
        self._parameters = parameters
        kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        self._positional = [p for p in parameters if p.kind in kinds]
        self._defaults = {p.name: p.default for p in parameters}
        variadic = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        self._any_number = any(p.kind in variadic for p in parameters)
        self.lists = TakesLists(self._holds)

    @property
    def plain(self) -> Callable[..., Any]:
        """The function of JAX, or what overrides it now."""
        found: Callable[..., Any] = self.names["plain"]
        return found

    def _holds(self, place: Place) -> Holds:
        """What is passed in a place: a position, or a name."""
        parameter: Parameter | None
        if isinstance(place, str):
            parameter = next((p for p in self._parameters if p.name == place), None)
        else:
            parameter = dict(enumerate(self._positional)).get(place)
        if parameter is None:
            return "any"
        if not takes_data(parameter):
            return "setting"
        return "arrays" if takes_several(parameter) else "array"

    def call_of_values(
        self, values: Sequence[Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The canonical call with the value of each parameter, in their order.

        Required parameters come by position, others by keyword if they are not the
        default: `sum(x, 0)` and `sum(x, axis=0)` are one call, and a rule has no more
        parameters than it knows.
        """
        given = dict(zip((p.name for p in self._parameters), values, strict=True))
        return self._canonical(given)

    def call(
        self, args: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The canonical call of what was passed; that itself if it fits no call."""
        if self._any_number:
            return args, {k: v for k, v in named.items() if not self._is_default(k, v)}
        names = [p.name for p in self._positional[: len(args)]]
        named = self._in_one_spelling(names, named)
        given = {**dict(zip(names, args, strict=False)), **named}
        fits = len(args) == len(names) and len(given) == len(args) + len(named)
        if not fits or not given.keys() <= self._defaults.keys():
            return args, dict(named)
        return self._canonical(given)

    def _in_one_spelling(
        self, taken: Sequence[str], named: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        for word, target in self.spellings.items():
            if word in named and (target in named or target in taken):
                both(self.name, word, target)
        return {self.spellings.get(word, word): x for word, x in named.items()}

    def _canonical(
        self, given: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        explicit = {k: v for k, v in given.items() if not self._is_default(k, v)}
        only = [
            k for k, p in enumerate(self._positional) if self._must_come(p, explicit)
        ]
        first = self._positional[: only[-1] + 1 if only else 0]
        args = tuple(explicit.pop(p.name, p.default) for p in first if p.name in given)
        return args, explicit

    def _must_come(self, parameter: Parameter, explicit: Mapping[str, Any]) -> bool:
        """Whether a parameter is passed by position."""
        if parameter.kind is Parameter.POSITIONAL_ONLY:
            return parameter.name in explicit
        return parameter.default is Parameter.empty

    def _is_default(self, name: str, value: Any) -> bool:
        return value is NOT_GIVEN or value is self._defaults.get(name, Parameter.empty)


def by_values(function: Function, values: tuple[Any, ...]) -> Any:
    """Call a function with the value of each parameter."""
    args, named = function.call_of_values(values)
    found = customs_of_call(args, named)
    if not found:
        return function.lists.call(function.plain, args, named)
    try:
        return dispatched(function, found, args, named)
    except Exception as error:
        hide_frames(error)
        raise


def as_called(function: Function, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call a function with what the caller passed."""
    found = customs_of_call(args, named)
    if not found:
        return function.lists.call(function.plain, args, named)
    try:
        args, named = function.call(args, named)
        return dispatched(function, found, args, named)
    except Exception as error:
        hide_frames(error)
        raise


def dispatched(
    function: Function,
    found: list[Any],
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    """The answer of the first rule that has one; else plain arrays are made.

    Args:
        function: What was called.
        found: The custom arrays among the arguments.
        args: The arguments of the canonical call.
        named: Those by keyword.
    """
    name = function.rule
    if function.meant is not None:
        answer = function.meant(*args, **named)
        if answer is not NotImplemented:
            return answer
        name = function.name  # no call of that function: its rule is not asked
    types = tuple(map(type, found))
    note(types, name)
    tried: list[Any] = []
    for cls in types:
        for rule in rules_for(cls, name):
            if not any(rule is other for other in tried):
                tried.append(rule)
                answer = rule(*args, **named)
                if answer is not NotImplemented:
                    return answer
    for ask in (_of_protocols, _of_attributes, _of_libraries):
        answer = ask(function, found, args, named)
        if answer is not NotImplemented:
            return answer
    args, named = densified(function.name, args, named)
    return function.lists.call(function.plain, args, named)


# The calls that methods of classes answer just now: a method that calls the same
# function with the same array means the function on a plain array.
_answering: contextvars.ContextVar[tuple[Any, ...]]
_answering = contextvars.ContextVar("answering", default=())


def _of_protocols(
    function: Function, found: list[Any], args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """What the classes' own methods answer."""
    call = (function.rule, *map(id, found))
    if call in _answering.get():
        return NotImplemented
    token = _answering.set((*_answering.get(), call))
    try:
        for ask in (_of_jfi, _of_numpy, _of_namespace):
            for value in found:
                answer = ask(function, value, found, args, named)
                if answer is not NotImplemented:
                    return answer
    finally:
        _answering.reset(token)
    return NotImplemented


def _of_jfi(
    function: Function,
    value: Any,
    found: list[Any],
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    if not hasattr(type(value), "__jfi_function__"):
        return NotImplemented
    types = tuple(map(type, found))
    return value.__jfi_function__(function.name, types, args, named)


def _of_numpy(
    function: Function,
    value: Any,
    found: list[Any],
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    """The methods for NumPy's functions, of classes that also speak with JAX."""
    cls: Any = type(value)
    if not hasattr(cls, "__jax_array__"):
        return NotImplemented
    namesake = _found(np, function.name)
    if isinstance(namesake, np.ufunc):
        if getattr(cls, "__array_ufunc__", None) is not None:
            return value.__array_ufunc__(namesake, "__call__", *args, **named)
    elif namesake is not None and hasattr(cls, "__array_function__"):
        types = tuple(map(type, found))
        return value.__array_function__(namesake, types, args, named)
    return NotImplemented


def _of_namespace(
    function: Function,
    value: Any,
    found: list[Any],
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    """The function of this name in the class's own namespace."""
    if not hasattr(type(value), "__array_namespace__"):
        return NotImplemented
    own = _found(value.__array_namespace__(), function.name)
    if own is None or getattr(own, "__wrapped__", None) is function.names["original"]:
        return NotImplemented
    if own is function.names["original"]:
        return NotImplemented
    return own(*args, **named)


def _found(namespace: Any, name: str) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part, None)
    return namespace


def _of_attributes(
    function: Function, found: list[Any], args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """What an array says of itself, without a plain array."""
    if (
        len(args) != 1
        or named
        or not hasattr(found[0], "shape")
        or args[0] is not found[0]
    ):
        return NotImplemented
    shape: tuple[int, ...] = found[0].shape
    answers = {"shape": shape, "ndim": len(shape), "size": math.prod(shape)}
    return answers.get(function.rule, NotImplemented)


def _of_libraries(
    function: Function, found: list[Any], args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """What a library with rules for JAX's operations answers for its own arrays."""
    if is_conversion(function.name):
        return NotImplemented  # who asks for a plain array gets one
    if all(is_quax(type(value)) for value in found):
        quax: Any = sys.modules["quax"]
        return quax.quaxify(function.plain)(*args, **named)
    if not all(is_sparse(type(value)) for value in found):
        return NotImplemented
    from jax.experimental import sparse

    dynamic = [k for k, x in enumerate(args) if _is_dynamic(x)]
    given = list(args)

    def of_arrays(*arrays: Any) -> Any:
        for k, array in zip(dynamic, arrays, strict=True):
            given[k] = array
        return functools.partial(function.plain, **named)(*given)

    try:
        return sparse.sparsify(of_arrays)(*(args[k] for k in dynamic))
    except (NotImplementedError, TypeError):
        return NotImplemented  # it has no rule for one of the operations


def _is_dynamic(value: Any) -> bool:
    """Whether an argument is not a setting, such as the text of einsum."""
    arrays = (jax.Array, np.ndarray, np.generic, list, tuple)
    return is_sparse(type(value)) or isinstance(value, arrays)
