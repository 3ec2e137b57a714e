import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contracting import MAX, A, X, close, contract, contract_in_python, loss
from counting import Traces, count
from hypothesis import given, settings, strategies as st
from jax import lax

from jfi import LoopError, ScanWhileResult, scan_while


# ---- values ----


@pytest.mark.parametrize("x", X)
@pytest.mark.parametrize("max_steps", [0, 1, 3, MAX])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_the_steps_are_those_of_a_python_loop(x, max_steps, transform, x64):
    run = transform(lambda x: contract(A, x, max_steps))
    result = run(x)
    carry, ys, steps = contract_in_python(A, x, max_steps)
    assert int(result.length) == int(result.carry["i"]) == steps
    close(result.carry["x"], carry)
    assert result.ys[0].shape == (max_steps, 2)
    close(result.ys[0][:steps], np.reshape(ys, (steps, 2)))
    np.testing.assert_array_equal(result.ys[1][:steps], np.arange(steps))
    assert not result.ys[0][steps:].any()
    np.testing.assert_array_equal(result.mask, np.arange(max_steps) < steps)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 9), st.integers(0, 9))
def test_counts(stop, max_steps):
    carry, ys, length = scan_while(
        lambda i: i < stop, lambda i: (i + 1, 2 * i), 0, max_steps
    )
    steps = min(stop, max_steps)
    assert (int(carry), int(length)) == (steps, steps)
    expected = np.where(np.arange(max_steps) < steps, 2 * np.arange(max_steps), 0)
    np.testing.assert_array_equal(ys, expected)


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_the_body_runs_once_for_each_step():
    seen = []

    def body(i):
        jax.debug.callback(lambda i: seen.append(int(i)), i, ordered=True)
        return i + 1, None

    scan_while(lambda i: i < 3, body, 0, 1000)
    jax.effects_barrier()
    assert seen == [0, 1, 2]


def test_any_tree_of_any_dtype():
    key = jax.random.key(7)
    init = {"key": key, "flag": True, "z": 1 + 1j, "none": None, "t": (np.int8(1),)}

    def body(c):
        new = {**c, "key": jax.random.fold_in(c["key"], 1), "flag": ~c["flag"]}
        return {**new, "z": c["z"] * 1j}, {"keys": c["key"], "flags": (c["flag"],)}

    carry, ys, _ = scan_while(lambda c: c["z"].real > -1, body, init, 4)
    assert carry["z"] == -1 - 0j or np.isclose(carry["z"], -1 + 1j)
    assert carry["none"] is None
    assert carry["t"][0].dtype == jnp.int8
    assert ys["keys"].dtype == key.dtype
    assert ys["keys"].shape == (4,)
    np.testing.assert_array_equal(
        jax.random.key_data(ys["keys"][0]), jax.random.key_data(key)
    )


@pytest.mark.parametrize("nothing", [None, (), {}])
def test_no_history_and_no_carry(nothing):
    result = scan_while(lambda x: x < 5, lambda x: (x * 2, nothing), 1, 9)
    assert int(result.carry) == 8
    assert result.ys == nothing
    with pytest.raises(
        LoopError, match=r"no rows to mask: .*\nWrite instead: jnp\.ara"
    ):
        _ = result.mask
    result = scan_while(lambda _: True, lambda c: (c, 1.0), nothing, 3)
    assert result.carry == nothing
    close(result.ys, np.ones(3))


def test_the_result_unpacks_and_is_a_tree():
    result = jax.jit(lambda x: contract(A, x))(X[0])
    assert isinstance(result, ScanWhileResult)
    carry, ys, length = result
    assert carry is result.carry
    assert ys is result.ys
    assert length is result.length


