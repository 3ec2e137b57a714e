"""What a jaxpr does beside computing: the Refs it uses, the axes that it names."""

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from ._pieces import outside_of_tracing, piece


def is_ref(x: Any) -> bool:
    """Whether a captured value is a `jax.Ref`, which code may change."""
    return isinstance(x, jax.Ref)


def names_of_axes(traced: Any) -> frozenset[Any]:
    """The axes that a jaxpr names: for `psum`, `axis_index` ..."""
    if axis_effects():
        return _effects(traced.jaxpr)
    return _over_equations(traced.jaxpr, _parameters)


def exchanging_axes(jaxpr: Any) -> frozenset[Any]:
    """The axes over which a jaxpr exchanges values: `psum`, not `axis_index`."""
    named = _effects if axis_effects() else _parameters

    def exchanged(equation: Any) -> frozenset[Any]:
        is_index = equation.primitive.name == "axis_index"
        return frozenset() if is_index else named(equation)

    return _over_equations(jaxpr, exchanged)


def calls_back(jaxpr: Any) -> bool:
    """Whether a jaxpr calls back to Python, as `jax.debug.print` does."""
    return any(True for _ in _calls(jaxpr))


def calls_back_in_branches(jaxpr: Any) -> bool:
    """Whether all calls are in branches, as errors are, and return a value."""
    return not jaxpr.effects and not any(
        _is_call(equation) or not all(map(calls_back_in_branches, inner))
        for equation in jaxpr.eqns
        if equation.primitive.name != "cond"
        for inner in [list(inner_jaxprs(equation))]
    )


def callbacks_of(jaxpr: Any) -> Iterator[Any]:
    """The parameters of what calls back in a jaxpr: the functions are among them."""
    for equation in _calls(jaxpr):
        yield from equation.params.values()


def may_raise_for_equinox(jaxpr: Any) -> bool:
    """Whether a jaxpr has errors of `equinox.error_if`, which are host calls."""
    if "equinox" not in sys.modules:
        return False
    functions = map(called_back, _calls(jaxpr))
    return any(getattr(f, "__module__", "") == "equinox._errors" for f in functions)


def raises_where_called(jaxpr: Any) -> bool:
    """Whether a jaxpr has a call with results, of which an error reaches the caller."""
    return any(
        not equation.primitive.name.startswith("debug") for equation in _calls(jaxpr)
    )


def rules_in(jaxpr: Any) -> Iterator[Any]:
    """The functions that say the derivatives of what a jaxpr calls."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("custom_jvp_call", "custom_vjp_call"):
            parameters = equation.params.items()
            yield from (value for name, value in parameters if name != "call_jaxpr")
        for inner in inner_jaxprs(equation):
            yield from rules_in(inner)


def called_back(equation: Any) -> Any:
    """The function that an operation calls back, or what has its name, or None."""
    for value in equation.params.values():
        if isinstance(getattr(value, "name", None), str):
            return value  # a host call of jfi
        inner = getattr(value, "callback_func", None)
        if inner is not None:
            return inner
        if callable(value):
            cells = inspect.getclosurevars(value).nonlocals if _is_of_jax(value) else {}
            return cells.get("callback", value)  # that of `jax.debug.callback`
    return None


def _is_of_jax(x: Any) -> bool:
    return inspect.isfunction(x) and x.__module__.partition(".")[0] == "jax"


def _calls(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        if _is_call(equation):
            yield equation
        for inner in inner_jaxprs(equation):
            yield from _calls(inner)


def _is_call(equation: Any) -> bool:
    name = equation.primitive.name
    return "callback" in name or name == "debug_print"


def is_primitive(x: object) -> bool:
    """Whether this is an operation of JAX, whose rules are in tables of JAX's."""
    cls = type(x)
    return cls.__name__ == "Primitive" and cls.__module__.partition(".")[0] == "jax"


# What JAX raises for a conditional under `vmap` whose branches have effects, as draws
# are to it. The class is all there is to know it by: the text differs by release.
RefusedEffectsError = NotImplementedError


def communicates(jaxpr: Any) -> bool:
    """Whether a jaxpr has a collective operation such as `psum`."""
    return any(
        (equation.primitive.name in _COLLECTIVES and bool(_parameters(equation)))
        or any(map(communicates, inner_jaxprs(equation)))
        for equation in jaxpr.eqns
    )


_COLLECTIVES = {
    "psum", "psum2", "psum_invariant", "psum_scatter", "reduce_scatter", "all_gather",
    "all_gather_invariant", "all_to_all", "ppermute", "pbroadcast",
}  # fmt: skip


@piece(
    uses="NamedAxisEffect, among the effects of a jaxpr and its equations",
    without="nothing for operations of JAX; those of other libraries are not seen",
)
def axis_effects() -> bool | None:
    def seen() -> Any:
        make: Any = jax.make_jaxpr
        return make(lambda x: jax.lax.psum(x, "i"), axis_env=[("i", 2)])(np.float32(1))

    jaxpr = outside_of_tracing(seen).jaxpr
    found = [_effects(jaxpr), _effects(jaxpr.eqns[0])]
    return True if found == [frozenset({"i"})] * 2 else None


def _effects(x: Any) -> frozenset[Any]:
    """The axes among the effects of a jaxpr or an equation."""
    effects: Any = getattr(x, "effects", ())
    named = (e for e in effects if type(e).__name__ == "NamedAxisEffect")
    return frozenset(effect.name for effect in named)


def _parameters(equation: Any) -> frozenset[Any]:
    """The axes among the parameters of an equation; numbers are axes of arrays."""
    named: set[Any] = set()
    for parameter in ("axes", "axis_name", "names"):
        value = equation.params.get(parameter) or ()
        named.update(value if isinstance(value, (tuple, list, frozenset)) else [value])
    return frozenset(name for name in named if not isinstance(name, int))


def _over_equations(
    jaxpr: Any, named: Callable[[Any], frozenset[Any]]
) -> frozenset[Any]:
    """The axes that innermost equations name."""
    found: set[Any] = set()
    for equation in jaxpr.eqns:
        inner = list(inner_jaxprs(equation))
        for one in inner:
            found |= _over_equations(one, named)
        if not inner:
            found |= named(equation)
    return frozenset(found)


def inner_jaxprs(equation: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation."""
    for value in equation.params.values():
        for x in value if isinstance(value, (tuple, list)) else [value]:
            if is_jaxpr(x):
                yield getattr(x, "jaxpr", x)


def is_jaxpr(x: Any) -> bool:
    """Whether a parameter is code, with its constants or without."""
    return hasattr(getattr(x, "jaxpr", x), "eqns")
