"""What jfi.random draws: against scipy's distributions, with fixed seeds."""

import jax
import numpy as np
import pytest
from cheap_keys import SEED
from drawing import cheap_keys  # noqa: F401
from scipy import stats

import jfi as jnp
from jfi import random


# ------------------------------------------------------------------------ what is drawn

N = 20_000

CONTINUOUS = {
    "beta": (random.beta, (0.5, 3.0), stats.beta(0.5, 3)),
    "cauchy": (random.cauchy, (), stats.cauchy),
    "chisquare": (random.chisquare, (3.0,), stats.chi2(3)),
    "double_sided_maxwell": (
        lambda size: abs(random.double_sided_maxwell(0.0, 2.0, size)),
        (),
        stats.maxwell(0, 2),
    ),
    "exponential": (random.exponential, (2.0,), stats.expon(0, 2)),
    "f": (random.f, (4.0, 6.0), stats.f(4, 6)),
    "gamma": (random.gamma, (2.0, 3.0), stats.gamma(2, 0, 3)),
    "small gamma": (random.gamma, (0.2,), stats.gamma(0.2)),
    "generalized_normal": (random.generalized_normal, (3.0,), stats.gennorm(3)),
    "gumbel": (random.gumbel, (1.0, 2.0), stats.gumbel_r(1, 2)),
    "laplace": (random.laplace, (1.0, 2.0), stats.laplace(1, 2)),
    "loggamma": (random.loggamma, (2.0,), stats.loggamma(2)),
    "logistic": (random.logistic, (1.0, 2.0), stats.logistic(1, 2)),
    "lognormal": (random.lognormal, (0.5, 0.25), stats.lognorm(0.25, 0, np.exp(0.5))),
    "maxwell": (random.maxwell, (), stats.maxwell),
    "ncx2": (random.noncentral_chisquare, (3.0, 2.0), stats.ncx2(3, 2)),
    "ncx2 of few": (random.noncentral_chisquare, (0.5, 2.0), stats.ncx2(0.5, 2)),
    "ncx2 central": (random.noncentral_chisquare, (3.0, 0.0), stats.chi2(3)),
    "noncentral_f": (random.noncentral_f, (4.0, 6.0, 2.0), stats.ncf(4, 6, 2)),
    "normal": (random.normal, (1.0, 2.0), stats.norm(1, 2)),
    "pareto": (random.pareto, (3.0,), stats.lomax(3)),
    "power": (random.power, (2.5,), stats.powerlaw(2.5)),
    "random": (random.random, (), stats.uniform),
    "rayleigh": (random.rayleigh, (2.0,), stats.rayleigh(0, 2)),
    "standard_cauchy": (random.standard_cauchy, (), stats.cauchy),
    "standard_exponential": (random.standard_exponential, (), stats.expon),
    "standard_gamma": (random.standard_gamma, (2.5,), stats.gamma(2.5)),
    "standard_normal": (random.standard_normal, (), stats.norm),
    "standard_t": (random.standard_t, (5.0,), stats.t(5)),
    "t": (random.t, (1.5,), stats.t(1.5)),
    "triangular": (random.triangular, (-1.0, 0.0, 2.0), stats.triang(1 / 3, -1, 3)),
    "rising": (random.triangular, (0.0, 1.0, 1.0), stats.triang(1)),
    "falling": (random.triangular, (0.0, 0.0, 1.0), stats.triang(0)),
    "truncated_normal": (
        random.truncated_normal, (-1.0, 2.0), stats.truncnorm(-1, 2),
    ),
    "right tail": (random.truncated_normal, (6.0, 7.0), stats.truncnorm(6, 7)),
    "left tail": (
        random.truncated_normal, (-np.inf, -9.0), stats.truncnorm(-np.inf, -9),
    ),
    "not truncated": (random.truncated_normal, (-np.inf, np.inf), stats.norm),
    "uniform": (random.uniform, (-1.0, 2.0), stats.uniform(-1, 3)),
    "wald": (random.wald, (2.0, 3.0), stats.invgauss(2 / 3, 0, 3)),
    "wide wald": (random.wald, (1e4, 1.0), stats.invgauss(1e4)),
    "weibull": (random.weibull, (1.5,), stats.weibull_min(1.5)),
    "weibull_min": (random.weibull_min, (2.0, 1.5), stats.weibull_min(1.5, 0, 2)),
}  # fmt: skip


