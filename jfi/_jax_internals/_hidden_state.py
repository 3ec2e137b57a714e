"""A stream of random keys as mutable input of whatever JAX traces.

Two cells, subclasses of JAX's `Ref`, hold the state: the words of a key, and how many
draws were made of it. Traced code captures them, and one primitive, `next_key`, reads
and advances them, with rules for each transformation. A program that plain JAX compiles
asks the cells for their values at each execution; `Staged` makes the state an ordinary
argument and result instead.

Checked in JAX 0.10.2 and 0.12.0: `Ref`, `discharge_state` and the tables of rules named
below are not documented. `hidden_state` proves this module at first use. Where it
fails, jfi's own tools do without it, and plain JAX can't draw.

Things that don't work, and why (JAX 0.10.2):

- A plain `jax.Ref` for the state, which is how JAX's own `stateful_rng` does it
  (jax-ml/jax#28845). A write to it under `vmap` raises, and so does a `cond` under
  `vmap` (jax-ml/jax#39290). `addupdate` breaks under `grad`. A program that uses one
  has no fast path in C++: 180 us a call in place of 9 us. A program that fails leaves
  the Ref deleted, and every later draw raises "Array has been deleted".
- A tracer of the key in a thread-local variable. JAX keeps the traces of inner
  functions (a scan body at module level) and runs no Python the second time: the
  trace has captured a dead tracer, or a key as a constant. It may capture a cell.
- One cell of three words, key and count together. As the carry of a loop it makes a
  scan of 1000 draws two to three times slower; and under `vmap` a while loop with
  another end in each row passes silently if the batch has as many rows.
- Finding out in the rule for types (`_type`) that something draws: JAX keeps its
  answer, and does not call it again.
"""

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import numpy as np
from jax._src import ad_util, core, custom_derivatives, dtypes
from jax._src.interpreters import ad, batching, partial_eval, pxla
from jax._src.state import discharge
from jax._src.state.types import AbstractRef, ReadEffect, WriteEffect

from ._effects import communicates, inner_jaxprs


class StateSource(Protocol):
    """Whatever hands out random state."""

    def next_key(self) -> Any:
        """The data of the key for one draw, `size / 2` words."""
        ...

    def program_words(self) -> Any:
        """The state for one execution of a program that plain JAX compiled."""
        ...


class KeyRules(Protocol):
    """How keys are made; equal rules make equal keys."""

    def key(self, words: Any, count: Any) -> Any:
        """The data of the key for draw number `count`."""
        ...

    def rows(self, key: Any, size: int) -> Any:
        """The data of a key for each of `size` rows of a batch."""
        ...


class Cell(core.Ref):
    """One part of the state of a source, a uint32 array."""

    committed = _committed = False  # so that it follows the arguments to their device

    def __init__(self, source: StateSource, shape: tuple[int, ...]) -> None:
        super().__init__(AbstractRef(_words(shape)), self)  # type: ignore[no-untyped-call]
        self.source = source

    @property
    def _buf(self) -> "Cell":  # JAX looks for the array of a Ref here
        return self

    @property
    def sharding(self) -> Any:
        return jax.sharding.SingleDeviceSharding(jax.local_devices()[0])

    @property
    def format(self) -> Any:
        raise AttributeError("any format will do")

    def value(self) -> Any:
        return self.source.program_words() if self.shape else np.zeros((), np.uint32)

    def _replace_with(self, value: Any) -> None:
        """Where JAX stores the state after an execution: each begins with a new one.

        Kept here, it would chain each execution to the one before, and a failed one
        would spoil all that follow.
        """

    def __repr__(self) -> str:
        return f"<random state of {self.source!r}>"


Cells = tuple[Cell, Cell]


def new_cells(source: StateSource, size: int) -> Cells:
    """The cells of a source: `size` words and a count."""
    return Cell(source, (size,)), Cell(source, ())


def _words(shape: tuple[int, ...]) -> Any:
    return core.ShapedArray(shape, np.dtype(np.uint32))


def _shard_cells(cells: Any, *options: Any) -> Any:
    return pxla.shard_args(*options, [cell.value() for cell in cells])


core.pytype_aval_mappings[Cell] = lambda cell: cell.aval
dtypes.register_canonicalize_value_handler(Cell, None)
pxla.shard_arg_handlers[Cell] = _shard_cells


# ---- the primitive ----

_next_key_p: Any = core.Primitive("next_key")
_next_key_p.is_effectful = lambda params: True


def next_key(cells: Cells, rules: KeyRules) -> Any:
    """The data of the key for the next draw of a source, in traced code."""
    return _next_key_p.bind(*cells, rules=rules)


@_next_key_p.def_impl  # type: ignore[untyped-decorator]
def _run(words: Cell, count: Cell, *, rules: KeyRules) -> Any:
    # Eager code under `grad` or `vmap`: each draw is an execution of its own.
    return words.source.next_key()


