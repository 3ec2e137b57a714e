"""Derivatives of NumPy functions: by the user's rules, or by calls of the function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from numpy.typing import NDArray

from ..._errors import CallbackError
from ..._host import Derivative, Transposable, describe
from ._numeric import (
    Arrays,
    Backward,
    Flags,
    Forward,
    is_inexact,
    numeric,
    transposed_by_elements,
    units,
    widened,
)


if TYPE_CHECKING:
    from ._calls import NumpyCall


@dataclass(frozen=True)
class GivenRules:
    """What the user gave to `from_numpy`.

    Attributes:
        jvp: Primals and tangents to tangents.
        vjp: Primals and cotangents to cotangents.
        method: "complex_step", "differences" or None.
    """

    jvp: Callable[..., Any] | None
    vjp: Callable[..., Any] | None
    method: str | None

    def of(self, call: "NumpyCall", wanted: Flags) -> Derivative:
        """The derivative of a call.

        Raises:
            CallbackError: Nothing was given.
        """
        if self.jvp is None and self.vjp is None:
            if self.method is None:
                raise CallbackError(_NO_RULE.format(name=call.name))
            return numeric(call, wanted, self.method)
        if self.vjp is None:
            return transposed_by_elements(_ByJvp(call, wanted, self))
        forward = _ByJvp if self.jvp is not None else _ByVjpOfElements
        backward = lambda given: _ByVjp(call, wanted, self, given)
        return Transposable(forward(call, wanted, self), backward)


_NO_RULE = (
    "{name} has no derivative. Give from_numpy() one: jvp= or vjp=, or "
    "derivative='complex_step' or 'differences'. If none is needed, pass "
    "jax.lax.stop_gradient(x) in place of x."
)


class _ByJvp(Forward):
    """Tangents by the user's `jvp`."""

    def __init__(self, call: "NumpyCall", wanted: Flags, rules: GivenRules) -> None:
        super().__init__(call, wanted, rules.method)
        self._call, self._rule = call, rules.jvp

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        assert self._rule is not None
        primals, tangents = self.split(arguments)
        remaining = iter(tangents)
        dense = [
            next(remaining) if wants else np.zeros_like(x) if is_inexact(x) else None
            for x, wants in zip(primals, self.wanted, strict=True)
        ]
        args, kwargs = self._call.rest.filled(primals)
        _refuse_keywords(self._call, args, self.wanted)
        directions, _ = self._call.data.filled(dense)
        out = self._rule(args, directions, **kwargs)
        found = [np.asarray(leaf) for leaf in jax.tree.leaves(out)]
        _, specs = self._call.outcome(primals)
        shapes = [spec.shape for spec in specs if is_inexact(spec)]
        if [x.shape for x in found] != shapes:
            got = ", ".join(describe(x.shape, x.dtype) for x in found) or "nothing"
            message = (
                f"The jvp rule of {self.name} returned {got}. Return one tangent for "
                "each real or complex result, of its shape, and None for integers; "
                f"here the shapes are {', '.join(map(str, shapes))}."
            )
            raise CallbackError(message)
        return self.narrow(found, arguments)


class _ByVjp(Backward):
    """Cotangents by the user's `vjp`."""

    def __init__(
        self, call: "NumpyCall", wanted: Flags, rules: GivenRules, given: Flags
    ) -> None:
        super().__init__(call, wanted, rules.method, given)
        self._call, self._rule = call, rules.vjp

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        primals, cotangents = self.split(arguments)
        remaining, given = iter(cotangents), iter(self.given)
        dense: list[NDArray[Any] | None] = []
        for spec in self._call.outcome(primals)[1]:
            if not is_inexact(spec):
                dense.append(None)
            elif next(given):
                dense.append(next(remaining))
            else:
                dense.append(np.zeros(spec.shape, spec.dtype))
        return _pulled_back(self._call, self._rule, primals, dense, self.wanted)


