"""Properties: the functions behind them, and what a class of properties adds."""

from typing import Any

from ..._values import own_attributes
from ._containers import PartsKind


PROPERTY = PartsKind(
    lambda p: (p.fget, p.fset, p.fdel),
    lambda cls, *parts: property(*parts),
    [".fget", ".fset", ".fdel"],
)


def _parts_of(x: Any) -> tuple[Any, ...]:
    return x.fget, x.fset, x.fdel, dict(own_attributes(x)) or None


def _special_property(cls: type, *parts: Any) -> Any:
    *functions, attributes = parts
    made: Any = property.__new__(cls)
    property.__init__(made, *functions)
    own_attributes(made).update(attributes or {})
    return made


# Such as numpyro's `constraints.dependent_property`, which is registered with JAX as
# a constraint, and can't be flattened.
SPECIAL_PROPERTY = PartsKind(
    _parts_of, _special_property, [".fget", ".fset", ".fdel", ""]
)
