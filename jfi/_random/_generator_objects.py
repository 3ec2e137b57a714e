"""Generators as objects, each with a stream of random draws of its own."""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import jax

from . import (
    numpy_style as _numpy_random,
    torch_style as _torch_random,
)
from ._seeding import RngState, checked_seed, restart, set_state, state_of
from ._streams import Stream, using


P = ParamSpec("P")
R = TypeVar("R")


def _like(
    function: Callable[P, R],
) -> Callable[[Callable[..., object]], Callable[Concatenate["OwnStream", P], R]]:
    """A function of the current stream as a method, which draws from its object."""

    @functools.wraps(function)
    def method(self: "OwnStream", /, *args: P.args, **kwargs: P.kwargs) -> R:
        with using(self.stream):
            return function(*args, **kwargs)

    return lambda _: method


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

    def __init__(self, seed: int | jax.Array | None = None) -> None:
        name = type(self).__name__
        given = None if seed is None else checked_seed(seed, name)
        self.stream: Stream = _BoundStream(given)

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
        return f"<{type(self).__name__} of {self.stream.impl} keys>"

    def __getstate__(self) -> RngState:
        return self.get_rng_state()

    def __setstate__(self, state: RngState) -> None:
        self.__init__(0)  # type: ignore[misc]
        self.set_rng_state(state)

    @_like(_torch_random.next_key)
    def next_key(self) -> None:
        """See `jfi.next_key`."""

    @_like(_torch_random.make_random_key)
    def make_random_key(self) -> None:
        """See `jfi.make_random_key`."""

    @_like(_torch_random.make_random_keys)
    def make_random_keys(self) -> None:
        """See `jfi.make_random_keys`."""


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

    @_like(_torch_random.bernoulli)
    def bernoulli(self) -> None:
        """See `jfi.bernoulli`."""

    @_like(_torch_random.choice)
    def choice(self) -> None:
        """See `jfi.choice`."""

    @_like(_torch_random.dropout)
    def dropout(self) -> None:
        """See `jfi.dropout`."""

    @_like(_torch_random.multinomial)
    def multinomial(self) -> None:
        """See `jfi.multinomial`."""

    @_like(_torch_random.normal)
    def normal(self) -> None:
        """See `jfi.normal`."""

    @_like(_torch_random.poisson)
    def poisson(self) -> None:
        """See `jfi.poisson`."""

    @_like(_torch_random.rand)
    def rand(self) -> None:
        """See `jfi.rand`."""

    @_like(_torch_random.rand_like)
    def rand_like(self) -> None:
        """See `jfi.rand_like`."""

    @_like(_torch_random.randint)
    def randint(self) -> None:
        """See `jfi.randint`."""

    @_like(_torch_random.randint_like)
    def randint_like(self) -> None:
        """See `jfi.randint_like`."""

    @_like(_torch_random.randn)
    def randn(self) -> None:
        """See `jfi.randn`."""

    @_like(_torch_random.randn_like)
    def randn_like(self) -> None:
        """See `jfi.randn_like`."""

    @_like(_torch_random.randperm)
    def randperm(self) -> None:
        """See `jfi.randperm`."""

    @_like(_torch_random.uniform)
    def uniform(self) -> None:
        """See `jfi.uniform`."""


