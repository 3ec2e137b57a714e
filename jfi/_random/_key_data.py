"""Random keys from plain data and back: for JSON, for logs, from other libraries."""

import re
from collections.abc import Hashable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from .._errors import RandomError
from .._values import is_key


# Those of JAX that `impl=` can name; the words of each are asked of JAX.
_NAMES = (
    "threefry2x32", "rbg", "unsafe_rbg", "threefry4x32", "philox2x32", "philox4x32",
)  # fmt: skip
_FIELDS = {"impl", "shape", "words"}


def wrap_key(data: Any, impl: Hashable | None = None) -> jax.Array:
    """Make typed random keys of whatever holds the words of a key.

    >>> import jfi as jnp
    >>> old = jnp.random.PRNGKey(7)
    >>> bool(jnp.random.wrap_key(old) == jnp.key(7))
    True
    >>> jnp.random.wrap_key([[0, 1], [0, 2]]).shape
    (2,)

    Args:
        data: Words from 0 to 2**32 - 1 as ints in nested lists or as an integer array,
            the last dimension that of one key; or what `unwrap_key` or `key_repr` gave,
            or lists of it. Typed keys are returned as they are.
        impl: The implementation, by name or as JAX takes it. If not given that which is
            named in the data, else JAX's default one.

    Returns:
        Typed keys, in the shape of the data without its last dimension.

    Raises:
        RandomError: The data are no words, too few or too many for one key, or of
            another implementation.
    """
    if is_key(data):
        typed: jax.Array = data
        _chosen(_name_of_algorithm(typed), impl)
        return typed
    if isinstance(data, dict):
        return _from_record(data, impl)
    if isinstance(data, str):
        return _from_text(data, impl)
    if isinstance(data, (list, tuple)) and _holds_keys(data):
        return jnp.stack([wrap_key(part, impl) for part in data])
    return _from_words(_words_of(data), impl)


def unwrap_key(key: jax.Array) -> dict[str, Any]:
    """Tell keys as plain data, which `wrap_key` takes back and JSON can hold.

    >>> import jfi as jnp
    >>> jnp.random.unwrap_key(jnp.key(7))
    {'impl': 'threefry2x32', 'shape': [], 'words': [0, 7]}

    Args:
        key: Typed or old-style keys, of any shape.

    Returns:
        A dict with the name of the implementation, the shape of the keys, and their
        words as nested lists of ints.

    Raises:
        RandomError: Not a key, or a key under a transformation, which has no words yet.
    """
    typed = _known(key, "unwrap_key")
    words = np.asarray(jax.random.key_data(typed))
    return {
        "impl": _name_of_algorithm(typed),
        "shape": list(typed.shape),
        "words": words.tolist(),
    }


def key_repr(key: jax.Array) -> Any:
    """Tell a key in one short line, for logs and file names.

    >>> import jfi as jnp
    >>> jnp.random.key_repr(jnp.key(7))
    'threefry2x32-00000000-00000007'

    Args:
        key: A typed or old-style key, or an array of them.

    Returns:
        The name of the implementation and the words in hexadecimal digits; for arrays
        of keys nested lists of this. `wrap_key` takes both back.

    Raises:
        RandomError: Not a key, or a key under a transformation, which has no words yet.
    """
    typed = _known(key, "key_repr")
    name = _name_of_algorithm(typed)
    words = np.asarray(jax.random.key_data(typed))

    def listed(part: Any, depth: int) -> Any:
        if depth:
            return [listed(row, depth - 1) for row in part]
        return "-".join([name, *(f"{word:08x}" for word in part.ravel().tolist())])

    return listed(words, typed.ndim)


