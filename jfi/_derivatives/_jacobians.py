"""`jacrev`, `jacfwd` and `hessian`."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

import jax
import numpy as np

from .._advice import hiding_frames
from .._docstrings import explained_as
from .._errors import DerivativeError
from .._random.traced import Keys
from .._random.traced._own_stream import on_keys, with_own_stream
from .._shown import shown_as
from .._values import Rest, function_name
from ._directions import OfFloats, backward, check_chunk_size, forward
from ._leaves import Nondiff, blank, check_nondiff, divided_floats, no_derivative
from ._messages import described_kind, like, traced_as
from ._outputs import Outputs
from ._selection import Selection, selected


P = ParamSpec("P")


def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
    nondiff: Nondiff = "none",
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """The jacobian of a function, by rows: for results smaller than the arguments.

    It is `jax.jacrev` for trees with any leaves, in the arguments and in the result.

    >>> import jfi as jnp
    >>> def f(p):
    ...     return {"y": p["w"] ** p["n"], "name": "f"}
    >>> blocks = jnp.jacrev(f)({"w": jnp.array([1.0, 2.0]), "n": 2})
    >>> blocks["y"]["w"]
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    >>> blocks["y"]["n"], blocks["name"]["w"]
    (None, None)

    Args:
        fun: The function.
        argnums: The positions of the arguments to differentiate; the first by default.
        has_aux: Whether `fun` returns a pair of value and auxiliary data.
        holomorphic: Whether `fun` is complex and holomorphic.
        allow_int: As of JAX: blocks of ints are zeros.
        argnames: The names of arguments to differentiate, however they are passed.
        nondiff: What comes back for blocks of leaves without derivative: "none",
            "float0" or "zeros".
        chunk_size: How many directions to compute at a time, for less memory; all if
            None.

    Returns:
        A function of the same arguments: the tree of the result, with the tree of the
        argument in the place of each leaf, with blocks of shape `(*result, *argument)`.
        Of several arguments a tuple, those of `argnums` first; with `has_aux` a pair
        with the auxiliary data.

    Raises:
        DerivativeError: There is nothing to differentiate.
    """
    options = _JacobianOptions("jacrev", (backward,), has_aux, holomorphic, chunk_size)
    how = check_nondiff("zeros" if allow_int and nondiff == "none" else nondiff)
    return _blockwise(fun, Selection(fun, argnums, argnames), how, options)


@explained_as(jacrev)
def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
    nondiff: Nondiff = "none",
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """The jacobian of a function, by columns: for arguments smaller than the results.

    It is `jax.jacfwd` for trees with any leaves. What the function draws is the same in
    all directions.

    >>> import jfi as jnp
    >>> jnp.jacfwd(lambda x: jnp.stack([x, x**2]))(jnp.array([3.0]))
    Array([[[1.]],
           [[6.]]], dtype=float32)
    """
    options = _JacobianOptions("jacfwd", (forward,), has_aux, holomorphic, chunk_size)
    how = check_nondiff(nondiff)
    return _blockwise(fun, Selection(fun, argnums, argnames), how, options)


@explained_as(jacrev)
def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
    nondiff: Nondiff = "none",
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """The second derivatives of a function.

    It is `jax.hessian` for trees with any leaves. What the function draws is the same
    in all directions.

    >>> import jfi as jnp
    >>> second = jnp.hessian(lambda p: p["x"] ** p["n"])({"x": 3.0, "n": 2})
    >>> float(second["x"]["x"]), second["x"]["n"]
    (2.0, None)

    Args:
        chunk_size: How many rows, and how many columns, to compute at a time, for less
            memory; all if None.

    Returns:
        A function of the same arguments: the tree of the result, with the tree of the
        argument in the place of each leaf, and once more in the place of each of
        theirs. Of several arguments and with `has_aux` as `jacrev`.
    """
    steps = backward, forward
    options = _JacobianOptions("hessian", steps, has_aux, holomorphic, chunk_size)
    how = check_nondiff(nondiff)
    return _blockwise(fun, Selection(fun, argnums, argnames), how, options)


@dataclass(frozen=True)
class _JacobianOptions:
    """What a tool does.

    Attributes:
        tool: Its public name.
        steps: The jacobians it takes, the first one first.
        has_aux: As of `jacrev`.
        holomorphic: As of `jacrev`.
        chunk_size: As of `jacrev`.
    """

    tool: str
    steps: tuple[Callable[[OfFloats, int | None, bool], OfFloats], ...]
    has_aux: bool
    holomorphic: bool
    chunk_size: int | None

    def __post_init__(self) -> None:
        check_chunk_size(self.tool, self.chunk_size)

    @property
    def traces_draws(self) -> bool:
        """Whether the function is traced in all directions, which must draw alike."""
        return forward in self.steps

    def of(self, fun: OfFloats) -> OfFloats:
        """The derivative of a function."""
        for step in self.steps:
            fun = step(fun, self.chunk_size, self.holomorphic)
        return fun


def _blockwise(
    fun: Callable[P, Any],
    selection: Selection,
    how: Nondiff,
    options: _JacobianOptions,
) -> Callable[P, Any]:
    """The function of the blocks of all leaves, from JAX's of float leaves."""

    @shown_as(options.tool)
    @like(fun)
    @hiding_frames
    def derivative(*args: Any, **kwargs: Any) -> Any:
        call = selected(selection, fun, (args, kwargs))
        if how == "none":
            call.refuse_nothing(options.tool)
        outputs = Outputs()
        alone = outputs.of(call.of_floats(), has_aux=options.has_aux)

        @traced_as(fun)
        def of_floats(floats: list[Any]) -> Any:
            values, carried = alone(floats)
            _refuse_no_float(options.tool, fun, outputs)
            return values, carried

        def run(keys: Keys | None) -> tuple[Any, Any]:
            own = (
                of_floats
                if keys is None
                else functools.partial(on_keys, of_floats, keys)
            )
            if not call.floats:
                values, carried = own([])
                return [[]] * len(values), carried
            return options.of(own)(call.floats)

        blocks, carried = with_own_stream(run) if options.traces_draws else run(None)
        _, rest = divided_floats(call.chosen[0] if selection.is_single else call.chosen)
        inputs = _Axis(rest.replaced(blank), [jax.typeof(x) for x in call.floats])
        axes = [_Axis(outputs.rest, outputs.types), *[inputs] * len(options.steps)]
        tree = _assembled(axes, blocks, how)
        if not options.has_aux:
            return tree
        _, aux = outputs.restored(outputs.types, carried)
        return tree, aux

    return derivative


