"""Trees that differ are told apart by the place, in the words of the user's code."""

import jax
import pytest

import jfi as jnp


@jnp.pytree
class Named:
    def __init__(self, w, name):
        self.w, self.name = w, name


class Slotted:
    __slots__ = ("name", "w")

    def __init__(self, w, name):
        self.w, self.name = w, name


jax.tree_util.register_pytree_node(
    Slotted, lambda x: ((x.w,), x.name), lambda name, children: Slotted(*children, name)
)
X = jnp.ones(2)


@pytest.mark.parametrize("make", [Named, Slotted])
def test_a_carry_names_the_setting_that_differs(make):
    with pytest.raises(jnp.LoopError, match=r"c\[0\]\.name was 'a' and became 'b'\."):
        jnp.scan(lambda c, x: ([make(X, "b")], x), [make(X, "a")], X)


@pytest.mark.parametrize("make", [Named, Slotted])
def test_branches_name_the_setting_that_differs(make):
    seen = r"for result\.name, true_fun .* returns 'a', false_fun .* returns 'b'\."
    with pytest.raises(jnp.LoopError, match=seen):
        jnp.cond(True, lambda: make(X, "a"), lambda: make(X, "b"))


@pytest.mark.parametrize(
    ("one", "other", "seen"),
    [
        (Named(X, "a"), X, r"for result, .* Named with \.w, .* float32\[2\]\."),
        ((X, None), (X, X), r"for result\[1\], .* returns None, .* float32\[2\]\."),
        ((), {}, "for result, .* tuple without data, .* dict without data"),
        ([X], [X, X], r"returns list with \[0\], .* returns list with \[0\], \[1\]\."),
    ],
)
def test_branches_name_the_containers_that_differ(one, other, seen):
    with pytest.raises(jnp.LoopError, match=seen):
        jnp.cond(True, lambda: one, lambda: other)


def test_jax_shows_the_settings_of_a_pytree():
    one, other = Named([X, 2], "a"), Named([X, 2], "b")
    seen = r"metadata\n +w=\[\.\.\., 2\], name='a'\n"
    with pytest.raises(ValueError, match=seen):
        jax.tree.map(lambda a, b: a, one, other)
