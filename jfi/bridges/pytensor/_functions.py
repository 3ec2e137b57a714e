"""`from_pytensor`: variables of PyTensor as one JAX function of its inputs."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import JaxifyError
from ._graphs import free_inputs, prepared
from ._rules import UnknownSizeError, translated


class PyTensorFunction:
    """A graph of PyTensor as a JAX function of its inputs; made by `jaxify`.

    Attributes:
        inputs: The variables whose values it takes, in this order.
    """

    __jfi_static__: bool = True  # `autojit` does not open it

    def __init__(
        self, outputs: Any, inputs: Sequence[Any] | None, static: Sequence[Any]
    ) -> None:
        self._is_one = not isinstance(outputs, (list, tuple))
        variables = [outputs] if self._is_one else list(outputs)
        self.inputs: list[Any] = list(
            free_inputs(variables) if inputs is None else inputs
        )
        unknown = [variable for variable in static if variable not in self.inputs]
        if unknown:
            raise NotImplementedError(
                f"static= has {', '.join(map(str, unknown))}, which is no input"
            )
        self._outputs = variables
        self._static = [self.inputs.index(variable) for variable in static]
        self._compiled: dict[tuple[int, ...], Callable[..., Any]] = {}
        self._lock = threading.Lock()
        if not static:
            self._function(())  # what can't be translated is refused now

    def __call__(self, *args: Any) -> Any:
        """The values of the outputs.

        Args:
            *args: One value for each of `inputs`.

        Returns:
            An array, or a tuple of them for a sequence of outputs.

        Raises:
            JaxifyError: The values are not of the types of the inputs, or a shape
                depends on them.
        """
        if len(args) != len(self.inputs):
            names = ", ".join(map(str, self.inputs))
            message = (
                f"a graph of PyTensor got {len(args)} values for its "
                f"{len(self.inputs)} inputs ({names}).\nPass one for each, or say "
                "which they are, and in which order: jaxify(out, inputs=[...])"
            )
            raise JaxifyError(message)
        pairs = list(enumerate(zip(self.inputs, args, strict=True)))
        sizes = [_size(v, arg) for k, (v, arg) in pairs if k in self._static]
        values = [_value(v, arg) for k, (v, arg) in pairs if k not in self._static]
        try:
            found = self._function(tuple(sizes))(*values)
        except UnknownSizeError as error:
            raise JaxifyError(self._depends_on_values()) from error
        except (TypeError, IndexError) as error:
            # JAX's errors: arrays as shapes, masks and slices of such sizes.
            if "concrete" not in str(error) and "static" not in str(error):
                raise
            raise JaxifyError(self._depends_on_values()) from error
        return found[0] if self._is_one else tuple(found)

    def _function(self, sizes: tuple[int, ...]) -> Callable[..., Any]:
        """The compiled function, for values of those inputs that shapes depend on."""
        with self._lock:
            if sizes not in self._compiled:
                known = {
                    self.inputs[k]: size
                    for k, size in zip(self._static, sizes, strict=True)
                }
                graph = prepared(self.inputs, self._outputs, known)
                self._compiled[sizes] = jax.jit(translated(graph))
            return self._compiled[sizes]

    def _depends_on_values(self) -> str:
        names = [
            str(v) for v in self.inputs if v.type.ndim == 0 and v.dtype in _INTEGERS
        ]
        message = (
            "a graph of PyTensor has a shape that depends on the values of an input, "
            "and JAX compiles for one shape.\n"
        )
        if not names:
            return message + "Keep the shape: pt.where(mask, x, 0) instead of x[mask]."
        return message + (
            f"Make it a constant of the graph (pt.eye(3) instead of pt.eye({names[0]}))"
            f", or one for each value: jaxify(out, static=[{names[0]}]), and call it "
            "with a Python integer."
        )


def from_pytensor(
    outputs: Any, inputs: Sequence[Any] | None = None, static: Sequence[Any] = ()
) -> PyTensorFunction:
    """Make a JAX function of PyTensor's variables: the rule of `jaxify`.

    Example:
        >>> import pytensor.tensor as pt
        >>> import jfi as jnp
        >>> x = pt.vector("x")
        >>> f = jnp.jaxify(pt.cumsum(x) ** 2)
        >>> f(jnp.array([1.0, 2.0]))
        Array([1., 9.], dtype=float32)

    Args:
        outputs: A variable, a sequence of them, or a FunctionGraph.
        inputs: The variables that become arguments, in this order; None takes those
            that the graph has, as it meets them.
        static: Those among them that shapes depend on: Python integers, for each of
            which a program is compiled.

    Returns:
        The function. Shared variables are constants in it, of their value now.

    Raises:
        NotImplementedError: The graph draws random numbers, or has an operation that
            PyTensor has no rule for.
        MissingDependencyError: PyTensor is not installed.
    """
    if hasattr(outputs, "apply_nodes"):  # a FunctionGraph
        graph, single = outputs, len(outputs.outputs) == 1
        inputs = list(graph.inputs) if inputs is None else inputs
        outputs = graph.outputs[0] if single else tuple(graph.outputs)
    return PyTensorFunction(outputs, inputs, static)


_INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}


def _value(variable: Any, given: Any) -> jax.Array:
    """A value in the dtype of its variable, as PyTensor would take it."""
    array = jnp.asarray(given)
    dtype = jax.dtypes.canonicalize_dtype(np.dtype(variable.dtype))
    fits = array.ndim == variable.type.ndim and np.can_cast(
        array.dtype, dtype, "same_kind"
    )
    if fits:
        return array.astype(dtype)
    message = (
        f"a graph of PyTensor got {array.dtype} of shape {array.shape} for "
        f"{variable}, which is of {variable.type}.\nPass an array of "
        f"{variable.type.ndim} dimensions that {variable.dtype} can hold."
    )
    raise JaxifyError(message)


def _size(variable: Any, given: Any) -> int:
    if isinstance(given, (int, np.integer)):
        return int(given)
    message = (
        f"a graph of PyTensor got {given!r} for {variable}, on which a shape depends. "
        "Pass a Python integer."
    )
    raise JaxifyError(message)
