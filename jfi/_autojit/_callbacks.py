"""Python code that compiled code calls back: it must not meet clones.

The body of a function is traced on clones of what it captured and was given. A function
for `jax.pure_callback` or `jax.debug.callback` that is one of these, or captured one,
would run later, and read and write what no caller ever sees. So such a body runs
uncompiled. So does one whose callback captured a list or an object that the body has
made: what it writes there the body may read, which has long been traced then. Functions
that capture nothing are themselves in the trace: they may be called back.
"""

import contextlib
import dis
import functools
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeGuard

import jax
from jax.core import Tracer

from .._jax_internals import callbacks_of, replayed, rules_in
from .._values import attributes_of, is_user_function, references
from ._graphs import Opened
from ._opening import may_change
from ._watching import CallsBackError
from .kinds._base import MISSING
from .kinds._classify import BODY, CELL, CUSTOM_RULES, FUNCTION, SHOWN, VARIABLES
from .kinds._variables import Namespace


_NAMES = {
    "callback", "io_callback", "pure_callback",
    "call_host", "from_numpy", "from_torch", "host_call", "jaxify",
}  # fmt: skip
MAX_REACHED = 10_000  # objects of a callback that are looked at


def may_call_back(opened: Opened) -> bool:
    """Whether some code names what calls back, or may make the name of JAX's functions.

    A name may be made of texts, as in `getattr(jax, "pure_" + "callback")`.
    """
    read = opened.read
    if not _NAMES.isdisjoint(read.attributes):
        return True
    if read.whole and any("callback" in text for text in read.texts):
        return True
    return any(
        isinstance(x, types.FunctionType)
        and x.__name__ in _NAMES
        and str(x.__module__).startswith(("jax.", "jfi."))
        for x in opened.objects
    )


def may_have_rules(opened: Opened) -> bool:
    """Whether some code names derivatives of its own, or a value has some."""
    if not _RULES.isdisjoint(opened.read.attributes):
        return True
    return any(kind in CUSTOM_RULES.values() for kind, *_ in opened.graph)


_RULES = {"custom_jvp", "custom_vjp", "defjvp", "defvjp", "defjvps"}


def rules_hold_data(traced: Any) -> bool:
    """Whether rules of derivatives hold data of a trace, which may run after it."""
    return _reaches(rules_in(traced.jaxpr.jaxpr), ())


def refusing_clones(
    trace: Callable[..., Any], leaves: Sequence[Any], function: str, opened: Opened
) -> Any:
    """Trace a body that may call back.

    Args:
        trace: Traces it, given a list for the clones, and the leaves.
        leaves: The arrays.
        function: Its name, for messages.
        opened: The call.

    Raises:
        CallsBackError: It calls back to code that holds clones, or what it has made.
    """
    clones: list[Any] = []
    refused = CallsBackError(function)
    try:
        traced = jax.jit(functools.partial(trace, clones)).trace(*leaves)
    except Exception as error:  # a run to learn its results may have met clones, too
        from .._host import failed_function  # which few scripts need

        failed = failed_function(error)
        if failed is not None and _reaches([failed], _copied(opened, clones)):
            raise refused from None
        raise
    known = {id(x) for x in (*clones, *opened.objects)}
    roots = callbacks_of(traced.jaxpr.jaxpr)
    if _reaches(roots, _copied(opened, clones), known):
        raise refused
    return replayed(traced, leaves)


def _copied(opened: Opened, clones: Sequence[Any]) -> set[int]:
    """The identities of the clones that are copies of what can change."""
    return {
        id(clone)
        for (kind, part, _), clone in zip(opened.graph, clones, strict=False)
        if kind.changeable and kind not in _LOOKED_INTO
        if clone is not MISSING and clone is not kind.itself(part)
    }


# Clones of these matter by what they hold alone.
_LOOKED_INTO = (BODY, CELL, FUNCTION, SHOWN, VARIABLES)


