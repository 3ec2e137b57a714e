"""What users have put into modules of libraries: no version stands for it.

`np.int = int`, `jax.nn.act = lambda x: ...`: other code may rely on such names.
"""

import builtins
import functools
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..._values import is_user_function, is_user_module
from ._libraries import contents, is_left_out
from ._names import library_name
from ._walk import CONSTANTS, Walk


def given(
    variables: Mapping[str, Any], chains: Iterable[tuple[str, ...]]
) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """What code reads from modules of libraries: the variables of one, and names.

    What a module makes when it is asked for the first time is no user's.

    Args:
        variables: The global variables of the code.
        chains: The names that it reads, with the attributes read from them.
    """
    for name, *rest in chains:
        if name not in variables:
            if name in vars(builtins):
                yield vars(builtins), (name,)
            continue
        value = variables[name]
        while isinstance(value, types.ModuleType) and rest:
            if is_user_module(value.__name__):
                break  # its variables are watched
            module, (name, *rest) = value, rest
            value = vars(module).get(name)
            if name not in vars(module) or isinstance(value, types.ModuleType):
                continue
            if module.__name__.partition(".")[0] != "jfi" or _is_users(value):
                yield vars(module), (name, *rest)


def add_attribute(walk: Walk, value: Any, attributes: Sequence[str]) -> None:
    """Add what a module of a library holds, as far as its version does not tell.

    Args:
        walk: What it is added to.
        value: What the module holds.
        attributes: What is read from it.
    """
    if type(value) in CONSTANTS or _is_users(value):
        walk.add(value)
    elif isinstance(value, (type, types.FunctionType)):
        walk.put("given", library_name(value))
        if not is_left_out(value.__module__):
            walk.put("given", contents(value))
    elif isinstance(value, types.ModuleType) or is_left_out(type(value).__module__):
        pass
    elif attributes and type(part := getattr(value, attributes[0], None)) in CONSTANTS:
        # An object that scripts may change: what is read of it, where that is plain.
        walk.put("given", attributes[0], contents(part))
    else:
        walk.put("given", contents(value))


def _is_users(value: Any) -> bool:
    if isinstance(value, functools.partial):
        value = value.func
    value = getattr(value, "__wrapped__", value)
    if isinstance(value, types.FunctionType):
        return is_user_function(value)
    cls = value if isinstance(value, type) else type(value)
    return is_user_module(cls.__module__)
