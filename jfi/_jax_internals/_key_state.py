"""A value of which compiled functions depend."""

import threading
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, TypeVar, cast

import jax

from ._pieces import piece


T = TypeVar("T")


class JitKeyState(Protocol, Generic[T]):
    """A value that every jit cache takes into account, with a thread-local form."""

    @property
    def value(self) -> T:
        """The value for this thread."""
        ...

    def set_global(self, new_value: T) -> None:
        """Change the value for every thread that has none of its own."""
        ...

    def __call__(self, new_value: T) -> AbstractContextManager[None]:
        """Change the value for this thread, until the context ends."""
        ...


def jit_key_state(default: T) -> JitKeyState[T]:
    """A value of which compiled functions depend: a change is a cache miss.

    Without `user_contexts` JAX's caches are emptied at each change: slow, and right.
    """
    make = user_contexts()
    return _ClearingState(default) if make is None else make(default)


@piece(
    uses="the global setter of what jax.make_user_context returns",
    without="another default dtype or algorithm of random keys compiles all code anew",
)
def user_contexts() -> Any:
    state: Any = jax.make_user_context(0)  # documented since JAX 0.8
    state.set_global(1)
    return jax.make_user_context if state.value == 1 else None


class _ClearingState(Generic[T]):
    """`JitKeyState` on public functions alone: each change empties JAX's caches."""

    def __init__(self, default: T) -> None:
        self._global = default
        self._local = threading.local()

    @property
    def value(self) -> T:
        return cast("T", getattr(self._local, "value", self._global))

    def set_global(self, new_value: T) -> None:
        self._global = new_value
        jax.clear_caches()

    def __call__(self, new_value: T) -> AbstractContextManager[None]:
        return _ClearingContext(self._local, new_value)


class _ClearingContext(AbstractContextManager[None]):
    def __init__(self, local: threading.local, new_value: object) -> None:
        self._local, self._new = local, new_value

    def __enter__(self) -> None:
        self._old = dict(vars(self._local))
        self._local.value = self._new
        jax.clear_caches()

    def __exit__(self, *exc: object) -> None:
        vars(self._local).clear()
        vars(self._local).update(self._old)
        jax.clear_caches()
