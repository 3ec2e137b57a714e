"""Functions that came from another process: all copies of one share what was compiled.

A cluster sends functions of a script by value. Each task makes them anew: other code
objects, other dicts of global variables, other functions in the same classes, with the
same in them. What was compiled is found by a function's code, and then, as always, by
the graph of the call, which has all that the function reads.

A graph identifies functions by their dicts of variables, and methods by themselves.
That of a copy identifies them by what is in them (`portable`). The code that recognises
the calls of one copy is written with its own dicts (`of_this_copy`). Data, and what a
task changes in its variables, are those of each copy: to share the functions themselves
would be simpler, and wrong for two tasks that count in a global variable.

What copies can't share is compared by `is`, and compiled anew for each: a function of
`jax.jit`, a generator of random numbers.
"""

import dataclasses
import functools
import types
from typing import Any

from .._values import KeyedValue
from ._graphs import Node, Opened
from ._reading import Assumed, copied_module
from .kinds._classes import of_copies
from .kinds._classify import CLASS, FUNCTION, PLAIN, VARIABLES
from .kinds._functions import BodyKind, in_module


MAX_FUNCTIONS = 128  # that came from other processes, of which programs are kept


@dataclasses.dataclass
class Known:
    """What is known of a function, and of all its copies, besides its code."""

    assumed: Assumed

    def of_a_call(self) -> Assumed:
        """What is assumed in the next call."""
        assumed = self.assumed
        if assumed.exact:  # in this one alone
            self.assumed = assumed._replace(exact=False)
        return assumed


def code_of(fn: Any) -> Any:
    """The code of a function, also of a partial one; the class of another callable.

    It is hashable. Python compares code by what it does: that of a copy is equal.
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(getattr(fn, "__func__", fn), "__code__", type(fn))


def portable(opened: Opened) -> Opened:
    """A call that holds no copies: they are compared by what they are.

    Its program may be traced again for another call, with other shapes. By then the
    task of this one may have put other values into its variables.
    """
    graph = tuple(
        (kind, _portable_part(opened, node, x), children)
        for node, x in zip(opened.graph, opened.objects, strict=True)
        for kind, _, children in (node,)
    )
    return opened._replace(graph=graph, of_copy=True)


def of_this_copy(opened: Opened) -> Opened:
    """The same call with the variables and functions of its own copies."""
    graph = tuple(
        (kind, _own_part(node, x), children)
        for node, x in zip(opened.graph, opened.objects, strict=True)
        for kind, _, children in (node,)
    )
    return opened._replace(graph=graph)


def _portable_part(opened: Opened, node: Node, x: Any) -> Any:
    kind, part, children = node
    if kind is VARIABLES:
        module = copied_module(x.all)
        if module is None:
            return part
        names = [k for k in x.all if k.startswith("__")]
        for name, child in zip(part[1], children, strict=True):
            if opened.graph[child][0].is_fixed:  # then code may be run with this dict
                names.append(name)
        return KeyedValue(module, {k: x.all[k] for k in names}), *part[1:]
    if kind is CLASS:
        return *part[:2], of_copies(part[2])
    if isinstance(kind, BodyKind):
        return _part_of_function(part[0], x.fn), bool(part[1])
    return _part_of_function(part, x) if kind in (FUNCTION, PLAIN) else part


def _part_of_function(part: Any, fn: types.FunctionType) -> Any:
    module = copied_module(fn.__globals__)
    if module is None:
        return part
    code, constant, names, own, *cells = part
    value = constant.value
    if own:  # else it is run with these very variables: of a library
        named = {"__name__": fn.__globals__.get("__name__")}
        bare = in_module(fn, code, named)
        value = bare if not cells else (named, *value[1:])
    return code, KeyedValue(module, value), names, own, *cells


def _own_part(node: Node, x: Any) -> Any:
    kind, part, _ = node
    if kind is VARIABLES:
        return KeyedValue(id(x.all), x.all), *part[1:]
    if kind in (FUNCTION, PLAIN) or isinstance(kind, BodyKind):
        return kind.split(x)[0]
    return part  # code that recognises classes is made without their functions' keys
