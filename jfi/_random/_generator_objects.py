"""Generators as objects, each with a stream of random draws of its own."""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

import jax

from .._errors import RandomError
from .._shown import html_facts
from . import numpy_style as _numpy_random, torch_style as _torch_random
from ._seeding import (
    RngState,
    checked_seed,
    position_in,
    restart,
    set_state,
    state_of,
)
from ._streams import Stream, using
from .numpy_style._missing import missing


P = ParamSpec("P")
R = TypeVar("R")


def _like(function: Callable[P, R]) -> Callable[Concatenate["OwnStream", P], R]:
    """A function of the current stream as a method, which draws from its object."""

    @functools.wraps(function)
    def method(self: "OwnStream", /, *args: P.args, **kwargs: P.kwargs) -> R:
        with using(self.stream):
            return function(*args, **kwargs)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    own = inspect.signature(function)
    # `functools.wraps` alone would have `inspect` take the first parameter for `self`.
    method.__dict__["__signature__"] = own.replace(
        parameters=[itself, *own.parameters.values()]
    )
    return method


class _BoundStream(Stream):
    is_bound = True


class OwnStream:
    """A stream of random draws of its own, for the methods of generator objects.

    Args:
        seed: As in `jfi.manual_seed`; None for other numbers in each process.

    Attributes:
        stream: The stream.
    """

    __jfi_static__ = True  # `autojit` leaves it as it is
    _made_by = "Generator"  # what users write, for messages

    def __init__(self, seed: int | jax.Array | None = None) -> None:
        given = None if seed is None else checked_seed(seed, self._made_by)
        self.stream: Stream = _BoundStream(given)

    __init__.__qualname__ = "Generator"  # in Python's TypeError, for `device=` ...

    def manual_seed(self, seed: int | jax.Array) -> None:
        """Start the stream anew, from a seed: see `jfi.manual_seed`."""
        given = checked_seed(seed, "manual_seed")
        restart(self.stream, given, 0, "manual_seed")

    def get_rng_state(self) -> RngState:
        """Tell where the stream stands: see `jfi.get_rng_state`."""
        return state_of(self.stream, "get_rng_state")

    def set_rng_state(self, state: RngState) -> None:
        """Continue from a state: see `jfi.set_rng_state`."""
        set_state(self.stream, state, "set_rng_state")

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            state = self.get_rng_state()
        except RandomError:  # inside a transformation nobody knows how far it is
            return f"<{name} of {self.stream.impl} keys>"
        return f"<{name} of {' '.join(_beginning(state))}, {state['count']} drawn>"

    def _repr_html_(self) -> str:
        try:
            state = self.get_rng_state()
        except RandomError:
            facts = [("keys", self.stream.impl)]
        else:
            drawn = f"{state['count']} draws"
            facts = [_beginning(state), ("stands after", drawn)]
        return html_facts(type(self).__name__, facts)

    def __getstate__(self) -> dict[str, Any]:
        # With the attributes of subclasses, whose `__init__` does not run again.
        return {**vars(self), "stream": self.get_rng_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        root, count = position_in(state["stream"], self._made_by)
        vars(self).update(state, stream=_BoundStream(root, count))

    next_key: Final = _like(_torch_random.next_key)
    make_random_key: Final = _like(_torch_random.make_random_key)
    make_random_keys: Final = _like(_torch_random.make_random_keys)


def _beginning(state: RngState) -> tuple[str, str]:
    """What to make the same stream of: a seed, if there is a short one."""
    high, *low = state["key"]
    if len(low) == 1 and high == 0:
        return "seed", str(low[0])
    return "key", str(state["key"])


class Generator(OwnStream):
    """A random generator with a stream of its own, and jfi's functions as methods.

    In compiled code too: what traces a method keeps this very generator.

    >>> import jfi as jnp
    >>> g = jnp.Generator(0)
    >>> a = g.randn(3)
    >>> bool((jnp.Generator(0).randn(3) == a).all())
    True

    Args:
        seed: As in `manual_seed`; other numbers in each process if not given.
    """

    bernoulli: Final = _like(_torch_random.bernoulli)
    choice: Final = _like(_torch_random.choice)
    dropout: Final = _like(_torch_random.dropout)
    multinomial: Final = _like(_torch_random.multinomial)
    normal: Final = _like(_torch_random.normal)
    poisson: Final = _like(_torch_random.poisson)
    rand: Final = _like(_torch_random.rand)
    rand_like: Final = _like(_torch_random.rand_like)
    randint: Final = _like(_torch_random.randint)
    randint_like: Final = _like(_torch_random.randint_like)
    randn: Final = _like(_torch_random.randn)
    randn_like: Final = _like(_torch_random.randn_like)
    randperm: Final = _like(_torch_random.randperm)
    uniform: Final = _like(_torch_random.uniform)


class NumPyGenerator(OwnStream):
    """A random generator with a stream of its own, and NumPy's functions as methods.

    Made by `jfi.random.default_rng`.
    """

    _made_by = "default_rng"

    ball: Final = _like(_numpy_random.ball)
    bernoulli: Final = _like(_numpy_random.bernoulli)
    beta: Final = _like(_numpy_random.beta)
    binomial: Final = _like(_numpy_random.binomial)
    bits: Final = _like(_numpy_random.bits)
    categorical: Final = _like(_numpy_random.categorical)
    cauchy: Final = _like(_numpy_random.cauchy)
    chisquare: Final = _like(_numpy_random.chisquare)
    choice: Final = _like(_numpy_random.choice)
    dirichlet: Final = _like(_numpy_random.dirichlet)
    double_sided_maxwell: Final = _like(_numpy_random.double_sided_maxwell)
    exponential: Final = _like(_numpy_random.exponential)
    f: Final = _like(_numpy_random.f)
    gamma: Final = _like(_numpy_random.gamma)
    generalized_normal: Final = _like(_numpy_random.generalized_normal)
    geometric: Final = _like(_numpy_random.geometric)
    gumbel: Final = _like(_numpy_random.gumbel)
    integers: Final = _like(_numpy_random.integers)
    laplace: Final = _like(_numpy_random.laplace)
    loggamma: Final = _like(_numpy_random.loggamma)
    logistic: Final = _like(_numpy_random.logistic)
    lognormal: Final = _like(_numpy_random.lognormal)
    maxwell: Final = _like(_numpy_random.maxwell)
    multinomial: Final = _like(_numpy_random.multinomial)
    multivariate_normal: Final = _like(_numpy_random.multivariate_normal)
    negative_binomial: Final = _like(_numpy_random.negative_binomial)
    noncentral_chisquare: Final = _like(_numpy_random.noncentral_chisquare)
    noncentral_f: Final = _like(_numpy_random.noncentral_f)
    normal: Final = _like(_numpy_random.normal)
    orthogonal: Final = _like(_numpy_random.orthogonal)
    pareto: Final = _like(_numpy_random.pareto)
    permutation: Final = _like(_numpy_random.permutation)
    permuted: Final = _like(_numpy_random.permuted)
    poisson: Final = _like(_numpy_random.poisson)
    power: Final = _like(_numpy_random.power)
    rademacher: Final = _like(_numpy_random.rademacher)
    randint: Final = _like(_numpy_random.randint)
    random: Final = _like(_numpy_random.random)
    rayleigh: Final = _like(_numpy_random.rayleigh)
    standard_cauchy: Final = _like(_numpy_random.standard_cauchy)
    standard_exponential: Final = _like(_numpy_random.standard_exponential)
    standard_gamma: Final = _like(_numpy_random.standard_gamma)
    standard_normal: Final = _like(_numpy_random.standard_normal)
    standard_t: Final = _like(_numpy_random.standard_t)
    t: Final = _like(_numpy_random.t)
    triangular: Final = _like(_numpy_random.triangular)
    truncated_normal: Final = _like(_numpy_random.truncated_normal)
    uniform: Final = _like(_numpy_random.uniform)
    wald: Final = _like(_numpy_random.wald)
    weibull: Final = _like(_numpy_random.weibull)
    weibull_min: Final = _like(_numpy_random.weibull_min)

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            why = missing(name) or f"a NumPyGenerator has no {name}."
            raise AttributeError(why, name=name, obj=self)


def default_rng(
    seed: int | jax.Array | NumPyGenerator | None = None,
) -> NumPyGenerator:
    """Make a random generator with NumPy's methods and a stream of its own.

    >>> import jfi as jnp
    >>> rng = jnp.random.default_rng(0)
    >>> rng.normal(10.0, 0.1, size=(2, 2)).shape
    (2, 2)

    Args:
        seed: As in `jfi.manual_seed`; other numbers in each process if not given. A
            generator is returned as it is.

    Returns:
        The generator.

    Raises:
        RandomError: Not a seed, or called inside a JAX transformation.
    """
    return seed if isinstance(seed, NumPyGenerator) else NumPyGenerator(seed)
