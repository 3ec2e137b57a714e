"""What tools return, in modules that are read again while a session goes on.

IPython's `%autoreload` mends what a session has imported: it gives each old function
the code and the attributes of the new one. That is no use to a closure, such as a tool
returns: all of one tool have the same code, and the function of the user's is in its
variables, which Python lets nobody give. So the old one looks which function has the
attributes that it got, and becomes that one.

- A `ShownFunction` sees that attributes are given, and calls the new function inside.
- A function in the body of a class is Python's own, which tells nobody, and must cost
  nothing more at a call. But its old attributes go, and among them one whose end is
  noticed: the function then gets the contents of the new one's variables.
"""

import contextlib
import copy
import functools
import sys
import types
import weakref
from collections.abc import Mapping
from typing import Any


# By the id of their attributes. Those of a `ShownFunction` are those of the function
# inside.
_functions: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


# By their ids. No file tells them: editors compile the user's with that of the old one.
_codes: weakref.WeakValueDictionary[int, types.CodeType] = weakref.WeakValueDictionary()


def remember(function: Any) -> None:
    """Let old functions that get the attributes of this one become it."""
    _functions[id(function.__dict__)] = function
    _codes[id(function.__code__)] = function.__code__


def owner_of(attributes: object) -> Any:
    """The function that has these very attributes; None if a tool made no such one."""
    found = _functions.get(id(attributes))
    return found if found is not None and found.__dict__ is attributes else None


def follow_in_class(function: types.FunctionType, attribute: str) -> None:
    """Let a function in the body of a class follow when it is reloaded.

    Args:
        function: What a tool returns.
        attribute: The name of an attribute of it, which nothing else holds.
    """
    remember(function)
    _when_gone(function, function.__dict__, attribute)


def _when_gone(
    function: types.FunctionType, attributes: Mapping[str, Any], attribute: str
) -> None:
    follow = weakref.finalize(
        attributes[attribute], _follow, weakref.ref(function), attribute
    )
    follow.atexit = False


def _follow(old: "weakref.ref[types.FunctionType]", attribute: str) -> None:
    function = old()
    if function is None:
        return
    new = owner_of(function.__dict__)
    if new is None:
        if not is_of_tool(function.__code__):
            _run_plain(function, attribute)
    elif new is not function and new.__code__ is function.__code__:
        _give_variables(function, new)
        # Attributes of its own: those of both would not go when one gets others.
        mine = copy.copy(new.__dict__[attribute])
        function.__dict__ = {**new.__dict__, attribute: mine}
        follow_in_class(function, attribute)


def _give_variables(function: types.FunctionType, new: types.FunctionType) -> None:
    cells = zip(function.__closure__ or (), new.__closure__ or (), strict=True)
    for cell, other in cells:
        with contextlib.suppress(ValueError):  # the other is empty
            cell.cell_contents = other.cell_contents


def _run_plain(function: types.FunctionType, attribute: str) -> None:
    """Let a function run its code, which the user has written, in the user's module.

    It has lost its decorator, and its own global variables are not those of a module.
    """
    module = sys.modules.get(function.__module__)
    own = sys.modules.get(str(function.__globals__.get("__name__")))
    if module is None or (own and vars(own) is function.__globals__):
        return  # a closure: its global variables are those of all of its tool
    plain = types.FunctionType(
        function.__code__, vars(module), function.__name__, function.__defaults__
    )
    plain.__kwdefaults__ = function.__kwdefaults__
    more = {"__wrapped__": plain, attribute: _Undecorated()}
    function.__dict__ = {**function.__dict__, **more}
    function.__code__, function.__defaults__ = _runs_plain.__code__, None
    function.__globals__[_PLAIN] = plain
    _when_gone(function, function.__dict__, attribute)


_PLAIN = "__jfi_plain"
__jfi_plain: Any  # a global variable of the functions that get this code


def _runs_plain(*args: Any, **kwargs: Any) -> Any:
    return __jfi_plain(*args, **kwargs)  # noqa: F821 - it is annotated above


class _Undecorated:
    """The form for notebooks of a function that has lost its decorator."""

    def __call__(self) -> None:
        """None: notebooks then show what Python prints."""


def is_of_tool(code: types.CodeType) -> bool:
    """Whether this is the code of what a tool returns."""
    return _codes.get(id(code)) is code


def with_code(wrapped: Any, code: types.CodeType) -> types.FunctionType:
    """The user's function with other code: it has lost its decorator.

    Args:
        wrapped: The function that was decorated.
        code: The new code, of the same module.
    """
    while not isinstance(wrapped, types.FunctionType):
        inner = wrapped.func if isinstance(wrapped, functools.partial) else None
        wrapped = getattr(wrapped, "__func__", inner)
        if wrapped is None:
            raise TypeError("this callable has no code, and can't be given any")
    made = types.FunctionType(
        code, wrapped.__globals__, wrapped.__name__, wrapped.__defaults__,
        wrapped.__closure__,
    )  # fmt: skip
    made.__kwdefaults__ = wrapped.__kwdefaults__
    functools.update_wrapper(made, wrapped)
    vars(made).pop("__wrapped__")
    return made
