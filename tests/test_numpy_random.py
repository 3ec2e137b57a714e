"""jfi.random: NumPy's functions without keys, those of jax.random with a key first."""

import inspect
import re

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jfi as jnp
from jfi import random
from jfi._random import numpy_style
from jfi._random._documented import documented
from jfi._random.numpy_style._declaring import NON_NEGATIVE, draws_floats


# As numpy.random.Generator has them: the parameters, in its order.
NUMPY = {
    "beta": (2.0, 3.0),
    "binomial": (10, 0.3),
    "chisquare": (3.0,),
    "exponential": (2.0,),
    "f": (4.0, 6.0),
    "gamma": (2.0, 3.0),
    "geometric": (0.3,),
    "gumbel": (1.0, 2.0),
    "integers": (2, 9),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "lognormal": (0.5, 0.25),
    "negative_binomial": (5.0, 0.4),
    "noncentral_chisquare": (3.0, 2.0),
    "noncentral_f": (4.0, 6.0, 2.0),
    "normal": (1.0, 2.0),
    "pareto": (3.0,),
    "poisson": (3.5,),
    "power": (2.5,),
    "random": (),
    "rayleigh": (2.0,),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2.5,),
    "standard_normal": (),
    "standard_t": (5.0,),
    "triangular": (-1.0, 0.5, 2.0),
    "uniform": (-1.0, 2.0),
    "wald": (2.0, 3.0),
    "weibull": (1.5,),
}
INTEGERS = {"binomial", "geometric", "integers", "negative_binomial", "poisson"}

# As jax.random has them: what comes after the key.
THEIRS = {
    "ball": (3, 1.5, (4,)),
    "bernoulli": (0.3, (4,)),
    "beta": (2.0, 3.0, (4,)),
    "binomial": (10.0, 0.3, (4,)),
    "bits": ((4,),),
    "categorical": (np.zeros(3), -1, (4,)),
    "cauchy": ((4,),),
    "chisquare": (3.0, (4,)),
    "choice": (5, (4,)),
    "dirichlet": (np.ones(3), (4,)),
    "double_sided_maxwell": (0.0, 1.0, (4,)),
    "exponential": ((4,),),
    "f": (3.0, 4.0, (4,)),
    "gamma": (2.0, (4,)),
    "generalized_normal": (1.5, (4,)),
    "geometric": (0.3, (4,)),
    "gumbel": ((4,),),
    "laplace": ((4,),),
    "loggamma": (2.0, (4,)),
    "logistic": ((4,),),
    "lognormal": (0.5, (4,)),
    "maxwell": ((4,),),
    "multinomial": (10, np.full(3, 1 / 3)),
    "multivariate_normal": (np.zeros(2), np.eye(2), (4,)),
    "normal": ((4,),),
    "orthogonal": (3, (4,)),
    "pareto": (2.0, (4,)),
    "permutation": (5,),
    "poisson": (3.0, (4,)),
    "rademacher": ((4,),),
    "randint": ((4,), 0, 9),
    "rayleigh": (2.0, (4,)),
    "t": (3.0, (4,)),
    "triangular": (0.0, 1.0, 2.0, (4,)),
    "truncated_normal": (-1.0, 1.0, (4,)),
    "uniform": ((4,),),
    "wald": (2.0, (4,)),
    "weibull_min": (2.0, 1.5, (4,)),
}
NO_DRAWS = {
    "PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl",
    "random_gamma_p", "split", "wrap_key_data",
}  # fmt: skip
SIZE_FIRST = {
    "ball", "bits", "cauchy", "maxwell", "orthogonal", "rademacher",
}  # fmt: skip
# Slow to compile, and made of others of the table: their programs are compared.
MADE_OF_OTHERS = {
    "ball", "beta", "binomial", "chisquare", "dirichlet", "f", "generalized_normal",
    "loggamma", "multinomial", "t",
}  # fmt: skip

