"""Arguments that `jit` and `vmap` can't take."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from .._values import is_array, numbers_of
from ._wording import array_form, with_line


# ---- jit ----


def of_setting(error: BaseException) -> str | None:
    """For a text, a function or the like that is an argument of `jit`."""
    found = re.search(
        r"of type <(?:class|enum) '([\w.]+)'> .* at path (\S+?)\.?$", _first(error)
    )
    if found is None:
        return None
    kind, name = found[1].rpartition(".")[2], found[2]
    if kind == "ndarray" and (advice := of_dtype(error.__context__, name)):
        return advice
    root = re.split(r"[.\[]", name)[0]
    return with_line(
        f"jit takes arrays and numbers, and {name} is of the class {kind}.",
        "@{jnp}.autojit, which takes settings and objects as they are; or "
        f"jit(..., static_argnames={root!r}), if it is hashable",
    )


OF_DTYPE = r"[dD]type (\S+) is not a valid JAX array type"


def of_dtype(error: BaseException | None, name: str = "x") -> str | None:
    """For an array of NumPy of a dtype that JAX does not have.

    Texts and times are settings: `autojit` takes them.
    """
    found = re.search(OF_DTYPE, str(error))
    try:
        dtype = np.dtype(found[1] if found else "U")
    except TypeError:  # half of a record's
        return None
    if dtype.kind not in "biufcO":
        return None
    if not dtype.isnative:
        return with_line(
            f"{name} is an array of {dtype.str}: its bytes are in the order of another "
            "machine, as in files of FITS and netCDF.",
            f"{{jnp}}.asarray({name})",
        )
    return with_line(
        f"{name} is an array of {dtype}, which JAX does not have.",
        numbers_of(dtype, name),
    )


# JAX's words for `jit` and for `vmap`.
OF_OUTPUT = (
    r"(?:returned a value of|^Output from .*? with) type <(?:class|enum) '([\w.<>]+)'>"
)


def of_output(error: BaseException) -> str | None:
    """For a text, an object or the like that a compiled or batched function returns."""
    found = re.search(OF_OUTPUT, _first(error))
    if found is None:
        return None
    module, _, name = found[1].rpartition(".")
    ways: list[str] = []
    if module:  # no builtin class
        ways.append(f"@{{jnp}}.pytree above class {name}: its arrays are data then")
    if re.search("traced for (jit|pjit) ", _first(error)):
        ways.append("@{jnp}.autojit, which returns settings and objects as they are")
    elif not module and "batched function" in _first(error):
        ways.append("{jnp}.auto_vmap(f), which returns settings as they are")
    return with_line(
        f"The function returns {_an(name)}, which JAX can't take apart.",
        "; or ".join(ways) or "return arrays and numbers",
    )


def of_unhashable(error: BaseException) -> str | None:
    """For a list, a dict or an array as a static argument of `jit`."""
    found = re.search(r"of type <class '([\w.]+)'>, (.*?)\. The error", str(error))
    if found is None:
        return None
    kind = found[1].rpartition(".")[2]
    if kind.startswith("ArrayImpl") or kind == "ndarray":
        what, other = "array", "leave it out of static_argnums: it is data"
    else:
        what, other = kind, "pass a tuple in place of a list"
    return with_line(
        f"A static argument of jit must be hashable, and this is {_an(what)}.",
        f"@{{jnp}}.autojit, which takes lists and dicts as they are; or {other}",
    )


def of_own_array(error: BaseException) -> str | None:
    """For an object with `__jax_array__`, which JAX no longer takes as an argument."""
    return with_line(
        "An argument is an object of a class with __jax_array__.",
        "{jnp}.asarray(x), the array; or @{jnp}.pytree above its class; or "
        "@{jnp}.autojit, which takes objects as they are",
    )


def _first(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _an(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"


# ---- vmap ----


def of_axes(
    error: Exception, in_axes: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> str | None:
    """Which `in_axes` fit the arguments, for an error of `jax.vmap` about them."""
    if type(error) not in (ValueError, TypeError):  # a subclass is the user's
        return None
    if not re.match(_OF_VMAP, str(error)):
        return None
    forms = _forms_of_arguments(args)
    said = f"in_axes={in_axes!r} of vmap does not fit the arguments: {forms}."
    if kwargs:
        said += " Arguments with names are always batched: pass them by position."
    size = _number_of_rows(args)
    fitting = tuple(_axis(arg, size) for arg in args)
    ways = ["{jnp}.vmap_automatically(f, ...), which finds out what is batched"]
    known = size is not None and any(axis is not None for axis in fitting)
    # Two tables of 3 and 4 rows are a mistake, and none is shared by the other's rows.
    if known and _are_tables(args):
        said += f" Arrays with other numbers of rows are no batch of {size}."
        known = False
    if known and _MIXED not in fitting and fitting != in_axes and not kwargs:
        braced = repr(fitting).replace("{", "{{").replace("}", "}}")
        ways.insert(0, f"{{jnp}}.vmap(f, in_axes={braced})")
    return with_line(said, "; or ".join(ways))


def _are_tables(args: Sequence[Any]) -> bool:
    """Whether all arguments are arrays of the same number of dimensions, with rows."""
    leaves = jax.tree.leaves(args)
    dimensions = {np.ndim(leaf) if is_array(leaf) else 0 for leaf in leaves}
    return len({np.shape(leaf)[:1] for leaf in leaves if is_array(leaf)}) > 1 and (
        len(dimensions) == 1 and dimensions != {0}
    )


_OF_VMAP = (
    r"vmap (in_axes|got|was requested|must have)|Argument .* is not a valid JAX type"
)


def _forms_of_arguments(args: Sequence[Any]) -> str:
    return ", ".join(_form_of_argument(arg) for arg in args)


def _form_of_argument(x: Any) -> str:
    if isinstance(x, Mapping):
        return (
            "{"
            + ", ".join(f"{k!r}: {_form_of_argument(v)}" for k, v in x.items())
            + "}"
        )
    return array_form(x) or (f"{x!r:.40}" if np.isscalar(x) else type(x).__name__)


def _number_of_rows(args: Sequence[Any]) -> int | None:
    """How many rows the first array has."""
    shapes = (getattr(leaf, "shape", ()) for leaf in jax.tree.leaves(args))
    return next((shape[0] for shape in shapes if shape), None)


def _axis(x: Any, size: int | None) -> Any:
    """The axis of the batch in an argument: 0, None, or a container of these."""
    if isinstance(x, Mapping):
        by_key = {key: _axis(value, size) for key, value in x.items()}
        return _joined(by_key, list(by_key.values()))
    kind: Any = type(x)
    if kind in (list, tuple):
        axes = [_axis(value, size) for value in x]
        return _joined(kind(axes), axes)
    shapes: list[Any] = [getattr(leaf, "shape", ()) for leaf in jax.tree.leaves(x)]
    rows = [bool(shape) and shape[0] == size for shape in shapes]
    if not any(rows):
        return None
    return 0 if all(rows) else _MIXED


_MIXED = "mixed"  # an object of which some arrays are batched: no literal says so


def _joined(axes: Any, parts: list[Any]) -> Any:
    if _MIXED in parts:
        return _MIXED
    return axes if any(axis != parts[0] for axis in parts) else next(iter(parts), None)
