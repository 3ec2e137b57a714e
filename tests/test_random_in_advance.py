"""Draws made in advance are those made singly.

To the last bit, as XLA compiles them for users: programs/test_last_bits.py runs
some of these tests so. Less work for XLA, as in the other tests, gives other last bits.
"""

import contextlib
import functools
import itertools
import os
import random
import threading

import jax
import numpy as np
import pytest
from drawing import plain_jit_is_ok  # noqa: F401
from jax import lax

import jfi


pytestmark = pytest.mark.usefixtures("plain_jit_is_ok")

AS_FOR_USERS = not os.environ["XLA_FLAGS"]
KINDS = {
    "randn": lambda: jfi.randn(3),
    "randn of nothing": lambda: jfi.randn(0),
    "a number": lambda: jfi.randn(),
    "randn 2x2": lambda: jfi.randn(2, 2),
    "randn float64": lambda: jfi.randn(3, dtype="float64"),
    "randn bfloat16": lambda: jfi.randn(2, dtype="bfloat16"),
    "randn complex": lambda: jfi.randn(2, dtype="complex64"),
    "randn 128": lambda: jfi.randn(128),
    "randn 129": lambda: jfi.randn(129),
    "rand": lambda: jfi.rand(3),
    "rand 1x5x1 float64": lambda: jfi.rand(1, 5, 1, dtype="float64"),
    "randint": lambda: jfi.randint(0, 100, (3,)),
    "randperm": lambda: jfi.randperm(7),
    "bernoulli": lambda: jfi.bernoulli(size=9),
    "uniform": lambda: jfi.uniform(2.0, 3.0, size=3),
    "normal": lambda: jfi.normal(size=4),
    "key": lambda: jax.random.key_data(jfi.make_random_key()),
    "keys": lambda: jax.random.key_data(jfi.make_random_keys(3)),
}


def singly(draw, number):
    """A draw of the stream of seed 0, after others of no kind at all."""
    state = {**at_zero(), "count": number}
    with jfi.seed(0):
        jfi.set_rng_state(state)
        return draw()


def at_zero():
    with jfi.seed(0):
        return jfi.get_rng_state()


def assert_equal(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype
    if AS_FOR_USERS or not jax.numpy.issubdtype(a.dtype, jax.numpy.inexact):
        assert a.tobytes() == b.tobytes()
    else:
        rounding = 8 * float(jax.numpy.finfo(a.dtype).eps)
        wide = np.promote_types(a.dtype, "float32")  # bfloat16 is no float of NumPy
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), rounding, rounding)


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("kind", KINDS)
def test_draws_in_advance_are_single_draws(kind):
    draws = [KINDS[kind]() for _ in range(150)]
    per_draw, rest = divmod(jfi.get_rng_state()["count"], 150)
    assert rest == 0
    for i in (0, 1, 15, 16, 17, 40, 79, 80, 81, 100, 144, 149):
        assert_equal(draws[i], singly(KINDS[kind], i * per_draw))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("exponential", None), ("exponential", "float16"), ("cauchy", None)],
)
def test_what_xla_computes_otherwise_in_batches(name, dtype):
    """In JAX 0.12 the last bits of 1 in 100, or of 1 in 3 of what a loop draws."""
    draw = functools.partial(getattr(jfi.random, f"standard_{name}"), 3, dtype=dtype)
    for i, drawn in enumerate([draw() for _ in range(144)]):
        assert_equal(drawn, singly(draw, i))


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_keys_whose_batches_give_other_numbers(impl):
    with jax.default_prng_impl(impl):
        jfi.manual_seed(0)
        for i, drawn in enumerate([jfi.rand(2) for _ in range(40)]):
            assert_equal(drawn, singly(lambda: jfi.rand(2), i))


@pytest.mark.parametrize("order", [2, 3, 5, "random"])
def test_interleaved_kinds(order):
    kinds = ["randn", "rand", "randperm", "bernoulli", "key"]
    if order == "random":
        names = random.Random(0).choices(kinds, [8, 2, 1, 1, 1], k=300)
    else:
        names = list(itertools.islice(itertools.cycle(kinds[:order]), 300))
    draws = [KINDS[name]() for name in names]
    assert jfi.get_rng_state()["count"] == 300
    for i in [*range(0, 300, 23), *range(60, 70)]:
        assert_equal(draws[i], singly(KINDS[names[i]], i))


def test_a_new_seed_or_state_in_between():
    first = [jfi.randn(3) for _ in range(60)]
    state = jfi.get_rng_state()
    ahead = [jfi.randn(3) for _ in range(60)]
    jfi.manual_seed(5)
    other = [jfi.randn(3) for _ in range(60)]
    jfi.set_rng_state(state)
    for a, b in zip(ahead, [jfi.randn(3) for _ in range(60)], strict=True):
        assert_equal(a, b)
    jfi.manual_seed(0)
    with jfi.fork_rng(), jfi.seed(5):
        for a in other:
            assert_equal(a, jfi.randn(3))
    for a in first:
        assert_equal(a, jfi.randn(3))


def test_other_draws_take_their_numbers_out():
    compiled, compiled_scan = jfi.jit(lambda: jfi.randn(3)), jfi.jit(scan_of_5)
    for _ in range(40):
        jfi.randn(3)
    for i in range(30):
        start = jfi.get_rng_state()["count"]
        draw = (KINDS["randn"], compiled, lambda: compiled_scan()[0])[i % 3]
        assert_equal(draw(), singly(KINDS["randn"], start))


def scan_of_5():
    return lax.scan(lambda c, _: (c, jfi.randn(3)), 0, length=5)[1]


@pytest.mark.skipif(not AS_FOR_USERS, reason="runs in programs/test_last_bits.py")
def test_in_threads():
    start = threading.Barrier(4)
    seen = [[] for _ in range(4)]

    def work(i):
        start.wait()
        seen[i] = [jfi.randn(3) for _ in range(300)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {np.asarray(x).tobytes() for draws in seen for x in draws}
    assert len(found) == 1200
    jfi.manual_seed(0)
    assert found == {np.asarray(jfi.randn(3)).tobytes() for _ in range(1200)}


@contextlib.contextmanager
def default_dtype(dtype):
    before = jfi.get_default_dtype()
    jfi.set_default_dtype(dtype)
    try:
        yield
    finally:
        jfi.set_default_dtype(before)


CHANGES = {
    "32 bits": lambda: jax.enable_x64(False),
    "64 bits": lambda: jax.enable_x64(True),
    "dtype": lambda: default_dtype("float64"),
    "device": lambda: jax.default_device(jax.devices("cpu")[0]),
    "matmul": lambda: jax.default_matmul_precision("float32"),
    "disable_jit": lambda: jax.disable_jit(),
    "partitionable": lambda: jax.threefry_partitionable(False),
}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        *(("randn", change) for change in CHANGES),
        *((kind, "32 bits") for kind in ("rand", "randperm", "randint", "keys")),
        ("rand", "dtype"),
        ("randperm", "partitionable"),
    ],
)
def test_settings_change_in_between(change, kind):
    draw = KINDS[kind]
    for _ in range(30):
        draw()
    start = jfi.get_rng_state()["count"]
    with CHANGES[change]():
        inside = draw()
        alone = singly(draw, start)
    assert np.asarray(inside).dtype == np.asarray(alone).dtype
    np.testing.assert_array_equal(inside, alone)
    start = jfi.get_rng_state()["count"]
    assert_equal(draw(), singly(draw, start))
