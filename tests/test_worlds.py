"""The two worlds of dtypes, and the mixed one (docs/defaults.md)."""

import array
import builtins
import contextlib
import functools
import inspect
import re
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from drawing import cheap_keys  # noqa: F401

import jfi as jnp
from jfi._arrays import _conversion, _creation, _ranges


DOCS = Path(__file__).parents[1] / "docs/defaults.md"
LIBRARIES = jnp, jax.numpy
WORLDS = ("32-bit", "64-bit", "mixed")


class Derived(np.ndarray):
    pass


def in_world(world):
    if world == "64-bit":
        return jnp.default_dtype("float64")
    return jax.enable_x64(world == "mixed")


class Names(dict):
    """The names of jfi, those that are made on first use, too."""

    def __missing__(self, name):
        if name in ("int", "float", "complex"):
            return getattr(builtins, name)
        return getattr(jnp, name)


def rows():
    """The calls of the table, with the dtype of each world."""
    for line in DOCS.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if line.startswith("| `") and len(cells) == 4:
            for call in re.findall(r"`([^`]+)`", cells[0]):
                yield call, dict(zip(WORLDS, cells[1:], strict=True))


TABLE = list(rows())


@pytest.mark.usefixtures("cheap_keys")
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("call", "expected"), TABLE, ids=[call for call, _ in TABLE])
def test_the_table_of_the_documentation(call, expected, world):
    with in_world(world):
        assert jnp.config().world == world
        names = Names(x=jnp.ones(2), data=np.ones(2), np=np)
        if expected[world] == "refused":
            with pytest.raises(ValueError, match=r"64|128"):
                eval(call, {}, names)
        else:
            assert eval(call, {}, names).dtype.name == expected[world]


def test_the_table_has_every_function_that_creates():
    calls = " ".join(call for call, _ in TABLE)
    modules = _creation, _conversion, _ranges
    for module in modules:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                assert f"{name}(" in calls


def test_the_digits_of_the_64_bit_world_are_exact():
    third = 1 / 3
    with jnp.default_dtype("float64"):
        made = jnp.array(third), jnp.full(1, third), jnp.ones(1) * third
        assert all(float(np.squeeze(x)) == third for x in made)
        assert int(jnp.array(2**40)) == 2**40


def test_the_32_bit_world_is_the_one_of_jax():
    assert not jax.config.jax_enable_x64
    calls = [
        lambda lib: lib.array(2.0),
        lambda lib: lib.array([2.0]),
        lambda lib: lib.asarray(1),
        lambda lib: lib.full(3, 0.5),
        lambda lib: lib.zeros_like(2.0),
        lambda lib: lib.arange(3.0),
        lambda lib: lib.arange(0, 1, 0.25),
        lambda lib: lib.linspace(0, 1, 3),
        lambda lib: lib.geomspace(1, 2, 3),
        lambda lib: lib.logspace(1, 2, 3),
        lambda lib: lib.eye(2),
        lambda lib: lib.tri(2),
    ]
    for call in calls:
        ours, theirs = call(jnp), call(jax.numpy)
        assert (ours.dtype, ours.weak_type) == (theirs.dtype, theirs.weak_type)
        np.testing.assert_array_equal(ours, theirs)
        programs = [jax.make_jaxpr(functools.partial(call, lib))() for lib in LIBRARIES]
        assert str(programs[0]) == str(programs[1])


def test_what_is_refused_names_the_line_to_write():
    with pytest.raises(jnp.DefaultsError, match=r"set_default_dtype\(\"float64\"\)"):
        jnp.randn(3, dtype="float64")
    with pytest.raises(jnp.DefaultsError, match=r"^to\(\) got the dtype float64, and"):
        jnp.to(jnp.ones(2), "float64")


def test_data_of_64_bits_are_rounded_once_to_the_dtype_asked_for():
    for make in jnp.array, jnp.asarray, functools.partial(jnp.full, ()):
        assert int(make(np.float64(16777217), int)) == 16777217
        assert int(make(np.int64(-1), "uint32")) == 2**32 - 1
        assert float(make(np.int64(2**40), "float32")) == 2.0**40
    tie = np.array([1 + 2**-11 + 2**-30])  # float32 makes an exact tie of it
    assert jnp.array(tie, "float16")[0] == tie.astype("float16")[0]
    assert jnp.to(tie, "float16")[0] == tie.astype("float16")[0]
    assert jnp.full_like(jnp.zeros(1), np.int64(2**40))[0] == 2.0**40
    assert jnp.array([np.array([16777217.0])], int)[0, 0] == 16777217


