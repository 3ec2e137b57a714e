"""Generator objects, the policy for programs of plain JAX, what hides draws."""

import copy
import inspect
import pickle
import random
import threading

import jax
import numpy as np
import pytest

import jfi as jnp
from jfi._random import numpy_style, torch_style


def same(a, b):
    return np.array_equal(np.asarray(a), np.asarray(b))


# ---- objects ----


def test_a_generator_has_the_stream_of_its_seed():
    expected = [jnp.randn(2), jnp.rand(3), jnp.randint(0, 9, 4)]
    g = jnp.Generator(0)
    assert all(map(same, [g.randn(2), g.rand(3), g.randint(0, 9, 4)], expected))
    g.manual_seed(0)
    assert same(g.randn(2), expected[0])


def test_a_generator_leaves_the_stream_alone():
    jnp.Generator(0).randn(2)
    assert jnp.get_rng_state()["count"] == 0


def test_a_generator_is_not_touched_by_seed_blocks():
    g, twin = jnp.Generator(3), jnp.Generator(3)
    with jnp.seed(5):
        assert same(g.randn(2), twin.randn(2))


@pytest.mark.parametrize("compiled", [jax.jit, jnp.jit, jnp.autojit])
def test_compiled_code_keeps_the_generator(compiled):
    g = jnp.Generator(1)
    draw = compiled(lambda x: (x + g.randn(2), jnp.randn(2)))
    (a, b), (c, d) = draw(0.0), draw(0.0)
    assert len({*a.tolist(), *b.tolist(), *c.tolist(), *d.tolist()}) == 8
    assert g.get_rng_state()["count"] == 2


def test_under_jit_a_generator_draws_what_it_draws_eagerly():
    g = jnp.Generator(1)
    expected = [g.randn(2) for _ in range(4)]
    g.manual_seed(1)
    draw = jnp.jit(lambda: (g.randn(2), g.randn(2)))
    assert same([*draw(), *draw()], expected)


@pytest.mark.parametrize("first", ["eager", "compiled"])
def test_a_compiled_function_with_a_generator_under_autojit(first):
    g = jnp.Generator(1)
    expected = [float(g.randn()) for _ in range(4)]
    g.manual_seed(1)
    noise = jnp.jit(lambda x: x + g.randn())
    around = jnp.autojit(lambda x: noise(x) * 1)
    calls = [around] * 3 + [noise]
    drawn = [f(0.0) for f in (calls if first == "compiled" else calls[::-1])]
    assert same(drawn, np.array(expected, "float32"))

    class Model:
        def __init__(self):
            self.rng = jnp.Generator(1)
            self.noise = jnp.jit(lambda x: x + self.rng.randn())

        @jnp.autojit
        def step(self, x):
            return self.noise(x)

    model = Model()
    assert same([model.step(0.0) for _ in expected], np.array(expected, "float32"))


def test_an_attribute_of_a_method_under_autojit():
    class Model:
        def __init__(self):
            self.rng, self.w = jnp.Generator(0), jnp.ones(2)

        @jnp.autojit
        def step(self, x):
            return self.w * x + self.rng.randn(2)

    model = Model()
    expected = jnp.Generator(0)
    assert same(model.step(0.0), expected.randn(2))
    assert same(model.step(0.0), expected.randn(2))


class Scaled(jnp.Generator):
    def __init__(self, seed, *, scale):
        super().__init__(seed)
        self.scale = scale


def test_generators_pickle_and_copy_with_their_state():
    rbg = jax.random.key(2, impl="rbg")  # of another algorithm than ints
    for g in (jnp.Generator(2), jnp.Generator(rbg), Scaled(2, scale=3.0)):
        g.rand(3)
        others = pickle.loads(pickle.dumps(g)), copy.deepcopy(g), copy.copy(g)
        expected = g.rand(3)
        assert all(same(other.rand(3), expected) for other in others)
        assert all(vars(o).get("scale") == vars(g).get("scale") for o in others)


def test_every_method_is_the_function_on_its_own_stream():
    g = jnp.Generator(0)
    for name in "randn rand randperm randint next_key".split():
        args = {"randperm": (5,), "next_key": ()}.get(name, (3,))
        jnp.manual_seed(7)
        g.manual_seed(7)
        expected, got = getattr(jnp, name)(*args), getattr(g, name)(*args)
        assert bool((expected == got).all())


@pytest.mark.parametrize(
    ("made", "functions"),
    [(jnp.Generator, torch_style), (jnp.random.default_rng, numpy_style)],
)
def test_every_function_is_a_method_with_its_signature_and_help(made, functions):
    g = made(0)
    for name, function in vars(functions).items():
        if callable(function) and name not in ("draw_between", "numbers"):
            method = getattr(g, name, None)
            assert method is not None, f"{name} is not in _generator_objects.py"
            assert inspect.signature(method) == inspect.signature(function)
            assert method.__doc__ == function.__doc__


@pytest.mark.usefixtures("mixed_world")
def test_default_rng_has_numpys_methods():
    rng = jnp.random.default_rng(0)
    assert rng.normal(1.0, 2.0, size=3).shape == (3,)
    assert rng.integers(5, size=(2, 2)).dtype == np.int64
    assert jnp.random.default_rng(rng) is rng
    jnp.random.seed(4)
    first = jnp.random.gamma(2.0, size=2)
    assert same(jnp.random.default_rng(4).gamma(2.0, size=2), first)
    public = {name for name in dir(np.random.Generator) if not name.startswith("_")}
    missing = {name for name in public if not hasattr(rng, name)}
    assert all(not hasattr(jnp.random, name) for name in missing - {"bit_generator"})