def drawn_anew_each_time(draw):
    """What is drawn: other numbers at the second time, the same from the same seed."""
    first, second = np.asarray(draw()), np.asarray(draw())
    assert np.isfinite(first).all()
    assert (first != second).any()
    jnp.manual_seed(0)
    np.testing.assert_array_equal(draw(), first)
    return first.astype(float)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name):
    draw, args, expected = CONTINUOUS[name]
    drawn = drawn_anew_each_time(lambda: draw(*args, size=N))
    assert stats.kstest(drawn, expected.cdf).pvalue > 1e-3


COUNTS = {
    "binomial": (random.binomial, (10, 0.3), stats.binom(10, 0.3)),
    "likely binomial": (random.binomial, (1000, 0.999), stats.binom(1000, 0.999)),
    "large binomial": (random.binomial, (10**9, 0.5), stats.binom(10**9, 0.5)),
    "geometric": (random.geometric, (0.3,), stats.geom(0.3)),
    "rare": (random.geometric, (1e-9,), stats.geom(1e-9)),
    "negative_binomial": (
        random.negative_binomial, (5.0, 0.4), stats.nbinom(5, 0.4),
    ),
    "poisson": (random.poisson, (3.5,), stats.poisson(3.5)),
    "poisson 50": (random.poisson, (50.0,), stats.poisson(50)),
    "poisson 9999": (random.poisson, (9999.0,), stats.poisson(9999)),
    "poisson 10000": (random.poisson, (1e4,), stats.poisson(1e4)),
    "poisson 10**7": (random.poisson, (1e7,), stats.poisson(1e7)),
    "integers": (random.integers, (-3, 9), stats.randint(-3, 9)),
    "randint": (random.randint, (-3, 9), stats.randint(-3, 9)),
    "rademacher": (
        lambda size: (random.rademacher(size) + 1) // 2, (), stats.bernoulli(0.5),
    ),
    "bernoulli": (random.bernoulli, (0.3,), stats.bernoulli(0.3)),
    "bits": (lambda size: random.bits(size, "uint8"), (), stats.randint(0, 256)),
}  # fmt: skip


def chi_squared(drawn, expected):
    """The p-value of the counts in some 40 bins that are about equally likely."""
    edges = np.unique(expected.ppf(np.linspace(0, 1, 41)[1:-1]))
    seen = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    chances = np.diff(np.r_[0, expected.cdf(edges), 1]) * len(drawn)
    possible = chances > 1e-9
    assert seen[~possible].sum() == 0
    return stats.chisquare(seen[possible], chances[possible], sum_check=False).pvalue


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    draw, args, expected = COUNTS[name]
    drawn = drawn_anew_each_time(lambda: draw(*args, size=N))
    assert chi_squared(drawn, expected) > 1e-3


@pytest.mark.usefixtures("mixed_world")
def test_counts_at_the_ends_of_their_parameters():
    # Of the size of the others, for which they are compiled.
    for drawn, expected in [
        (random.binomial(5, 0.0, N), 0),
        (random.binomial(5, 1.0, N), 5),
        (random.binomial(0, 0.5, N), 0),
        (random.geometric(1.0, N), 1),
        (random.poisson(0.0, N), 0),
        (random.negative_binomial(3.0, 1.0, N), 0),
        (random.gamma(0.0, 1.0, N), 0),
        (random.gamma(1.0, 0.0, N), 0),
        (random.weibull(0.0, N), 0),
    ]:
        assert (drawn == expected).all()
    assert random.integers(3, endpoint=True, size=500).max() == 3
    assert random.integers(2**40, 2**40, endpoint=True) == 2**40
    assert random.integers(127, 127, dtype="int8", endpoint=True) == 127
    assert random.integers(0, [1, 2], endpoint=True).shape == (2,)
    assert random.geometric(1e-9, dtype="int8") == 127