class NumPyGenerator(OwnStream):
    """A random generator with a stream of its own, and NumPy's functions as methods.

    Made by `jfi.random.default_rng`.
    """

    @_like(_numpy_random.ball)
    def ball(self) -> None:
        """See `jfi.random.ball`."""

    @_like(_numpy_random.bernoulli)
    def bernoulli(self) -> None:
        """See `jfi.random.bernoulli`."""

    @_like(_numpy_random.beta)
    def beta(self) -> None:
        """See `jfi.random.beta`."""

    @_like(_numpy_random.binomial)
    def binomial(self) -> None:
        """See `jfi.random.binomial`."""

    @_like(_numpy_random.bits)
    def bits(self) -> None:
        """See `jfi.random.bits`."""

    @_like(_numpy_random.categorical)
    def categorical(self) -> None:
        """See `jfi.random.categorical`."""

    @_like(_numpy_random.cauchy)
    def cauchy(self) -> None:
        """See `jfi.random.cauchy`."""

    @_like(_numpy_random.chisquare)
    def chisquare(self) -> None:
        """See `jfi.random.chisquare`."""

    @_like(_numpy_random.choice)
    def choice(self) -> None:
        """See `jfi.random.choice`."""

    @_like(_numpy_random.dirichlet)
    def dirichlet(self) -> None:
        """See `jfi.random.dirichlet`."""

    @_like(_numpy_random.double_sided_maxwell)
    def double_sided_maxwell(self) -> None:
        """See `jfi.random.double_sided_maxwell`."""

    @_like(_numpy_random.exponential)
    def exponential(self) -> None:
        """See `jfi.random.exponential`."""

    @_like(_numpy_random.f)
    def f(self) -> None:
        """See `jfi.random.f`."""

    @_like(_numpy_random.gamma)
    def gamma(self) -> None:
        """See `jfi.random.gamma`."""

    @_like(_numpy_random.generalized_normal)
    def generalized_normal(self) -> None:
        """See `jfi.random.generalized_normal`."""

    @_like(_numpy_random.geometric)
    def geometric(self) -> None:
        """See `jfi.random.geometric`."""

    @_like(_numpy_random.gumbel)
    def gumbel(self) -> None:
        """See `jfi.random.gumbel`."""

    @_like(_numpy_random.integers)
    def integers(self) -> None:
        """See `jfi.random.integers`."""

    @_like(_numpy_random.laplace)
    def laplace(self) -> None:
        """See `jfi.random.laplace`."""

    @_like(_numpy_random.loggamma)
    def loggamma(self) -> None:
        """See `jfi.random.loggamma`."""

    @_like(_numpy_random.logistic)
    def logistic(self) -> None:
        """See `jfi.random.logistic`."""

    @_like(_numpy_random.lognormal)
    def lognormal(self) -> None:
        """See `jfi.random.lognormal`."""

    @_like(_numpy_random.maxwell)
    def maxwell(self) -> None:
        """See `jfi.random.maxwell`."""

    @_like(_numpy_random.multinomial)
    def multinomial(self) -> None:
        """See `jfi.random.multinomial`."""

    @_like(_numpy_random.multivariate_normal)
    def multivariate_normal(self) -> None:
        """See `jfi.random.multivariate_normal`."""

    @_like(_numpy_random.negative_binomial)
    def negative_binomial(self) -> None:
        """See `jfi.random.negative_binomial`."""

    @_like(_numpy_random.noncentral_chisquare)
    def noncentral_chisquare(self) -> None:
        """See `jfi.random.noncentral_chisquare`."""

    @_like(_numpy_random.noncentral_f)
    def noncentral_f(self) -> None:
        """See `jfi.random.noncentral_f`."""

    @_like(_numpy_random.normal)
    def normal(self) -> None:
        """See `jfi.random.normal`."""

    @_like(_numpy_random.orthogonal)
    def orthogonal(self) -> None:
        """See `jfi.random.orthogonal`."""

    @_like(_numpy_random.pareto)
    def pareto(self) -> None:
        """See `jfi.random.pareto`."""

    @_like(_numpy_random.permutation)
    def permutation(self) -> None:
        """See `jfi.random.permutation`."""

    @_like(_numpy_random.permuted)
    def permuted(self) -> None:
        """See `jfi.random.permuted`."""

    @_like(_numpy_random.poisson)
    def poisson(self) -> None:
        """See `jfi.random.poisson`."""

    @_like(_numpy_random.power)
    def power(self) -> None:
        """See `jfi.random.power`."""

    @_like(_numpy_random.rademacher)
    def rademacher(self) -> None:
        """See `jfi.random.rademacher`."""

    @_like(_numpy_random.randint)
    def randint(self) -> None:
        """See `jfi.random.randint`."""

    @_like(_numpy_random.random)
    def random(self) -> None:
        """See `jfi.random.random`."""

    @_like(_numpy_random.rayleigh)
    def rayleigh(self) -> None:
        """See `jfi.random.rayleigh`."""

    @_like(_numpy_random.standard_cauchy)
    def standard_cauchy(self) -> None:
        """See `jfi.random.standard_cauchy`."""

    @_like(_numpy_random.standard_exponential)
    def standard_exponential(self) -> None:
        """See `jfi.random.standard_exponential`."""

    @_like(_numpy_random.standard_gamma)
    def standard_gamma(self) -> None:
        """See `jfi.random.standard_gamma`."""

    @_like(_numpy_random.standard_normal)
    def standard_normal(self) -> None:
        """See `jfi.random.standard_normal`."""

    @_like(_numpy_random.standard_t)
    def standard_t(self) -> None:
        """See `jfi.random.standard_t`."""

    @_like(_numpy_random.t)
    def t(self) -> None:
        """See `jfi.random.t`."""

    @_like(_numpy_random.triangular)
    def triangular(self) -> None:
        """See `jfi.random.triangular`."""

    @_like(_numpy_random.truncated_normal)
    def truncated_normal(self) -> None:
        """See `jfi.random.truncated_normal`."""

    @_like(_numpy_random.uniform)
    def uniform(self) -> None:
        """See `jfi.random.uniform`."""

    @_like(_numpy_random.wald)
    def wald(self) -> None:
        """See `jfi.random.wald`."""

    @_like(_numpy_random.weibull)
    def weibull(self) -> None:
        """See `jfi.random.weibull`."""

    @_like(_numpy_random.weibull_min)
    def weibull_min(self) -> None:
        """See `jfi.random.weibull_min`."""


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
