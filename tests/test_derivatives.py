"""Gradients of trees with any leaves: `grad`, `value_and_grad`."""

import dataclasses
import functools
import inspect
from collections import namedtuple

import equinox as eqx
import jax
import numpy as np
import pytest
from jax.dtypes import float0
from mixed_trees import X, params

import jfi as jnp


def loss(params, x=1.0):
    """A loss whose parameters are more than floats."""
    return (params["w"] ** params["n"] * x).sum()


# ------------------------------------------------------- leaves without derivative


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("wrap", [lambda f: f, jnp.autojit], ids=["eager", "autojit"])
def test_leaves_that_are_no_floats_come_back_as_none(wrap):
    slope = wrap(jnp.grad(loss))(params())
    np.testing.assert_array_equal(slope.pop("w"), 2 * X)
    assert slope == dict.fromkeys(params().keys() - {"w"})


def test_float0_as_jax_gives_it():
    slope = jnp.grad(loss, nondiff="float0")(params())
    for name in ("n", "key", "flag", "index"):
        assert slope[name].dtype == float0
        assert slope[name].shape == np.shape(params()[name])
    assert slope["act"] is slope["f"] is slope["none"] is None


def test_zeros_of_the_own_dtype():
    slope = jnp.grad(loss, nondiff="zeros")(params())
    assert slope["n"] == 0
    assert type(slope["n"]) is int
    assert slope["flag"] is False
    assert slope["index"].dtype == params()["index"].dtype
    assert slope["index"].tolist() == [0, 0]
    assert slope["key"].dtype == float0


def test_an_unknown_nondiff_is_refused():
    with pytest.raises(jnp.DerivativeError, match="'none', 'float0'"):
        jnp.grad(loss, nondiff="nought")


Point = namedtuple("Point", "w n")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Data:
    w: object
    n: object
    name: str = dataclasses.field(metadata={"static": True}, default="a")


@pytest.mark.parametrize("cls", [Point, Data])
def test_registered_classes_come_back_as_themselves(cls):
    slope = jnp.grad(lambda p: p.w**p.n)(cls(3.0, 2))
    assert slope == cls(slope.w, None)
    assert slope.w == 6


def test_equinox_modules_with_functions_as_leaves():
    model = eqx.nn.MLP(2, 2, 4, 1, key=jax.random.key(0))

    def of(model, x):
        return (model(x) ** 2).sum()

    ours = jnp.grad(of)(model, jnp.ones(2))
    theirs = eqx.filter_grad(of)(model, jnp.ones(2))
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert jnp.apply_updates(model, ours, -0.1).activation is model.activation


@pytest.mark.parametrize(
    "w", [2.0, np.float32(2), np.array(2.0), jnp.array(2.0, dtype="bfloat16"), 2 + 1j]
)
def test_all_kinds_of_floats(w):
    ours = jnp.grad(lambda p: jnp.real(p["w"] * p["n"]))({"w": w, "n": 3})["w"]
    theirs = jax.grad(lambda w: jnp.real(w * 3))(w)
    assert (ours, ours.dtype) == (theirs, theirs.dtype)


def test_holomorphic():
    slope = jnp.grad(lambda p: p["z"] ** p["n"], holomorphic=True)({"z": 1j, "n": 2})
    assert slope["z"] == 2j


def test_allow_int_is_that_of_jax():
    assert jnp.grad(lambda x: x * 1.0, allow_int=True)(3).dtype == float0
    slope = jnp.grad(lambda p: p["x"], allow_int=True)({"x": 1.0, "n": 3, "s": "a"})
    assert slope["n"].dtype == float0
    assert slope["s"] is None


def test_an_empty_tree_and_none():
    assert jnp.grad(lambda p: 1.0)({}) == {}
    assert jnp.grad(lambda p, x: x, (0, 1))(None, 2.0) == (None, 1)


# ------------------------------------------------------- which arguments


def power(x, w, *, scale=1.0):
    return x * w**2 * scale


