"""What `autojit` says when it can't do what it is asked for."""

import functools
import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

import jax
from jax.core import Tracer

from .._advice import advice_on_tracers, has_advice, mark_advised
from .._errors import AutoJitError, JfiError
from .._random.traced import FoundDraws
from .._values import NEEDS_VALUE, function_name, is_traced_text
from ._graphs import Opened, paths
from ._keeping import NumbersError
from ._numbers import varying
from ._reading import Mode
from ._watching import UnwatchedError
from .kinds._classify import ARRAY, SCALAR
from .kinds._flax import advice_on_nnx


def refuse_uncompilable(fn: Any) -> None:
    """Refuse what can't be decorated, with what to write instead."""
    name = function_name(fn)
    if isinstance(fn, type):
        raise AutoJitError(
            f"autojit() got the class {fn.__name__}, and compiles functions.\n"
            f"Decorate its methods instead: @autojit above `def step(self, ...)`."
        )
    if isinstance(fn, (property, functools.cached_property)):
        raise AutoJitError(
            f"autojit() got a {type(fn).__name__}.\n"
            "Write it the other way round: @property first, @autojit below it."
        )
    if not callable(fn):
        raise AutoJitError(
            f"autojit() got {fn!r} (a {type(fn).__name__}), and compiles functions.\n"
            "Write @autojit above a function, or @autojit(option=...)."
        )
    if inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
        raise AutoJitError(
            f"autojit() got the async function {name}(), which can't be compiled.\n"
            "Compile the function that computes, and call it from the async one."
        )
    if inspect.isgeneratorfunction(fn):
        raise AutoJitError(
            f"autojit() got the generator function {name}(), which can't be compiled.\n"
            "Collect the values and return them: return jnp.stack(values)."
        )


class UnreturnedError(UnwatchedError):
    """What is returned or stored can't be made of arrays at each call."""


class _TracedTextError(UnreturnedError):
    """It holds the text of a value that is not known yet."""


def refuse_traced_text(name: str, opened: Opened) -> None:
    """Refuse what a function returns or stores, if data in it was written as text."""
    for text in opened.objects:
        if is_traced_text(text):
            raise _TracedTextError(
                f"{name}() made the text {text!r}: data was written as text while "
                "the function was compiled, when it has no value.\n"
                "Return the data and write it outside the function."
            )


_MAY_BE_CHECKS = (
    TypeError, ValueError, LookupError, AttributeError, AssertionError, RuntimeError,
)  # fmt: skip


def needed_numbers(error: Exception, opened: Opened) -> list[int]:
    """The traced values, by node, of which the code that failed may need the value.

    Numbers, and arrays that functions read outside.

    JAX names them; what Python says of `(0.1).is_integer()` or of `table[str(x)]`, and
    what the user's own code says after a check with `isinstance(x, float)`, does not.
    """
    if isinstance(error, NumbersError):
        return error.nodes
    if isinstance(error, JfiError) and isinstance(error.__cause__, NEEDS_VALUE):
        error = error.__cause__  # a function of jfi that says what it needs a value for
    nodes = opened.leaf_nodes()
    named = _named_leaves(error)
    if isinstance(error, JfiError):
        may_need = isinstance(error, _TracedTextError)
    else:
        may_need = isinstance(error, _MAY_BE_CHECKS) or _is_of_others(error)
    if not may_need:
        return varying(opened)
    if named:
        nodes = [nodes[k] for k in named]
    found = [
        i
        for i in nodes
        if opened.modes[i] is not Mode.DATA
        if opened.graph[i][0] is SCALAR or _is_outside(opened, i)
    ]
    return found or varying(opened)


def _is_of_others(error: Exception) -> bool:
    """Whether an error is of a class of the user's, or of a checker (beartype)."""
    top = type(error).__module__.partition(".")[0]
    return top not in ("builtins", "jax", "jaxlib", "jfi", "numpy")


def _is_outside(opened: Opened, i: int) -> bool:
    """Whether a node is an array that functions read outside, as a constant of theirs.

    It is data as long as their code does not mind: `np.sin(GRID)` is the habit of who
    takes what stands in a module for constant.
    """
    known = not isinstance(opened.objects[i], (Tracer, jax.Ref))
    return opened.graph[i][0] is ARRAY and opened.outside[i] and known


def _named_leaves(error: Exception) -> list[int]:
    """The leaves that JAX's message says it is about."""
    if not isinstance(error, NEEDS_VALUE):
        return []
    return _leaves_in(error)


def _leaves_in(error: Exception) -> list[int]:
    return sorted({int(i) for i in re.findall(r"leaves\[(\d+)\]", str(error))})


def is_of_body(error: Exception) -> bool:
    """Whether an error of a trace is the body's, which plain Python may raise, too."""
    if isinstance(error, UnreturnedError):
        return True
    of_jfi = isinstance(error, (JfiError, Warning, *NEEDS_VALUE, FoundDraws))
    if isinstance(error, FloatingPointError):  # of jax_debug_nans, which has found one
        return False
    return not of_jfi and not has_advice(error) and advice_on_tracers(error) is None


def rewrite_for_user(error: Exception, opened: Opened, names: Sequence[str]) -> None:
    """Tell JAX's error in the user's names: which argument, which line, what to write.

    The error keeps its class, and JAX's text below ours.
    """
    if has_advice(error):
        return
    of_nnx = advice_on_nnx(error, names[0])
    if of_nnx is not None:
        mark_advised(error)
        error.args = (of_nnx,)
    better = advice_on_tracers(error)
    if better is None and not isinstance(error, NEEDS_VALUE):
        return
    nodes = opened.leaf_nodes()
    where = paths(opened.graph, opened.objects, names)
    leaves = {f"leaves[{k}]": where[i] for k, i in enumerate(nodes)}
    culprits = [where[nodes[k]] for k in _leaves_in(error)]
    if not culprits and better is not None:
        return  # who called gets these words alone
    what = f"the value of {' and '.join(culprits)}" if culprits else "a value"
    roots = sorted({re.split(r"[.\[]", path)[0] for path in culprits} & set(names[1:]))
    static = f'@autojit(static="{roots[0]}")' if roots else '@autojit(static="...")'
    mark_advised(error)
    theirs = re.sub(r"leaves\[\d+\]", lambda m: leaves.get(m[0], m[0]), str(error))
    error.args = (
        f"Python code in {names[0]}() needs {what}, which is data and has no value "
        f"while the function is compiled.\n{better or _GENERAL}\n"
        f"If it is a setting, pass a Python int, bool or float, or write {static}.\n\n"
        f"JAX says: {theirs}",
    )


def used_after_all(function: str, unused: Iterable[str]) -> AutoJitError:
    """The error for code that uses what the user said it does not use."""
    names = ", ".join(sorted(unused))
    return AutoJitError(
        f"{function}() uses an attribute that @autojit(unused=...) says it does not "
        f"use: {names}.\nLeave out those that it uses."
    )


def replaced_defaults(function: str) -> str:
    """What the error says of a function that has got other defaults."""
    return (
        f"The defaults of {function}() were replaced after autojit({function}), which "
        f"still passes the old ones.\nCall autojit({function}) again after that."
    )


_GENERAL = "For np.f(x), write jnp.f(x)."  # where the user's line is not known
