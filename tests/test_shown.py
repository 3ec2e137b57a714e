"""How objects are shown: in notebooks, by treescope, by `help`."""

import html
import inspect
import pydoc

import jax
import jedi
import numpy as np
import pytest

import jfi as jnp


def step(x, n: int = 2, *, mode="a<b"):
    """Take a step."""
    return x * n


LINE = step.__code__.co_firstlineno


@pytest.mark.parametrize("tool", [jnp.jit, jnp.autojit])
def test_a_compiled_function_shows_what_it_is_and_how_often_it_was_compiled(tool):
    function = tool(step)
    name = tool.__name__
    shown = html.unescape(function._repr_html_())
    parts = [name, "step(x, n: int = 2, *, mode='a<b')", f"test_shown.py:{LINE}"]
    assert all(part in shown for part in parts)
    assert "not compiled yet" in shown
    assert "a&lt;b" in function._repr_html_()
    function(1.0), function(np.ones(3, np.float32)), function(2.0)
    shown = html.unescape(function._repr_html_())
    assert "compiled 2 times" in shown
    assert ("x: float32[] -> float32[3]" in shown) == (tool is jnp.autojit)


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
    "Generator": ["[0, 7]", "0 draws"],
    "NumPyGenerator": ["[0, 7]", "0 draws"],
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

    assert repr(generator) == "<Generator of key [0, 3], 0 drawn>"
    draw(0.0)
    jax.block_until_ready(jnp.jit(draw)(0.0))
    assert repr(generator) == "<Generator of key [0, 3], 2 drawn>"
    jnp.autojit(draw)(0.0)
    assert repr(generator) == "<Generator of key [0, 3], 3 drawn>"
    jnp.vmap(draw)(np.zeros(2))
    assert repr(generator) == "<Generator of key [0, 3], 4 drawn>"
    assert "4 draws" in generator._repr_html_()
    assert seen[0][0] == "<Generator of key [0, 3], 0 drawn>"
    assert {text for text, _ in seen[1:]} == {"<Generator of threefry2x32 keys>"}
    assert "threefry2x32" in seen[-1][1]
