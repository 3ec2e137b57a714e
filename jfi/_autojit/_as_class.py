"""`AutoJIT`: the class of what `autojit` returns, to ask for and to subclass."""

import functools
import types
from typing import Any

from ._wrapper import autojit
from .kinds._functions import is_autojitted


class _OfFunctions(type):
    """The class of a class whose instances are functions, and objects of subclasses."""

    def __instancecheck__(cls, x: object) -> bool:
        is_function = cls is AutoJIT and is_autojitted(x)
        return is_function or super().__instancecheck__(x)

    def __call__(cls, fn: Any = None, /, *args: Any, **options: Any) -> Any:
        # A function, which Python calls faster than an object, and binds as a method.
        if cls is AutoJIT:
            return autojit(fn, *args, **options)
        if fn is None:  # `@Subclass(static="n")`
            return functools.partial(cls, *args, **options)
        return super().__call__(fn, *args, **options)


class AutoJIT(metaclass=_OfFunctions):
    """What `autojit` returns.

    `AutoJIT(fn)` is `autojit(fn)`: a function. A subclass has objects:

        >>> import jfi as jnp
        >>> class Logged(jnp.AutoJIT):
        ...     def __call__(self, *args):
        ...         print("calls", self.fn.__name__)
        ...         return super().__call__(*args)
        >>> @Logged
        ... def double(x):
        ...     return 2 * x
        >>> float(double(3.0))
        calls double
        6.0
        >>> isinstance(double, jnp.AutoJIT), isinstance(jnp.autojit(abs), jnp.AutoJIT)
        (True, True)

    Args:
        fn: The function.
        options: Those of `autojit`.

    Attributes:
        fn: The function, uncompiled.
    """

    def __init__(self, fn: Any, /, **options: Any) -> None:
        self.fn, self._compiled = fn, autojit(fn, **options)
        functools.update_wrapper(self, fn)

    def __class_getitem__(cls, types: Any) -> Any:
        return cls

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        """`explain`, `cache_info` ... of the compiled function."""
        if name.startswith("__") or name == "_compiled":
            raise AttributeError(name)
        return getattr(self._compiled, name)
