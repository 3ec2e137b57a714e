import asyncio
import contextlib
import pickle
import threading

import jax
import numpy as np
import pytest
from cheap_keys import SEED
from drawing import cheap_keys  # noqa: F401
from scipy import stats
from subprocesses import output_of

import jfi as jnp
from jfi._random import _streams


DRAWS = {
    "randn": lambda **k: jnp.randn(4, **k),
    "rand": lambda **k: jnp.rand(4, **k),
    "normal": lambda **k: jnp.normal(size=4, **k),
    "uniform": lambda **k: jnp.uniform(size=4, **k),
    "randint": lambda **k: jnp.randint(0, 10**6, 4, **k),
    "randperm": lambda **k: jnp.randperm(100, **k),
    "choice": lambda **k: jnp.choice(10**6, 4, **k),
    "bernoulli": lambda **k: jnp.bernoulli(size=64, **k),
    "make_random_key": lambda **k: jax.random.key_data(jnp.make_random_key(**k)),
    "make_random_keys": lambda **k: jax.random.key_data(jnp.make_random_keys(4, **k)),
}
TRANSFORMS = {
    "jit": lambda f: jax.jit(f)(1.0),
    "grad": lambda f: jax.grad(lambda x: f(x).astype("float32").sum())(1.0),
    "jvp": lambda f: jax.jvp(f, (1.0,), (1.0,)),
    "vmap": lambda f: jax.vmap(f)(np.ones(3)),
    "scan": lambda f: jax.lax.scan(lambda c, x: (c, f(x)), 0, np.ones(3)),
    "while": lambda f: jax.lax.while_loop(
        lambda i: i < 3, lambda i: i + 1 + 0 * f(i).sum().astype(int), 0
    ),
    "cond": lambda f: jax.lax.cond(True, f, f, 1.0),
    "checkpoint": lambda f: jax.checkpoint(f)(1.0),
    "eval_shape": lambda f: jax.eval_shape(f, 1.0),
    "jit of grad": lambda f: jax.jit(jax.grad(lambda x: f(x).astype("float32").sum()))(
        1.0
    ),
}


# A draw works the same way in each transformation, whatever it draws: a float and an
# integer are drawn in all of them, the others in those that have rules of their own.
IN_TRANSFORMS = [
    (draw, transform)
    for draw in DRAWS
    for transform in TRANSFORMS
    if draw in ("randn", "randint") or transform in ("jit", "vmap")
]


@pytest.fixture(params=DRAWS)
def draw(request):
    return DRAWS[request.param]


def same(a, b):
    return bool((np.asarray(a) == np.asarray(b)).all())


def test_fresh_at_each_call_and_reproducible(draw):
    first, second = draw(), draw()
    assert not same(first, second)
    jnp.manual_seed(0)
    assert same(draw(), first)
    assert same(draw(), second)
    jnp.manual_seed(1)
    assert not same(draw(), first)


def test_key_is_used_and_leaves_the_stream_alone(draw):
    expected = [draw(), draw()]
    jnp.manual_seed(0)
    key = jnp.key(5)
    assert same(draw(), expected[0])
    assert same(draw(key=key), draw(key=key))
    assert same(draw(key=key), draw(key=jax.random.key_data(key)))
    assert not same(draw(key=key), draw(key=jnp.key(6)))
    assert same(draw(), expected[1])


@pytest.mark.usefixtures("cheap_keys")
@pytest.mark.parametrize(("name", "transform"), IN_TRANSFORMS)
def test_every_draw_works_under_a_transformation(name, transform):
    with jax.checking_leaks():
        TRANSFORMS[transform](lambda x: DRAWS[name]() * x)
    DRAWS[name]()  # nothing leaked


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_key_works_under_a_transformation(transform):
    key = SEED
    with jax.checking_leaks():
        TRANSFORMS[transform](lambda x: jnp.randn(4, key=key) * x)


