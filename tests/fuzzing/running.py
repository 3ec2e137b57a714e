"""Runs a script with jfi's tools and with plain Python's, and compares all there is."""

import contextlib
import dataclasses
import functools
import itertools
import linecache
import os
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

import jfi

from .floats import FloatCase
from .scripts import Case, smaller
from .threads import ThreadCase


# What jfi or JAX says no to, in words: the promise is kept.
REFUSALS = (
    jfi.JfiError,
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
AnyCase = Case | FloatCase | ThreadCase
PLAIN = "fuzzing.plain"
NOT_COMPARED = ("show", "tools", "plain", "run")  # plain is run, or is not
_names = itertools.count()


@dataclasses.dataclass
class Run:
    """What one run of a script gave.

    Attributes:
        shown: The results of the calls.
        left: What its global variables were at the end.
        error: What ended it.
        cell: Where that was, or the last.
    """

    shown: list[Any]
    left: Any = None
    error: BaseException | None = None
    cell: int = 0


@dataclasses.dataclass
class Verdict:
    """What became of a case.

    Attributes:
        kind: "same", "refused", "different", or "broken": plain Python can't run it.
        reason: The first difference, or the error.
    """

    kind: str
    reason: str = ""


def workable(case: AnyCase) -> AnyCase:
    """A case without the steps that plain Python can't take, such as tuples' append."""
    while True:
        done = run(dataclasses.replace(case, cells=True), PLAIN)
        if done.error is None or done.cell < case.first_step:
            return case
        last = done.cell - case.first_step
        while last and not case.steps[last].what:  # the call can't: what is before it
            last -= 1
        steps = case.steps[:last] + case.steps[last + 1 :]
        case = dataclasses.replace(case, steps=steps)


def verdict(case: AnyCase, tools: str = "jfi") -> Verdict:
    """Run a case both ways."""
    expected = run(case, PLAIN)
    if expected.error is not None:
        return Verdict("broken", _words(expected.error))
    got = run(case, tools)
    shown = expected.shown[: len(got.shown)] if got.error else expected.shown
    reason = difference(shown, got.shown, "result")
    if reason:
        return Verdict("different", reason)
    if got.error is not None:
        kind = "refused" if isinstance(got.error, REFUSALS) else "different"
        return Verdict(kind, f"call {len(got.shown) + 1}: {_words(got.error)}")
    reason = difference(expected.left, got.left, "at the end")
    return Verdict("different", reason) if reason else Verdict("same")


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip()[:300]}"