@pytest.mark.parametrize(
    "create",
    [
        jnp.array,
        jnp.asarray,
        jnp.to,
        lambda n: jnp.array([np.array([n])]),
        lambda n: jnp.array(pd.Series([n])),
        lambda n: jnp.full(2, n),
        lambda n: jnp.full_like(1, n),
        lambda n: jnp.arange(n, n + 2),
        lambda n: jnp.linspace(n, 0, 3),
        lambda n: jnp.logspace(0, 1, 3, base=n),
        lambda n: jnp.geomspace(1, n, 3),
        lambda n: jnp.arange(int(n), int(n) + 2),
        lambda n: jnp.arange(0, int(n), int(n) // 2),
        lambda n: jnp.full_like(1, int(n)),
        lambda n: jnp.full_like(np.zeros(2, int), n),
        lambda n: jnp.array([[np.array([n])]]),
        lambda n: jnp.array([pd.Series([n])]),
        lambda n: jnp.array(range(int(n), int(n) + 2)),
        lambda n: jnp.array(memoryview(np.array([n]))),
        lambda n: jnp.array(array.array("q", [n])),
        lambda n: jnp.array(np.array([n]).view(Derived)),
        lambda n: jnp.asarray(np.array([n]), copy=False),
        lambda n: jnp.choice(np.array([n, n]), 1),
        lambda n: jnp.choice([int(n), 1], 1),
        lambda n: jnp.random.permutation(np.array([n, n])),
        lambda n: jnp.gather(jnp.arange(3), 0, np.array([n - n, n])),
        lambda n: jnp.cat([np.array([n])]),
        lambda n: jnp.clamp(np.array([7]), max=n),
        lambda n: jnp.topk(np.array([n, 7]), 1),
        lambda n: jnp.relu(np.array([n])),
    ],
)
def test_integers_that_32_bits_cannot_hold_are_refused(create):
    cut = r"2147483648|can't hold"
    with pytest.raises((ValueError, OverflowError), match=cut):
        create(np.int64(2**40))
    with jnp.default_dtype("float64"), contextlib.suppress(IndexError):  # of gather
        assert create(np.int64(2**40)) is not None


def test_arrays_that_a_block_has_left_are_not_cut():
    with jnp.default_dtype("float64"):
        x = jnp.ones(3) / 3
    with pytest.raises(ValueError, match="float64"):
        x * (1 / 3)
    assert np.asarray(x)[0] == 1 / 3


def test_setting_a_world_and_leaving_it():
    jnp.set_default_dtype("float64")
    assert jnp.config().world == "64-bit"
    assert jax.numpy.zeros(2).dtype == np.float64
    jnp.set_default_dtype("float64")
    jnp.set_default_dtype("bfloat16")
    assert (jnp.config().world, jnp.zeros(2).dtype) == ("32-bit", jnp.bfloat16)
    jnp.set_default_dtype("float32")
    jax.config.update("jax_enable_x64", True)  # by the user
    assert jnp.config().world == "mixed"
    jnp.set_default_dtype("float64")
    jnp.set_default_dtype("float32")
    assert jnp.config().world == "mixed"


def test_float64_within_a_block_without_64_bits():
    refused = pytest.raises(jnp.DefaultsError, match="Write it before that block")
    with jax.enable_x64(False), refused:
        jnp.set_default_dtype("float64")
    assert jnp.config().world == "32-bit"
    with jax.enable_x64(False), jnp.default_dtype("float64"):
        assert jnp.zeros(2).dtype == np.float64


@pytest.mark.parametrize(
    "block", [lambda: jax.enable_x64(True), lambda: jnp.default_dtype("float64")]
)
def test_a_world_that_is_set_within_a_block_stays(block):
    with block():
        jnp.set_default_dtype("float64")
    assert jnp.config().world == "64-bit"
    with block():
        jnp.set_default_dtype("float32")
    assert jnp.config().world == "32-bit"


def test_a_refused_world_leaves_everything_as_it_was():
    jnp.set_default_dtype("float64")
    refused = pytest.raises(jnp.DefaultsError, match="Write it before that block")
    with jax.enable_x64(False), refused:
        jnp.set_default_dtype("float64")
    assert jnp.config().world == "64-bit"
    jnp.set_default_dtype("float32")
    assert jnp.config().world == "32-bit"


def test_a_compiled_function_follows_the_world():
    @jnp.autojit
    def f(x):
        return x * jnp.array([1 / 3]) + jnp.arange(1)

    for world in (*WORLDS, *WORLDS):
        with in_world(world):
            x = jnp.ones(1)
            ours, plain = f(x), f.__wrapped__(x)
            assert ours.dtype == plain.dtype
            np.testing.assert_array_equal(ours, plain)


# ---- the check of the mixed world ----


@pytest.fixture
def mixed():
    with jax.enable_x64(True):
        yield
    jnp.config(float64="allow")


@pytest.mark.usefixtures("mixed")
@pytest.mark.parametrize("tool", [jnp.jit, jnp.autojit])
def test_the_line_where_float32_becomes_float64(tool):
    def step(w, rate):
        slope = 2 * w
        return w - rate * slope  # here

    def call():
        return tool(step)(jnp.ones(3), np.logspace(-3, -1, 3)[0])

    assert call().dtype == np.float64
    step = functools.update_wrapper(lambda w, rate: w - rate * w, step)  # compiled anew
    assert jnp.config(float64="warn").float64 == "warn"
    with pytest.warns(jnp.Float64Warning, match=r"(?s)test_worlds.py:\d+: .*: .*rate"):
        assert call().dtype == np.float64
    jnp.config(float64="refuse")
    step = functools.update_wrapper(lambda w, rate: w + rate * w, step)
    with pytest.raises(jnp.DefaultsError, match=r"float\(x\) for the number"):
        call()


@pytest.mark.usefixtures("mixed")
def test_code_that_stays_float32_passes_the_check():
    jnp.config(float64="refuse")

    @jnp.autojit
    def step(w, x):
        noise = jnp.randn(3)
        return jnp.scan(lambda c, x: (c * 0.5 + x, c), w + noise, x)[0]

    for _ in range(3):
        assert step(jnp.ones(3), jnp.ones((4, 3))).dtype == np.float32


@pytest.mark.usefixtures("mixed")
def test_the_check_looks_at_what_comes_out_of_functions_of_jax():
    jnp.config(float64="refuse")
    x = jnp.ones(3)
    assert jnp.jit(lambda x: jnp.quantile(x, 0.3))(x).dtype == np.float32
    with pytest.raises(jnp.DefaultsError, match=r"test_worlds\.py:\d+: .*np\.ones"):
        jnp.jit(lambda x: jnp.where(x > 0, x, np.ones(3)))(x)


def test_a_wrong_choice_of_the_check():
    with pytest.raises(jnp.DefaultsError, match="Write 'allow', 'warn' or 'refuse'"):
        jnp.config(float64="error")


def test_updates_keep_weak_types_and_python_floats():
    weak, strong = jnp.array(2.0), jnp.ones(())
    for p, g in (weak, weak), (weak, 0.5), (2.0, 0.5), (2.0, weak), (weak, strong):
        new, plain = jnp.apply_updates(p, g, -0.1), p + -0.1 * g
        assert type(new) is type(plain)
        assert getattr(new, "weak_type", None) == getattr(plain, "weak_type", None)
        assert new == plain


def test_an_array_of_numpy_that_was_written_to():
    data = np.ones(3)
    kept = jnp.jit(lambda x: x * data)
    kept(jnp.ones(3))
    data *= 2  # JAX remembers its float32 form, for as long as the program lives
    for made in jnp.array(data), jnp.asarray(data), jnp.to(data):
        assert made.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("make", [jnp.array, jnp.asarray, jnp.to])
@pytest.mark.parametrize("data", [np.array([0, 2**31]), np.int64(-(2**40))])
def test_integers_that_32_bits_can_not_hold(make, data):
    with pytest.raises(jnp.DefaultsError, match=r"int64 data from .* int32 can't hold"):
        make(data)
    with jnp.default_dtype("float64"):
        assert np.array_equal(make(data), data)
    assert make(data // 2**10).dtype == np.int32
