"""`save_state` and `load_state`."""

import contextlib
import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from .._errors import StateError
from .._random._seeding import get_rng_state, set_rng_state
from ._files import damage, opened, write
from ._kinds import stateful
from ._reading import ABSENT, StateReader
from ._writing import Writer


T = TypeVar("T")
_TOO_DEEP = "The state is nested too deeply to be saved: a list in a list in a list ..."


def save_state(
    path: str | os.PathLike[str], tree: object, *, random: bool = True
) -> None:
    """Save a state to a file, from which a later run goes on.

    The file is replaced as a whole: when the process is killed, the old one is there.
    It is a zip archive, from which `numpy.load` reads the arrays by their paths; it
    holds no code.

    Example:
        >>> import jfi as jnp, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "run.npz")
        >>> jnp.save_state(path, {"w": jnp.arange(3.0), "step": 10})
        >>> jnp.load_state(path)
        {'w': Array([0., 1., 2.], dtype=float32), 'step': 10}

    Args:
        path: The file; its folder must exist.
        tree: Arrays, numbers, texts, random keys and generators, in containers and
            objects of Python classes: models, states of optimizers, counters. Functions
            and classes in it are not saved, but their names are.
        random: Whether to save where the stream of random numbers stands.

    Raises:
        StateError: Something in it can't be saved: the message has its path. Or the
            path is none.
        OSError: The file can't be written. An older one is left as it is.
    """
    if not isinstance(path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise StateError(
            f"save_state() got a {type(path).__name__} for the path. Write the path "
            "first: save_state(path, tree)."
        )
    writer = Writer()
    try:
        record = writer.whole(tree)
    except RecursionError:
        raise StateError(_TOO_DEEP) from None
    text = {"state": record, "random": get_rng_state() if random else None}
    write(Path(path), text, writer.arrays)


@overload  # the first is the one that the site shows
def load_state(path: str | os.PathLike[str], like: T) -> T: ...
@overload
def load_state(path: str | os.PathLike[str]) -> Any: ...
def load_state(path: str | os.PathLike[str], like: Any = ABSENT) -> Any:
    """Load a state that `save_state` has saved, and go on with its random numbers.

    Example:
        >>> import jfi as jnp, tempfile, os
        >>> class Model:
        ...     def __init__(self, n):
        ...         self.w, self.activation = jnp.zeros(n), jnp.tanh
        >>> path, model = os.path.join(tempfile.mkdtemp(), "run.npz"), Model(2)
        >>> model.w += 1
        >>> jnp.save_state(path, model)
        >>> jnp.load_state(path, like=Model(2)).w
        Array([1., 1.], dtype=float32)
        >>> jnp.load_state(path, like=Model(3))
        Traceback (most recent call last):
        ...
        jfi.StateError: state.w is float32[2] in the file, and there is float32[3] ...

    Args:
        path: The file.
        like: A state of the same structure, such as that at the start of the script: a
            file holds no classes and functions, they come from there. Arrays must have
            the same shapes and dtypes, or be `jax.ShapeDtypeStruct`s, and come to the
            same devices. Numbers and texts come from the file, and lists and dicts of
            these alone may have other lengths. It is not changed. Needed if there is
            more in the file than arrays, numbers, texts and builtin containers.

    Returns:
        The state. If the file has the state of the random numbers, the stream goes on
        from there.

    Raises:
        StateError: The file is damaged, or does not fit `like`: the message has the
            path of what does not. Random numbers go on as if nothing had been loaded.
        OSError: The file can't be read.
    """
    with opened(Path(path)) as (text, arrays), damage(Path(path)):
        reader = StateReader(arrays)
        found = reader.value(text["state"], like, "state")
        with _all_or_none([generator for generator, _ in reader.states]) as ways:
            for way, (generator, state) in zip(ways, reader.states, strict=True):
                way.set(generator, state)
            if text["random"] is not None:
                set_rng_state(text["random"])
    return found


@contextlib.contextmanager
def _all_or_none(generators: Sequence[Any]) -> Generator[list[Any]]:
    """A block that sets the states of generators; where it fails they stay."""
    ways: list[Any] = [stateful(generator) for generator in generators]
    states = [way.get(g) for way, g in zip(ways, generators, strict=True)]
    own = get_rng_state()
    try:
        yield ways
    except BaseException:
        for way, generator, state in zip(ways, generators, states, strict=True):
            way.set(generator, state)
        set_rng_state(own)
        raise