def test_poisson_of_every_implementation_of_keys():
    with jax.default_prng_impl("rbg"):
        jnp.manual_seed(0)
        drawn = np.asarray(random.poisson(3.5, N)).astype(float)
    assert chi_squared(drawn, stats.poisson(3.5)) > 1e-3


def test_counts_without_64_bit_types():
    with jax.enable_x64(False):
        drawn = np.asarray(random.poisson(1e6, 20_000)).astype(float)
        assert stats.kstest(drawn, stats.norm(1e6, 1e3).cdf).pvalue > 1e-3
        assert random.geometric(1e-12) == 2**31 - 1
        with pytest.raises(ValueError, match="n=33554432, which is not at most 167"):
            random.binomial(2**25, 0.5)


# --------------------------------------------------------------------- vectors, orders


def test_dirichlet_and_its_shapes():
    drawn = np.asarray(random.dirichlet([1.0, 2.0, 5.0], 20_000))
    assert drawn.shape == (20_000, 3)
    np.testing.assert_allclose(drawn.sum(-1), 1, rtol=1e-5)
    assert stats.kstest(drawn[:, 1], stats.beta(2, 6).cdf).pvalue > 1e-3
    for alpha, size, shape in [
        ([1.0, 2.0], None, (2,)),
        (np.ones((4, 2)), None, (4, 2)),
        (np.ones((4, 2)), (3, 4), (3, 4, 2)),
    ]:
        traced = jax.eval_shape(
            lambda k, alpha=alpha, size=size: random.dirichlet(alpha, size, key=k),
            jnp.key(0),
        )
        assert traced.shape == shape


@pytest.mark.parametrize(
    "cov",
    [
        [[2.0, 0.5], [0.5, 1.0]],
        [[1.0, 1.0], [1.0, 1.0]],  # singular
        [[0.0, 0.0], [0.0, 0.0]],
        [[1.0, 0.0], [0.0, 0.0]],
    ],
)
def test_multivariate_normal(cov):
    drawn = np.asarray(random.multivariate_normal([1.0, -2.0], cov, 40_000))
    np.testing.assert_allclose(drawn.mean(0), [1, -2], atol=0.04)
    np.testing.assert_allclose(np.cov(drawn.T), cov, atol=0.06)
    jitted = jax.jit(
        lambda c, k: random.multivariate_normal(np.array([1.0, -2.0]), c, 5, key=k)
    )
    key = jnp.key(1)
    eager = random.multivariate_normal([1.0, -2.0], np.array(cov), 5, key=key)
    np.testing.assert_allclose(jitted(np.array(cov), key), eager, rtol=1e-5, atol=1e-6)


HALF = [
    lambda **options: jnp.randn(4, 500, **options),
    lambda **options: jnp.normal(1.0, 2.0, 2000, **options),
    lambda **options: random.logistic(0.0, 1.0, 2000, **options),
    lambda **options: random.standard_gamma(2.0, 2000, **options),
    lambda **options: random.dirichlet([1.0, 2.0], 1000, **options),
]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("draw", HALF)
def test_half_precision_is_rounded_not_drawn_from_a_few_hundred_numbers(draw, dtype):
    drawn, precise = draw(key=SEED, dtype=dtype), draw(key=SEED, dtype="float32")
    np.testing.assert_allclose(drawn.astype("float32"), precise, rtol=0.005)


def test_the_logistic_number_of_the_smallest_float_is_not_far_out(monkeypatch):
    from jfi._random.numpy_style._samplers import standard_logistic

    smallest = jnp.full(3, np.finfo(np.float32).tiny)
    monkeypatch.setattr(jax.random, "uniform", lambda *_, **__: smallest)
    drawn = standard_logistic(jnp.key(0), (3,), np.float32)
    np.testing.assert_allclose(drawn, -24 * np.log(2), rtol=1e-6)


