"""Objects of a `pytree` class as axes of `vmap`."""

import jax
import numpy as np
import pytest

import jfi as jnp


@jnp.pytree
class Affine:
    def __init__(self, w, b, name="affine"):
        self.w, self.b, self.name = w, b, name


X = np.arange(6, dtype="float32").reshape(3, 2)
MODEL = Affine(jnp.asarray(X), jnp.ones(2), "another")


def apply(model, x):
    return model.w * x + model.b


@pytest.mark.parametrize("options", [{}, {"chunk_size": 2}])
@pytest.mark.parametrize(
    "in_axes", [(Affine(0, None), 0), [Affine(0, None), 0], (Affine(0, None), None)]
)
def test_an_object_stands_for_the_axes_of_its_attributes(in_axes, options):
    x = X if in_axes[1] == 0 else X[0]
    mapped = jnp.vmap(apply, in_axes, **options)
    np.testing.assert_array_equal(mapped(MODEL, x), X * x + 1)


def test_objects_in_containers_and_in_objects():
    def total(tree):
        return tree["a"].w.b + tree["a"].b

    in_axes = ({"a": Affine(Affine(None, 0), None)},)
    tree = {"a": Affine(Affine(jnp.ones(2), jnp.asarray(X)), jnp.ones(()))}
    np.testing.assert_array_equal(jnp.vmap(total, in_axes)(tree), X + 1)


def test_what_tree_map_makes_of_an_object():
    axes = jax.tree.map(lambda _: 0, Affine(X, X))
    made = jnp.vmap(lambda x: Affine(x, x + 1), out_axes=axes)(X)
    np.testing.assert_array_equal(made.b, X + 1)
    again = jnp.vmap(lambda model: model.b, (axes,))(made)
    np.testing.assert_array_equal(again, X + 1)


def test_what_does_not_fit_is_refused():
    @jnp.pytree
    class Open:
        def __init__(self, **attributes):
            self.__dict__.update(attributes)

    with pytest.raises(jnp.BatchError, match="Open in in_axes without the attribute a"):
        jnp.vmap(lambda x: x.a, (Open(b=0),))(Open(a=X))
    with pytest.raises(jnp.BatchError, match="Affine without data in out_axes"):
        jnp.vmap(lambda x: Affine(x, x), out_axes=Affine(0, 1))
