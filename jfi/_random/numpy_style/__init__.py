"""NumPy's random functions without keys; with a key first that of `jax.random`.

`_declaring` shows how one is declared, `_key_first` finds out in which of the two ways
a function is called, and `_samplers` holds what is compiled. The distributions are in
files by what their parameters are: `_located`, `_powers`, `_gammas` ...; `_missing`
says what to write for what is not here. What is imported here is public in
`jfi.random`.
"""

from ._bounded import (
    triangular as triangular,
    truncated_normal as truncated_normal,
    uniform as uniform,
)
from ._counts import (
    binomial as binomial,
    geometric as geometric,
    integers as integers,
    multinomial as multinomial,
    negative_binomial as negative_binomial,
    poisson as poisson,
    randint as randint,
)
from ._gammas import (
    beta as beta,
    chisquare as chisquare,
    f as f,
    gamma as gamma,
    loggamma as loggamma,
    noncentral_chisquare as noncentral_chisquare,
    noncentral_f as noncentral_f,
    standard_gamma as standard_gamma,
    standard_t as standard_t,
    t as t,
)
from ._located import (
    double_sided_maxwell as double_sided_maxwell,
    exponential as exponential,
    gumbel as gumbel,
    laplace as laplace,
    logistic as logistic,
    lognormal as lognormal,
    normal as normal,
    rayleigh as rayleigh,
)
from ._orders import (
    bernoulli as bernoulli,
    categorical as categorical,
    choice as choice,
    permutation as permutation,
    permuted as permuted,
)
from ._powers import (
    generalized_normal as generalized_normal,
    pareto as pareto,
    power as power,
    wald as wald,
    weibull as weibull,
    weibull_min as weibull_min,
)
from ._standard import (
    bits as bits,
    cauchy as cauchy,
    maxwell as maxwell,
    rademacher as rademacher,
    random as random,
    standard_cauchy as standard_cauchy,
    standard_exponential as standard_exponential,
    standard_normal as standard_normal,
)
from ._vectors import (
    ball as ball,
    dirichlet as dirichlet,
    multivariate_normal as multivariate_normal,
    orthogonal as orthogonal,
)