def test_a_key_works_under_vmap(draw):
    key = SEED
    with jax.checking_leaks():
        jax.vmap(lambda x: draw(key=key) * x)(np.ones(3))


def test_a_key_gives_the_same_eagerly_and_under_jit(draw):
    key = jnp.key(3)
    assert same(draw(key=key), jax.jit(lambda k: draw(key=k))(key))


def test_keys_under_vmap_give_different_rows():
    rows = jax.vmap(lambda k: jnp.randn(2, key=k))(jnp.make_random_keys(3))
    assert len(np.unique(rows)) == 6


def test_draw_number_c_uses_fold_in_of_the_seed_and_c():
    jnp.manual_seed(7)
    for c in range(3):
        key = jax.random.fold_in(jax.random.key(7), c)
        assert same(jnp.randn(3), jax.random.normal(key, (3,), "float32"))


@pytest.mark.usefixtures("cheap_keys")
def test_disable_jit_draws_the_same(draw):
    expected = draw()
    jnp.manual_seed(SEED)
    with jax.disable_jit():
        np.testing.assert_allclose(draw(), expected, rtol=1e-6)


# ------------------------------------------------------------------------- seeds


def test_seed_context_is_restored_after_an_exception():
    a = jnp.randn(2)
    b = jnp.randn(2)
    jnp.manual_seed(0)
    assert same(jnp.randn(2), a)
    with contextlib.suppress(ZeroDivisionError), jnp.seed(0):
        assert same(jnp.randn(2), a)
        with jnp.seed(5):
            jnp.randn(2)
        assert same(jnp.randn(2), b)
        1 / 0  # noqa: B018
    assert same(jnp.randn(2), b)


def test_manual_seed_inside_a_context_restarts_that_context():
    a = jnp.randn(2)
    with jnp.seed(0):
        jnp.manual_seed(9)
        c = jnp.randn(2)
    assert not same(a, c)
    with jnp.seed(9):
        assert same(jnp.randn(2), c)


def test_every_seed_has_its_own_stream(x64):
    seeds = [0, 1, -1, 2**32, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), -2]
    numbers = []
    for s in seeds:
        jnp.manual_seed(s)
        numbers.append(float(jnp.randn()))
    assert len(set(numbers)) == len(seeds)


def test_a_seed_means_the_same_with_and_without_64_bits():
    for s in (3, 2**40, -7):
        jnp.manual_seed(s)
        wide = jnp.randn(3)
        with jax.enable_x64(False):
            jnp.manual_seed(s)
            assert same(jnp.randn(3), wide)


def test_a_key_as_seed():
    key = jax.random.fold_in(jnp.key(1), 2)
    jnp.manual_seed(key)
    a = jnp.randn(2)
    jnp.manual_seed(jax.random.key_data(key))
    assert same(jnp.randn(2), a)
    assert same(a, jax.random.normal(jax.random.fold_in(key, 0), (2,), "float32"))


def test_other_algorithms_of_jax():
    with jax.default_prng_impl("rbg"):
        jnp.manual_seed(1)
        a, b = jnp.randn(2), jnp.randn(2)
        assert not same(a, b)
        key = jax.random.fold_in(jax.random.key(1), 0)
        assert same(a, jax.random.normal(key, (2,), "float32"))


@pytest.mark.parametrize(
    "seed",
    [1.5, "a", None, 2**64, -(2**63) - 1, True, np.zeros(2), jnp.zeros(3, "uint32")],
)
def test_wrong_seeds_are_refused_and_change_nothing(seed):
    jnp.randn(2)
    expected = jnp.randn(2)
    jnp.manual_seed(0)
    jnp.randn(2)
    with pytest.raises(jnp.RandomError, match="Write an int from"):
        jnp.manual_seed(seed)
    with pytest.raises(jnp.RandomError, match="Write an int from"), jnp.seed(seed):
        pass
    assert same(jnp.randn(2), expected)