# PyTorch's names, whose docstrings are made in the same way.
TORCH = (
    "bernoulli choice dropout make_random_key make_random_keys multinomial next_key "
    "normal poisson rand rand_like randint randint_like randn randn_like randperm "
    "uniform"
).split()


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


def sample(name, *args, **kwargs):
    return getattr(random, name)(*args, **kwargs)


# ------------------------------------------------------------ exactly as jax.random


def test_the_table_has_all_of_jax_random():
    names = {name for name in dir(jax.random) if not name.startswith("_")}
    types = {"Key"} & names  # since JAX 0.12
    assert names == set(THEIRS) | NO_DRAWS | types
    for name in NO_DRAWS | types:
        assert getattr(random, name) is getattr(jax.random, name)


def named(name):
    """The arguments of the table by the names that jax.random has for them."""
    names = list(inspect.signature(getattr(jax.random, name)).parameters)[1:]
    return dict(zip(names, THEIRS[name], strict=False))


@pytest.mark.parametrize("name", [n for n in THEIRS if n not in MADE_OF_OTHERS])
def test_a_key_first_is_jax_random(name):
    key, args = jax.random.key(3), THEIRS[name]
    ours, theirs = getattr(random, name), getattr(jax.random, name)
    expected = theirs(key, *args)
    assert same(ours(key, *args), expected)
    assert same(ours(key, **named(name)), expected)


def program(f, key):
    return str(jax.make_jaxpr(f)(key))


@pytest.mark.parametrize("name", THEIRS)
def test_a_key_first_is_jax_random_while_tracing(name, x64):
    ours, theirs = getattr(random, name), getattr(jax.random, name)
    key, args = jax.random.key(3), THEIRS[name]
    expected = program(lambda k: theirs(k, *args), key)
    assert program(lambda k: ours(k, *args), key) == expected
    assert program(lambda k: ours(k, **named(name)), key) == expected


@pytest.mark.parametrize("name", THEIRS)
def test_a_key_by_name_with_names_of_jax_random(name):
    ours, theirs = getattr(random, name), getattr(jax.random, name)
    alone = set(inspect.signature(theirs).parameters) - set(
        inspect.signature(ours).parameters
    )
    if not alone & set(named(name)):
        pytest.skip("all names are NumPy's too, and so is the call")
    key, args = jax.random.key(3), named(name)
    expected = program(lambda k: theirs(k, **args), key)
    assert program(lambda k: ours(key=k, **args), key) == expected
    if name not in MADE_OF_OTHERS:
        assert same(ours(key=key, **args), theirs(key, **args))


@pytest.mark.parametrize("name", THEIRS)
def test_errors_with_a_key_first_are_those_of_jax_random(name):
    for args in [("a", "b", "c", "d", "e", "f", "g", "h", "i"), ()]:
        with pytest.raises(Exception) as theirs:  # noqa: PT011
            getattr(jax.random, name)(jax.random.split(jax.random.key(0)), *args)
        with pytest.raises(type(theirs.value)) as ours:
            sample(name, jax.random.split(jax.random.key(0)), *args)
        assert str(ours.value) == str(theirs.value)


OLD_KEYS = [(name, impl) for name in THEIRS for impl in ("threefry2x32", "rbg")]
OLD_KEYS.remove(("poisson", "rbg"))  # which JAX does not have


@pytest.mark.parametrize(("name", "impl"), OLD_KEYS)
def test_an_old_key_first_is_jax_random(name, impl):
    """A JAX array of uint32 in the shape of a key, also traced and in each row."""
    ours, theirs = getattr(random, name), getattr(jax.random, name)
    args = THEIRS[name]
    with jax.default_prng_impl(impl):
        key = jax.random.PRNGKey(3)
        expected = program(lambda k: theirs(k, *args), key)
        assert program(lambda k: ours(k, *args), key) == expected
        assert program(lambda k: ours(k, **named(name)), key) == expected
        keys = jax.random.split(key, 2)
        rows = program(jax.vmap(lambda k: theirs(k, *args)), keys)
        assert program(jax.vmap(lambda k: ours(k, *args)), keys) == rows
        if name not in MADE_OF_OTHERS:
            assert same(ours(key, *args), theirs(key, *args))