def _refuse_no_float(tool: str, fun: Any, outputs: Outputs) -> None:
    if outputs.types:
        return
    seen = ", ".join(map(described_kind, outputs.rest.others[:4])) or "nothing"
    message = (
        f"{tool}() of {function_name(fun)}(), which returned {seen}. "
        "Let it return a float array."
    )
    raise DerivativeError(message)


@dataclass(frozen=True)
class _Axis:
    """A tree in whose leaves a derivative has blocks: the result, or the argument.

    Attributes:
        rest: The tree without its float leaves; `blank` in the places of others.
        types: The types of the float leaves.
    """

    rest: Rest
    types: Sequence[Any]

    def leaves(self) -> Iterator[tuple[bool, Any]]:
        """Of each leaf whether it is float, and its type or `blank`."""
        types, others = iter(self.types), iter(self.rest.others)
        for is_float in self.rest.is_taken:
            yield is_float, next(types) if is_float else next(others)


def _assembled(
    axes: Sequence[_Axis],
    block: Any,
    how: Nondiff,
    seen: tuple[tuple[bool, Any], ...] = (),
) -> Any:
    """The tree of blocks, from nested lists of those of float leaves.

    Args:
        axes: The trees, from the outermost on.
        block: The lists, or an array where no axis is left; None without derivative.
        how: What stands for a block that is no derivative.
        seen: The leaves of the axes before.
    """
    if not axes:
        return _block(seen, how) if block is None else block
    first, *others = axes
    blocks = iter(block or ())
    parts = [
        _assembled(
            others,
            next(blocks) if is_float and block is not None else None,
            how,
            (*seen, (is_float, leaf)),
        )
        for is_float, leaf in first.leaves()
    ]
    return jax.tree.unflatten(first.rest.structure, parts)


def _block(seen: Sequence[tuple[bool, Any]], how: Nondiff) -> Any:
    """What stands for a block of leaves one of which has no derivative."""
    odd = [leaf for is_float, leaf in seen if not is_float]
    if any(leaf is None for leaf in odd):
        return None
    shape = sum((tuple(np.shape(leaf)) for _, leaf in seen), ())
    return no_derivative(odd[-1], how, shape)