def _reaches(
    roots: Iterable[Any], copied: Collection[int], known: Collection[int] | None = None
) -> bool:
    """Whether some objects hold data or a clone, or write what has a copy.

    Args:
        roots: The objects.
        copied: The clones, by their ids.
        known: What there was before the body ran, likewise: of anything else that can
            change, no function may hold it. None: that does not matter.
    """
    waiting = list(roots)
    met: set[int] = set()
    for x in waiting:  # it grows meanwhile
        if id(x) in met or len(met) > MAX_REACHED:
            continue
        met.add(id(x))
        if id(x) in copied or isinstance(x, Tracer) or _writes_a_copy(x):
            return True
        if known is not None and any(
            id(held) not in known and may_change(held) for held in _held(x)
        ):
            return True
        waiting.extend(_inside(x))
    return False


def _is_of_user(x: Any) -> TypeGuard[types.FunctionType]:
    return isinstance(x, types.FunctionType) and is_user_function(x)


def _held(x: Any) -> Iterator[Any]:
    """What a function of the user's gets with it whenever it runs."""
    if _is_of_user(x):
        yield from x.__defaults__ or ()
        yield from (x.__kwdefaults__ or {}).values()
        for cell in x.__closure__ or ():
            with contextlib.suppress(ValueError):  # the variable has no value yet
                yield cell.cell_contents
    elif isinstance(x, types.MethodType) and _is_of_user(x.__func__):
        yield x.__self__
    elif isinstance(x, functools.partial) and _is_of_user(x.func):
        yield from (*x.args, *x.keywords.values())
    elif isinstance(x, types.BuiltinMethodType):  # `items.append`
        yield x.__self__


def _writes_a_copy(x: Any) -> bool:
    """Whether a function assigns a variable of its module, or one that it captured.

    Or attributes: they may be those of a module or function, of which it met a copy.
    """
    if not isinstance(x, types.FunctionType):
        return False
    if isinstance(x.__globals__, Namespace):
        read = references(x.__code__)
        names = {chain[0] for chain in read.chains}
        if read.written or not _SETTERS.isdisjoint(names) or _sets(x.__code__):
            return True
    return any(
        step.opname == "STORE_DEREF" and step.argval in x.__code__.co_freevars
        for step in dis.get_instructions(x.__code__)
    )


_SETTERS = {"setattr", "delattr"}


def _sets(code: types.CodeType) -> bool:
    """Whether code assigns or deletes attributes, its nested functions included."""
    return any(
        step.opname in ("STORE_ATTR", "DELETE_ATTR")
        for step in dis.get_instructions(code)
    ) or any(_sets(x) for x in code.co_consts if isinstance(x, types.CodeType))


def _inside(x: Any) -> Iterator[Any]:
    """What a value holds that code could reach from it."""
    # Of a Namespace, jfi's copy of a module's variables, only what the code names: all
    # of them would be the whole module.
    if isinstance(x, types.FunctionType):
        yield from (x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__)
        variables = x.__globals__
        if isinstance(variables, Namespace):
            names = {chain[0] for chain in references(x.__code__).chains}
            yield from (variables[name] for name in names if name in variables)
    elif isinstance(x, types.CellType):
        with contextlib.suppress(ValueError):  # the variable has no value yet
            yield x.cell_contents
    elif isinstance(x, types.MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, types.BuiltinMethodType):  # `items.append`
        yield x.__self__
    elif isinstance(x, types.ModuleType) and isinstance(vars(x), Namespace):
        yield vars(x)
    elif isinstance(x, functools.partial):
        yield from (x.func, x.args, x.keywords)
    elif isinstance(x, (list, tuple, set, frozenset)):
        yield from x
    elif isinstance(x, dict):
        yield from x.values()
    elif not isinstance(x, (type, types.ModuleType, jax.Array)):
        yield from attributes_of(x).values()