def run(case: AnyCase, tools: str) -> Run:
    """Run a script in a fresh module, with the tools of a module."""
    parts = case.parts()
    if not case.cells:
        parts = ["\n".join(parts)]
    name = f"fuzz_script_{next(_names)}"
    module = types.ModuleType(name)
    done = Run([])
    vars(module)["show"] = lambda value: done.shown.append(frozen(value))
    with _left_as_found(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of compiling often, of running uncompiled
        sys.modules[name] = module
        try:
            for n, part in enumerate(parts):
                done.cell = n
                part = part.replace("import jfi as tools", f"import {tools} as tools")
                file = f"<{name}, cell {n}>"
                linecache.cache[file] = len(part), None, part.splitlines(True), file
                exec(compile(part, file, "exec"), vars(module))
        except Exception as error:
            done.error = error
        done.left = frozen(
            {
                key: value
                for key, value in sorted(vars(module).items())
                if not key.startswith("__") and key not in NOT_COMPARED
            }
        )
    return done


@contextlib.contextmanager
def _left_as_found() -> Iterator[None]:
    """Modules and environment variables are as before."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.startswith("fuzz_")]:
            del sys.modules[name]
        for name in [name for name in linecache.cache if name.startswith("<fuzz_")]:
            del linecache.cache[name]
        os.environ.clear()
        os.environ.update(before)


# ---- what is compared ----


def frozen(value: Any) -> Any:
    """What a value is now, with all that can be got at: nested tuples to compare.

    Mutable things have numbers in the order in which they are met, so that two names of
    one object differ from two objects.
    """
    return _frozen(value, {}, [])


def _frozen(value: Any, numbers: dict[int, int], alive: list[Any]) -> Any:
    inside = lambda value: _frozen(value, numbers, alive)
    if isinstance(value, jax.core.Tracer):
        return "leaked tracer", str(value.aval)
    if isinstance(value, (bool, int, float, np.generic, jax.Array)):
        return _number(value)
    if value is None or isinstance(value, (str, bytes, range)):
        return type(value).__name__, value
    if isinstance(value, tuple):
        return "tuple", tuple(map(inside, value))
    if id(value) in numbers:
        return "seen", numbers[id(value)]
    numbers[id(value)] = len(numbers)
    alive.append(value)  # so that no other object gets its id
    if isinstance(value, np.ndarray):
        return _number(value)
    if isinstance(value, dict):
        pairs = ((_key(key), inside(item)) for key, item in value.items())
        return type(value).__name__, tuple(pairs), inside(_vars(value))
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, tuple(sorted(map(repr, value)))
    if isinstance(value, list) or type(value).__name__ == "deque":
        return type(value).__name__, tuple(map(inside, value))
    return _of_object(value, inside)


def _of_object(value: Any, inside: Any) -> Any:
    while _is_of_tool(value):
        value = value.__wrapped__
    if isinstance(value, types.FunctionType):
        cells = tuple(
            inside(cell.cell_contents)
            for cell in value.__closure__ or ()
            if _full(cell)
        )
        state = value.__defaults__, value.__kwdefaults__, vars(value)
        if value.__module__ == __name__ or not value.__module__:
            return "function"
        return "function", value.__qualname__, cells, inside(state)
    if isinstance(value, types.MethodType):
        return "method", inside(value.__func__), inside(value.__self__)
    own = str(getattr(value, "__module__", None) or type(value).__module__)
    if isinstance(value, types.ModuleType):
        own = value.__name__
    if isinstance(value, type):
        if not own.startswith("fuzz_"):
            return "class", value.__qualname__
    elif not own.startswith("fuzz_") and not isinstance(value, types.SimpleNamespace):
        return "object of", type(value).__qualname__
    attributes = {
        name: item
        for name, item in vars(value).items()
        if not (name.startswith("__") or isinstance(item, types.GetSetDescriptorType))
    } if type(value).__dictoffset__ else {}  # fmt: skip
    for name in getattr(type(value), "__slots__", ()):
        attributes[name] = getattr(value, name, None)
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    ordered = attributes if not isinstance(value, type) else sorted(attributes.items())
    return "object", name, inside(dict(ordered))


def _is_of_tool(value: Any) -> bool:
    """Whether it stands for the function that plain Python has there."""
    if isinstance(value, functools._lru_cache_wrapper):
        return True
    if not isinstance(value, types.FunctionType):
        return False
    return str(value.__globals__.get("__name__")).startswith("jfi.")


def _full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _vars(value: Any) -> Any:
    return vars(value) if type(value).__dictoffset__ else None


def _key(key: Any) -> Any:
    return repr(key) if isinstance(key, (str, bytes, int, float, bool)) else str(key)


def _number(value: Any) -> Any:
    array = np.array(value)  # a copy: it may be written later
    return "number", array.dtype.kind, array


def difference(expected: Any, got: Any, where: str) -> str:
    """The first difference, in words; empty if there is none."""
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        if expected[:1] == ("number",) and got[:1] == ("number",):
            return _different_numbers(expected, got, where)
        if len(expected) == len(got):
            for n, (a, b) in enumerate(zip(expected, got, strict=True)):
                below = f"{where} {n + 1}" if where == "result" else _below(where, n, a)
                reason = difference(a, b, below)
                if reason:
                    return reason
            return ""
    elif type(expected) is type(got) and bool(expected == got):
        return ""
    return f"{where}: plain Python {_short(expected)}, jfi {_short(got)}"


def _below(where: str, n: int, item: Any) -> str:
    named = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
    return f"{where}.{item[0]}" if named and item[0].startswith("'") else where


def _different_numbers(expected: Any, got: Any, where: str) -> str:
    (_, kind, a), (_, other, b) = expected, got
    same = a.shape == b.shape and kind == other
    if same and kind in "fc":
        same = np.allclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)
    elif same:
        same = bool((a == b).all())
    return "" if same else f"{where}: plain Python {a!r}, jfi {b!r}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "..."


# ---- the smallest script that still goes wrong ----


def shrunk(
    case: AnyCase, found: Verdict, tools: str = "jfi", attempts: int = 60
) -> tuple[AnyCase, Verdict]:
    """A smaller script with a difference.

    Args:
        case: A script.
        found: What became of it.
        tools: The module whose tools it was run with.
        attempts: How many scripts to try.
    """
    progress = True
    while progress and attempts > 0:
        progress = False
        less = smaller(case) if isinstance(case, Case) else case.smaller()
        for candidate in less:
            attempts -= 1
            again = verdict(candidate, tools)
            if again.kind == found.kind:
                case, found, progress = candidate, again, True
                break
            if attempts <= 0:
                break
    return case, found


def report(case: AnyCase, found: Verdict) -> str:
    """A failure, with all that one needs to look at it."""
    return (
        f"---- seed {case.seed}: {case.label()}\n{found.reason}\n"
        f"---- the script ({'cells' if case.cells else 'in one piece'}):\n{case}"
    )