@pytest.mark.parametrize("name", [n for n in THEIRS if n not in SIZE_FIRST])
def test_rows_of_old_keys_are_never_taken_for_data(name):
    key = jax.random.PRNGKey(3)
    other = jax.random.PRNGKey(3, impl="rbg")  # which is not the default one
    for first in (jnp.stack([key, key]), other):
        with pytest.raises(
            jnp.RandomError,
            match=rf"random.{name}\(\) got a uint32 array of shape .*"
            rf"wrap_key\(keys\) for keys, or {name}\(\w+=...\) for data",
        ):
            sample(name, first, *THEIRS[name])


def test_uint32_of_numpy_is_data():
    data = np.array([7, 9], "uint32")
    assert set(random.choice(data, 50).tolist()) == {7, 9}
    assert sorted(random.permutation(data).tolist()) == [7, 9]
    assert random.normal(data, 0.0).tolist() == [7.0, 9.0]


def test_what_scripts_do_with_old_keys():
    old = jax.random.PRNGKey(0)
    assert same(random.normal(old, (3,)), jax.random.normal(old, (3,)))
    ours = random.bernoulli(old, 0.5, shape=(3,))
    assert same(ours, jax.random.bernoulli(old, 0.5, shape=(3,)))
    ours = random.uniform(old, (2,), minval=1.0, maxval=2.0)
    assert same(ours, jax.random.uniform(old, (2,), minval=1.0, maxval=2.0))


def test_uint32_data_by_name_are_data():
    data = np.array([7, 9], "uint32")
    assert set(random.choice(a=data, size=50).tolist()) == {7, 9}
    assert sorted(random.permutation(x=data).tolist()) == [7, 9]
    assert random.normal(loc=data).shape == (2,)


@pytest.mark.parametrize("name", [*sorted(set(NUMPY) - set(THEIRS)), "permuted"])
def test_a_key_first_is_refused_where_jax_random_has_no_such_function(name):
    with pytest.raises(jnp.RandomError, match=rf"Write .*{name}\(..., key=key\)"):
        sample(name, jax.random.key(0), 3)


def test_a_key_in_another_place_is_refused():
    for name in ("normal", "gamma", "poisson", "uniform", "integers", "randint"):
        first = next(iter(inspect.signature(getattr(random, name)).parameters))
        with pytest.raises(jnp.RandomError, match=rf"random key for {first}"):
            sample(name, **{first: jax.random.key(0)})