class _ByVjpOfElements(Forward):
    """Tangents by the user's `vjp` of each element of the results in turn."""

    def __init__(self, call: "NumpyCall", wanted: Flags, rules: GivenRules) -> None:
        super().__init__(call, wanted, rules.method)
        self._call, self._rule = call, rules.vjp

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        primals, tangents = self.split(arguments)
        wide = [widened(x) for x in tangents]
        specs = self._call.outcome(primals)[1]
        zeros = [
            widened(np.zeros(x.shape, x.dtype)) if is_inexact(x) else None
            for x in specs
        ]
        found: list[NDArray[Any]] = []
        for k, zero in enumerate(zeros):
            if zero is None:
                continue
            total = zero.copy()
            for unit, place, one in units(zero):
                dense = [*zeros[:k], one, *zeros[k + 1 :]]
                pulled = _pulled_back(
                    self._call, self._rule, primals, dense, self.wanted
                )
                pairs = zip(pulled, wide, strict=True)
                total[place] += unit * _real(sum(np.sum(c * t) for c, t in pairs), unit)
            found.append(total)
        return self.narrow(found, arguments)


def _real(value: Any, unit: Any) -> float:
    """What a cotangent of 1, or of 1j, says of the real or imaginary part."""
    # A cotangent c has Re(c * tangent): for the imaginary part, c is -1j.
    return float(np.real(value)) * (1.0 if unit == 1 else -1.0)


def _pulled_back(
    call: "NumpyCall",
    rule: Callable[..., Any] | None,
    primals: Arrays,
    dense: Sequence[NDArray[Any] | None],
    wanted: Flags,
) -> list[NDArray[Any]]:
    """Cotangents of the wanted arguments by the user's `vjp`."""
    assert rule is not None
    args, kwargs = call.rest.filled(primals)
    _refuse_keywords(call, args, wanted)
    out = rule(args, jax.tree.unflatten(call.outcome(primals)[0], dense), **kwargs)
    given = out if isinstance(out, (tuple, list)) else (out,)
    if len(given) != len(args):
        message = (
            f"The vjp rule of {call.name} returned {len(given)} cotangents for "
            f"{len(args)} positional arguments. Return a tuple with one for each, None "
            "where it is zero."
        )
        raise CallbackError(message)
    places, _ = call.data.filled([_Place(k) for k in range(len(primals))])
    found: dict[int, Any] = {}
    for cotangent, place in zip(given, places, strict=True):
        leaves = jax.tree.leaves(place)
        tree: Any = jax.tree.structure(place)
        parts: list[Any] = [None] * len(leaves)
        if cotangent is not None:
            parts = tree.flatten_up_to(cotangent)
        found.update({p.number: c for p, c in zip(leaves, parts, strict=True)})
    pairs = enumerate(zip(primals, wanted, strict=True))
    return [_fitting(found[k], x, call.name) for k, (x, wants) in pairs if wants]


@dataclass(frozen=True)
class _Place:
    """Stands for an array among the arguments."""

    number: int


def _fitting(cotangent: Any, primal: NDArray[Any], name: str) -> NDArray[Any]:
    if cotangent is None:
        return np.zeros_like(primal)
    array = np.asarray(cotangent)
    if array.shape != primal.shape:
        message = (
            f"The vjp rule of {name} returned a cotangent of shape {array.shape} for "
            f"an argument of shape {primal.shape}. They must be the same."
        )
        raise CallbackError(message)
    return array.astype(primal.dtype)


def _refuse_keywords(call: "NumpyCall", args: Any, wanted: Flags) -> None:
    """Rules know positional arguments only."""
    count = len(jax.tree.leaves(args))
    positional = sum(call.rest.is_taken[:count])
    if any(wanted[positional:]):
        message = (
            f"{call.name} is differentiated with respect to an argument given by "
            "keyword, and its rules know positional ones. Pass the array by position."
        )
        raise CallbackError(message)
