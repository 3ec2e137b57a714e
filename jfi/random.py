"""Random numbers: NumPy's functions without keys, `jax.random`'s with a key first.

>>> import jfi as jnp
>>> x = jnp.random.gamma(2.0, size=3)
>>> y = jnp.random.gamma(jnp.key(0), 2.0, (3,))

A typed key in the first place, or `key=` together with names of arguments that only
`jax.random` has (`shape=`, `minval=`), gives exactly what `jax.random` gives. All else
is NumPy's, with `key=`, `dtype=` and `device=` besides.
"""

import typing as _typing

from jax.random import (
    PRNGKey as PRNGKey,
    clone as clone,
    fold_in as fold_in,
    key as key,
    key_data as key_data,
    key_dtype as key_dtype,
    key_impl as key_impl,
    split as split,
    wrap_key_data as wrap_key_data,
)

from ._random._generator_objects import default_rng as default_rng
from ._random._key_data import (
    key_repr as key_repr,
    unwrap_key as unwrap_key,
    wrap_key as wrap_key,
)
from ._random._seeding import manual_seed
from ._random.numpy_style import (
    ball as ball,
    bernoulli as bernoulli,
    beta as beta,
    binomial as binomial,
    bits as bits,
    categorical as categorical,
    cauchy as cauchy,
    chisquare as chisquare,
    choice as choice,
    dirichlet as dirichlet,
    double_sided_maxwell as double_sided_maxwell,
    exponential as exponential,
    f as f,
    gamma as gamma,
    generalized_normal as generalized_normal,
    geometric as geometric,
    gumbel as gumbel,
    integers as integers,
    laplace as laplace,
    loggamma as loggamma,
    logistic as logistic,
    lognormal as lognormal,
    maxwell as maxwell,
    missing as _missing,
    multinomial as multinomial,
    multivariate_normal as multivariate_normal,
    negative_binomial as negative_binomial,
    noncentral_chisquare as noncentral_chisquare,
    noncentral_f as noncentral_f,
    normal as normal,
    orthogonal as orthogonal,
    pareto as pareto,
    permutation as permutation,
    permuted as permuted,
    poisson as poisson,
    power as power,
    rademacher as rademacher,
    randint as randint,
    random as random,
    rayleigh as rayleigh,
    standard_cauchy as standard_cauchy,
    standard_exponential as standard_exponential,
    standard_gamma as standard_gamma,
    standard_normal as standard_normal,
    standard_t as standard_t,
    t as t,
    triangular as triangular,
    truncated_normal as truncated_normal,
    uniform as uniform,
    wald as wald,
    weibull as weibull,
    weibull_min as weibull_min,
)


seed = manual_seed  # NumPy's name

if _typing.TYPE_CHECKING:
    random_gamma_p: _typing.Any  # untyped in JAX 0.10
else:
    import jax.random as _theirs
    from jax.random import random_gamma_p as random_gamma_p

    def __getattr__(name: str) -> _typing.Any:
        why = _missing(name)
        if why is not None:
            raise AttributeError(why)
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_theirs, name)  # what later versions of JAX add

    def __dir__() -> list[str]:
        return sorted({*globals(), *dir(_theirs)})
