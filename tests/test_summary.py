"""`summary`: the arrays of an object, as data, as text and as HTML."""

import jax
import numpy as np

import jfi as jnp


class Layer:
    def __init__(self, n):
        self.w, self.name = jnp.ones((n, n)), "<layer>"


class Model:
    def __init__(self):
        self.layers = [Layer(k) for k in range(1, 12)]
        self.tied, self.rate, self.steps = self.layers[0], 0.1, 3
        self.mask = np.zeros((2, 3), bool)
        self.state = {"m": jnp.ones(2, "bfloat16"), "<k>": jax.random.key(0)}
        captured = jnp.zeros(7)
        self.apply = lambda x: x + captured


def test_all_arrays_are_found_once():
    found = jnp.summary(Model())
    rows = {row.path: row for row in found.arrays}
    assert len(rows) == 15
    assert rows["layers[10].w"].shape == (11, 11)
    assert rows["layers[10].w"].nbytes == 11 * 11 * 4
    assert [p for p in rows if p.startswith("layers[")][-1] == "layers[10].w"
    assert (rows["mask"].devices, rows["mask"].dtype) == ("host", "bool")
    assert rows["state['m']"].devices == "cpu:0"
    assert "captured" in "".join(rows)
    assert found.nbytes == sum(row.nbytes for row in found.arrays)
    assert found.size == sum(k * k for k in range(1, 12)) + 6 + 2 + 1 + 7


def test_float64_stands_out():
    state = {"a": np.zeros(2), "b": jnp.zeros(2)}
    assert jnp.summary(state).wide == ("['a']",)
    text = repr(jnp.summary(state))
    assert "float64 among narrower floats: ['a']" in text
    assert "float64 !" in text
    assert jnp.summary({"a": np.zeros(2)}).wide == ()


def test_text_and_html_have_a_row_for_each_array():
    found = jnp.summary(Model())
    assert len(repr(found).splitlines()) == 2 + len(found.arrays)
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + len(found.arrays)
    assert "&lt;k&gt;" in html
    assert "<k>" not in html


def test_small_and_empty_things():
    assert repr(jnp.summary({})) == "dict: 0 arrays, 0 numbers, 0 B"
    (row,) = jnp.summary(jnp.ones(3)).arrays
    assert row.shape == (3,)


def test_what_autojit_can_not_open_is_named_and_the_rest_is_shown():
    class Run:
        def __init__(self):
            self.w, self.batches, self.words = jnp.ones(2), iter([1]), [1].append
            self.parts = np.array([Layer(2), jnp.ones(3)], dtype=object)

    run = Run()
    found = jnp.summary(run)
    shapes = {row.path: row.shape for row in found.arrays}
    assert shapes == {"w": (2,), "parts": (2,), "parts[0].w": (2, 2), "parts[1]": (3,)}
    assert found.unopened == ("batches (an iterator)", "words (a method of a list)")
    assert "not opened: batches (an iterator), words" in repr(found)
    assert next(run.batches) == 1
    assert jnp.summary(iter([1])).unopened == ("(an iterator)",)
    assert jnp.summary(run.parts).arrays[0].path == "[0].w"


def test_a_traced_state():
    shapes = []

    @jnp.jit
    def f(x):
        shapes.extend(jnp.summary({"x": x}).arrays)
        return x

    f(jnp.ones(3))
    assert [(row.shape, row.devices) for row in shapes] == [((3,), "traced")]
