"""Operations of PyTensor in JAX: its own rules, mended where they are not right.

What is known before tracing stays known: sizes of arrays, and integers computed from
them, are NumPy's, so that they may be shapes. PyTensor's rules make traced numbers of
some of them. Results get the dtypes that the graph declares: JAX promotes differently.
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._jax_internals import cut_64_bits
from ..._values import full_name
from ..jaxify import jaxify
from ._library import jax_rules


def translated(graph: Any) -> Callable[..., list[jax.Array]]:
    """A graph as a function of JAX arrays, to be traced.

    Raises:
        NotImplementedError: PyTensor has no rule for one of its operations.
    """
    from pytensor.link.utils import fgraph_to_python

    jax_rules()
    # Graphs name float64 where PyTensor's floats have 64 bits, its default.
    with cut_64_bits():
        function: Any = fgraph_to_python(
            graph, _in_jax, type_conversion_fn=lambda data, **_: data
        )

    def traced(*values: jax.Array) -> list[jax.Array]:
        with cut_64_bits():
            return [jnp.asarray(value) for value in function(*values)]

    return traced


def _in_jax(op: Any, node: Any, **settings: Any) -> Callable[..., Any]:
    """One operation as a function of values, known or traced."""
    make = _registered(op) or _mended().get(type(op).__name__)
    run = make(op, node) if make else _pytensors(op, node, settings)
    in_jax_only = type(op).__name__ in ("Scan", "OpFromGraph", "JAXShapeTuple")

    def on_values(*values: Any) -> Any:
        if not in_jax_only and all(isinstance(v, _KNOWN) for v in values):
            return _performed(op, node, values)
        found = run(*values) if make else run(*_for_rule(op, values))
        several = len(node.outputs) > 1
        given = list(found) if several or isinstance(found, list) else [found]
        typed = [_typed(v, x) for v, x in zip(given, node.outputs, strict=True)]
        return typed if several or isinstance(found, list) else typed[0]

    return on_values


def _registered(op: Any) -> Callable[[Any, Any], Callable[..., Any]] | None:
    """The user's rule for an operation, or for what it does to each element."""
    for one in (op, getattr(op, "scalar_op", None)):
        rule = None if one is None else jaxify.rule_of(one)
        if rule is not None:
            return functools.partial(_by_rule, rule, one)
    return None


def _by_rule(rule: Any, op: Any, *_: Any) -> Callable[..., Any]:
    run: Callable[..., Any] = rule(op)
    return run


def _pytensors(op: Any, node: Any, settings: dict[str, Any]) -> Callable[..., Any]:
    try:
        rule: Callable[..., Any] = jax_rules()(op, node=node, **settings)
    except NotImplementedError as error:
        cls = type(getattr(op, "scalar_op", op))
        message = (
            f"PyTensor has no rule for its operation {op}.\nWrite one:\n"
            f'    @jnp.jaxify.register("{full_name(cls)}")\n'
            "    def rule(op):\n"
            "        return lambda *args: ...  # written with jax.numpy"
        )
        raise NotImplementedError(message) from error
    return rule


def _for_rule(op: Any, values: Sequence[Any]) -> list[Any]:
    """Values as PyTensor's rules take them: JAX's arrays, and plain axes and sizes."""
    of_elements = type(op).__name__ == "Elemwise"  # where dtypes are promoted
    return [
        value
        if not isinstance(value, np.ndarray)
        else value.item()
        if value.ndim == 0 and value.dtype.kind in "iub" and not of_elements
        else jnp.asarray(value)
        for value in values
    ]


_KNOWN = (np.ndarray, np.generic, int, float, bool)


def _performed(op: Any, node: Any, values: Sequence[Any]) -> Any:
    """The result in NumPy, as PyTensor's own mode without compilation has it."""
    arguments = [
        variable.type.filter(np.asarray(value), allow_downcast=True)
        if hasattr(variable, "ndim")
        else value
        for variable, value in zip(node.inputs, values, strict=True)
    ]
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    op.perform(node, arguments, storage)
    found = [np.asarray(cell[0]) for cell in storage]
    return found if len(found) > 1 else found[0]


def _typed(value: Any, variable: Any) -> Any:
    dtype = getattr(variable, "dtype", None)
    if dtype is None or isinstance(value, _KNOWN) or not hasattr(value, "dtype"):
        return value
    return value.astype(jax.dtypes.canonicalize_dtype(np.dtype(dtype)))


def _mended() -> dict[str, Callable[[Any, Any], Callable[..., Any]]]:
    return {
        "Shape": lambda op, node: lambda x: np.array(jnp.shape(x), np.int64),
        "Shape_i": lambda op, node: lambda x: np.array(jnp.shape(x)[op.i], np.int64),
        "ScalarFromTensor": lambda op, node: lambda x: jnp.asarray(x).reshape(()),
        "JAXShapeTuple": lambda op, node: lambda *sizes: np.array(_sizes(sizes)),
        "Reshape": lambda op, node: _reshape,
        "ARange": lambda op, node: lambda *values: _range(op.dtype, *values),
        "Eye": lambda op, node: lambda n, m, k: _eye(n, m, k, op.dtype),
        "Alloc": lambda op, node: lambda x, *shape: jnp.broadcast_to(x, _sizes(shape)),
        "AllocEmpty": lambda op, node: lambda *s: jnp.zeros(_sizes(s), op.dtype),
        "IfElse": lambda op, node: lambda *values: _if_else(op.n_outs, node, *values),
        "CheckAndRaise": _checks,
        "Assert": _checks,
    }


class UnknownSizeError(Exception):
    """A shape depends on values that are known only when the program runs."""


def _sizes(values: Any) -> tuple[int, ...]:
    if any(isinstance(value, jax.Array) for value in values):
        raise UnknownSizeError
    return tuple(int(value) for value in values)


def _reshape(x: Any, shape: Any) -> jax.Array:
    if isinstance(shape, jax.Array):
        raise UnknownSizeError
    return jnp.reshape(x, _sizes(shape))


def _range(dtype: str, *values: Any) -> jax.Array:
    if any(isinstance(value, jax.Array) for value in values):
        raise UnknownSizeError
    return jnp.asarray(np.arange(*values, dtype=dtype))


def _eye(n: Any, m: Any, k: Any, dtype: str) -> jax.Array:
    rows, columns = _sizes((n, m))
    here = jnp.arange(rows)[:, None] + k == jnp.arange(columns)
    found: jax.Array = here.astype(dtype)
    return found


def _if_else(n_outs: int, node: Any, condition: Any, *branches: Any) -> Any:
    if isinstance(condition, _KNOWN):
        found = branches[:n_outs] if condition else branches[n_outs:]
    else:
        arrays = [
            _typed(jnp.asarray(value), variable)
            for value, variable in zip(branches, node.inputs[1:], strict=True)
        ]
        found = jax.lax.cond(
            jnp.asarray(condition) != 0,
            lambda: tuple(arrays[:n_outs]),
            lambda: tuple(arrays[n_outs:]),
        )
    return list(found) if n_outs > 1 else found[0]


def _checks(op: Any, node: Any) -> Callable[..., Any]:
    def check(x: Any, *conditions: Any) -> Any:
        known = [c for c in conditions if isinstance(c, _KNOWN)]
        if not all(np.all(c) for c in known):
            raise op.exc_type(op.msg)
        if len(known) < len(conditions):
            message = (
                f"JAX can't raise errors that depend on values: {op.msg or op} is not "
                "checked in the function that jaxify() has made"
            )
            warnings.warn(message, stacklevel=2)
        return x

    return check