@_next_key_p.def_effectful_abstract_eval  # type: ignore[untyped-decorator]
def _type(words: Any, count: Any, *, rules: KeyRules) -> Any:
    return _words((words.shape[0] // 2,)), {
        ReadEffect(0), ReadEffect(1), WriteEffect(1)
    }  # fmt: skip


def _discharge(
    avals: Any, outs: Any, words: Any, count: Any, *, rules: KeyRules
) -> Any:
    return (None, count + np.uint32(1)), rules.key(words, count)


def _batch(axis: Any, cells: Any, _: Any, *, rules: KeyRules) -> Any:
    # JAX asks this rule under every vmap, also where no argument is batched. It does so
    # for `fancy_primitive_batchers` alone: with `primitive_batchers` it asks only where
    # an argument is batched, and cells never are, so all rows would get one key.
    return rules.rows(_next_key_p.bind(*cells, rules=rules), axis.size), 0


def _jvp(cells: Any, _: Any, *, rules: KeyRules) -> Any:
    key = _next_key_p.bind(*cells, rules=rules)
    return key, ad_util.Zero(core.typeof(key).to_tangent_aval())


def _remat(saveable: Any, unknown: Any, instantiate: Any, equation: Any) -> Any:
    # Known, and kept for the backward pass: never drawn a second time.
    return equation, None, [False], [False], []


def _partial_eval(trace: Any, *cells: Any, rules: KeyRules) -> Any:
    key = trace.default_process_primitive(_next_key_p, cells, {"rules": rules})
    kept = trace.effect_handles
    if kept and kept[-1].recipe.primitive is _next_key_p:
        kept[-1] = _KeptDraw(kept[-1])
    return key


class _KeptDraw:
    """A draw that JAX keeps in a scan that is differentiated, also if it is not used.

    JAX's own handle holds the tracers of the cells, which hold the trace, which holds
    the handle: `jax.checking_leaks()` calls that a leak (JAX 0.10.2 and 0.12.0). The
    cells are arguments of the trace, and live as long as it does.
    """

    def __init__(self, handle: Any) -> None:
        self._cells = [weakref.ref(cell) for cell in handle.parents]
        self._recipe = handle.recipe._replace(in_tracers=())

    @property
    def parents(self) -> list[Any]:
        return [cell() for cell in self._cells]

    @property
    def recipe(self) -> Any:
        return self._recipe._replace(in_tracers=tuple(self.parents))


batching.fancy_primitive_batchers[_next_key_p] = _batch
ad.primitive_jvps[_next_key_p] = _jvp
partial_eval.custom_partial_eval_rules[_next_key_p] = _partial_eval
partial_eval.partial_eval_jaxpr_custom_rules[_next_key_p] = _remat


def _discharge_custom_jvp(
    avals: Any, out_avals: Any, *args: Any, call_jaxpr: Any, **_: Any
) -> Any:
    """What is left of a custom_jvp function after differentiation: a plain call.

    Without this rule a custom_jvp function that draws raises under plain `jax.jit`: "No
    state discharge rule implemented for primitive: custom_jvp_call"
    (jax-ml/jax#27470; a rule was proposed in jax-ml/jax#13837). The derivative is
    dropped, as by JAX's rule for custom_vjp, which holds that all differentiation has
    happened by now (jax-ml/jax#31011). Where it has not, what is left refuses.
    """
    cells = [isinstance(aval, AbstractRef) for aval in avals]
    discharged = discharge.discharge_state(call_jaxpr, should_discharge=cells)
    outs = _without_derivatives(discharged, args)
    after = iter(outs[len(out_avals) :])
    return [next(after) if cell else None for cell in cells], outs[: len(out_avals)]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _without_derivatives(jaxpr: Any, args: Any) -> Any:
    return core.jaxpr_as_fun(jaxpr)(*args)


@_without_derivatives.defjvp
def _refuse_derivatives(*_: Any) -> Any:
    # As JAX does for custom_vjp: jfi says it better where it can see it coming.
    message = "a custom_jvp function that draws was differentiated too late"
    raise NotImplementedError(message)


# JAX 0.12 calls a rule with one context where 0.10 passes the types of what goes in and
# out, and can strip the memory spaces of Refs, of which the cells have none.
_HAS_CONTEXT = hasattr(discharge, "DischargeContext")


def _discharge_rule(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule in the form that this release of JAX calls."""
    if not _HAS_CONTEXT:
        return rule
    return lambda context, *args, **params: rule(
        context.in_avals, context.out_avals, *args, **params
    )


_discharge_rules: Any = discharge._discharge_rules  # pyright: ignore[reportPrivateUsage]
_discharge_rules[_next_key_p] = _discharge_rule(_discharge)
# JAX has no such rule; programs that fail without it are all that it changes.
_discharge_rules.setdefault(
    custom_derivatives.custom_jvp_call_p, _discharge_rule(_discharge_custom_jvp)
)


def captured_sources() -> list[Any]:
    """The sources whose cells the innermost `jit` in progress has captured."""
    values = core.trace_ctx.trace.frame.constvar_to_val.values()
    return sources_among(values)


def sources_among(values: Any) -> list[Any]:
    """The sources whose cells are among these."""
    return list(dict.fromkeys(x.source for x in values if isinstance(x, Cell)))


# ---- state as an argument and a result ----


class Staged:
    """A function of arrays, traced, with the random state that it uses taken out."""

    def __init__(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        closed, out = jax.make_jaxpr(f, return_shape=True)(*args)
        self._consts = closed.consts
        self._out: Any = jax.tree.structure(out)
        self._jaxpr = partial_eval.convert_constvars_jaxpr(closed.jaxpr)
        self.sources = sources_among(self._consts)

    def draws(self, source: StateSource) -> int | None:
        """How many keys it takes of a source; None if that depends on the data."""
        variables = zip(self._jaxpr.invars, self._consts, strict=False)
        counts = {v for v, x in variables if _is_count(x, source)}
        return _draws(self._jaxpr, counts)

    @property
    def loses_derivatives(self) -> bool:
        """Whether it draws in a loop, a branch ... beside custom_jvp or custom_vjp.

        JAX drops the rules of such functions where it takes the state out of a jaxpr.
        """
        drawing = [e for e in self._jaxpr.eqns if _draws_at_all(e)]
        return any(map(_has_custom_derivatives, drawing))

    @property
    def communicates(self) -> bool:
        """Whether it has a collective operation such as `psum`."""
        return communicates(self._jaxpr)

    def __call__(
        self, states: dict[Any, tuple[Any, Any]], args: Sequence[Any]
    ) -> tuple[Any, dict[Any, Any]]:
        """Run it from the states (words and count) given: results and last counts."""
        cells = [x for x in self._consts if isinstance(x, Cell)]
        values = [
            states[x.source][not x.shape] if isinstance(x, Cell) else x
            for x in self._consts
        ]
        is_cell = [isinstance(x, Cell) for x in self._consts] + [False] * len(args)
        # Not `discharge_state`, which drops the rules of all custom_jvp functions.
        outs = _evaluate(self._jaxpr, is_cell, (), *_STRIPPED, *values, *args)
        after = zip(cells, outs[len(self._jaxpr.outvars) :], strict=True)
        counts = {cell.source: x for cell, x in after if not cell.shape}
        return self._out.unflatten(outs[: len(self._jaxpr.outvars)]), counts


_evaluate: Any = discharge._eval_jaxpr_discharge_state  # pyright: ignore[reportPrivateUsage]
_STRIPPED = (False,) if _HAS_CONTEXT else ()


def _is_count(x: Any, source: Any) -> bool:
    return isinstance(x, Cell) and x.source == source and not x.shape


def _draws(jaxpr: Any, counts: set[Any]) -> int | None:
    """How often equations advance the counts among the variables of a jaxpr."""
    total = 0
    for equation in jaxpr.eqns:
        found = [i for i, v in enumerate(equation.invars) if _among(v, counts)]
        if not found:
            continue
        if equation.primitive is _next_key_p:
            total += 1
            continue
        n = _draws_inside(equation, found)
        if n is None:
            return None
        total += n
    return total


def _among(variable: Any, counts: set[Any]) -> bool:
    return not isinstance(variable, core.Literal) and variable in counts


def _draws_inside(equation: Any, found: list[int]) -> int | None:
    """The draws of an equation that runs other jaxprs; `found` are its arguments."""
    params = equation.params

    def inside(jaxpr: Any, skipped: int = 0) -> int | None:
        inner = getattr(jaxpr, "jaxpr", jaxpr)
        return _draws(inner, {inner.invars[i - skipped] for i in found})

    match equation.primitive.name:
        case "scan":
            n = inside(params["jaxpr"])
            return n and n * params["length"]
        case "cond":
            ns = {inside(branch, skipped=1) for branch in params["branches"]}
            return ns.pop() if len(ns) == 1 else None
        case name if name in _CALLS:
            return inside(
                params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]
            )
        case _:  # a while loop, or what runs its jaxpr we don't know how often
            return None


# They run one jaxpr once, with all their arguments.
_CALLS = {
    "jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2",
    "custom_jvp_call", "custom_vjp_call",
}  # fmt: skip


def _draws_at_all(equation: Any) -> bool:
    return any(isinstance(effect, WriteEffect) for effect in equation.effects)


def _has_custom_derivatives(equation: Any) -> bool:
    if equation.primitive.name in ("custom_jvp_call", "custom_vjp_call"):
        return True
    return any(
        _has_custom_derivatives(e)
        for jaxpr in inner_jaxprs(equation)
        for e in jaxpr.eqns
    )
