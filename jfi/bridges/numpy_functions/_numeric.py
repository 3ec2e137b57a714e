"""Derivatives by calls of the function itself: differences, and a complex step.

All is computed in 64 bits, whatever the types of the arguments, and by one host call.

A derivative here is a map that is linear over the real numbers. Its transpose is what
JAX asks for: `Re(sum(ct_in * t)) = Re(sum(ct_out * J t))` for all t, without
conjugates. A complex number counts as two real ones, so this is right for functions
that are not holomorphic, too.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..._errors import CallbackError
from ..._host import HostFunction, Spec, Transposable, results_of


Flags = tuple[bool, ...]
Arrays = Sequence[NDArray[Any]]

_EPSILON = float(np.finfo(np.float64).eps)
# Where the errors of rounding and of the differences are equal, for one derivative and
# for a derivative of one.
_STEPS = {1: _EPSILON ** (1 / 3), 2: _EPSILON ** (1 / 4)}
_TINY = 1e-30  # the complex step: there are no differences, and so no rounding


def numeric(function: HostFunction, wanted: Flags, method: str) -> Transposable:
    """The derivative of a function by a method: "differences" or "complex_step"."""
    forward = Directional(function, wanted, method)
    return transposed_by_elements(forward)


class Derived(HostFunction):
    """A derivative of a function: what all kinds of them have in common.

    Args:
        function: The function that is differentiated.
        wanted: With respect to which of its arguments.
        method: How this is differentiated itself, if at all.
        order: Of which order it is.
    """

    def __init__(
        self, function: HostFunction, wanted: Flags, method: str | None
    ) -> None:
        super().__init__(function.name)
        self.function, self.wanted, self.method = function, wanted, method
        self.order: int = getattr(function, "order", 0) + 1

    def split(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """The arguments of the function; and tangents, or cotangents."""
        count = len(self.wanted)
        return arguments[:count], arguments[count:]

    def derivative(self, wanted: Flags, specs: Sequence[Spec]) -> Transposable:
        """See `HostFunction.derivative`."""
        if self.method is None:
            message = (
                f"{self.name} has a rule for first derivatives only. For second "
                "ones write from_numpy(..., derivative='differences') beside it."
            )
            raise CallbackError(message)
        return numeric(self, wanted, "differences")


class Forward(Derived):
    """Tangents: a subclass computes them, for arguments and tangents."""

    def __init__(
        self, function: HostFunction, wanted: Flags, method: str | None
    ) -> None:
        super().__init__(function, wanted, method)
        self._dtypes: dict[Any, list[Any]] = {}

    def results(self, *specs: Spec) -> list[Spec]:
        """See `HostFunction.results`."""
        primals, _ = self.split(specs)
        found = [x for x in results_of(self.function, primals) if is_inexact(x)]
        self._dtypes[_forms(specs)] = [x.dtype for x in found]
        return [Spec(x.shape, x.dtype) for x in found]

    def narrow(self, values: Arrays, arguments: Arrays) -> list[NDArray[Any]]:
        """Tangents in the dtypes of the results, if JAX calls for them.

        A derivative of this one calls it with more digits, and gets as many.
        """
        dtypes = self._dtypes.get(_forms(arguments))
        if dtypes is None:
            return list(values)
        pairs = zip(values, dtypes, strict=True)
        return [value.astype(dtype) for value, dtype in pairs]


class Backward(Derived):
    """Cotangents of the wanted arguments, for arguments and some cotangents."""

    def __init__(
        self, function: HostFunction, wanted: Flags, method: str | None, given: Flags
    ) -> None:
        super().__init__(function, wanted, method)
        self.given = given

    def results(self, *specs: Spec) -> list[Spec]:
        """See `HostFunction.results`."""
        return list(flagged(self.split(specs)[0], self.wanted))


class Directional(Forward):
    """The derivative in a direction, by two calls of the function or one."""

    def __init__(self, function: HostFunction, wanted: Flags, method: str) -> None:
        super().__init__(function, wanted, method)
        self._compared = False

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        primals, tangents = self.split(arguments)
        wide = [widened(x) for x in primals]
        directions = [widened(x) for x in tangents]
        if self.method == "complex_step":
            found = self._complex_step(wide, directions)
        else:
            found = self._differences(wide, directions)
        return self.narrow(found, arguments)

    def _differences(self, primals: Arrays, directions: Arrays) -> list[NDArray[Any]]:
        step = _step(list(flagged(primals, self.wanted)), directions, self.order)
        above = self._moved(primals, directions, step)
        below = self._moved(primals, directions, -step)
        return [(x - y) / (2 * step) for x, y in zip(above, below, strict=True)]

    def _moved(self, primals: Arrays, directions: Arrays, step: Any) -> Arrays:
        remaining = iter(directions)
        copies = self.function.may_write
        moved = [
            x + step * next(remaining) if wants else x.copy() if copies else x
            for x, wants in zip(primals, self.wanted, strict=True)
        ]
        values = map(np.asarray, self.function.run(*moved))
        return [value for value in values if is_inexact(value)]

    def _complex_step(self, primals: Arrays, directions: Arrays) -> list[NDArray[Any]]:
        if any(x.dtype.kind == "c" for x in (*primals, *directions)):
            message = (
                f"{self.name} got complex numbers, for which a complex step has "
                "no meaning. Write derivative='differences'."
            )
            raise CallbackError(message)
        moved = self._moved(primals, directions, 1j * _TINY)
        found = [np.imag(value) / _TINY for value in moved]
        if all(value.dtype.kind == "c" for value in moved) and self._holds(
            found, primals, directions
        ):
            return found
        message = (
            f"{self.name} does not compute with complex numbers as with real ones: it "
            "takes absolute values, or conjugates, or rounds. Write "
            "derivative='differences'."
        )
        raise CallbackError(message)

    def _holds(self, found: Arrays, primals: Arrays, directions: Arrays) -> bool:
        """Whether differences say about the same; looked at the first time."""
        if self._compared:
            return True
        self._compared = True
        for one, other in zip(
            found, self._differences(primals, directions), strict=True
        ):
            scale = float(np.max(np.abs(other), initial=0.0))
            if np.all(np.isfinite(other)) and not np.allclose(
                one, other, rtol=1e-2, atol=1e-4 * scale
            ):
                return False
        return True


class ByElements(Backward):
    """Cotangents by the tangents of each element of the arguments in turn."""

    def __init__(self, forward: Forward, given: Flags) -> None:
        super().__init__(forward.function, forward.wanted, forward.method, given)
        self._forward = forward

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        primals, cotangents = self.split(arguments)
        wide = [widened(x) for x in cotangents]
        points = list(flagged(primals, self.wanted))
        zeros = [np.zeros_like(widened(x)) for x in points]
        found: list[NDArray[Any]] = []
        for k, point in enumerate(points):
            total = np.zeros_like(zeros[k])
            for unit, place, direction in units(zeros[k]):
                directions = [*zeros[:k], direction, *zeros[k + 1 :]]
                tangents = self._forward.run(*primals, *directions)
                total[place] += unit.conjugate() * self._paired(tangents, wide)
            found.append(total.astype(point.dtype))
        return found

    def _paired(self, tangents: Arrays, cotangents: Arrays) -> float:
        pairs = zip(flagged(tangents, self.given), cotangents, strict=True)
        return float(sum(np.sum(t * c).real for t, c in pairs))


def transposed_by_elements(forward: Forward) -> Transposable:
    """A derivative of which only the forward mode is known."""
    return Transposable(forward, lambda given: ByElements(forward, given))


def units(
    zeros: NDArray[Any],
) -> Iterator[tuple[Any, tuple[int, ...], NDArray[Any]]]:
    """Each element set to 1, and to 1j where it is complex: unit, place, array."""
    for unit in (1.0, 1.0j) if zeros.dtype.kind == "c" else (1.0,):
        for place in np.ndindex(*zeros.shape):
            direction = zeros.copy()
            direction[place] = unit
            yield unit, place, direction


def flagged(values: Sequence[Any], flags: Flags) -> Iterator[Any]:
    """The values whose flag is set."""
    return (x for x, flag in zip(values, flags, strict=True) if flag)


def _forms(arrays: Sequence[Any]) -> Any:
    return tuple((x.shape, x.dtype) for x in arrays)


def is_inexact(x: Any) -> bool:
    """Whether an array, or a spec, has real or complex numbers."""
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))


def widened(x: NDArray[Any]) -> NDArray[Any]:
    """Real and complex numbers in 64 bits, other values as they are."""
    if not is_inexact(x):
        return x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _step(points: Arrays, directions: Arrays, order: int) -> float:
    """How far to go in a direction: by the size of what moves."""
    size = max((_largest(t) for t in directions), default=0.0)
    moving = [
        _largest(np.where(t != 0, x, 0))
        for x, t in zip(points, directions, strict=True)
    ]
    return float(_STEPS[min(order, 2)] * max(1.0, *moving) / (size or 1.0))


def _largest(x: NDArray[Any]) -> float:
    return float(np.max(np.abs(x), initial=0.0))
