"""SciPy's arguments that a function of `jfi.scipy` does not have.

A call that Python can't bind is looked at here, so that other calls pay nothing. What
makes no difference is left out of the call: a default of SciPy's, `check_finite=`. An
argument by position that has a name only here is passed by its name. All else is
refused, with what to write: `_scipy_lines` has the lines.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar

from .._advice import hide_frames
from ._scipy_lines import ALIKE, IDLE, INSTEAD, RENAMED, USUAL


P = ParamSpec("P")
R = TypeVar("R")
_Arguments: TypeAlias = tuple[list[Any], dict[str, Any]]
_Signature: TypeAlias = inspect.Signature
_Parameter = inspect.Parameter


def knows_scipy(
    name: str, like: Callable[..., Any] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that stands for one of SciPy.

    It also hides frames, as `hiding_frames` does.

    Args:
        name: The function in SciPy, such as "optimize.root".
        like: The function whose parameters count; None for the one that is decorated.
    """

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(fn)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            again: Any = None
            try:
                return fn(*args, **kwargs)
            except Exception as error:
                if type(error) is TypeError:
                    again = _translated(name, like or fn, args, kwargs)
                if again is None:
                    hide_frames(error)
                    raise
            if isinstance(again, str):
                raise TypeError(again)
            anew: Any = called
            found: R = anew(*again[0], **again[1])
            return found

        return called

    return decorate


def knowing_scipy(
    place: str, functions: Iterable[Callable[..., Any]]
) -> dict[str, Callable[..., Any]]:
    """Functions of others that stand for those of a module of SciPy, by their names."""
    made = {f.__name__: knows_scipy(f"{place}.{f.__name__}")(f) for f in functions}
    for function in made.values():  # where pickle finds them
        function.__module__ = f"jfi.scipy.{place}"
    return made


def _translated(
    name: str, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> _Arguments | str | None:
    """The arguments of a call of SciPy's for `fn`; a refusal; or None.

    None, if the call fits `fn`, or would not fit SciPy's function either.
    """
    own, theirs = inspect.signature(fn), _signature_of_scipy(name)
    if theirs is None:
        return None
    lines = INSTEAD.get(name, {})
    known = {**dict.fromkeys(lines, _Parameter.empty), **_defaults(theirs)}
    if _fits(own, args, kwargs) and not _lacking(own, known, kwargs):
        return None
    named = _named(name, own, theirs, args, kwargs)
    if named is None:
        return None
    by_position, by_name = named
    for word in _lacking(own, known, by_name):
        if word not in known:
            return None  # SciPy has no such argument: Python says so
        idle = word in IDLE or (word in lines and lines[word] is None)
        if not idle and not _is_usual(
            by_name[word], (known[word], *ALIKE.get(word, ()))
        ):
            return _refusal(name, word)
        del by_name[word]
    return named if _fits(own, by_position, by_name) else None


def _lacking(
    own: _Signature, known: Mapping[str, Any], given: Iterable[str]
) -> list[str]:
    """The words that a function does not have, or takes for options of another kind."""
    taken = [k for k, p in own.parameters.items() if p.kind in _BY_NAME]
    takes_options = any(p.kind is p.VAR_KEYWORD for p in own.parameters.values())
    return [w for w in given if w not in taken and (w in known or not takes_options)]


def _named(
    name: str,
    own: _Signature,
    theirs: _Signature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> _Arguments | None:
    """The arguments, by the names that they have here.

    Those that are too many by position here get SciPy's names, if it has the same
    parameters in front.
    """
    positional, order = _positional(own), _positional(theirs)
    if positional[:1] == ["self"]:
        order = ["self", *order]
    most = len(positional)
    by_position, by_name = list(args[:most]), dict(kwargs)
    words = order[most : len(args)]
    if len(args) > most:
        if positional != order[:most] or len(words) < len(args) - most:
            return None
        if not by_name.keys().isdisjoint(words):
            return None  # twice
        by_name.update(zip(words, args[most:], strict=True))
    renamed = RENAMED.get(name, {})
    for word in [word for word in by_name if word not in own.parameters]:
        other = renamed.get(word) or _at_same_place(word, own, order)
        if other is None:
            continue
        if other in by_name or other in positional[: len(by_position)]:
            return None  # twice
        by_name[other] = by_name.pop(word)
    return by_position, by_name


def _at_same_place(word: str, own: _Signature, order: list[str]) -> str | None:
    """The parameter here, one that is needed, that SciPy calls by another word."""
    place = order.index(word) if word in order else len(order)
    for found in list(own.parameters.values())[place : place + 1]:
        if found.default is found.empty and found.name not in order:
            return found.name
    return None


_BY_POSITION = (_Parameter.POSITIONAL_ONLY, _Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (_Parameter.POSITIONAL_OR_KEYWORD, _Parameter.KEYWORD_ONLY)
_NAMED = (*_BY_POSITION, _Parameter.KEYWORD_ONLY)


def _positional(signature: _Signature) -> list[str]:
    return [k for k, p in signature.parameters.items() if p.kind in _BY_POSITION]


def _fits(
    signature: _Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _signature_of_scipy(name: str) -> _Signature | None:
    place, _, own = name.rpartition(".")
    try:
        home: Any = importlib.import_module(f"scipy.{place}")
    except ImportError:  # no SciPy here, or a distribution: scipy.stats.norm
        place, _, distribution = place.rpartition(".")
        try:
            module = importlib.import_module(f"scipy.{place}".rstrip("."))
        except ImportError:
            return None
        home = getattr(module, distribution, None)
    try:
        return inspect.signature(getattr(home, own))
    except (AttributeError, TypeError, ValueError):  # not in it, or written in C
        return None


def _defaults(signature: _Signature) -> dict[str, Any]:
    return {k: p.default for k, p in signature.parameters.items() if p.kind in _NAMED}


def _is_usual(value: Any, usual: tuple[Any, ...]) -> bool:
    return any(value is u or (_is_plain(value) and value == u) for u in usual)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str, tuple))


def _refusal(name: str, word: str) -> str:
    """What to write in place of an argument."""
    line = INSTEAD.get(name, {}).get(word) or USUAL.get(word)
    if line is None:
        line = (
            "SciPy's own runs on the CPU; write: "
            f"jnp.from_numpy(scipy.{name})(..., {word}=...)"
        )
    return f"{name.rpartition('.')[2]}() takes no {word}= of SciPy's. {line}"
