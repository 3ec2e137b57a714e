"""Whether two traced functions are the same code."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from ._effects import inner_jaxprs, is_jaxpr
from ._pieces import outside_of_tracing, piece


MAX_BYTES = 2**20  # of a constant whose contents are compared

# Where `==` means the same code.
_LIBRARIES = ("builtins", "jax", "jaxlib", "numpy")

# How an operation is differentiated or batched; it is not in the code that runs.
_RULES = {
    "custom_jvp_call": ("jvp_jaxpr_fun",),
    "custom_vjp_call": ("fwd_jaxpr_thunk", "bwd", "out_trees"),
    "custom_vmap_call": ("rule",),
    "ruled_call": ("rules",),
}


def compares_code() -> bool:
    """Whether `code_key` works.

    Asked before a function is traced: finding out imports a part of JAX that adds
    options (from 0.12), and what was traced before is then traced again.
    """
    return same_code() is not None


def code_key(closed_jaxpr: Any) -> Hashable | None:
    """Equal for functions that XLA compiles to the same; None: that is unknown.

    Their derivatives may differ. It keeps alive what the operations refer to.

    Args:
        closed_jaxpr: A traced function.
    """
    find = same_code()
    if find is None:
        return None
    key = find(closed_jaxpr)
    try:
        hash(key)
    except TypeError:  # something in it is compared in a way that is not known
        return None
    return key


@piece(
    uses="ctx of an equation of a jaxpr, and the parameters of custom_jvp_call & co.",
    without="autojit compiles again wherever it traces again",
)
def same_code() -> Callable[[Any], Hashable] | None:
    def key_of(number: float, sign: bool) -> Hashable:
        def loop(x: Any) -> Any:
            return jax.lax.scan(lambda c, _: (jax.nn.relu(c) * number, c), x, None, 3)

        with jax.threefry_partitionable(sign):
            return _key(jax.make_jaxpr(loop)(1.0))

    def known() -> bool:
        first, others = key_of(2.0, True), (key_of(3.0, True), key_of(2.0, False))
        return first == key_of(2.0, True) and first not in others

    return _key if outside_of_tracing(known) else None


def has_rules(jaxpr: Any) -> bool:
    """Whether code has rules of its own to be differentiated or batched by."""
    return any(
        equation.primitive.name in _RULES or any(map(has_rules, inner_jaxprs(equation)))
        for equation in jaxpr.eqns
    )


class _Written(NamedTuple):
    """A jaxpr as nested tuples; its variables are numbers, in order of appearance."""

    types: tuple[Hashable, ...]
    constants: tuple[Hashable, ...]
    equations: tuple[Hashable, ...]
    results: tuple[Hashable, ...]
    effects: frozenset[Any]


def _key(closed_jaxpr: Any) -> _Written:
    return _Writer().jaxpr(closed_jaxpr)


class _Writer:
    """Writes jaxprs, each once: they share their parts."""

    def __init__(self) -> None:
        self._written: dict[int, _Written] = {}

    def jaxpr(self, closed: Any) -> _Written:
        if id(closed) not in self._written:
            self._written[id(closed)] = self._jaxpr(closed)
        return self._written[id(closed)]

    def _jaxpr(self, closed: Any) -> _Written:
        jaxpr = getattr(closed, "jaxpr", closed)
        numbers: dict[Any, Hashable] = {}
        known = (*jaxpr.constvars, *jaxpr.invars)

        def use(atom: Any) -> Hashable:
            if hasattr(atom, "val"):  # a literal
                return "literal", atom.aval, self.value(atom.val)
            return numbers[atom]

        def define(variable: Any) -> Hashable:
            numbers[variable] = len(numbers)
            aval: Hashable = variable.aval
            return aval

        types = tuple(map(define, known))
        equations = tuple(
            (
                equation.primitive,
                tuple(map(use, equation.invars)),
                tuple(map(define, equation.outvars)),
                self._parameters(equation),
                equation.ctx,  # JAX makes one of each
            )
            for equation in jaxpr.eqns
        )
        return _Written(
            types,
            tuple(map(self.value, getattr(closed, "consts", ()))),
            equations,
            tuple(map(use, jaxpr.outvars)),
            frozenset(jaxpr.effects),
        )

    def _parameters(self, equation: Any) -> Hashable:
        rules = _RULES.get(equation.primitive.name, ())
        return tuple(
            (name, self.value(value))
            for name, value in sorted(equation.params.items())
            if name not in rules
        )

    def value(self, x: Any) -> Hashable:
        """A parameter or a constant."""
        if is_jaxpr(x):
            return self.jaxpr(x)
        if isinstance(x, (tuple, list)):
            return type(x), tuple(map(self.value, x))
        if isinstance(x, Mapping):
            return type(x), tuple((k, self.value(v)) for k, v in x.items())
        if isinstance(x, (bool, int, float, complex)):
            return type(x), repr(x)  # which differs for -0.0 and 0.0, and is exact
        if isinstance(x, (jax.Array, np.ndarray, np.generic)):
            return _constant(x)
        if isinstance(x, jax.tree_util.PyTreeDef):
            return x, repr(x)  # `==` takes 1 and True for the same key of a dict
        if type(x).__name__ == "_FlatCallback":  # JAX makes one at each call
            return type(x), *map(self.value, (x.callback_func, x.in_tree))
        root = type(x).__module__.partition(".")[0]
        # What users call equal may compute otherwise.
        return type(x), x if root in _LIBRARIES else _ByIdentity(x)


class _ByIdentity:
    """An object that equals itself only.

    Not its `id()`: after the object is gone, another one may have the same.
    """

    def __init__(self, x: Any) -> None:
        self._x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self._x is other._x

    def __hash__(self) -> int:
        return id(self._x)


def _constant(x: Any) -> Hashable:
    aval = jax.typeof(x)
    known = isinstance(x, np.ndarray | np.generic) or (
        not isinstance(x, Tracer) and x.is_fully_addressable
    )
    if x.size * x.dtype.itemsize > MAX_BYTES or not known or _is_opaque(x):
        # What is written to a NumPy array makes other code of it: none equals it.
        stays = isinstance(x, jax.Array)
        return type(x), aval, _ByIdentity(x if stays else object())
    sharding = x.sharding if isinstance(x, jax.Array) else None
    return type(x), x.dtype, aval, sharding, np.asarray(x).tobytes()


def _is_opaque(x: Any) -> bool:
    """Whether an array is of random keys, or of Python objects."""
    return jax.numpy.issubdtype(x.dtype, jax.dtypes.extended) or x.dtype.hasobject
