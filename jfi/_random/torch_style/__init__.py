"""Random numbers without keys: PyTorch's names on the global generator.

A draw is one compiled call: it makes its key from the generator's state and samples.
Begin in `_floats`; `_integers`, `_choices` and `_random_keys` are alike. `_parameters`
are what they are given.
"""

from ._choices import (
    bernoulli as bernoulli,
    choice as choice,
    dropout as dropout,
    multinomial as multinomial,
)
from ._floats import (
    normal as normal,
    rand as rand,
    rand_like as rand_like,
    randn as randn,
    randn_like as randn_like,
    uniform as uniform,
)
from ._integers import (
    draw_between as draw_between,
    poisson as poisson,
    randint as randint,
    randint_like as randint_like,
    randperm as randperm,
)
from ._parameters import numbers as numbers
from ._random_keys import (
    make_random_key as make_random_key,
    make_random_keys as make_random_keys,
    next_key as next_key,
)
