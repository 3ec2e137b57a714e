"""How a host function is differentiated: what `HostFunction.derivative` returns.

In all of this, the *wanted* inputs are those with a tangent that may not be zero. The
others are passed as values alone, and nothing is differentiated for them. Tangents
and cotangents have the dtype of what they belong to; those of integers don't exist.
JAX's convention holds for complex numbers: cotangents are not conjugated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from ._functions import HostFunction


@dataclass(frozen=True, eq=False)
class Transposable:
    """A derivative by products: tangents forward, cotangents backward.

    Example: what `y = sin(x)` would return for `wanted == (True,)`.

        GivenFunction("sin.jvp", lambda x, t: [np.cos(x) * t], lambda x, t: [x])
        GivenFunction("sin.vjp", lambda x, c: [np.cos(x) * c], lambda x, c: [x])

    Attributes:
        forward: Takes all inputs, then a tangent for each wanted input; returns a
            tangent for each inexact output. None: there is no forward mode, and
            JAX's forward mode is refused in the words of `refusal`.
        transposed: Makes the function that takes all inputs, then a cotangent for each
            output that has one; returns a cotangent for each wanted input. It is asked
            with a flag for each inexact output: whether there is a cotangent of it.
            None: no reverse mode.
        refusal: What to tell users where one of the two is asked for and missing.
    """

    forward: "HostFunction | None"
    transposed: "Callable[[tuple[bool, ...]], HostFunction] | None"
    refusal: str = ""


@dataclass(frozen=True, eq=False)
class Saved:
    """Products, of which the backward ones use what the forward pass has saved.

    Example: a network whose backward pass needs the activations of its layers.

    Attributes:
        call: Takes all inputs; returns all outputs and then what is saved: any arrays.
        transposed: As in `Transposable`, but the function takes what was saved in place
            of the inputs: then the cotangents.
        products: The same without anything saved: forward mode, and derivatives of the
            derivative, are computed from it. Nothing is differentiated through what
            was saved.
        takes_inputs: `transposed` takes the inputs as well, before what was saved: it
            can do without what is gone by then.
    """

    call: "HostFunction"
    transposed: "Callable[[tuple[bool, ...]], HostFunction]"
    products: Transposable
    takes_inputs: bool = False


@dataclass(frozen=True, eq=False)
class ReadyGradients:
    """Gradients that come with the value: for one real scalar among the outputs.

    JAX multiplies them by tangents and cotangents itself, without another host call.

    Example: a loss; `call` runs it forward and backward at once.

    Attributes:
        call: Takes all inputs; returns all outputs, and then for each wanted input the
            gradient of the one inexact output. Derivatives of the derivative are
            derivatives of this function.
    """

    call: "HostFunction"


Derivative = Transposable | Saved | ReadyGradients
