"""How objects are shown: in notebooks, by treescope, by `help`."""

import copy
import functools
import gc
import html
import inspect
import pickle
import pydoc
import types
import typing
import weakref

import cloudpickle
import jax
import jedi
import numpy as np
import pytest

import jfi as jnp


def step(x, n: int = 2, *, mode="a<b"):
    """Take a step."""
    return x * n


LINE = step.__code__.co_firstlineno


@pytest.mark.parametrize(
    "tool", [jnp.vmap, jnp.auto_vmap, jnp.grad, jnp.value_and_grad, jnp.jacrev,
             jnp.hessian, jnp.checkpoint, jnp.inspect]
)  # fmt: skip
def test_what_other_tools_return_prints_what_it_is_and_has_a_form_for_notebooks(tool):
    function = tool(step)
    assert repr(function) == (
        f"<{tool.__name__} of step(x, n=2, *, mode='a<b') in test_shown.py:{LINE}>"
    )
    shown = html.unescape(function._repr_html_())
    assert tool.__name__ in shown
    assert "step(x, n: int = 2, *, mode='a<b')" in shown


class Odd:
    def __repr__(self):
        raise ValueError("I have no text")


ODD, TABLE = Odd(), np.zeros((20, 20))


def with_odd_defaults(x, odd=ODD, table=TABLE):
    return x


def test_printing_never_raises_and_takes_one_line():
    for function in (with_odd_defaults, abs, functools.partial(step, n=3), len):
        for tool in (jnp.jit, jnp.autojit, jnp.vmap):
            shown = repr(tool(function))
            assert shown.startswith("<" + tool.__name__)
            assert "\n" not in shown


@jnp.jit
def at_top_level(x):
    return 2 * x


@pytest.mark.parametrize("tool", [jnp.jit, jnp.autojit, jnp.vmap, jnp.grad])
def test_what_tools_return_is_a_function_to_python(tool):
    function = tool(step)
    function.seen, function.args = 1, 2  # `functools.partial` has `args`
    assert (function.seen, function.args, function.__dict__["args"]) == (1, 2, 2)
    del function.args
    assert "args" not in function.__dict__
    assert inspect.isfunction(function)
    assert not inspect.iscoroutinefunction(function)
    assert copy.copy(function) is copy.deepcopy(function) is function
    assert weakref.ref(function)() is function
    assert functools.partial(function, 1).func is function
    assert function.__name__ == function.__qualname__ == "step"
    assert (function.__module__, function.__doc__) == (__name__, step.__doc__)
    assert typing.get_type_hints(function) == {"n": int}
    assert functools.wraps(function)(lambda: 0).__wrapped__ is function
    with pytest.raises(AttributeError, match="nothing"):
        function.nothing  # noqa: B018 - reading it is the test


class Nameless:
    """Its name is no text, as that of a module of equinox that JAX has rebuilt."""

    def __getattr__(self, name):
        if name in ("__name__", "__qualname__", "__annotations__"):
            return 3
        raise AttributeError(name)

    def __call__(self, x):
        return (x * 2).sum()


@pytest.mark.parametrize(
    "tool",
    "autojit vmap grad jacfwd hessian checkpoint linearize inspect".split(),
)
def test_callables_may_have_a_name_that_is_no_text(tool):
    x = jnp.ones((1, 2))
    apply = getattr(jnp, tool)
    if tool == "linearize":
        assert apply(Nameless(), x)[0] == 4
    elif tool == "inspect":
        apply(Nameless())(x)
    else:
        expected = 4 if tool == "autojit" else getattr(jax, tool)(Nameless())(x)
        assert jnp.array_equal(apply(Nameless())(x), expected)


def test_compiled_functions_are_pickled_by_reference():
    for one in (at_top_level, type(at_top_level)):
        assert pickle.loads(pickle.dumps(one)) is one
        assert pickle.loads(cloudpickle.dumps(one)) is one


@pytest.mark.parametrize("tool", [jnp.jit, jnp.autojit])
def test_cloudpickle_copies_them_and_the_copies_again(tool):
    function = tool(lambda x: 2 * x)
    for _ in range(3):  # Dask passes functions on
        function = cloudpickle.loads(cloudpickle.dumps(function))
        gc.collect()
    assert function(1.0) == 2


def test_functions_in_the_body_of_a_class_are_plain_with_a_form_for_notebooks():
    class Model:
        @jnp.autojit
        def step(self, x):
            return 2 * x

        plain = staticmethod(jnp.jit(lambda x: 3 * x))
        of_class = classmethod(jnp.jit(lambda cls, x: 4 * x, static_argnums=0))
        value = property(jnp.vmap(lambda self: 5))

    model = Model()
    assert (model.step(1.0), model.plain(1.0), model.of_class(1.0)) == (2, 3, 4)
    assert model.step.__func__ is Model.step
    assert model.step.__self__ is model
    assert type(Model.step) is types.FunctionType  # so that calls cost nothing more
    assert repr(Model.step).startswith(f"<function {Model.__qualname__}.step at ")
    for page in (Model.step._repr_html_(), model.step._repr_html_()):
        assert "step(self, x)" in page
        assert "compiled 1 time" in page
    assert "autojit of step(x)" in repr(jnp.autojit(model.step))
    assert Model.value.fget.__name__ == "<lambda>"