def test_arguments_of_jax_random_need_a_key():
    with pytest.raises(TypeError, match=r"got shape without a key.*size=\(2, 3\)"):
        random.normal(shape=(3,))
    with pytest.raises(TypeError, match="got minval without a key"):
        random.uniform(minval=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'siz'"):
        random.normal(siz=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'siz'"):
        random.normal(siz=3, key=jax.random.key(0))


# ---------------------------------------------------------------------- how it is shown

DISTRIBUTIONS = {
    name: value for name, value in vars(numpy_style).items() if callable(value)
}
WITHOUT_KEYS = {**DISTRIBUTIONS, **{f"jfi.{n}": getattr(jnp, n) for n in TORCH}}


def test_every_distribution_is_public_and_in_a_table():
    assert set(DISTRIBUTIONS) == {"permuted", *NUMPY, *THEIRS} - NO_DRAWS
    assert all(getattr(random, name) is DISTRIBUTIONS[name] for name in DISTRIBUTIONS)


@pytest.mark.parametrize("name", WITHOUT_KEYS)
def test_every_docstring_shows_a_value_and_explains_each_parameter(name):
    function = WITHOUT_KEYS[name]
    doc = inspect.getdoc(function)
    parts = re.split(r"\n\n(?=>>>|Args:|Returns:|Raises:)", doc)
    sentence, example, args, returns, raises = parts
    assert sentence.split("\n\n")[0].endswith(".")
    assert ".shape" not in example
    explained = re.findall(r"^    \*?(\w+): ", args, flags=re.MULTILINE)
    assert explained == list(inspect.signature(function).parameters)
    assert returns.startswith("Returns:\n    ")
    assert "RandomError: No fresh" in raises


def test_a_docstring_says_its_own_where_it_differs():
    assert (
        "    size: The shape; that of loc and scale together" in random.normal.__doc__
    )
    assert "    size: The shape without k" in random.dirichlet.__doc__
    assert "    dtype: An unsigned dtype" in random.bits.__doc__
    assert random.bits.__doc__.count("dtype: ") == 1


def test_a_parameter_that_is_not_explained_is_seen():
    def draw(scale, size=None):
        """Draw."""

    with pytest.raises(AssertionError, match="of draw does not explain scale"):
        documented(draw)


def test_without_docstrings_nothing_is_added():
    def draw(p, size=None):
        pass

    assert documented(draw).__doc__ is None  # as under `python -OO`


def test_a_bound_of_no_parameter_is_seen():
    def draw(scale, size=None):
        """Draw.

        Args:
            scale: How wide it is.
        """

    with pytest.raises(AssertionError, match="draw has no parameter scales"):
        draws_floats(jax.random.normal, scales=NON_NEGATIVE)(draw)


# --------------------------------------------------------------- as numpy.random has it


@pytest.mark.parametrize("name", NUMPY)
def test_signatures_begin_as_in_numpy(name):
    theirs = [
        p.split("=")[0].strip()
        for p in getattr(np.random.Generator, name).__doc__.split(")")[0]
        .split("(", 1)[1].split(",")
    ]  # fmt: skip
    ours = list(inspect.signature(getattr(random, name)).parameters)
    known = [p for p in theirs if p in ours]
    assert known == ours[: len(known)] or "dtype" in known
    assert set(theirs) - set(known) <= {"out", "method"}
    assert ours[-2:] == ["key", "device"] or {"key", "dtype", "device"} <= set(ours)


def test_every_name_of_numpy_is_there_or_says_why_not():
    later = {"default_rng", "seed", "Generator", "mtrand", "test"}
    names = {n for n in dir(np.random) + dir(np.random.Generator) if n[0] != "_"}
    for name in names - later:
        if hasattr(random, name):
            continue
        with pytest.raises(AttributeError, match=rf"jfi.random has no {name}\. .*"):
            getattr(random, name)
    assert not hasattr(random, "shuffle")
    with pytest.raises(AttributeError, match=r"x = jnp.random.permutation\(x\)"):
        random.shuffle  # noqa: B018
    with pytest.raises(AttributeError, match=r"default_rng\(0\).zipf\(...\)"):
        random.zipf  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'shufle'"):
        random.shufle  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute '__wrapped__'"):
        random.__wrapped__  # noqa: B018


def traced(name, *args, **kwargs):
    """The shape and dtype of a draw, which is not compiled."""
    key = jax.random.key(0)
    return jax.eval_shape(lambda: sample(name, *args, key=key, **kwargs))


@pytest.mark.parametrize("name", NUMPY)
def test_dtypes(name, x64):
    args = NUMPY[name]
    if name in INTEGERS:
        assert traced(name, *args).dtype == ("int64" if x64 else "int32")
        assert traced(name, *args, dtype="int16").dtype == "int16"
        with pytest.raises(TypeError, match="draws an integer dtype"):
            traced(name, *args, dtype="float32")
        return
    assert traced(name, *args).dtype == "float32"
    assert traced(name, *args, dtype="bfloat16").dtype == "bfloat16"
    with pytest.raises(TypeError, match="draws a float dtype"):
        traced(name, *args, dtype="int32")
    if x64:
        with jnp.default_dtype("float64"):
            assert traced(name, *args).dtype == "float64"
        if args:
            assert traced(name, *map(np.asarray, args)).dtype == "float64"


@pytest.mark.parametrize("name", [n for n in NUMPY if NUMPY[n]])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_shapes_broadcast_as_in_numpy(name, data):
    shapes = [
        data.draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3)]))
        for _ in NUMPY[name]
    ]
    size = data.draw(st.sampled_from([None, 3, (), (3,), (2, 3), (4, 2, 3), (0,)]))
    parameters = [
        np.full(shape, x) for x, shape in zip(NUMPY[name], shapes, strict=True)
    ]
    # NumPy's integers() takes sizes that are too small for the parameters.
    theirs = "uniform" if name == "integers" else name
    try:
        expected = getattr(np.random.default_rng(0), theirs)(*parameters, size=size)
    except ValueError:
        with pytest.raises(ValueError, match=r"does not fit|could not be broadcast"):
            traced(name, *parameters, size=size)
        return
    drawn = traced(name, *parameters, size=size)
    assert drawn.shape == np.shape(expected)
    assert drawn.dtype.kind == ("i" if name in INTEGERS else "f")
    lists = [p.tolist() for p in parameters]
    assert traced(name, *lists, size=size).shape == np.shape(expected)


