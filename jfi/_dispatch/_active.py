"""What jfi's functions call that no argument leads to: for `autojit` to watch.

That is rules for classes of libraries, and what `override` has put in the place of
functions. They are the variables of a module that is there from the first of them on,
so that `autojit` takes them for what a function of the user's reads.
"""

import sys
import threading
import types
from collections.abc import Callable
from typing import Any


# Whatever its functions call, the name is of no library, as they are not.
ACTIVE_RULES = "jfi_active_rules"

_module = types.ModuleType(ACTIVE_RULES, __doc__)
_lock = threading.RLock()  # what is collected meanwhile may bring a rule
_at_first: list[Callable[[], None]] = []


def before_first(act: Callable[[], None]) -> Callable[[], None]:
    """Decorate what is to run when the first rule is there, before it is called."""
    _at_first.append(act)
    return act


def are_active() -> bool:
    """Whether there ever was a rule."""
    return ACTIVE_RULES in sys.modules


def add_active(name: str, rule: Any) -> str:
    """Note a function that jfi may call.

    Returns:
        The name that it has got: there may be one of this name in another thread.
    """
    variables = vars(_module)
    with _lock:
        while variables.get(name) is not None:
            name += "'"
        _put(name, rule)
    return name


def replace_active(name: str, rule: Any) -> None:
    """Note another function, in the place of one of this name."""
    with _lock:
        _put(name, rule)


def remove_active(name: str) -> None:
    """Forget a function: jfi calls it no longer.

    The name stays, and the module: another thread may be about to look there.
    """
    with _lock:
        _put(name, None)


def _put(name: str, rule: Any) -> None:
    vars(_module)[name] = rule
    if not are_active():
        sys.modules[ACTIVE_RULES] = _module
        for act in _at_first:
            act()