def test_autojit_opens_what_other_tools_return_and_sees_what_changes_there():
    scale = 2.0
    rows = jnp.vmap(lambda x: x * scale)
    slope = jnp.grad(lambda x: x * scale)
    both = jnp.autojit(lambda x: rows(x).sum() + slope(1.0))
    assert both(np.ones(2, np.float32)) == 6
    scale = 3.0
    assert both(np.ones(2, np.float32)) == 9
    assert both(np.ones(2, np.float32)) == 9
    assert both.cache_info().traces <= 2


@pytest.mark.parametrize(
    "tool",
    [
        jnp.jit, jnp.autojit, jnp.vmap, jnp.auto_vmap, jnp.grad, jnp.value_and_grad,
        jnp.jacrev, jnp.hessian, jnp.checkpoint, jnp.persistent, jnp.inspect,
    ],
)  # fmt: skip
def test_editors_and_help_show_the_users_signature(tool):
    function = tool(step)
    expected = inspect.signature(step)
    signature = inspect.signature(function)
    assert signature.parameters == expected.parameters
    told = pydoc.plain(pydoc.render_doc(function))
    assert f"step{expected}" in told.replace(" -> jfi._inspect._report.Inspection", "")
    if tool not in (jnp.grad, jnp.value_and_grad, jnp.jacrev, jnp.hessian):
        assert "Take a step." in told


def test_jedi_shows_it_in_a_session():
    tools = jnp.jit, jnp.autojit, jnp.vmap, jnp.grad
    names = {tool.__name__: tool(step) for tool in tools}
    for name in names:
        (found,) = jedi.Interpreter(f"{name}(", [names]).get_signatures()
        assert [p.name for p in found.params] == ["x", "n", "mode"]


def test_compiled_methods_and_partials_are_shown():
    class Model:
        @jnp.autojit
        def step(self, x):
            return x

    assert "step(self, x)" in Model.step._repr_html_()
    assert "abs(x, /)" in jnp.jit(abs)._repr_html_()


def results():
    tree = jnp.KDTree(np.arange(4.0)[:, None])
    compiled = jnp.autojit(step)
    compiled.clear_cache()
    compiled(1.0), compiled(1.0, mode="<b>")
    return {
        "Neighbors": tree.query_ball_point(np.zeros((1, 1)), 1.0, max_results=3),
        "Pairs": tree.query_pairs(1.0, max_pairs=3),
        "ScanWhileResult": jnp.scan_while(lambda i: i < 2, lambda i: (i + 1, i), 0, 3),
        "Explanation": compiled.explain(),
        "Generator": jnp.Generator(7),
        "NumPyGenerator": jnp.random.default_rng(7),
        "Summary": jnp.summary({"<b>": np.ones(2)}),
    }


PARTS = {
    "Neighbors": ["2 in 3 places", "Array([[0, 1, 4]]"],
    "Pairs": ["where all places are used, there may be more", "[2, 3]"],
    "ScanWhileResult": ["Array([0, 1, 0]", "length", "carry"],
    "Explanation": ["the first call", "mode: str 'a<b' -> str '<b>'"],
    "Generator": ["seed", "7", "0 draws"],
    "NumPyGenerator": ["seed", "7", "0 draws"],
    "Summary": ["['<b>']", "float64"],
}


def test_results_have_a_form_for_notebooks_with_all_text_escaped():
    for name, value in results().items():
        shown = value._repr_html_()
        assert all(part in html.unescape(shown) for part in PARTS[name])
        assert "<b>'" not in shown
        assert "color:" not in shown  # those of the notebook, light or dark


def test_treescope_shows_them():
    treescope = pytest.importorskip("treescope")
    for name, value in results().items():
        text = treescope.render_to_text(value)
        assert name in text
        assert "Rich HTML representation" in text
    assert "step" in treescope.render_to_text(jnp.jit(step))


def test_a_generator_shows_where_it_stands_wherever_it_draws():
    generator = jnp.Generator(3)
    seen = []

    def draw(x):
        seen.append((repr(generator), generator._repr_html_()))
        return x + generator.rand()

    assert repr(generator) == "<Generator of seed 3, 0 drawn>"
    draw(0.0)
    jax.block_until_ready(jnp.jit(draw)(0.0))
    assert repr(generator) == "<Generator of seed 3, 2 drawn>"
    jnp.autojit(draw)(0.0)
    assert repr(generator) == "<Generator of seed 3, 3 drawn>"
    jnp.vmap(draw)(np.zeros(2))
    assert repr(generator) == "<Generator of seed 3, 4 drawn>"
    assert "4 draws" in generator._repr_html_()
    assert seen[0][0] == "<Generator of seed 3, 0 drawn>"
    assert {text for text, _ in seen[1:]} == {"<Generator of threefry2x32 keys>"}
    assert "threefry2x32" in seen[-1][1]
    of_rbg = jnp.Generator(jax.random.key(5, impl="rbg"))
    assert repr(of_rbg) == "<Generator of key [0, 5, 0, 5], 0 drawn>"
    assert repr(jnp.Generator(2**40)).startswith("<Generator of key [")