def test_a_batch_whatever_jax_is_told_of_ranks_and_dtypes():
    count = jax.vmap(lambda n: scan_while(lambda i: i < n, lambda i: (i + 1, i), 0, 3))
    total = jax.vmap(
        jax.grad(
            lambda x: scan_while(lambda c: c < 3, lambda c: (c * 2, c), x, 4).ys.sum()
        )
    )
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        mask = count(jnp.arange(2)).mask
        gradient = total(jnp.array([1.0, 4.0]))
    assert mask.tolist() == [[False, False, False], [True, False, False]]
    assert gradient.tolist() == [3, 0]


WEAK = [0, 0.0, 0j, np.float32(1), np.int32(1), np.float16(1)]
BODIES = [
    lambda c: c + 1,
    lambda c: c + 0.5,
    lambda c: c * jnp.bfloat16(2),
    lambda c: c + jnp.float32(2),
    lambda _: 9,
    lambda _: 9.0,
    lambda c: c * 1j,
    lambda c: c == 0,
]


@pytest.mark.parametrize("init", WEAK, ids=repr)
def test_python_numbers_take_the_dtype_that_lax_gives_them(init, x64):
    for body in BODIES:

        def step(c, _=None, body=body):
            return body(c), None

        try:
            expected, _ = lax.scan(step, init, None, length=3)
        except TypeError:
            with pytest.raises(LoopError, match="keeps shapes and dtypes"):
                scan_while(lambda _: True, step, init, 3)
        else:
            carry = scan_while(lambda _: True, step, init, 3).carry
            assert carry.dtype == expected.dtype
            close(carry, expected)


def test_what_was_called_before_does_not_matter():
    rate = [2.0]

    def body(x):
        return x * rate[0], x

    def run(x):
        return scan_while(lambda x: x < 100, body, x, 4)

    close(run(jnp.float32(1)).carry, 16.0)
    rate[0] = 3.0
    close(run(jnp.float32(1)).carry, 81.0)
    assert run(jnp.ones((), "float16")).ys.dtype == jnp.float16
    with pytest.raises(LoopError, match="bool"):
        run(jnp.ones(3))
    close(run(jnp.float32(1)).carry, 81.0)


def test_a_closure_may_hold_tracers_of_several_transformations():
    def outer(a, x):
        def inner(b):
            return scan_while(
                lambda c: jnp.abs(c) < 10 * b, lambda c: (c * a + b, c), x, 6
            ).ys.sum()

        return jax.vmap(jax.value_and_grad(inner))(jnp.array([1.0, 2.0]))

    values, grads = jax.jit(outer)(2.0, 1.0)
    close(values, [1 + 3 + 7, 1 + 4 + 10])
    close(grads, [1 + 3, 1 + 3])


# ---- refusals ----


@pytest.mark.parametrize(
    ("body", "init", "message"),
    [
        (
            lambda c: ({"x": c["x"].astype("float16")}, None),
            {"x": np.ones(3, "float32")},
            r"^The carry c\['x'\] goes into <lambda>\(\) as float32\[3\] and comes "
            r"out as float16\[3\]; scan_while\(\) keeps .*\n.*, line \d+: lambda c: .*"
            r"\nWrite instead: \.\.\.astype\('float32'\)\nor start with float16: init",
        ),
        (
            lambda c: (jnp.ones(4, "float32"), None),
            np.ones(3, "float32"),
            r"^The carry c goes into .* as float32\[3\] and comes out as float32\[4\]"
            r".*\n.*\nReturn c in the shape it came in; or start .*: init = jnp\.zeros",
        ),
        (
            lambda c: ({"x": c["x"], "z": 1}, None),
            {"x": 1, "y": [2, 3]},
            r"it leaves out c\['y'\]\[0\], c\['y'\]\[1\]; it adds c\['z'\]",
        ),
        (lambda c: ([c[0]], None), (1,), r"c was tuple with \[0\] and became list"),
        (lambda c: c, {"x": 1}, r"returned a dict, not a pair\.\nReturn \(c, y\)"),
        (lambda c: (c, 1, 2), 0, r"returned a tuple, not a pair"),
        (
            lambda c: (c, c),
            (1, 2, "fast"),
            r"got a str for init\[2\]; .*\nTake it out",
        ),
    ],
)
def test_a_body_that_does_not_fit(body, init, message):
    with pytest.raises(LoopError, match=message):
        scan_while(lambda _: True, body, init, 3)