# The others draw no two times the same in test_random_distributions.py.
@pytest.mark.parametrize("name", ["gamma", "integers", "random", "standard_normal"])
def test_fresh_reproducible_and_by_key(name):
    def draw(**k):
        return np.asarray(sample(name, *NUMPY[name], size=64, **k))

    first, second = draw(), draw()
    assert (first != second).any()
    assert np.isfinite(first).all()
    jnp.manual_seed(0)
    assert (draw() == first).all()
    key = jnp.key(5)
    assert (draw(key=key) == draw(key=jax.random.key_data(key))).all()
    assert (draw() == second).all()


@pytest.mark.parametrize("name", ["gamma", "standard_normal"])
def test_under_jit_and_vmap(name):
    def draw(key):
        return sample(name, *NUMPY[name], size=8, key=key)

    keys = jax.random.split(jax.random.key(5), 3)
    expected = np.stack([draw(key) for key in keys])
    if name != "gamma":  # slow to compile
        np.testing.assert_allclose(jax.jit(draw)(keys[0]), expected[0], rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(draw)(keys), expected, rtol=1e-5)


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random.normal(0, -1), r"random.normal\(\) got scale=-1"),
        (lambda: random.normal(np.nan), "loc=nan, which is not a number"),
        (lambda: random.normal(0, [1, -1]), r"scale=\[ 1 -1\], which is not 0 or more"),
        (lambda: random.gamma(-1.0), "shape=-1.0, which is not 0 or more"),
        (lambda: random.gamma(1.0, -1.0), "scale=-1.0"),
        (lambda: random.beta(0.0, 1.0), "a=0.0, which is not above 0"),
        (lambda: random.beta(1.0, 0.0), "b=0.0"),
        (lambda: random.poisson(-1.0), "lam=-1.0"),
        (lambda: random.poisson(np.inf), "lam=inf, which is not 0 or more and finite"),
        (lambda: random.geometric(0.0), "p=0.0, which is not above 0 and at most 1"),
        (lambda: random.binomial(-1, 0.5), "n=-1, which is not a whole number"),
        (lambda: random.binomial(2.5, 0.5), "n=2.5"),
        (lambda: random.binomial(3, 1.5), "p=1.5, which is not between 0 and 1"),
        (lambda: random.binomial(300, 0.5, dtype="int8"), "n=300, which .* 127"),
        (lambda: random.negative_binomial(0, 0.5), "n=0, which is not above 0"),
        (lambda: random.triangular(0, 2, 1), "not in this order, or leave no room"),
        (lambda: random.triangular(0, 0, 0), "leave no room"),
        (lambda: random.truncated_normal(1, 1), "low is below high"),
        (lambda: random.truncated_normal(13.0, 14.0), "at most 12 for float32"),
        (lambda: random.truncated_normal(-14.0, -13.0), "at least -12 for float32"),
        (lambda: random.wald(0, 1), "mean=0, which is not above 0"),
        (lambda: random.integers(3, 3), "low is below high"),
        (lambda: random.integers(3, 2, endpoint=True), "low is at most high"),
        (lambda: random.integers(0, 128, dtype="int8", endpoint=True), "127 or less"),
        (lambda: random.integers(0.5, 3), "not an integer"),
        (lambda: random.dirichlet(3.0), "one weight for each outcome"),
        (lambda: random.dirichlet([1.0, 0.0]), "not above 0"),
        (lambda: random.multinomial(3, 0.5), "one probability for each outcome"),
        (lambda: random.multinomial(3, [0.9, 0.9, 0.1]), "of sum 1 at most"),
        (lambda: random.multinomial(3, [-0.5, 1.0]), "between 0 and 1"),
        (lambda: random.multinomial(300, [0.5], dtype="int8"), "n=300, which .* 127"),
        (lambda: random.multivariate_normal(0.0, 1.0), r"mean of shape \(n,\)"),
        (lambda: random.multivariate_normal(np.zeros(3), np.eye(2)), "cov of shape"),
        (
            lambda: random.multivariate_normal(np.zeros(2), [[1.0, 2], [2, 1]]),
            "negative eigenvalue -1",
        ),
        (
            lambda: random.multivariate_normal(np.zeros(2), [[1.0, 1], [0, 1]]),
            "not symmetric",
        ),
        (lambda: random.ball(3, 0.0), "p=0.0"),
        (lambda: random.ball(3, [1.0, 2.0]), r"p of shape \(2,\)"),
        (lambda: random.ball(-1), "a size is 0 or more"),
        (lambda: random.categorical(3.0), "a dimension for what is drawn"),
        (lambda: random.categorical([0.0, np.nan]), "below inf"),
        (lambda: random.categorical([-np.inf] * 2), "above -inf in 1 places"),
        (lambda: random.categorical([0.0, 1.0], size=3, replace=False), "in 3 places"),
        (lambda: random.permutation(np.eye(2), 2), "no such dimension"),
        (lambda: random.permuted(np.eye(2), 2), "no such dimension"),
        (lambda: random.normal(size=-1), "a size is 0 or more"),
        (lambda: random.bits(-1), "a size is 0 or more"),
    ],
)
def test_wrong_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("elements", [2.5, "ab", None, {1, 2}, np.array(2.5)])
def test_choice_refuses_what_has_no_elements(elements):
    with pytest.raises(TypeError, match="it draws from an array or a list of numbers"):
        random.choice(elements)


def test_choice_draws_from_a_range():
    assert set(random.choice(range(3, 9, 3), 50).tolist()) == {3, 6}


def test_wrong_kinds():
    with pytest.raises(TypeError, match=r"random.normal\(\) got loc='a'"):
        random.normal("a")
    with pytest.raises(TypeError, match=r"random.gamma\(\) got shape=None, which is"):
        random.gamma(None)
    with pytest.raises(TypeError, match=r"random.gamma\(\) got a complex number"):
        random.gamma(1j)
    with pytest.raises(TypeError, match=r"random.poisson\(\) got a complex number"):
        random.poisson(np.array([1j]))
    with pytest.raises(TypeError, match="draws an unsigned dtype"):
        random.bits(3, "int32")
    with pytest.raises(jnp.RandomError, match="not one random key"):
        random.normal(key=random.split(jnp.key(0)))
    with pytest.raises(jnp.RandomError, match="not one random key"):
        random.gamma(2.0, key=0)


def test_devices():
    assert random.normal(2.0, size=3, device="cpu").committed
    assert not random.normal(2.0, size=3).committed