@pytest.mark.parametrize(
    ("options", "args", "kwargs", "expected"),
    [
        ({}, (2.0, 3.0), {}, 9),
        ({}, (), {"x": 2.0, "w": 3.0}, 9),
        ({"argnums": 1}, (2.0,), {"w": 3.0}, 12),
        ({"argnums": -1}, (2.0, 3.0), {}, 12),
        ({"argnums": [1, 0]}, (2.0, 3.0), {}, (12, 9)),
        ({"argnums": np.int64(1)}, (2.0, 3.0), {}, 12),
        ({"argnames": "w"}, (2.0, 3.0), {}, 12),
        ({"argnames": "w"}, (2.0,), {"w": 3.0}, 12),
        ({"argnames": ("w", "x")}, (2.0, 3.0), {}, (12, 9)),
        ({"argnames": ["w"]}, (2.0, 3.0), {}, (12,)),
        ({"argnames": "scale"}, (2.0, 3.0), {"scale": 1.0}, 18),
        ({"argnums": 0, "argnames": "w"}, (2.0, 3.0), {}, (9, 12)),
        ({"argnums": (1,), "argnames": ["x"]}, (2.0, 3.0), {}, (12, 9)),
    ],
)
@pytest.mark.parametrize("tool", ["grad", "value_and_grad", "jacrev", "jacfwd"])
def test_arguments_by_position_and_by_name(tool, options, args, kwargs, expected):
    found = getattr(jnp, tool)(power, **options)(*args, **kwargs)
    assert (found[1] if tool == "value_and_grad" else found) == expected


def test_a_name_among_any_keywords():
    def f(x, **rest):
        return x * rest["w"]

    assert jnp.grad(f, argnames="w")(2.0, w=3.0) == 2
    with pytest.raises(jnp.DerivativeError, match=r"taken in 'v'.*passed x, w"):
        jnp.grad(f, argnames="v")(2.0, w=3.0)


@pytest.mark.parametrize(
    ("options", "call", "message"),
    [
        ({"argnames": "v"}, (), "'v' is no parameter of power.*'x', 'w', 'scale'"),
        ({"argnames": 3}, (), "argnames=3 is no name"),
        ({"argnames": ()}, (), "is no name"),
        ({"argnums": ()}, (), "selects nothing"),
        ({"argnums": "w"}, (), "argnames='x'"),
        ({"argnums": 2}, (2.0, 3.0), "argument 2"),
        ({"argnums": 1}, (2.0,), "Pass w=..., also where it has a default"),
        ({"argnames": "scale"}, (2.0, 3.0), "Pass scale=..."),
        ({"argnums": 0, "argnames": "x"}, (2.0, 3.0), "argument x is named twice"),
        ({"argnums": (1, -1)}, (2.0, 3.0), "argument w is named twice"),
        ({"argnums": (1, 1)}, (2.0, 3.0), r"argnums=\(1, 1\) selects one twice"),
    ],
)
def test_arguments_that_are_not_there(options, call, message):
    with pytest.raises(jnp.DerivativeError, match=message):
        jnp.grad(power, **options)(*call)


class Model:
    w = 2.0

    def loss(self, x, scale=1.0):
        return self.w * x**2 * scale

    @functools.partial(jnp.grad, argnums=1)
    def slope(self, x):
        return self.loss(x)

    def __call__(self, x):
        return x**2


def test_methods_objects_partials_and_decorators():
    model = Model()
    assert jnp.grad(model.loss)(3.0) == 12
    assert jnp.grad(model.loss, argnames="scale")(3.0, scale=1.0) == 18
    assert model.slope(3.0) == 12
    assert jnp.grad(model)(3.0) == 6
    assert jnp.grad(functools.partial(power, w=3.0))(2.0) == 9

    @jnp.grad
    def square(x):
        """Of x."""
        return x**2

    assert square(3.0) == 6
    assert (square.__name__, square.__doc__) == ("square", "Of x.")
    assert list(inspect.signature(square).parameters) == ["x"]


def test_what_is_no_function_is_refused_at_once():
    with pytest.raises(jnp.DerivativeError, match="not the int 3"):
        jnp.grad(3)
    with pytest.raises(jnp.DerivativeError, match="not the int 3"):
        jnp.vjp(3, 1.0)


# ------------------------------------------------------- auxiliary data


@pytest.mark.parametrize("p", [{"w": X, "n": 2}, {"w": X}], ids=["mixed", "floats"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "inside jit"])
def test_auxiliary_data_of_any_kind(p, wrap):
    thing = object()

    def f(p):
        aux = {"s": "text", "f": len, "x": p["w"] * 2, "o": thing, "k": jnp.key(1)}
        return (p["w"] ** 2).sum(), aux

    def run(x):
        slope, aux = jnp.grad(f, has_aux=True)({**p, "w": x})
        assert aux["f"] is len
        assert aux["o"] is thing
        assert aux["s"] == "text"
        (value, again), _ = jnp.value_and_grad(f, has_aux=True)({**p, "w": x})
        assert again["o"] is thing
        return value, slope["w"], aux["x"]

    value, slope, twice = wrap(run)(X)
    assert float(value) == pytest.approx(float((X**2).sum()))
    np.testing.assert_array_equal(slope, 2 * X)
    np.testing.assert_array_equal(twice, 2 * X)


def pair(x):
    return (x**2).sum(), {"note": [f"x = {x}"]}


