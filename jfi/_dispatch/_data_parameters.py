"""Which parameters of a function take arrays, and the text that looks at them."""

import inspect

from ._custom import PASSED_ON


Parameter = inspect.Parameter
_NO_DATA = PASSED_ON | {"dtype"}
# Parameters of jax.numpy that take arrays, and whose annotations don't say so.
_UNTOLD = frozenset(
    """a b c condition d data e keys k lhs m n object operands p q rhs v x y
    z""".split()
)


def takes_data(parameter: Parameter) -> bool:
    """Whether arrays can be passed for a parameter: JAX's annotations say so."""
    if parameter.annotation is parameter.empty:
        return parameter.name in _UNTOLD
    text = str(parameter.annotation)
    return "Array" in text or (parameter.name in _UNTOLD and "Any" in text)


def takes_several(parameter: Parameter) -> bool:
    """Whether a list of arrays can be passed for a parameter."""
    text = str(parameter.annotation)
    return any(word in text for word in ("Sequence", "list", "tuple"))


def with_data_told(parameter: Parameter) -> Parameter:
    """A parameter of a function of jfi's own, whose annotation says if it is data."""
    text = str(parameter.annotation)
    if parameter.name in _NO_DATA or "Callable" in text or "Any" not in text:
        return parameter
    return parameter.replace(annotation="Any | Sequence[Array]")


def is_known(parameter: Parameter) -> str:
    """An expression: whether no argument for a parameter can have rules."""
    name, text = parameter.name, str(parameter.annotation)
    known = is_array(name)
    is_told = parameter.annotation is not parameter.empty
    if takes_several(parameter) or (
        is_told and "Array" not in text
    ):  # as for jax.numpy.array
        known += f" or type_of({name}) in listed and all_known(map(type_of, {name}))"
    if parameter.default is None:
        known = f"{name} is None or {known}"
    return f"({known})"


def is_array(name: str) -> str:
    """An expression: whether a value, an array mostly, goes straight to JAX."""
    # The class of arrays first: it spares the look into the set, and a call of `type`.
    return f"({name}.__class__ is array or {is_plain(name)})"


def is_plain(name: str) -> str:
    """The same of a value that is a number or an array."""
    # NumPy's arrays from other machines must not reach what JAX has compiled.
    native = f"({name}.__class__ is ndarray and {name}.dtype.isnative)"
    return f"(type_of({name}) in known or {native})"