@pytest.mark.usefixtures("cheap_keys")
def test_half_precision_where_jax_has_none():
    half = {"dtype": "bfloat16", "size": 3}
    drawn = random.multivariate_normal(np.zeros(2), np.eye(2), **half)
    assert (drawn.shape, drawn.dtype) == ((3, 2), "bfloat16")
    assert random.orthogonal(3, **half).dtype == "bfloat16"
    assert random.truncated_normal(-1.0, 1.0, **half).dtype == "bfloat16"


@pytest.mark.usefixtures("cheap_keys")
def test_multivariate_normal_shapes_and_batches():
    means, covs = np.zeros((3, 1, 2)), np.stack([np.eye(2)] * 4)
    covs[1] = 0
    drawn = random.multivariate_normal(means, covs)
    assert drawn.shape == (3, 4, 2)
    assert not np.asarray(drawn[:, 1]).any()
    assert np.asarray(drawn[:, 0]).all()
    assert random.multivariate_normal(means, covs, (5, 3, 4)).shape == (5, 3, 4, 2)
    draw = lambda c, k: random.multivariate_normal(np.zeros(2), c, key=k)
    rows = jax.jit(jax.vmap(draw))(covs, random.split(jnp.key(0), 4))
    assert (~np.asarray(rows).any(1)).tolist() == [False, True, False, False]


def test_multinomial():
    drawn = np.asarray(random.multinomial(20, [0.2, 0.3, 0.5], 20_000))
    assert (drawn.sum(-1) == 20).all()
    for k, p in enumerate([0.2, 0.3, 0.5]):
        assert chi_squared(drawn[:, k].astype(float), stats.binom(20, p)) > 1e-3
    rest = random.multinomial(1000, [0.25, 0.0, 0.0], 20_000)
    assert not rest[:, 1].any()
    assert (rest[:, 2] > 600).all()  # the last has the rest, as NumPy
    n, p = np.array([[3], [5]]), np.full((4, 2), 0.5)
    theirs = np.random.default_rng(0).multinomial(n, p)
    ours = random.multinomial(n, p)
    assert ours.shape == theirs.shape
    assert ours.sum(-1).tolist() == theirs.sum(-1).tolist()


def test_points_of_balls_and_orthogonal_matrices():
    for p, d in [(2.0, 3), (4.0, 2)]:
        points = np.asarray(random.ball(d, p, 20_000))
        radii = (abs(points) ** p).sum(-1) ** (1 / p)
        assert stats.kstest(radii**d, "uniform").pvalue > 1e-3
    for n, m in [(2, 4), (4, 2)]:
        q = np.asarray(random.orthogonal(n, (5,), m=m))
        assert q.shape == (5, n, m)
        product = q @ q.mT if n <= m else q.mT @ q
        np.testing.assert_allclose(
            product, np.broadcast_to(np.eye(min(n, m)), product.shape), atol=1e-5
        )


def test_categorical():
    logits = np.log([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], where=[[1, 1, 1], [1, 0, 0]],
                    out=np.full((2, 3), -np.inf))  # fmt: skip
    drawn = np.asarray(random.categorical(logits, size=(50_000, 2)))
    assert (drawn[:, 1] == 0).all()
    seen = np.bincount(drawn[:, 0]) / 50_000
    np.testing.assert_allclose(seen, [0.2, 0.3, 0.5], atol=0.01)
    assert random.categorical(logits).shape == (2,)
    assert random.categorical(logits[:, 0:1], axis=0).shape == (1,)
    assert sorted(random.categorical([0.0, 1, 2], size=3, replace=False).tolist()) == [
        0, 1, 2,
    ]  # fmt: skip


