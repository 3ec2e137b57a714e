"""What the linear operation calls, and functions that take more than they need."""

from collections.abc import Callable, Sequence
from typing import Any

from .._errors import CallbackError
from ._derivatives import Transposable
from ._forms import Result, Spec
from ._functions import HostFunction, batch_of, results_of


Flags = tuple[bool, ...]
Transposed = Callable[[Flags], HostFunction]


class Redundant(HostFunction):
    """A function with two ways to run: one is faster, the other can be differentiated.

    The arguments of the first that the second lacks are made of its other arguments.
    Results that the second lacks are what is saved: nothing is differentiated there.

    Args:
        fast: The function that runs.
        takes: Which of the arguments it takes.
        pure: The function that is differentiated.
        pure_takes: Which it takes.
    """

    def __init__(
        self,
        fast: HostFunction,
        takes: Sequence[int],
        pure: HostFunction,
        pure_takes: Sequence[int],
    ) -> None:
        super().__init__(pure.name)
        self.fast, self._takes = fast, takes
        self.pure, self._pure_takes = pure, pure_takes

    def of_fast(self, arguments: Sequence[Any]) -> list[Any]:
        """What the function that runs takes of the arguments."""
        return [arguments[k] for k in self._takes]

    def of_pure(self, arguments: Sequence[Any]) -> list[Any]:
        """What the function that is differentiated takes."""
        return [arguments[k] for k in self._pure_takes]

    def results(self, *specs: Spec) -> Sequence[Result]:
        """See `HostFunction.results`."""
        return results_of(self.fast, self.of_fast(specs))

    def batched(self, is_batched: Flags) -> HostFunction:
        """See `HostFunction.batched`."""
        fast = batch_of(self.fast, tuple(self.of_fast(is_batched)))
        pure = batch_of(self.pure, tuple(self.of_pure(is_batched)))
        return Redundant(fast, self._takes, pure, self._pure_takes)


class Linear:
    """A derivative at a point: linear in tangents, which come last.

    Before them it takes the inputs of the function, and what its call has saved.

    Args:
        name: What the user calls the function.
        inputs: How many inputs there are.
        saved: How many arrays were saved.
        wanted: How many tangents there are.
        products: The derivative without what was saved.
        transposed: The cotangents by what was saved, or None.
        takes_inputs: Whether these take the inputs, too.
    """

    def __init__(
        self,
        name: str,
        inputs: int,
        saved: int,
        wanted: int,
        products: Transposable,
        transposed: Transposed | None = None,
        *,
        takes_inputs: bool = False,
    ) -> None:
        self.name, self.inputs, self.saved, self.wanted = name, inputs, saved, wanted
        self._products, self._transposed = products, transposed
        self._takes_inputs = takes_inputs
        self._made: dict[Any, Any] = {}

    @property
    def fixed(self) -> int:
        """How many arguments come before the tangents."""
        return self.inputs + self.saved

    @property
    def _fast_from(self) -> int:
        return 0 if self._takes_inputs else self.inputs

    def forward_takes(self, arguments: Sequence[Any]) -> list[Any]:
        """The inputs and the tangents."""
        return [*arguments[: self.inputs], *arguments[self.fixed :]]

    def forward(self) -> HostFunction:
        """Inputs and tangents to tangents."""
        if self._products.forward is None:
            message = self._products.refusal or (
                f"{self.name} has no forward-mode derivative (jax.jvp, jax.jacfwd, "
                "jax.hessian). Write jax.jacrev, and jax.jacrev(jax.jacrev(f)) for a "
                "Hessian."
            )
            raise CallbackError(message)
        return self._products.forward

    def backward(self, given: Flags) -> HostFunction:
        """All that comes before the tangents, and some cotangents, to cotangents."""
        make = lambda: self._backward(given)
        found: HostFunction = self._once(("backward", given), make)
        return found

    def _backward(self, given: Flags) -> HostFunction:
        if self._products.transposed is None:
            message = self._products.refusal or (
                f"{self.name} has no reverse-mode derivative (jax.grad, jax.vjp, "
                "jax.jacrev). Write jax.jvp or jax.jacfwd."
            )
            raise CallbackError(message)
        pure = self._products.transposed(given)
        if self._transposed is None:
            return pure
        inputs = range(self.inputs)
        cotangents = range(self.fixed, self.fixed + sum(given))
        fast = self._transposed(given)
        takes = range(self._fast_from, self.fixed)
        return Redundant(fast, [*takes, *cotangents], pure, [*inputs, *cotangents])

    def batched(self, is_batched: Flags) -> "Linear":
        """The same for a batch of points and tangents, as said of what is fixed."""
        make = lambda: self._batched(is_batched)
        found: Linear = self._once(("batched", is_batched), make)
        return found

    def _batched(self, is_batched: Flags) -> "Linear":
        points, taken = is_batched[: self.inputs], is_batched[self._fast_from :]
        products = Transposable(
            forward=None
            if self._products.forward is None
            else batch_of(self._products.forward, (*points, *(True,) * self.wanted)),
            transposed=None
            if self._products.transposed is None
            else _transposed_of_batch(self._products.transposed, points),
            refusal=self._products.refusal,
        )
        fast = self._transposed and _transposed_of_batch(self._transposed, taken)
        sizes = (self.inputs, self.saved, self.wanted)
        takes_inputs = self._takes_inputs
        return Linear(self.name, *sizes, products, fast, takes_inputs=takes_inputs)

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        # `setdefault`: one object for all threads, by which JAX finds its programs.
        return self._made.get(key) or self._made.setdefault(key, make())


def _transposed_of_batch(transposed: Transposed, is_batched: Flags) -> Transposed:
    def of_batch(given: Flags) -> HostFunction:
        return batch_of(transposed(given), (*is_batched, *(True,) * sum(given)))

    return of_batch