def _holds_keys(data: Any) -> bool:
    """Whether lists hold keys, or what describes keys, rather than words."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    rows = isinstance(data, jax.Array) and data.ndim > 0
    return rows or isinstance(data, (str, dict)) or is_key(data)


def _from_record(data: dict[Any, Any], impl: Hashable | None) -> jax.Array:
    if set(data) != _FIELDS:
        raise RandomError(
            f"wrap_key() got a dict with {sorted(map(str, data))}. Write what "
            "unwrap_key(key) returns: {'impl': 'threefry2x32', 'shape': [], 'words': "
            "[0, 7]}."
        )
    chosen = _chosen(data["impl"], impl)
    name, own = _implementation(chosen)
    words, shape = _words_of(data["words"]), (*data["shape"], *own)
    if words.size != np.prod(shape, dtype=int):
        raise RandomError(
            f"wrap_key() got {words.size} words for keys of shape {data['shape']}; "
            f"{name} has keys of {_number_of_words(own)}."
        )
    return _from_words(words.reshape(shape), chosen)


def _from_text(text: str, impl: Hashable | None) -> jax.Array:
    parts = re.fullmatch("(.*?)((?:-[0-9a-f]{8})+)", text)
    if parts is None:
        raise RandomError(
            f"wrap_key() got {text!r}. Write what key_repr(key) returns: "
            "'threefry2x32-00000000-00000007'."
        )
    words = [int(part, 16) for part in parts[2].split("-")[1:]]
    return _from_words(_words_of(words), _chosen(parts[1], impl))


def _chosen(named: Any, impl: Hashable | None) -> Hashable:
    """The implementation that the data name, as JAX takes it."""
    if impl is None:
        return str(named)
    name = _implementation(impl)[0]
    if name != named:
        raise RandomError(
            f"wrap_key() got a key of {named} and impl={name!r}. "
            "Leave impl out, or make a new key: jnp.random.key(0, impl=...)."
        )
    return impl


def _words_of(data: Any) -> Any:
    """Words as a uint32 array, which may be traced."""
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(data)):
        data = jnp.asarray(data)
        if data.dtype != np.uint32:
            raise RandomError(
                f"wrap_key() got traced words of dtype {data.dtype.name}, which can't "
                "be checked. Write wrap_key(words.astype(jnp.uint32))."
            )
        return data
    try:
        words = np.asarray(data)
    except ValueError:  # lists of different lengths
        words = np.asarray(None)
    if words.size == 0 and not hasattr(data, "dtype"):
        words = words.astype(np.uint32)
    if words.dtype == object and words.ndim and words.size:
        raise _out_of_range(data)  # ints that are too large for every dtype
    if not np.issubdtype(words.dtype, np.integer):
        raise RandomError(
            f"wrap_key() got {_seen(data, words)}, which are no words of a key. "
            "Write ints from 0 to 2**32 - 1 in lists of one length, or a uint32 array."
        )
    if words.size and not (int(words.min()) >= 0 and int(words.max()) < 2**32):
        raise _out_of_range(data)
    return words.astype(np.uint32)


def _out_of_range(data: Any) -> RandomError:
    return RandomError(
        f"wrap_key() got {data!r}; the words of a key are ints from 0 to 2**32 - 1. "
        "To make a key of a seed write jnp.key(seed)."
    )


def _seen(data: Any, words: Any) -> str:
    return f"data of dtype {words.dtype}" if hasattr(data, "dtype") else repr(data)


def _from_words(words: Any, impl: Hashable | None) -> jax.Array:
    name, own = _implementation(impl)
    if words.ndim < len(own) or words.shape[words.ndim - len(own) :] != own:
        raise RandomError(
            f"wrap_key() got words of shape {words.shape}, but keys of {name} have "
            f"{_number_of_words(own)} in the last dimension. {_sizes(words.shape)}"
        )
    given: Any = impl
    typed: jax.Array = jax.random.wrap_key_data(jnp.asarray(words), impl=given)
    return typed


def _sizes(shape: tuple[int, ...]) -> str:
    """Which implementations have keys of this size, and which sizes there are."""
    known = {name: _implementation(name)[1] for name in _NAMES}
    fitting = [name for name, own in known.items() if shape[-1:] == own]
    if fitting:
        return f"Write impl={fitting[0]!r} if that is where it comes from."
    sizes = ", ".join(f"{name} {own[0]}" for name, own in known.items())
    return f"Words of each implementation: {sizes}."


def _number_of_words(shape: tuple[int, ...]) -> str:
    return f"{int(np.prod(shape))} word{'s' * (shape != (1,))}"


def _implementation(impl: Hashable | None) -> tuple[str, tuple[int, ...]]:
    """The name of an implementation, and the shape of the words of its keys."""
    given: Any = impl
    names: list[str] = []

    def words_of_a_key() -> jax.Array:
        key = jax.random.key(0, impl=given)
        names.append(_name_of_algorithm(key))
        return jax.random.key_data(key)

    try:
        shape = jax.eval_shape(words_of_a_key).shape
    except (TypeError, ValueError) as error:
        raise RandomError(
            f"wrap_key() got the implementation {impl!r}, which JAX does not know by "
            f"name. Write one of {', '.join(_NAMES)}, or pass what define_prng_impl "
            "made as impl=."
        ) from error
    return names[0], shape


def _name_of_algorithm(key: jax.Array) -> str:
    """The name of a key's implementation, of which JAX may have only an object."""
    impl = jax.random.key_impl(key)
    return impl if isinstance(impl, str) else repr(impl)


def _known(key: Any, caller: str) -> jax.Array:
    """Typed keys whose words are there to be read."""
    if isinstance(key, Tracer):
        raise RandomError(
            f"{caller}() was called on a traced key, whose words are not known before "
            "the function runs. Call it outside, or write jnp.random.key_data(key)."
        )
    if not isinstance(key, (jax.Array, np.ndarray)):
        raise RandomError(
            f"{caller}() got {key!r}, which is no random key. Write jnp.key(0)."
        )
    return wrap_key(key)