@pytest.mark.parametrize(
    "run",
    [
        jnp.grad(pair, has_aux=True),
        jnp.value_and_grad(pair, has_aux=True),
        jnp.jacrev(lambda x: pair(x)),
        jnp.hessian(pair, has_aux=True),
        lambda x: jnp.vjp(pair, x, has_aux=True),
        lambda x: jnp.jvp(pair, (x,), (x,), has_aux=True),
        lambda x: jnp.linearize(pair, x),
    ],
)
def test_data_written_as_text_is_refused(run):
    with pytest.raises(jnp.DerivativeError, match="was written as text"):
        run(X)


def test_without_a_pair():
    with pytest.raises(jnp.DerivativeError, match="return value, aux"):
        jnp.grad(lambda x: x, has_aux=True)(1.0)


# ------------------------------------------------------- nothing to differentiate


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (
            3,
            r"grad\(\) of f\(\) has nothing .*: x is the int 3. Write 3.0 instead of 3",
        ),
        (True, "x is the bool True. Write 1.0 instead of True"),
        (np.arange(3), r"x is int64\[3\]. Write x.astype\(float\)"),
        (
            {"a": ["tanh"], "b": len},
            r"x\['a'\]\[0\] is the str 'tanh', x\['b'\] is the",
        ),
        (jnp.key(0), "x is a random key. Pass a float, or an array of floats."),
    ],
)
@pytest.mark.parametrize("tool", ["grad", "value_and_grad", "jacrev", "hessian"])
def test_nothing_to_differentiate(tool, x, message):
    def f(x):
        return 1.0

    with pytest.raises(TypeError, match=message.replace("grad", tool)) as caught:
        getattr(jnp, tool)(f)(x)
    assert isinstance(caught.value, jnp.DerivativeError)


def test_the_argument_that_has_a_derivative_is_named():
    for call, line in [
        (lambda f: f("tanh", 1.0), "argnums=1, for w."),
        (lambda f: f("tanh", w=1.0), "argnames='w'."),
    ]:
        with pytest.raises(jnp.DerivativeError, match=f"is the str 'tanh'.*{line}"):
            call(jnp.grad(lambda act, w: w))


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (lambda x: x, r"returned float32\[3\].*return x.sum\(\).*jacrev\(f\)"),
        (lambda x: x[:1], r"returned float32\[1\].*return x.squeeze\(\)"),
        (lambda x: 3, "the int 3. It has no derivative: return a float"),
        (lambda x: None, "returned None. Let it return"),
        (lambda x: (x.sum(), {}), r"grad\(f, has_aux=True\)"),
        (lambda x: "text", "the str 'text'"),
    ],
)
@pytest.mark.parametrize("n", [None, 2], ids=["floats", "mixed"])
def test_results_that_have_no_gradient(out, message, n):
    def f(p):
        return out(p["x"])

    with pytest.raises(jnp.DerivativeError, match=message):
        jnp.grad(f)({"x": jnp.asarray(X), "n": n})


@pytest.mark.parametrize("value", [3.0, np.float32(3), np.array(3.0)])
def test_a_constant_result_has_a_zero_gradient(value):
    np.testing.assert_array_equal(jnp.grad(lambda x: value)(X), 0 * X)


# ------------------------------------------------------- inside transformations


def mixed(w):
    return jnp.grad(loss)({"w": w, "n": 3, "s": "a"})["w"]


@pytest.mark.parametrize(
    "wrap",
    [
        jax.jit,
        jnp.jit,
        jnp.autojit,
        lambda f: lambda x: jnp.vmap(f)(jnp.stack([x, x]))[1],
        lambda f: lambda x: jnp.scan(lambda c, _: (c, f(c)), x, None, 2)[1][1],
        jax.checkpoint,
    ],
    ids=["jit", "jfi.jit", "autojit", "vmap", "scan", "checkpoint"],
)
def test_inside_of_transformations(wrap):
    np.testing.assert_allclose(wrap(mixed)(X), 3 * X**2, rtol=1e-6)


@pytest.mark.parametrize("outer", [jnp.grad, jax.grad])
def test_second_derivatives(outer):
    slope = outer(lambda w: mixed(w).sum())(X)
    np.testing.assert_allclose(slope, 6 * X, rtol=1e-6)


def test_random_draws_of_the_forward_pass():
    def f(p):
        return p["x"] * jnp.rand() * p["n"]

    value, slope = jnp.value_and_grad(f)({"x": 3.0, "n": 2})
    assert float(value) == pytest.approx(3 * float(slope["x"]))
    jnp.manual_seed(0)
    first = jnp.grad(f)({"x": 3.0, "n": 2})["x"]
    jnp.manual_seed(0)
    assert first == jnp.rand() * 2
