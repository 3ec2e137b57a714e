"""Steps along gradients: `apply_updates`; zeros: `zero_cotangent`, `ZERO`."""

import copy
import pickle

import jax
import numpy as np
import pytest
from jax.dtypes import float0
from mixed_trees import X, params

import jfi as jnp


def loss(params):
    return (params["w"] ** params["n"]).sum()


# ------------------------------------------------------- steps


def test_updates_leave_alone_what_has_none():
    before = params()
    after = jnp.apply_updates(before, jnp.grad(loss)(before), scale=-0.5)
    np.testing.assert_allclose(after.pop("w"), X - X)
    for name, value in after.items():
        assert value is before[name]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
def test_updates_keep_the_dtype(array, dtype):
    old = {"w": array(np.ones(2), dtype=jnp.dtype(dtype)), "n": 3}
    new = jnp.apply_updates(old, {"w": np.ones(2)}, np.float64(0.5))
    assert new["w"].dtype == dtype
    assert new["w"].tolist() == [1.5, 1.5]
    assert new["n"] == 3


@pytest.mark.parametrize("nondiff", ["none", "float0", "zeros"])
def test_every_gradient_is_an_update(nondiff):
    p = params()
    new = jnp.apply_updates(p, jnp.grad(loss, nondiff=nondiff)(p), -1.0)
    np.testing.assert_allclose(new["w"], -X)
    assert new["n"] == 2


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({"v": 1.0}, "updates has the key 'v', params has"),
        ({"w": np.ones(2)}, r"updates\['w'\] is float64\[2\], params has float32\[3\]"),
        ({"w": 1j * X}, "Take its .real"),
        ({"n": 1}, r"updates\['n'\] is the int 1, params has the int 2"),
        ({"act": 1.0}, r"updates\['act'\] is the float 1.0, params has the str 'tanh'"),
        ([1.0], "updates is a list of 1, params is a dict of"),
    ],
)
def test_updates_that_do_not_fit(updates, message):
    with pytest.raises(jnp.TangentError, match=message):
        jnp.apply_updates(params(), updates)


def test_the_scale_is_one_number():
    with pytest.raises(jnp.TangentError, match=r"shape \(3,\)"):
        jnp.apply_updates(1.0, 1.0, X)


# ------------------------------------------------------- zeros


def test_zero_cotangent():
    tree = [jax.ShapeDtypeStruct((2,), "float16"), 1.0, True, jnp.key(0), None, "s"]
    half, one, flag, key, none, text = jnp.zero_cotangent(tree)
    assert (half.dtype, half.shape, float(one)) == ("float16", (2,), 0)
    assert flag.dtype == key.dtype == float0
    assert none is text is None


def test_symbolic_zeros_are_those_of_custom_rules():
    @jax.custom_vjp
    def f(x, y):
        return x * y

    f.defvjp(lambda x, y: (x * y, y), lambda y, g: (g * y, zero_of_y))
    zero_of_y = jnp.zero_cotangent(X, symbolic=True)
    slopes = jax.grad(lambda x, y: f(x, y).sum(), (0, 1))(X, X)
    np.testing.assert_array_equal(slopes, (X, 0 * X))


def test_zero_is_one_object():
    assert pickle.loads(pickle.dumps(jnp.ZERO)) is copy.deepcopy(jnp.ZERO) is jnp.ZERO
    assert jax.jit(lambda zero: zero)(jnp.ZERO) is jnp.ZERO
    assert repr(jnp.ZERO) == "jfi.ZERO"


def test_numpy_parameters_in_both_worlds(x64):
    params = {"w": np.ones(2)}
    grads = jnp.grad(lambda p: (p["w"] ** 2).sum())(params)
    after = jnp.apply_updates(params, grads, scale=-0.25)
    np.testing.assert_array_equal(after["w"], [0.5, 0.5])
    assert after["w"].dtype == jax.dtypes.canonicalize_dtype(np.float64)
