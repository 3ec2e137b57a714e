"""`jfi.jit` of functions that draw: its options, failures, threads, devices, seeds."""

import contextlib
import functools
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from drawing import (
    assert_all_different,
    assert_same,
    count,
    eager_stream,
    plain_jit_is_ok,  # noqa: F401
)
from jax import lax
from jax.experimental.ode import odeint
from subprocesses import output_of

import jfi


pytestmark = pytest.mark.usefixtures("plain_jit_is_ok")
ONE = np.float32(1)
X3 = np.linspace(1, 2, 3, dtype="float32")
EDGES = [2**31, 2**32, 3 * 2**31, 5 * 2**32]


def test_traced_once():
    traces = []

    @jfi.jit
    def draw(x):
        traces.append(x)
        return jfi.randn()

    draw(ONE)
    first = len(traces)
    assert_all_different([draw(ONE) for _ in range(5)])
    jfi.manual_seed(5)
    with jfi.seed(1):
        draw(ONE)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(draw, ONE).result()
    assert len(traces) == first <= 3
    draw(X3)
    assert len(traces) == first + 1


@pytest.mark.parametrize("given", ["position", "keyword"])
@pytest.mark.parametrize("option", ["static_argnums", "static_argnames"])
def test_a_flag_switches_draws_on_and_off(option, given):
    options = {"static_argnums": 1} if option == "static_argnums" else {}
    if option == "static_argnames":
        options = {"static_argnames": "n"}
    if option == "static_argnums" and given == "keyword":
        options = {"static_argnums": 1, "static_argnames": "n"}
    f = jfi.jit(lambda x, n: [jfi.randn() for _ in range(n)], **options)
    call = (lambda n: f(ONE, n)) if given == "position" else (lambda n: f(ONE, n=n))
    drawn = [call(n) for n in (0, 2, 0, 1, 2, 0)]
    assert count() == 5
    assert_same(drawn, eager_stream(5))