@pytest.mark.usefixtures("cheap_keys")
def test_orders():
    x = np.arange(12).reshape(3, 4)
    rows = np.asarray(random.permutation(x))
    assert sorted(map(tuple, rows)) == sorted(map(tuple, x))
    columns = np.asarray(random.permutation(x, 1))
    assert sorted(map(tuple, columns.T)) == sorted(map(tuple, x.T))
    inside = np.asarray(random.permuted(x, 1))
    assert (np.sort(inside, 1) == x).all()
    assert sorted(random.permuted(x).ravel().tolist()) == list(range(12))
    assert random.permuted(x).shape == (3, 4)
    assert sorted(random.permutation(jnp.array(5)).tolist()) == list(range(5))
    assert random.permutation([3.0, 3.0]).tolist() == [3, 3]
    assert sorted(random.choice([1, 2], 2, False, shuffle=False).tolist()) == [1, 2]
    keys = random.split(jnp.key(0), 3)
    assert random.permutation(x=keys).shape == (3,)
    assert random.choice(a=keys, size=2).shape == (2,)


# -------------------------------------------------------------------------- derivatives


# Their parameters. Those drawn by rejection have implicit derivatives, which are not
# those of the algorithm.
SMOOTH = {
    "double_sided_maxwell": (0.5, 2.0),
    "exponential": (2.0,),
    "gumbel": (1.0, 2.0),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "lognormal": (0.5, 0.25),
    "normal": (1.0, 2.0),
    "pareto": (3.0,),
    "power": (2.5,),
    "rayleigh": (2.0,),
    "triangular": (-1.0, 0.5, 2.0),
    "truncated_normal": (-1.0, 2.0),
    "uniform": (-1.0, 2.0),
    "wald": (2.0, 3.0),
    "weibull": (1.5,),
    "weibull_min": (2.0, 1.5),
}
BY_REJECTION = {
    "beta": (2.0, 3.0),
    "f": (4.0, 6.0),
    "gamma": (2.0, 3.0),
    "generalized_normal": (1.5,),
    "noncentral_chisquare": (3.0, 2.0),
    "t": (5.0,),
}


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_are_those_of_the_draw(name):
    args, near, key = SMOOTH[name], 1e-6, SEED

    def total(*args):
        return getattr(random, name)(*args, size=7, dtype="float64", key=key).sum()

    both = jax.jit(jax.value_and_grad(total, argnums=tuple(range(len(args)))))
    for i, slope in enumerate(both(*args)[1]):
        up, down = (
            [x + d * (j == i) for j, x in enumerate(args)] for d in (near, -near)
        )
        difference = (both(*up)[0] - both(*down)[0]) / (2 * near)
        np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", BY_REJECTION)
def test_derivatives_exist_where_jax_has_them(name):
    args, key = BY_REJECTION[name], SEED
    slopes = jax.jit(
        jax.grad(
            lambda *args: getattr(random, name)(*args, size=7, key=key).sum(),
            argnums=tuple(range(len(args))),
        )
    )
    if name not in {"gamma", "noncentral_chisquare"}:  # made of gamma
        assert len(jax.eval_shape(slopes, *args)) == len(args)
        return
    assert np.isfinite(slopes(*args)).all()
    assert np.all(slopes(*args))


def test_derivatives_at_the_ends_of_triangles():
    draw = lambda *ends: random.triangular(*ends, size=50, key=SEED).sum()
    slopes = jax.jit(jax.grad(draw, (0, 1, 2)))
    assert np.isfinite(slopes(0.0, 0.0, 1.0)).all()
    assert np.isfinite(slopes(0.0, 1.0, 1.0)).all()


def test_derivatives_of_multivariate_normal():
    def total(cov):
        drawn = random.multivariate_normal(np.zeros(2), cov, 3, key=SEED)
        return (drawn**2).sum()

    covs = np.stack([np.eye(2), [[1.0, 0.5], [0.5, 1.0]], np.ones((2, 2))])
    alone = jax.jit(jax.grad(total))
    for cov in covs[:2]:
        assert np.isfinite(alone(cov)).all()
    assert np.isfinite(jax.jit(jax.vmap(jax.grad(total)))(covs)[:2]).all()