def test_seeding_under_a_transformation_is_refused():
    with pytest.raises(jnp.RandomError, match="runs once, while JAX traces"):
        jax.jit(lambda: jnp.manual_seed(0))()


def test_each_asyncio_task_has_its_own_stream():
    async def draw_thrice(seed):
        numbers = []
        with jnp.seed(seed):
            for _ in range(3):
                numbers.append(float(jnp.rand()))
                await asyncio.sleep(0)
        return numbers

    async def both():
        return await asyncio.gather(draw_thrice(1), draw_thrice(2))

    jnp.manual_seed(0)
    expected = float(jnp.rand())
    jnp.manual_seed(0)
    together = asyncio.run(both())
    assert together == [asyncio.run(draw_thrice(1)), asyncio.run(draw_thrice(2))]
    assert float(jnp.rand()) == expected


def test_asyncio_tasks_may_have_keys_of_different_algorithms():
    pair = jnp.jit(lambda: (jnp.rand(), jnp.rand()))
    keys = [jax.random.key(1, impl=name) for name in ("rbg", "unsafe_rbg")]

    async def draw(key):
        found = []
        with jnp.seed(key):
            for _ in range(2):
                await asyncio.sleep(0)
                found += map(float, pair())
        return found

    async def both():
        return await asyncio.gather(*map(draw, keys))

    for key, found in zip(keys, asyncio.run(both()), strict=True):
        with jnp.seed(key):
            assert found == [float(jnp.rand()) for _ in range(4)]


def test_blocks_may_end_in_any_order():
    def drawing(key):
        with jnp.seed(key):
            while True:
                yield

    jnp.manual_seed(0)
    pair = jax.jit(lambda: jnp.rand(2))
    first, second = drawing(jax.random.key(2, impl="rbg")), drawing(3)
    next(first), next(second)
    first.close()
    second.close()
    jnp.set_plain_jit_policy("ok")
    outside = pair()
    jnp.manual_seed(0)
    assert (outside == pair()).all()
    with jnp.seed(jax.random.key(2, impl="rbg")):
        assert (pair() != outside).any()


def test_interleaved_generators_leave_no_stream_behind():
    def draws(seed):
        with jnp.seed(seed):
            yield jnp.rand()

    jnp.manual_seed(0)
    expected = jnp.rand()
    jnp.manual_seed(0)
    first, second = draws(1), draws(2)
    next(first), next(second)
    first.close()
    second.close()
    assert same(jnp.rand(), expected)


def test_an_unseeded_process_draws_fresh_numbers():
    code = "import jfi; print(float(jfi.randn()))"
    assert output_of(code) != output_of(code)


def test_draws_beyond_32_bits_don_t_repeat():
    jnp.manual_seed(0)
    first = jnp.randn(3)
    _streams.current()._count = 2**32
    beyond = jnp.randn(3)
    assert not same(first, beyond)
    jnp.manual_seed(0)
    assert same(jnp.randn(3), first)


