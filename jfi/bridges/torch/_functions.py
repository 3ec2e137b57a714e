"""Flat functions of tensors, and the functions that are derived from them.

A `TensorFunction` takes tensors of known shapes and returns a tuple of tensors. What is
derived from it (tangents, cotangents, batches) is a `TensorFunction` again, so any
order and nesting works. Each has two forms:

- `inner` runs inside transformations of `torch.func`;
- `outer` has at most plain autograd around it. Plain autograd allows `.numpy()` and
  old autograd functions, knows a backward pass for more operators, and costs a third.

Where `torch.func` fails, `outer` does the same without it: rows of a batch in a loop, a
tangent as the transpose of the transpose.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..._host import Spec
from ._tensors import numpy_dtype, torch_dtype


if TYPE_CHECKING:
    import torch

Flags: TypeAlias = tuple[bool, ...]
Tensors: TypeAlias = "tuple[torch.Tensor, ...]"


class TensorFunction:
    """A flat function of tensors.

    Attributes:
        name: What the user calls it, for messages.
        inexact: Which of its results have derivatives.
        stops_gradients: Some of it runs under `torch.no_grad()`.
    """

    def __init__(self, name: str, inexact: Flags, *, stops_gradients: bool) -> None:
        self.name, self.inexact = name, inexact
        self.stops_gradients = stops_gradients
        self.derived: Callable[..., Any]  # made once: `derived(Cotangents, ...)`
        self.derived = functools.cache(lambda cls, *options: cls(self, *options))

    def results(self, *specs: Spec) -> Sequence[Spec]:
        """Shapes and dtypes of its results, from those of its arguments."""
        raise NotImplementedError

    def inner(self, *tensors: torch.Tensor) -> Tensors:
        """Run it, possibly inside a transformation of `torch.func`."""
        raise NotImplementedError

    def outer(self, *tensors: torch.Tensor) -> Tensors:
        """Run it with at most plain autograd around it."""
        raise NotImplementedError


class Tangents(TensorFunction):
    """(*arguments, *tangents of the wanted ones) -> tangents of inexact results."""

    def __init__(self, base: TensorFunction, wanted: Flags) -> None:
        inexact = (True,) * sum(base.inexact)
        name, stops = f"jvp({base.name})", base.stops_gradients
        super().__init__(name, inexact, stops_gradients=stops)
        self._base, self._wanted = base, wanted
        self._tries_func = True

    def results(self, *specs: Spec) -> Sequence[Spec]:
        results = self._base.results(*specs[: len(self._wanted)])
        return chosen(results, self._base.inexact)

    def inner(self, *tensors: torch.Tensor) -> Tensors:
        import torch

        arguments, tangents = self._divided(tensors)
        run, sources = self._of_sources(self._base.inner, arguments)
        # Forward mode does not see torch.no_grad(); the backward pass does.
        if not self.stops_gradients:
            try:
                found: Tensors = torch.func.jvp(run, sources, tangents)[1]
            except NotImplementedError:  # an operator without a forward derivative
                pass
            else:
                return found
        results, pull = _pullback(run, *sources)
        zeros = tuple(torch.zeros_like(result) for result in results)
        _, push = _pullback(pull, zeros)
        pushed: Tensors = push(tangents)[0]
        return pushed

    def outer(self, *tensors: torch.Tensor) -> Tensors:
        if self._tries_func:
            try:
                return self.inner(*tensors)
            except Exception:  # torch.func can't: below the function may fail itself
                found = self._transposed_twice(tensors)
                self._tries_func = False
                return found
        return self._transposed_twice(tensors)

    def _transposed_twice(self, tensors: Sequence[torch.Tensor]) -> Tensors:
        import torch

        needs_graph = any(tensor.requires_grad for tensor in tensors)
        arguments, tangents = self._divided(tensors)
        run, sources = self._of_sources(self._base.outer, arguments)
        sources = tuple(map(source, sources))
        results = run(*sources)
        directions = [torch.zeros_like(r).requires_grad_() for r in results]
        pulled = gradients(results, sources, directions, create_graph=True)
        pairs = [
            (gradient, tangent)
            for gradient, tangent in zip(pulled, tangents, strict=True)
            if gradient is not None and gradient.requires_grad
        ]
        found = gradients(
            [gradient for gradient, _ in pairs],
            directions,
            [tangent for _, tangent in pairs],
            create_graph=needs_graph,
        )
        return filled_with_zeros(found, directions)

    def _divided(self, tensors: Sequence[torch.Tensor]) -> tuple[Tensors, Tensors]:
        n = len(self._wanted)
        arguments = tuple(tensors[:n])
        sources = chosen(arguments, self._wanted)
        pairs = zip(tensors[n:], sources, strict=True)
        return arguments, tuple(tangent.to(source.dtype) for tangent, source in pairs)

    def _of_sources(
        self, function: Callable[..., Tensors], arguments: Tensors
    ) -> tuple[Callable[..., Tensors], Tensors]:
        run = of_wanted(function, arguments, self._wanted, self._base.inexact)
        return run, chosen(arguments, self._wanted)


class Cotangents(TensorFunction):
    """(*arguments, *cotangents of the given results) -> gradients of the wanted ones.

    JAX's convention for complex numbers is the conjugate of PyTorch's.
    """

    def __init__(self, base: TensorFunction, wanted: Flags, given: Flags) -> None:
        inexact = (True,) * sum(wanted)
        name, stops = f"grad({base.name})", base.stops_gradients
        super().__init__(name, inexact, stops_gradients=stops)
        self._base, self._wanted, self._given = base, wanted, given

    def results(self, *specs: Spec) -> Sequence[Spec]:
        return chosen(specs[: len(self._wanted)], self._wanted)

    def inner(self, *tensors: torch.Tensor) -> Tensors:

        n = len(self._wanted)
        arguments, cotangents = tensors[:n], tensors[n:]
        run = of_wanted(self._base.inner, arguments, self._wanted, self._given)
        results, pull = _pullback(run, *chosen(arguments, self._wanted))
        pulled: Tensors = pull(as_torch_has_them(cotangents, results))
        return tuple(gradient.conj() for gradient in pulled)

    def outer(self, *tensors: torch.Tensor) -> Tensors:
        n = len(self._wanted)
        arguments, cotangents = tensors[:n], tensors[n:]
        run = of_wanted(self._base.outer, arguments, self._wanted, self._given)
        sources = tuple(map(source, chosen(arguments, self._wanted)))
        results = run(*sources)
        found = gradients(
            results,
            sources,
            as_torch_has_them(cotangents, results),
            create_graph=any(tensor.requires_grad for tensor in tensors),
        )
        return tuple(g.conj() for g in filled_with_zeros(found, sources))


class ValueAndGradients(TensorFunction):
    """The results, and the gradients of the one inexact result, which is a number."""

    def __init__(self, base: TensorFunction, wanted: Flags) -> None:
        inexact = (*base.inexact, *(True,) * sum(wanted))
        name, stops = f"value_and_grad({base.name})", base.stops_gradients
        super().__init__(name, inexact, stops_gradients=stops)
        self._base, self._wanted = base, wanted
        self._all = (True,) * len(base.inexact)

    def results(self, *specs: Spec) -> Sequence[Spec]:
        return (*self._base.results(*specs), *chosen(specs, self._wanted))

    def inner(self, *tensors: torch.Tensor) -> Tensors:
        import torch

        run = of_wanted(self._base.inner, tensors, self._wanted, self._all)

        def value_and_rest(*sources: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
            results = run(*sources)
            return chosen(results, self._base.inexact)[0], results

        sources = chosen(tensors, self._wanted)
        every: Any = torch.func.vjp(value_and_rest, *sources, has_aux=True)
        value, pull, results = every
        return (*results, *pull(torch.ones_like(value)))

    def outer(self, *tensors: torch.Tensor) -> Tensors:
        run = of_wanted(self._base.outer, tensors, self._wanted, self._all)
        sources = tuple(map(source, chosen(tensors, self._wanted)))
        results = run(*sources)
        found = gradients(
            chosen(results, self._base.inexact),
            sources,
            create_graph=any(tensor.requires_grad for tensor in tensors),
        )
        return (*results, *filled_with_zeros(found, sources))


class BatchedTensorFunction(TensorFunction):
    """A function of rows on a whole batch: one `torch.vmap`, or a loop."""

    def __init__(
        self,
        base: TensorFunction,
        is_batched: Flags,
        randomness: Literal["error", "same", "loop"] = "error",
    ) -> None:
        name, stops = f"vmap({base.name})", base.stops_gradients
        super().__init__(name, base.inexact, stops_gradients=stops)
        self._base, self._is_batched = base, is_batched
        self._axes = tuple(0 if batched else None for batched in is_batched)
        self._randomness, self._tries_func = randomness, randomness != "loop"
        self._checked: set[Any] = set()  # forms of which the dtypes are right

    def results(self, *specs: Spec) -> Sequence[Spec]:
        pairs = zip(specs, self._is_batched, strict=True)
        rows = [Spec(s.shape[1:], s.dtype) if batched else s for s, batched in pairs]
        size = chosen(specs, self._is_batched)[0].shape[0]
        found = self._base.results(*rows)
        return [Spec((size, *spec.shape), spec.dtype) for spec in found]

    @functools.cached_property
    def _batched(self) -> Callable[..., Any]:
        """The function of a batch; of one tensor instead of a tuple of one.

        PyTorch's walks through trees are slow, and so is `torch.vmap` itself.
        """
        import torch

        inner = self._base.inner
        rows = inner if len(self.inexact) > 1 else lambda *row: inner(*row)[0]
        batched: Callable[..., Any] = torch.vmap(
            rows, in_dims=self._axes, randomness=self._randomness
        )
        return batched

    def inner(self, *tensors: torch.Tensor) -> Tensors:
        if self._randomness == "loop":
            return self._looped(self._base.inner, tensors)
        found: Any = self._batched(*tensors)
        return found if len(self.inexact) > 1 else (found,)

    def outer(self, *tensors: torch.Tensor) -> Tensors:
        if self._tries_func:
            try:
                found = self.inner(*tensors)
                if self._has_types_of_rows(found, tensors):
                    return found
            except Exception:  # torch.vmap can't: below the function may fail itself
                pass
            found = self._looped(self._base.outer, tensors)
            self._tries_func = False
            return found
        return self._looped(self._base.outer, tensors)

    def _has_types_of_rows(
        self, found: Tensors, tensors: Sequence[torch.Tensor]
    ) -> bool:
        """Whether `torch.vmap` keeps dtypes: `addmv` on uint8 becomes float32."""
        key = tuple((tensor.shape, tensor.dtype) for tensor in tensors)
        if key not in self._checked:
            specs = zip(self._results_for(tensors), found, strict=True)
            if any(spec.dtype != numpy_dtype(t.dtype, self.name) for spec, t in specs):
                return False
            self._checked.add(key)
        return True

    def _looped(
        self, function: Callable[..., Tensors], tensors: Sequence[torch.Tensor]
    ) -> Tensors:
        import torch

        batched = chosen(tensors, self._is_batched)
        rows = []
        for new in zip(*(tensor.unbind(0) for tensor in batched), strict=True):
            row = iter(new)
            pairs = zip(tensors, self._is_batched, strict=True)
            # Copies: `as_strided` counts from where the memory of a tensor begins.
            rows.append(function(*(next(row).clone() if b else t for t, b in pairs)))
        if not rows:
            return self._empty(tensors)
        return tuple(map(torch.stack, zip(*rows, strict=True)))

    def _empty(self, tensors: Sequence[torch.Tensor]) -> Tensors:
        import torch

        results = self._results_for(tensors)
        return tuple(
            torch.empty(r.shape, dtype=torch_dtype(r.dtype, self.name)) for r in results
        )

    def _results_for(self, tensors: Sequence[torch.Tensor]) -> Sequence[Spec]:
        dtypes = (numpy_dtype(t.dtype, self.name) for t in tensors)
        pairs = zip(tensors, dtypes, strict=True)
        return self.results(*(Spec(tuple(t.shape), dtype) for t, dtype in pairs))


def _pullback(run: Callable[..., Any], *sources: Any) -> tuple[Any, Any]:
    import torch

    pair: Any = torch.func.vjp(run, *sources)  # its type has a third part, for aux
    results, pull = pair
    return results, pull


def gradients(
    results: Iterable[torch.Tensor],
    sources: Sequence[torch.Tensor],
    cotangents: Iterable[torch.Tensor] | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> list[torch.Tensor | None]:
    """`torch.autograd.grad`, for results that depend on no source too."""
    import torch

    results = tuple(results)
    given = (None,) * len(results) if cotangents is None else tuple(cotangents)
    pairs = [pair for pair in zip(results, given, strict=True) if pair[0].requires_grad]
    if not pairs:
        return [None] * len(sources)
    found: Any = torch.autograd.grad(
        [result for result, _ in pairs],
        sources,
        [cotangent for _, cotangent in pairs],
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
    )
    # That of an embedding with sparse=True is sparse.
    return [
        g if g is None or g.layout is torch.strided else g.to_dense() for g in found
    ]


def of_wanted(
    function: Callable[..., Tensors],
    arguments: Sequence[torch.Tensor],
    wanted: Flags,
    given: Flags,
) -> Callable[..., Tensors]:
    """The function of the wanted arguments alone, with the given results alone."""

    def run(*sources: torch.Tensor) -> Tensors:
        new = iter(sources)
        pairs = zip(arguments, wanted, strict=True)
        results = function(*(next(new) if wants else old for old, wants in pairs))
        return chosen(results, given)

    return run


def chosen(items: Iterable[Any], flags: Flags) -> tuple[Any, ...]:
    return tuple(item for item, flag in zip(items, flags, strict=True) if flag)


def source(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.requires_grad else tensor.detach().requires_grad_()


def as_torch_has_them(
    cotangents: Iterable[torch.Tensor], results: Iterable[torch.Tensor]
) -> Tensors:
    pairs = zip(cotangents, results, strict=True)
    return tuple(cotangent.conj().to(result.dtype) for cotangent, result in pairs)


def filled_with_zeros(
    found: Iterable[torch.Tensor | None], like: Iterable[torch.Tensor]
) -> Tensors:
    import torch

    pairs = zip(found, like, strict=True)
    return tuple(torch.zeros_like(t) if g is None else g for g, t in pairs)
