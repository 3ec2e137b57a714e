"""The functions of jfi that look for rules: made on first use, one for a name."""

import functools
import importlib
import inspect
import operator
import os
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np

from .._advice import hides_frames, hiding_frames
from .._arrays._torch_words import explains_words
from ._calls import Function, as_called, by_values
from ._custom import all_known, known_beside_numpy, listed, wrappers
from ._data_parameters import with_data_told
from ._meanings import MEANINGS
from ._names import (
    PLACES,
    TORCH,
    decorator_of,
    module_of,
    own_functions,
    rule_name,
)
from ._passed_on import NOT_GIVEN
from ._ufunc_methods import METHODS, method_for_all
from ._words import both, refuse, several
from ._written import written, written_for_any, written_for_ufunc


_Wrapped: TypeAlias = Callable[..., Any]

# Nowhere on the disk, but in jax.numpy's folder: JAX takes these frames for its own,
# leaves them out of tracebacks, and names the user's line as the place of an operation.
_FILE = os.path.join(os.path.dirname(jnp.__file__), "<jfi.{}>")
# What ufuncs have beside their methods; not `lower` and `trace`, which `jax.jit` would
# copy, and compile the function of JAX in the place of this one.
_OF_UFUNCS = ("identity", "nargs", "nin", "nout")


def function_behind(name: str) -> _Wrapped | None:
    """The function behind a name such as "linalg.det"; None if there is none."""
    place, _, own = name.rpartition(".")
    home: Any
    if name in TORCH:
        home = importlib.import_module(".._torch_names", __package__)
    elif place not in PLACES:
        return None
    elif own in own_functions(place):
        home = importlib.import_module(f"..{own_functions(place)[own]}", __package__)
    else:
        home = importlib.import_module(PLACES[place])
    found: _Wrapped | None = getattr(home, own, None)
    return found if callable(found) and not isinstance(found, type) else None


def wrapped(name: str) -> _Wrapped:
    """The function of jfi with a name such as "linalg.det"."""
    found = _made.get(name)
    if found is None:
        with _lock:  # one for all threads: it is known by identity
            found = _made.get(name) or _made.setdefault(name, _make(name))
    return found


def _make(name: str) -> _Wrapped:
    plain = function_behind(name)
    if plain is None:
        raise AttributeError(f"jfi has no function {name!r}", name=name)
    place, _, own = name.rpartition(".")
    signature = inspect.signature(plain)
    parameters = list(signature.parameters.values())
    if own in own_functions(place):
        parameters = list(map(with_data_told, parameters))
    function = Function(name, rule_name(name), parameters)
    function.meant = _by_meaning(name)
    function.spellings = getattr(plain, "numpy_spellings", {})
    names: dict[str, Any] = {
        "__name__": "jfi",
        "_": NOT_GIVEN,
        "all_known": all_known,
        "array": wrappers[0]["array"],
        "as_called": as_called,
        "both": both,
        "by_values": by_values,
        "function": function,
        "known": known_beside_numpy,
        "listed": listed,
        "ndarray": np.ndarray,
        "original": plain,
        "plain": plain,
        "refuse": refuse,
        "several": several,
        "type_of": type,
    }
    if isinstance(plain, jnp.ufunc):
        text = written_for_ufunc(own, plain.nin)
    elif any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        text = written_for_any(own)
    else:
        words_of = "" if place or name in TORCH else own
        text = written(own, words_of, parameters, names)
    exec(compile(text, _FILE.format(name), "exec"), names)
    made: _Wrapped = names[own]
    decorator = decorator_of(place)
    if decorator:
        made = decorator(name, plain)(made)
    elif hides_frames(plain):
        made = hiding_frames(made)
    elif own in own_functions("") and not place and "**named" not in text:
        made = explains_words(made)  # which never reach the function of jfi itself
    function.names = names
    wrappers.append(names)
    functions[made] = function
    functools.update_wrapper(made, plain, updated=())
    if isinstance(plain, jnp.ufunc):
        vars(made).update({name: getattr(plain, name) for name in _OF_UFUNCS})
        for method in METHODS:
            vars(made)[method] = _method_of(plain, own, method)
    made.__module__ = module_of(name)
    made.__qualname__ = own
    return made


def _method_of(ufunc: Any, name: str, method: str) -> _Wrapped:
    """`jnp.add.reduce`, which pickle finds by this name."""
    made = method_for_all(ufunc, f"{name}.{method}", wrapped)
    made.__module__, made.__qualname__ = module_of(name), f"{name}.{method}"
    return made


def _by_meaning(name: str) -> _Wrapped | None:
    """What calls the function of another name that a name means, if it does."""
    if name not in MEANINGS:
        return None
    target, arguments = MEANINGS[name]

    def call(*args: Any, **named: Any) -> Any:
        found = arguments(*args, **named)
        return (
            NotImplemented if found is None else wrapped(target)(*found[0], **found[1])
        )

    return call


_lock = threading.RLock()
_made: dict[str, _Wrapped] = {}
#: What is behind each wrapper that was made.
functions: dict[_Wrapped, Function] = {}


def _operation(name: str, plain: _Wrapped) -> Function:
    parameters = list(inspect.signature(plain).parameters.values())
    made = Function(name, name, parameters)
    made.names = {"plain": plain, "original": plain}
    return made


def _update(method: str) -> Function:
    def plain(x: Any, index: Any, *values: Any, **named: Any) -> Any:
        return getattr(x.at[index], method)(*values, **named)

    return _operation(f"at.{method}", plain)


#: What custom arrays answer that is no function: `x[index]`, `x.at[index].set(y)`.
OPERATIONS: dict[str, Function] = {
    "getitem": _operation("getitem", operator.getitem),
    **{
        f"at.{method}": _update(method)
        for method in """add apply divide get max min mul multiply power set
        subtract""".split()
    },
}