@pytest.mark.usefixtures("mixed_world")
def test_threads_get_every_number_once():
    jnp.manual_seed(SEED)
    expected = {float(jnp.rand(dtype="float64")) for _ in range(200)}
    jnp.manual_seed(SEED)
    seen = []

    def work():
        seen.extend([float(jnp.rand(dtype="float64")) for _ in range(50)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 200
    assert set(seen) == expected


def test_a_forked_child_does_not_repeat_its_parent():
    code = """
import os, warnings
import jfi as jnp
warnings.simplefilter("ignore")  # JAX warns of every fork
jnp.manual_seed(0)
jnp.randn(2)
child = os.fork()
numbers = jnp.randn(2).tolist()
if child: os.waitpid(child, 0)
print(numbers, flush=True)
"""
    lines = output_of(code).splitlines()
    assert len(set(lines)) == 2


def test_a_seed_in_a_forked_child_means_what_it_means_elsewhere():
    code = """
import os, warnings
import jfi as jnp
warnings.simplefilter("ignore")
child = os.fork()
if child: os.waitpid(child, 0)
jnp.manual_seed(3)
print(jnp.randn(2).tolist(), flush=True)
"""
    first, second = output_of(code).splitlines()
    assert first == second


def test_a_forked_child_repeats_no_outer_stream_of_its_parent():
    code = """
import os, warnings
import jfi as jnp
warnings.simplefilter("ignore")
with jnp.seed(1):
    with jnp.seed(2):
        child = os.fork()
    numbers = jnp.randn(2).tolist()
if child: os.waitpid(child, 0)
print(numbers, flush=True)
"""
    first, second = output_of(code).splitlines()
    assert first != second


# ----------------------------------------------------------- sizes, dtypes, values


@pytest.mark.usefixtures("cheap_keys")
@pytest.mark.parametrize("draw", [jnp.randn, jnp.rand])
def test_sizes_as_pytorch_takes_them(draw):
    for size, shape in [
        ((2, 3), (2, 3)),
        (((2, 3),), (2, 3)),
        (([4],), (4,)),
        ((3,), (3,)),
        ((), ()),
        (((),), ()),
        ((0, 2), (0, 2)),
        ((np.int64(2), jnp.array(3)), (2, 3)),
    ]:
        assert draw(*size).shape == shape


@pytest.mark.usefixtures("mixed_world", "cheap_keys")
@pytest.mark.parametrize(
    ("call", "shape", "dtype"),
    [
        (lambda: jnp.randn(2, dtype="float64"), (2,), "float64"),
        (lambda: jnp.randn(2, dtype="complex64"), (2,), "complex64"),
        (lambda: jnp.rand(2, dtype=jnp.bfloat16), (2,), "bfloat16"),
        (lambda: jnp.normal(np.zeros(3), 1.0), (3,), "float64"),
        (lambda: jnp.normal(jnp.zeros(3), jnp.ones((2, 1))), (2, 3), "float32"),
        (lambda: jnp.normal([0.0, 1.0], 1), (2,), "float32"),
        (lambda: jnp.normal(0, 1, (2, 2)), (2, 2), "float32"),
        (lambda: jnp.normal(np.zeros(2), 1, (3, 2)), (3, 2), "float64"),
        (lambda: jnp.uniform(0, [1, 2]), (2,), "float32"),
        (lambda: jnp.uniform(size=3, dtype="float16"), (3,), "float16"),
        (lambda: jnp.randint(5), (), "int64"),
        (lambda: jnp.randint(5, (2,)), (2,), "int64"),
        (lambda: jnp.randint(0, 5), (), "int64"),
        (lambda: jnp.randint(0, 5, (2, 3)), (2, 3), "int64"),
        (lambda: jnp.randint(low=0, high=5, size=[4], dtype="int8"), (4,), "int8"),
        (lambda: jnp.randint(np.array([0, 5]), 9), (2,), "int64"),
        (lambda: jnp.randperm(0), (0,), "int64"),
        (lambda: jnp.randperm(3, dtype="int32"), (3,), "int32"),
        (lambda: jnp.choice(5), (), "int64"),
        (lambda: jnp.choice([1.0, 2.0], 3), (3,), "float32"),
        (lambda: jnp.choice(np.ones((4, 2)), (3,)), (3, 2), "float64"),
        (lambda: jnp.choice(np.ones((4, 2)), 3, axis=1), (4, 3), "float64"),
        (lambda: jnp.choice(5, 2, dtype="float32"), (2,), "float32"),
        (lambda: jnp.bernoulli(0.5, 3), (3,), "float32"),
        (lambda: jnp.bernoulli(np.full(3, 0.5)), (3,), "float64"),
        (lambda: jnp.bernoulli(0.5, 3, dtype=bool), (3,), "bool"),
        (lambda: jnp.make_random_keys(0), (0,), "key<cheap>"),
    ],
)
def test_shapes_and_dtypes(call, shape, dtype):
    drawn = call()
    assert drawn.shape == shape
    assert str(drawn.dtype) == dtype
    assert not drawn.committed


def test_keys_of_the_default_stream_are_jax_s_own():
    assert str(jnp.make_random_keys(0).dtype) == "key<fry>"


def test_integers_without_64_bit_types():
    with jax.enable_x64(False):
        assert jnp.randint(0, 5, (2,)).dtype == np.int32
        assert jnp.randperm(3).dtype == np.int32
        with pytest.raises(
            ValueError, match="high=4294967296, which is not 2147483647"
        ):
            jnp.randint(0, 2**32, (2,))


def test_randint_covers_its_interval_and_no_more():
    assert set(jnp.randint(-2, 2, (200,)).tolist()) == {-2, -1, 0, 1}
    assert set(jnp.randint(0, 256, (5000,), dtype="uint8").tolist()) == set(range(256))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint32"])
def test_randint_of_the_widest_intervals(dtype, x64):
    if not x64 and dtype.endswith("64"):
        pytest.skip("no 64-bit types")
    info = np.iinfo(dtype)
    least, most = int(info.min), int(info.max)
    drawn = jnp.randint(most - 3, most, (200,), dtype=dtype)
    assert set(drawn.tolist()) == {most - 3, most - 2, most - 1}
    wide = np.asarray(jnp.randint(least, most, (200,), dtype=dtype))
    assert wide.min() < least // 2 + most // 4 < wide.max()
    if info.bits == (64 if x64 else 32):
        with pytest.raises(ValueError, match=f"not {most} or less"):
            jnp.randint(least, most + 1, dtype=dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_uniform_never_reaches_the_upper_end(dtype):
    drawn = np.asarray(jnp.uniform(99.0, 100.0, 2**20, dtype=dtype))
    assert drawn.min() == 99
    assert drawn.max() < 100


def test_uniform_of_an_empty_interval_and_its_derivatives():
    key = jnp.key(0)
    assert jnp.uniform(2.0, 2.0) == 2
    slopes = jax.grad(lambda a, b: jnp.uniform(a, b, key=key), argnums=(0, 1))
    u = float(jnp.rand(key=key))
    np.testing.assert_allclose(slopes(2.0, 3.0), (1 - u, u), rtol=1e-4)


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_small_probabilities_in_any_dtype(dtype):
    p = jnp.array([0.5, 0.498, 0.002], dtype=dtype)
    ones = np.asarray(jnp.bernoulli(p[2], 100_000, dtype=bool))
    assert 100 < ones.sum() < 320
    drawn = np.asarray(jnp.choice(3, 100_000, p=p))
    assert 100 < (drawn == 2).sum() < 320


def test_probabilities_of_half_precision_sum_to_one_in_their_own_precision():
    p = jnp.full(1000, 1e-3, dtype="bfloat16")
    assert jnp.choice(1000, (2,), p=p).shape == (2,)


def test_choice_without_replacement_never_takes_what_has_no_probability():
    assert set(jnp.choice(3, 2, replace=False, p=[0.5, 0.5, 0.0]).tolist()) == {0, 1}
    with pytest.raises(ValueError, match=r"2 elements .* draw 3 without replacement"):
        jnp.choice(3, 3, replace=False, p=[0.5, 0.5, 0.0])


def test_bernoulli_is_the_same_with_and_without_64_bits_and_for_every_spelling():
    key = jnp.key(1)
    drawn = jnp.bernoulli(0.3, 64, key=key)
    assert same(jnp.bernoulli(jnp.array(0.3), 64, key=key), drawn)
    assert same(jax.jit(lambda p: jnp.bernoulli(p, 64, key=key))(0.3), drawn)
    with jax.enable_x64(False):
        assert same(jnp.bernoulli(0.3, 64, key=key), drawn)


@pytest.mark.parametrize(
    "sample",
    [
        lambda row: jnp.normal(row, 1.0, (2, 3)),
        lambda row: jnp.uniform(row, 2.0, (2, 3)),
        lambda row: jnp.uniform(row, np.full((2, 1), 2.0)),
        lambda row: jnp.randint(row.astype(int), 9, (2, 3)),
        lambda row: jnp.bernoulli(row, (2, 3)),
    ],
)
def test_parameters_broadcast_whatever_jax_is_told_of_ranks(sample):
    with jax.numpy_rank_promotion("raise"):
        assert sample(np.full(3, 0.5)).shape == (2, 3)


def test_integers_are_probabilities_too():
    assert jnp.bernoulli(1, 3).tolist() == [1, 1, 1]
    assert jnp.bernoulli([0, 1]).tolist() == [0, 1]


def test_a_number_in_an_array_is_a_number_of_choices():
    assert int(jnp.choice(jnp.array(5), (100,)).max()) == 4
    assert int(jnp.choice(np.array(5), (100,)).max()) == 4


def test_lists_of_parameters_may_hold_traced_numbers():
    def sample(m):
        return jnp.normal([m, 100.0], [0.0, 0.0], key=jnp.key(0))

    assert sample(3.0).tolist() == [3, 100]
    assert jax.jit(sample)(3.0).tolist() == [3, 100]
    assert jax.jit(sample)(3.0).dtype == sample(3.0).dtype == np.float32
    with pytest.raises(ValueError, match="which is not 0 or more"):
        jax.jit(lambda: jnp.normal(0.0, [-1.0, 1.0], key=jnp.key(0)))()


@pytest.mark.parametrize(
    "sample", [jnp.normal, lambda x, y, **k: jnp.uniform(x, x + y, **k)]
)
def test_a_traced_python_number_gives_the_dtype_of_the_number(sample):
    eager = sample(3.0, 1.0, size=2, key=jnp.key(0))
    jitted = jax.jit(lambda x: sample(x, 1.0, size=2, key=jnp.key(0)))(3.0)
    assert eager.dtype == jitted.dtype == np.float32
    assert same(eager, jitted)


def test_randperm_and_choice_without_replacement_are_permutations():
    assert sorted(jnp.randperm(50).tolist()) == list(range(50))
    assert sorted(jnp.choice(50, 50, replace=False).tolist()) == list(range(50))


def test_choice_follows_its_probabilities():
    drawn = jnp.choice(3, (2000,), p=[0.0, 0.25, 0.75])
    counts = np.bincount(drawn, minlength=3)
    assert counts[0] == 0
    assert 400 < counts[1] < 600


@pytest.mark.parametrize(
    ("call", "cdf"),
    [
        (lambda: jnp.randn(4000), stats.norm.cdf),
        (lambda: jnp.rand(4000), stats.uniform.cdf),
        (lambda: jnp.normal(2.0, 3.0, 4000), stats.norm(2, 3).cdf),
        (lambda: jnp.uniform(-1.0, 3.0, 4000), stats.uniform(-1, 4).cdf),
    ],
)
def test_distributions(call, cdf):
    assert stats.kstest(np.asarray(call()), cdf).pvalue > 0.001


def test_successive_draws_are_independent():
    rows = np.stack([np.asarray(jnp.rand(500)) for _ in range(20)])
    off_diagonal = np.corrcoef(rows)[~np.eye(20, dtype=bool)]
    assert abs(off_diagonal).max() < 5 / np.sqrt(500)
    assert len(np.unique(rows)) > 0.99 * rows.size


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: jnp.randn(2.0),
            TypeError,
            r"Write randn\(2, 3\) or randn\(\(2, 3\)\)",
        ),
        (lambda: jnp.randn("2"), TypeError, r"randn\(\) got the size \('2',\)"),
        (lambda: jnp.rand(-1), ValueError, "a size is 0 or more"),
        (lambda: jnp.rand(2, dtype=int), TypeError, "it draws a float dtype"),
        (lambda: jnp.randn(2, dtype=bool), TypeError, "a float or complex dtype"),
        (lambda: jnp.rand(2, dtype="float63"), jnp.DefaultsError, "no dtype of JAX"),
        (lambda: jnp.rand(2, device="cuad"), jnp.DefaultsError, "'cuad'"),
        (lambda: jnp.randint(3, 3), ValueError, "low=3 and high=3; low is below high"),
        (lambda: jnp.randint(0), ValueError, "low=0 and high=0"),
        (lambda: jnp.randint(0, 300, dtype="int8"), ValueError, "128 or less"),
        (lambda: jnp.randint(-1, 3, dtype="uint8"), ValueError, "0 or more"),
        (lambda: jnp.uniform(2, 1), ValueError, "low is at most high"),
        (lambda: jnp.uniform(-3e38, 3e38), ValueError, "too far apart for float32"),
        (lambda: jnp.uniform(0, np.inf), ValueError, "too far apart for float32"),
        (lambda: jnp.uniform(0, 1e5, dtype="float16"), ValueError, "for float16"),
        (lambda: jnp.randint(0, 10.5), ValueError, "high=10.5, which is not an int"),
        (lambda: jnp.randint([0.5, 1], np.array(9)), ValueError, "not an integer"),
        (lambda: jnp.randn(True), TypeError, r"randn\(\) got the size \(True,\)"),
        (lambda: jnp.normal(0, 1, (2, True)), TypeError, r"Write size=\(2, 3\)"),
        (lambda: jnp.randint(0, 9, 2.5), TypeError, r"Write size=\(2, 3\)"),
        (lambda: jnp.randperm(2.5), TypeError, r"Write randperm\(3\)"),
        (lambda: jnp.choice(["a", "b"]), TypeError, "Draw positions in it"),
        (lambda: jnp.choice(3, p=0.5), ValueError, "not of sum 1"),
        (lambda: jnp.normal(1j), TypeError, "complex number for a parameter"),
        (lambda: jnp.normal(0, np.array([1j])), TypeError, "complex number"),
        (lambda: jnp.randperm((2, 3)), TypeError, r"\(2, 3\); it takes one int"),
        (lambda: jnp.make_random_keys((2, 3)), TypeError, "it takes one int"),
        (lambda: jnp.randperm(300, dtype="int8"), ValueError, "int8 holds .* to 127"),
        (
            lambda: jnp.randn(2, key=jnp.array([0, 1, 2], dtype="uint32")),
            jnp.RandomError,
            "not one random key",
        ),
        (lambda: jnp.normal(0, -1), ValueError, "std=-1, which is not 0 or more"),
        (lambda: jnp.normal(np.zeros(3), 1, (2,)), ValueError, r"ends in \(3,\)"),
        (lambda: jnp.bernoulli(1.5), ValueError, "not between 0 and 1"),
        (lambda: jnp.bernoulli(float("nan")), ValueError, "not between 0 and 1"),
        (lambda: jnp.choice(2, p=[0.5, 0.6]), ValueError, "not of sum 1"),
        (lambda: jnp.choice(2, p=[-1.0, 2.0]), ValueError, "not 0 or more"),
        (lambda: jnp.choice(2, 3, replace=False), ValueError, "larger sample"),
        (lambda: jnp.randperm(-1), ValueError, "a size is 0 or more"),
        (lambda: jnp.randn(2, key=0), jnp.RandomError, "not one random key"),
        (
            lambda: jnp.randn(2, key=jnp.make_random_keys(2)),
            jnp.RandomError,
            r"key=shape \(2,\), which is not one random key.*jnp.vmap",
        ),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_refused_draw_leaves_the_stream_alone():
    expected = jnp.randn(2)
    jnp.manual_seed(0)
    with pytest.raises(ValueError, match="larger sample"):
        jnp.choice(2, 3, replace=False)
    assert same(jnp.randn(2), expected)


def test_errors_pickle():
    with pytest.raises(jnp.RandomError) as raised:
        jax.hessian(lambda x: x * jnp.randn())(1.0)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