@pytest.mark.parametrize(
    "options",
    [
        {"donate_argnums": 0},
        {"donate_argnames": "x"},
        {"inline": True},
        {"keep_unused": True},
        {"out_shardings": jax.sharding.SingleDeviceSharding(jax.devices()[0])},
        {"in_shardings": jax.sharding.SingleDeviceSharding(jax.devices()[0])},
        {"in_shardings": (jax.sharding.SingleDeviceSharding(jax.devices()[0]),)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_of_jit(options):
    f = jfi.jit(lambda x: (jfi.randn(), x * 2), **options)
    drawn = []
    for _ in range(2):
        draw, doubled = f(jax.numpy.asarray(X3))
        np.testing.assert_array_equal(doubled, 2 * X3)
        drawn.append(draw)
    assert_same(drawn, eager_stream(2))


def test_donated_arguments_are_donated():
    x = jax.numpy.ones(1000)
    f = jfi.jit(lambda x: x + jfi.randn(), donate_argnums=0)
    f(x)
    assert x.is_deleted()


def test_as_decorator_method_and_with_trees():
    class Model:
        scale = 2.0

        @functools.partial(jfi.jit, static_argnums=0)
        def draw(self, tree, *, shift):
            return {"a": (jfi.randn(), tree["x"] * self.scale + shift), "none": None}

    out = Model().draw({"x": X3}, shift=1)
    np.testing.assert_array_equal(out["a"][1], 2 * X3 + 1)
    assert out["none"] is None
    assert_same(out["a"][0], eager_stream(1))


def test_many_kinds_of_draws_are_those_of_eager_code():
    def draws():
        return [
            jfi.randn(3),
            jfi.rand(2, 2),
            jfi.randint(0, 10**6, (4,)),
            jfi.randperm(10),
            jfi.bernoulli(size=8),
            jax.random.key_data(jfi.make_random_key()),
            jfi.choice(100, 3),
        ]

    eager, moved = draws(), count()
    jfi.manual_seed(0)
    compiled = jfi.jit(draws)()
    assert_same(eager, compiled)
    assert count() == moved


@pytest.mark.usefixtures("x64")
def test_with_and_without_64_bit_types():
    draw = lambda: jfi.randn(3)
    assert_same(jfi.jit(draw)(), eager_stream_of(draw))
    assert_same(jfi.jit(jfi.vmap(lambda x: draw()))(X3), again(jfi.vmap, draw))
    assert jfi.jit(draw)().dtype == draw().dtype == np.float32


def eager_stream_of(draw):
    jfi.manual_seed(0)
    return draw()


def again(vmap, draw):
    jfi.set_rng_state({**jfi.get_rng_state(), "count": 1})
    return vmap(lambda x: draw())(X3)


def test_disable_jit():
    f = jfi.jit(lambda x: [jfi.randn(), jfi.jit(lambda: jfi.randn())()])
    with jax.disable_jit():
        plain = f(ONE), f(ONE)
    np.testing.assert_allclose(np.ravel(plain), eager_stream(4), rtol=1e-6)


def test_lowered_and_compiled():
    f = jfi.jit(lambda x: jfi.randn() + 0 * x)
    for _ in range(2):  # before and after the first call
        compiled = f.lower(ONE).compile()
        assert_all_different(compiled(ONE), compiled(ONE), f(ONE), jfi.randn())
        before = count()
        assert f.eval_shape(ONE).shape == jax.eval_shape(f, ONE).shape == ()
        f.trace(ONE)
        jax.make_jaxpr(f)(ONE)
        assert count() == before
        f.clear_cache()
    plain = jax.jit(lambda: jfi.randn()).lower().compile()
    assert_all_different(plain(), plain(), jfi.randn())


def test_module_level_body_in_two_programs():
    step = lambda c, _: (c, jfi.randn())
    scan = lambda: lax.scan(step, 0, length=3)[1]
    one, two, three = jax.jit(scan), jfi.jit(scan), jax.jit(lambda: scan())
    assert_all_different([f() for f in (one, two, three, one, two, three, scan)])


def test_odeint():
    def solve(x):
        # One draw for the whole solution.
        speed = 1 + jfi.rand()
        return odeint(lambda y, t: -speed * y, x, np.array([0.0, 1.0], "float32"))[1]

    for transform in (jax.jit, jfi.jit):
        slope = transform(jax.value_and_grad(solve))
        (value, derivative), (second, _) = slope(ONE), slope(ONE)
        np.testing.assert_allclose(derivative, value, rtol=1e-3)
        assert_all_different(value, second)


# ------------------------------------------------------------------------- failures


@pytest.mark.parametrize("jit", [jax.jit, jfi.jit], ids=["jax", "jfi"])
def test_an_error_while_tracing_harms_nothing(jit):
    fail = [True]

    @jit
    def f(x):
        draw = jfi.randn()
        if fail[0]:
            raise ZeroDivisionError
        return draw

    with pytest.raises(ZeroDivisionError):
        f(ONE)
    assert count() == 0
    fail[0] = False
    assert_all_different(f(ONE), f(ONE), jfi.randn())
    assert count() == 3


@pytest.mark.parametrize("jit", [jax.jit, jfi.jit], ids=["jax", "jfi"])
def test_an_error_in_a_callback_leaves_the_generator_usable(jit):
    def check(ok):
        if not ok:
            raise ZeroDivisionError
        return ok

    @jit
    def f(ok):
        draw = jfi.randn()
        ok = jax.pure_callback(check, jax.ShapeDtypeStruct((), bool), ok)
        return draw + jfi.randn() * 0, ok

    good = f(True)[0]
    for _ in range(2):
        with pytest.raises(Exception, match="ZeroDivisionError"):
            jax.block_until_ready(f(False))
    assert_all_different(good, f(True)[0], jfi.randn(), jfi.randn(3))


def test_seed_within_compiled_programs():
    for jit in (jax.jit, jfi.jit):
        f = jit(lambda: jfi.randn())
        f()
        with jfi.seed(3):
            inside = f()
        outside = f()
        with jfi.seed(3):
            assert_same(f(), inside)
        with contextlib.suppress(ZeroDivisionError), jfi.seed(3):
            assert_same(f(), inside)
            1 / 0  # noqa: B018
        with jfi.fork_rng():
            forked = f()
        assert_same(f(), forked)
        assert_all_different(inside, outside, forked)


# ---------------------------------------------------------- threads, processes, devices


def dynamic(n):
    """As many draws as the data say; a place for more."""
    step = lambda s: (s[0] + 1, s[1].at[s[0]].set(jfi.randn()))
    return lax.while_loop(lambda s: s[0] < n, step, (0, jax.numpy.zeros(4)))[1]


def test_a_dynamic_number_of_draws():
    f = jfi.jit(dynamic)
    rows = [np.asarray(f(n)) for n in (3, 0, 4, 1)]
    assert count() == 8
    drawn = np.concatenate([row[row != 0] for row in rows])
    assert_same(drawn, eager_stream(8))


@pytest.mark.usefixtures("mixed_world")
def test_threads_share_the_stream():
    # Of 1200 numbers in float32 two are equal in one run of ten.
    def draw():
        return jfi.randn(dtype="float64")

    def several(n):
        def step(state):
            i, drawn = state
            return i + 1, drawn.at[i].set(draw())

        return lax.while_loop(lambda s: s[0] < n, step, (0, jax.numpy.zeros(4)))[1]

    several_jit = jfi.jit(several)
    draws = [draw, jfi.jit(draw), lambda: several_jit(4)]
    for each in draws:
        each()
    jfi.manual_seed(0)
    start = threading.Barrier(6)
    seen = [[] for _ in range(6)]

    def work(i):
        start.wait()
        seen[i] = [draws[i % 3]() for _ in range(100)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_all_different(seen)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_draws_other_numbers():
    code = """
        import os, warnings
        import jfi
        warnings.simplefilter("ignore")
        jfi.manual_seed(0)
        before = jfi.get_rng_state()
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, repr(jfi.get_rng_state()["key"]).encode())
            os._exit(0)
        os.wait()
        child = os.read(read, 1000).decode()
        assert child and child != repr(before["key"]), child
        assert jfi.get_rng_state() == before
        print("ok")
    """
    assert output_of(dedented(code)) == "ok"


def dedented(code):
    return "\n".join(line[8:] for line in code.splitlines())


def test_several_devices():
    code = """
        import jax, numpy as np
        jax.config.update("jax_platforms", "cpu")
        import jfi
        jfi.set_plain_jit_policy("ok")
        auto = (jax.sharding.AxisType.Auto,)
        mesh = jax.make_mesh((2,), ("i",), axis_types=auto)
        split = jax.NamedSharding(mesh, jax.P("i"))
        x = np.ones(8, "float32")
        for f in (lambda x: x * 0 + jfi.randn(8), jfi.vmap(lambda x: jfi.randn())):
            seen = []
            for y in (x, jax.device_put(x, split), jax.device_put(x, jax.devices()[1])):
                for jit in (jax.jit, jfi.jit):
                    jfi.manual_seed(0)
                    g = jit(f)
                    one, two = np.asarray(g(y)), np.asarray(g(y))
                    seen.append((jit, one))
                    assert len({*one.tolist(), *two.tolist()}) == 16
            for jit in (jax.jit, jfi.jit):
                a, b, c = (one for how, one in seen if how is jit)
                assert np.array_equal(a, b) and np.array_equal(a, c), (f, jit)
        shard = lambda x: x * 0 + jfi.randn(4)
        specs = {"in_specs": jax.P("i"), "out_specs": jax.P("i")}
        mapped = jfi.shard_map(shard, mesh=mesh, **specs)
        for g in (mapped, jfi.jit(mapped), jax.jit(mapped)):
            drawn = np.concatenate([g(x), g(x)])
            assert len(np.unique(drawn)) == 16
        print("ok")
    """
    env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    assert output_of(dedented(code), env=env) == "ok"


# --------------------------------------------------------------------- seeds and states


def test_all_seeds_are_different():
    edges = [0, 1, 2**31, 2**32, 2**33, 2**63]
    near = {e + d for e in edges for d in (-1, 0, 1)}
    seeds = sorted({*near, *(-n for n in near), 2**64 - 1} - {-(2**63) - 1})
    drawn = []
    for seed in seeds:
        jfi.manual_seed(seed)
        drawn.append(jfi.randn(2))
    assert_all_different(drawn)
    for wrong in (2**64, -(2**63) - 1, 1.5, "0", None, True):
        with pytest.raises(jfi.RandomError, match="manual_seed"):
            jfi.manual_seed(wrong)


def six():
    return [jfi.randn() for _ in range(6)]


@jfi.jit
def six_in_scan():
    return lax.scan(lambda c, _: (c, jfi.randn()), 0, length=6)[1]


six_compiled = jfi.jit(six)
one = jfi.jit(lambda: jfi.randn())


@pytest.mark.parametrize("edge", EDGES)
def test_over_the_edge_of_the_counter(edge):
    state = jfi.get_rng_state()
    beginning = [jfi.randn() for _ in range(6)]

    def from_edge(run):
        jfi.set_rng_state({**state, "count": edge - 3})
        drawn = np.ravel(run())
        assert count() == edge + 3
        return drawn

    eager = from_edge(six)
    assert_all_different(beginning, eager)
    for run in (six_compiled, six_in_scan, lambda: [one() for _ in range(6)]):
        assert_same(from_edge(run), eager)
    # Long enough that draws are made in advance.
    jfi.set_rng_state({**state, "count": edge - 40})
    assert_all_different([jfi.randn() for _ in range(120)], beginning)


def test_a_state_goes_to_another_process():
    jfi.randn()
    state = pickle.loads(pickle.dumps(jfi.get_rng_state()))
    code = f"import jfi; jfi.set_rng_state({state!r}); print(jfi.randn(3).tolist())"
    assert output_of(code) == str(jfi.randn(3).tolist())


@pytest.mark.parametrize(
    "jit", [jax.jit, jfi.jit, jax.vmap], ids=["jax", "jfi", "vmap"]
)
@pytest.mark.parametrize("name", ["manual_seed", "seed", "get_rng_state", "fork_rng"])
def test_state_is_not_touched_in_traced_code(name, jit):
    def f(x):
        got = getattr(jfi, name)(*([0] if "seed" in name else []))
        with got:
            return x

    with pytest.raises(jfi.RandomError, match=rf"{name}\(\) was called inside"):
        jit(f)(X3)