def test_a_number_that_becomes_a_key_is_refused():
    def body(_):
        return jax.random.key(0), None

    with pytest.raises(
        LoopError, match=r"comes out as key<fry>\[\].*\n.*\nStart with what body\(\)"
    ):
        scan_while(lambda _: True, body, 0, 3)


@pytest.mark.parametrize(
    ("cond", "seen"),
    [
        (lambda c: c.astype("int32"), r"int32\[2\]"),
        (lambda c: c > 0, r"bool\[2\]"),
        (lambda c: c.sum(), r"float32\[\]"),
        (lambda c: (c[0] > 0,), "a tuple"),
        (lambda c: None, "None"),
    ],
)
def test_a_condition_that_is_no_truth_value(cond, seen):
    with pytest.raises(LoopError, match=rf"returned {seen} and must return bool\[\]"):
        scan_while(cond, lambda c: (c, None), jnp.ones(2, "float32"), 3)


@pytest.mark.parametrize("max_steps", [-1, 2.5, "3", None, True, 2**31])
def test_a_wrong_max_steps(max_steps):
    with pytest.raises(
        LoopError, match=r"got max_steps=.*\nPass the largest number of"
    ):
        scan_while(lambda _: True, lambda c: (c, None), 0, max_steps)


def test_a_traced_max_steps():
    def run(n):
        return scan_while(lambda _: True, lambda c: (c, None), 0, n)

    with pytest.raises(LoopError, match=r"traced array for max_steps.*\nPass a Python"):
        jax.jit(run)(3)
    assert int(run(np.int64(3)).length) == 3


def test_an_exception_of_the_body_passes_through():
    with pytest.raises(ZeroDivisionError):
        scan_while(lambda _: True, lambda c: (c, 1 / 0), 0, 3)


# ---- ways of running ----


def test_without_jit_and_with_leak_checks():
    expected = jax.grad(loss)(jnp.asarray(A), X[0])
    with jax.disable_jit():
        close(jax.grad(loss)(jnp.asarray(A), X[0]), expected)
    with jax.checking_leaks():
        close(jax.grad(loss)(jnp.asarray(A), X[0]), expected)
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        close(jax.grad(loss)(jnp.asarray(A), X[0]), expected)


def test_a_long_loop_stops_early():
    # A million rows, but three steps: it must not take a million of them.
    result = jax.jit(
        lambda x: scan_while(lambda x: x < 8, lambda x: (2 * x, x), x, 10**6)
    )(1)
    assert int(result.length) == 3
    assert result.ys.shape == (10**6,)


def test_one_trace_for_many_calls():
    traces = []

    @jax.jit
    def run(x):
        def body(c):
            traces.append(1)
            return c * 2, c

        return scan_while(lambda c: c < 100, body, x, 8)

    run(1.0)
    run(3.0)
    assert len(traces) == 1


def test_a_number_without_dtype_takes_a_second_trace():
    def body(c):
        count()
        return c * jnp.float32(2), c

    assert Traces.added(lambda: scan_while(lambda c: c < 100, body, 1, 8)) == 2


def test_the_number_of_steps_may_be_far_away():
    result = scan_while(lambda x: x < 8, lambda x: (2 * x, None), 1, 2**31 - 1)
    assert int(result.length) == 3


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_a_body_may_change_a_ref():
    total = jax.new_ref(jnp.zeros(()))

    def run(x):
        def body(c):
            total[...] += c
            return 2 * c, None

        return scan_while(lambda c: c < 10, body, x, 6).carry

    assert float(run(1.0)) == 16
    assert float(jax.jit(run)(1.0)) == 16
    assert float(total[...]) == 2 * (1 + 2 + 4 + 8)