def test_what_is_no_seed_is_refused():
    for name, made in (
        ("Generator", jnp.Generator),
        ("default_rng", jnp.random.default_rng),
    ):
        with pytest.raises(
            jnp.RandomError, match=rf"^{name}\(\) got.*Write an int from"
        ):
            made("0")
        with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword"):
            made(device="cpu")
        with pytest.raises(jnp.RandomError, match="inside a JAX transformation"):
            jax.jit(lambda made=made: made(0).randn())()


def test_a_stream_keeps_its_algorithm():
    rbg = jax.random.key(0, impl="rbg")
    g = jnp.Generator(0)
    with pytest.raises(jnp.RandomError, match=r"jnp\.Generator\(key\)"):
        g.manual_seed(rbg)
    with jnp.seed(0), pytest.raises(jnp.RandomError, match=r"with jnp\.seed\(key\)"):
        jnp.manual_seed(rbg)
    draw = jnp.jit(lambda: jnp.randn(2))
    first = draw()
    with jnp.seed(rbg):
        other = draw()
        assert not same(other, draw())
    jnp.manual_seed(rbg)
    assert same(draw(), other)
    jnp.manual_seed(0)
    assert same(draw(), first)


# ---- programs of plain JAX ----


def test_plain_jit_warns_once():
    jnp.set_plain_jit_policy("warn")
    draw = jax.jit(lambda: jnp.randn(2))
    with pytest.warns(jnp.PlainJitWarning, match=r"Write jfi\.jit") as caught:
        draw()
    assert caught[0].filename == __file__
    draw()  # a second warning would be an error


def test_plain_jit_can_be_refused():
    draw = jax.jit(lambda: jnp.randn(2))
    draw()
    jnp.set_plain_jit_policy("error")
    with pytest.raises(jnp.RandomError, match=r"set_plain_jit_policy\('ok'\)"):
        draw()
    assert jnp.jit(lambda: jnp.randn(2))().shape == (2,)
    assert jax.grad(lambda x: x * jnp.randn())(1.0) != 0
    with pytest.raises(ValueError, match="Write 'warn', 'ok' or 'error'"):
        jnp.set_plain_jit_policy("never")


# ---- what hides a draw from jit ----


def careless(x):
    try:
        return x + jnp.randn()
    except BaseException:
        return x


@pytest.mark.parametrize(
    "transform",
    [
        jnp.jit,
        jnp.autojit,
        lambda f: lambda x: jnp.vmap(f)(jnp.array([x])),
        lambda f: lambda x: jnp.scan(lambda c, _: (f(c), c), x, length=2),
        lambda f: jnp.jit(lambda x: jnp.scan(lambda c, _: (f(c), c), x, length=2)),
    ],
    ids=["jit", "autojit", "vmap", "scan", "jit of scan"],
)
def test_code_that_catches_everything_around_a_draw_is_refused(transform):
    with pytest.raises(jnp.RandomError, match="Write `except Exception:`"):
        transform(careless)(jnp.float32(1.0))
    careless(1.0)


def test_keywords_may_have_any_name():
    def add(self, fun, keys):
        return self + fun + keys + jnp.randn()

    for transform in (jnp.jit, jnp.autojit):
        transform(add)(self=1.0, fun=2.0, keys=3.0)
    x = jnp.ones(2)
    assert jnp.vmap(add)(self=x, fun=x, keys=x).shape == (2,)


def test_the_first_calls_in_many_threads():
    draw = jnp.jit(lambda: jnp.randn(2))
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.extend(draw().tolist())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 16


def test_a_jitted_function_travels():
    import cloudpickle

    draw = jnp.jit(lambda n: jnp.randn(n), static_argnums=0)
    first = draw(2)
    jnp.manual_seed(0)
    assert same(pickle.loads(cloudpickle.dumps(draw))(2), first)


def test_without_jit_the_numbers_are_the_same():
    draw = jnp.jit(lambda: jnp.randn())
    expected = [draw(), draw()]
    jnp.manual_seed(0)
    with jax.disable_jit():
        assert same([draw(), draw()], expected)
    assert jnp.get_rng_state()["count"] == 2


def test_a_generator_shows_where_it_stands():
    generator = jnp.Generator(7)
    generator.rand()
    assert repr(generator) == "<Generator of seed 7, 1 drawn>"
    inside = []
    jax.jit(lambda x: inside.append(repr(generator)) or x)(1.0)
    assert inside == ["<Generator of threefry2x32 keys>"]


# ---- generators that are not jfi's ----

numpys = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("fn", "generator"),
    [
        (lambda x: x + np.random.rand(), "np.random.rand"),
        (lambda x: x * random.gauss(0, 1), "random.gauss"),
        (lambda x: x + numpys.normal(), "numpys.normal"),
    ],
)
def test_jit_and_vmap_warn_once_of_one_draw_for_all(fn, generator):
    text = rf"draws by {generator}.*once for all"
    with pytest.warns(jnp.RepeatedDrawWarning, match=rf"(?s){text} calls.*jnp.randn"):
        jnp.jit(fn)(1.0)
    with pytest.warns(jnp.RepeatedDrawWarning, match=f"{text} rows"):
        jnp.vmap(fn)(jnp.ones(2))
    jnp.jit(fn)(1.0)  # a second warning would be an error
    jnp.vmap(fn)(jnp.ones(2))


def test_seeded_generators_and_jfis_own_are_no_matter():
    jnp.jit(lambda x: x + np.random.default_rng(0).normal() + jnp.rand())(1.0)
    jnp.vmap(lambda x: x + random.Random(0).random() + jnp.rand())(jnp.ones(2))
