"""Functions of jfi swapped for a block, wherever they were imported to."""

import contextlib
from collections.abc import Callable, Generator
from typing import Any

from .._values import identity_key
from ._active import add_active, remove_active
from ._namespace import OPERATIONS
from ._retracing import settings
from ._rules import function_of
from ._swapping import enter, leave, news, present


@contextlib.contextmanager
def override(
    fn: Callable[..., Any] | str, new: Callable[..., Any], *, wrap: bool = False
) -> Generator[None, None, None]:
    """Swap a function of jfi in this block: for all of its code, in this thread.

    Also where it was imported by its own name, and in compiled functions, which are
    traced apart for the block. Rules of custom arrays come first, as always. JAX's own
    functions stay what they are, and so do those that jfi itself calls.

    >>> import jfi as jnp
    >>> from jfi import exp
    >>> with jnp.override(jnp.exp, lambda x: 1 + x):
    ...     print(exp(2.0), jnp.jit(lambda x: exp(x))(3.0))
    3.0 4.0
    >>> exp(0.0)
    Array(1., dtype=float32, weak_type=True)

    Args:
        fn: The function, or its name: "linalg.svd".
        new: What is called instead. It gets its arguments as a rule does: optional ones
            by keyword, and none that is the default.
        wrap: Whether `new` makes it from the function that was there before.

    Yields:
        Nothing.

    Raises:
        TypeError: `new` can't be called.
        ValueError: There is no such function.
    """
    function = function_of(fn)
    if not callable(new):
        raise TypeError(f"override() got {new!r} as the new function, not a function.")
    if function.name in OPERATIONS:
        raise ValueError(
            f"override() got {fn!r}, which is no function but an operation."
        )
    name = function.name
    made = new(present(function)) if wrap else new
    token = news.set({**news.get(), name: made})
    noted = add_active(f"override of {name}", made)
    enter(function)
    try:
        with settings(override=(name, identity_key(new), wrap)):
            yield
    finally:
        leave(function)
        remove_active(noted)
        news.reset(token)
