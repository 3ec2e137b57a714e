"""`vjp`, `jvp` and `linearize` of functions of any trees."""

import copy
import dataclasses
from collections import namedtuple

import jax
import numpy as np
import pytest
from jax.custom_derivatives import SymbolicZero
from jax.dtypes import float0
from jax.experimental.hijax import Zero
from subprocesses import output_of

import jfi as jnp
from jfi import _jax_internals as _jax_internals
from jfi._jax_internals import _symbolic_zeros


X = np.linspace(1, 2, 3, dtype="float32")
Pair = namedtuple("Pair", "a b")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Data:
    x: object
    n: object


def f(p):
    """A result with leaves of all kinds."""
    w = p["w"]
    return {
        "loss": w.sum(),
        "y": w * 2,
        "n": p["n"],
        "text": "a",
        "f": len,
        "index": jnp.arange(3),
        "key": jnp.key(1),
        "pair": (w, Pair(3 * w, None)),
        "data": Data(w, 1),
    }


@pytest.fixture
def pulled():
    return jnp.vjp(f, {"w": jnp.asarray(X), "n": 3, "s": "a"})


def key_float0():
    return np.zeros((), float0)


# ------------------------------------------------------- cotangents that fit


@pytest.mark.parametrize(
    ("cotangent", "slope"),
    [
        (lambda out: None, 0),
        (lambda out: jnp.ZERO, 0),
        (lambda out: {}, 0),
        (lambda out: {"loss": 1.0}, 1),
        (lambda out: {"loss": 1}, 1),
        (lambda out: {"loss": np.float64(1)}, 1),
        (lambda out: {"loss": np.ones((), "float16"), "y": None}, 1),
        (lambda out: {"y": np.ones(3), "loss": jnp.ZERO}, 2),
        (lambda out: {"loss": SymbolicZero(jax.typeof(out["loss"]))}, 0),
        (lambda out: {"loss": Zero(jax.typeof(out["loss"]))}, 0),
        (lambda out: {"loss": np.zeros((), float0)}, 0),
        (lambda out: {"pair": (None, Pair(np.ones(3), None))}, 3),
        (lambda out: {"pair": [np.ones(3), (jnp.ZERO, None)]}, 1),
        (lambda out: {"pair": jnp.ZERO, "data": Data(np.ones(3), None)}, 1),
        (lambda out: {"key": key_float0(), "index": np.zeros(3, float0)}, 0),
        (lambda out: {"key": out["key"], "index": out["index"], "n": 1}, 0),
        (jnp.zero_cotangent, 0),
        (lambda out: jnp.zero_cotangent(out, symbolic=True), 0),
        (lambda out: {**jnp.zero_cotangent(out), "loss": 1.0}, 1),
        (lambda out: {**out, "loss": 1.0, "y": None, "pair": None, "data": None}, 1),
    ],
)
def test_cotangents(pulled, cotangent, slope):
    out, pull = pulled
    (found,) = pull(cotangent(out))
    assert found["n"] is found["s"] is None
    assert found["w"].dtype == "float32"
    np.testing.assert_array_equal(found["w"], np.full(3, slope))


def test_the_value_is_that_of_the_function(pulled):
    out, _ = pulled
    expected = f({"w": X, "n": 3})
    assert (out["n"], out["text"], out["f"], out["data"].n) == (3, "a", len, 1)
    assert (out["key"] == expected["key"]).all()
    np.testing.assert_array_equal(out["y"], expected["y"])
    np.testing.assert_array_equal(out["index"], expected["index"])


def test_the_same_function_takes_other_cotangents(pulled):
    _, pull = pulled
    slopes = [pull({"loss": float(i)})[0]["w"][0] for i in (1, 2, 1)]
    assert slopes == [1, 2, 1]


@pytest.mark.parametrize("n", [2, 2.0])
def test_no_cotangent_is_one_for_a_number(n):
    _, pull = jnp.vjp(lambda x, n: x**n, 3.0, n)
    assert pull()[0] == pull(1.0)[0] == 6
    _, pull = jnp.vjp(lambda x, n: {"y": x**n, "s": "a"}, 3.0, n)
    assert pull()[0] == 6


@pytest.mark.parametrize(
    ("nondiff", "n"),
    [("float0", lambda n: n.dtype == float0), ("zeros", lambda n: n == 0)],
)
def test_nondiff(nondiff, n):
    _, pull = jnp.vjp(lambda x, n, s: x**n, 3.0, 2, "a", nondiff=nondiff)
    slope, of_n, of_s = pull()
    assert slope == 6
    assert n(of_n)
    assert of_s is None


def test_keys_in_and_out():
    keys, pull = jnp.vjp(lambda k, x: (jax.random.split(k), x), jnp.key(0), 2.0)
    assert keys[0].shape == (2,)
    for cotangent in (None, keys[0], np.zeros(2, float0)):
        assert pull((cotangent, 1.0)) == (None, 1)
    _, pull = jnp.vjp(jax.random.key, 1)
    assert pull(np.zeros((), float0)) == (None,)


def test_auxiliary_data_of_any_kind():
    def g(p):
        return p["x"] ** p["n"], {"s": "a", "f": len, "x": p["x"]}

    value, pull, aux = jnp.vjp(g, {"x": 3.0, "n": 2}, has_aux=True)
    assert (value, pull()[0]["x"], aux) == (9, 6, {"s": "a", "f": len, "x": 3})
    value, push, aux = jnp.linearize(g, {"x": 3.0, "n": 2}, has_aux=True)
    assert (value, push({"x": 1.0}), aux["f"]) == (9, 6, len)
    value, slope, aux = jnp.jvp(g, ({"x": 3.0, "n": 2},), ({"x": 1.0},), True)
    assert (value, slope, aux["x"]) == (9, 6, 3)


# ------------------------------------------------------- no work for zeros


def costly(x):
    return {"sum": x.sum(), "product": x @ x}


def products(cotangent, x):
    jaxpr = jax.make_jaxpr(lambda x: jnp.vjp(costly, x)[1](cotangent))(x)
    return str(jaxpr).count("dot_general[")


@pytest.mark.parametrize("zero", [None, jnp.ZERO], ids=["None", "ZERO"])
def test_a_zero_cotangent_removes_the_work(zero):
    x = np.ones((2, 2), "float32")
    assert products({"sum": 1.0, "product": zero}, x) == 1  # of the value
    assert products({"sum": 1.0, "product": 0 * x}, x) == 3


def test_a_zero_tangent_removes_the_work():
    x = np.ones((2, 2), "float32")

    def push(tangent):
        return lambda x: jnp.jvp(lambda x, y: x @ x + y, (x, x), (tangent, x))

    counts = [str(jax.make_jaxpr(push(t))(x)).count("dot_general[") for t in (None, x)]
    assert counts == [1, 3]


def test_zeros_without_symbolic_ones(pulled):
    _, pull = pulled
    with _jax_internals.without("symbolic_zeros"):
        np.testing.assert_array_equal(pull({"loss": 1.0})[0]["w"], np.ones(3))


def test_the_test_of_symbolic_zeros_can_fail():
    assert not _symbolic_zeros._costs_nothing(_symbolic_zeros._zeros)


@jnp.pytree
class Ends:
    def __init__(self, first, last, name="ends"):
        self.first, self.last, self.name = first, last, name


@pytest.mark.parametrize("zero", [None, jnp.ZERO], ids=["None", "ZERO"])
def test_vjp_cotangent_object_of_a_pytree_class_may_hold_zeros(zero):
    _, pull = jnp.vjp(lambda x: {"ends": Ends(2 * x, 3 * x)}, X)
    for cotangent in (Ends(X, zero), Ends(X, zero, name="other")):
        np.testing.assert_array_equal(pull({"ends": cotangent})[0], 2 * X)
    np.testing.assert_array_equal(pull({"ends": Ends(zero, X)})[0], 3 * X)
    np.testing.assert_array_equal(pull({"ends": Ends(zero, zero)})[0], 0 * X)


def test_vjp_cotangent_object_says_which_attribute_does_not_fit():
    _, pull = jnp.vjp(lambda x: Ends(2 * x, 3 * x), X)
    with pytest.raises(jnp.TangentError, match=r"cotangent\.last is the str 'a'"):
        pull(Ends(X, "a"))
    with pytest.raises(jnp.TangentError, match="has 3 entries, the output has 2"):
        pull(Ends(X, X, name=X))


def test_jvp_tangent_object_of_a_pytree_class_may_hold_zeros():
    primal = Ends(X, X)
    _, out = jnp.jvp(lambda ends: ends.first * ends.last, (primal,), (Ends(X, None),))
    np.testing.assert_array_equal(out, X * X)


# ------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("cotangent", "message"),
    [
        (
            {"loss": np.ones(2)},
            r"cotangent\['loss'\]: shape \(2,\), the output has \(\)",
        ),
        ({"y": 1.0}, r"cotangent\['y'\]: shape \(\), the output has \(3,\)"),
        ({"lose": 1.0}, "has the key 'lose', the output has 'data', 'f', 'index'"),
        ({"pair": (X,)}, r"cotangent\['pair'\] has 1 entries, the output has 2"),
        ({"pair": (None, Pair(X[:2], None))}, r"\['pair'\]\[1\].a: shape \(2,\)"),
        (
            {"loss": 1j},
            r"\['loss'\] is complex, the output is float32\[\]. Take its .re",
        ),
        ({"loss": "a"}, r"\['loss'\] is the str 'a', the output is float32\[\]"),
        ({"loss": [1.0]}, r"\['loss'\] is a list of 1, the output is one value"),
        ({"loss": jax.random.key(0)}, r"\['loss'\] is a random key"),
        ({"data": (X, 1)}, r"\['data'\] is a tuple of 2, the output is a Data"),
        (1.0, "cotangent is the float 1.0, the output is a dict of 9 with 'data', 'f'"),
        (
            {"n": 1.0},
            r"\['n'\] is the float 1.0, .*\(int\) has no derivative. Write None",
        ),
        ({"index": np.ones(3)}, r"\['index'\] is float64\[3\], and the output there"),
        ({"index": np.ones(2, int)}, r"cotangent\['index'\]: shape \(2,\)"),
        (
            {"key": 1.0},
            r"\['key'\] is the float 1.0, and the output there \(a random key",
        ),
        (
            {"text": 1.0},
            r"\['text'\] is the float 1.0, and the output there \(no number",
        ),
        ({"index": "a"}, r"\['index'\]: shape|is the str 'a'"),
    ],
)
def test_cotangents_that_do_not_fit(pulled, cotangent, message):
    _, pull = pulled
    with pytest.raises(jnp.TangentError, match=message) as caught:
        pull(cotangent)
    assert isinstance(caught.value, ValueError)  # as of jax.vjp
    assert isinstance(caught.value, TypeError)


def test_cotangents_too_many_or_none(pulled):
    _, pull = pulled
    with pytest.raises(jnp.TangentError, match=r"got 2 arguments\. Pass one"):
        pull(1.0, 2.0)
    with pytest.raises(jnp.TangentError, match=r"got no cotangent, .*float32\[\], "):
        pull()
    with pytest.raises(jnp.TangentError, match="returns no float"):
        jnp.vjp(lambda x: "a", 1.0)[1]()


# ------------------------------------------------------- tangents


def g(p, x):
    return {"y": p["w"] ** p["n"] * x, "n": p["n"], "s": "a"}


PRIMALS = {"w": X, "n": 2, "s": "b"}, 2.0


def by_jvp(*tangents):
    return jnp.jvp(g, PRIMALS, tangents)[1]


def by_linearize(*tangents):
    return jnp.linearize(g, *PRIMALS)[1](*tangents)


@pytest.mark.parametrize("push", [by_jvp, by_linearize])
@pytest.mark.parametrize(
    ("tangents", "expected"),
    [
        (({"w": np.ones(3)}, None), 4 * X),
        (({"w": X, "n": None, "s": None}, jnp.ZERO), 4 * X**2),
        (({"w": X, "n": 0, "s": "b"}, 0), 4 * X**2),
        (({"w": X, "n": np.zeros((), float0)}, 1), 5 * X**2),
        ((None, 1.0), X**2),
        ((None, None), 0 * X),
        (({}, np.float64(1)), X**2),
    ],
)
def test_tangents(push, tangents, expected):
    slope = push(*tangents)
    assert slope["n"] is slope["s"] is None
    assert slope["y"].dtype == "float32"
    np.testing.assert_allclose(slope["y"], expected, rtol=1e-6)


@pytest.mark.parametrize("push", [by_jvp, by_linearize])
@pytest.mark.parametrize(
    ("tangents", "message"),
    [
        (({"w": X[:2]}, None), r"tangents\[0\]\['w'\]: shape \(2,\), the argument has"),
        (({"v": X}, None), r"tangents\[0\] has the key 'v', the argument has 'n', 's'"),
        (
            ({"n": 1}, None),
            r"tangents\[0\]\['n'\] is the int 1, and the argument there",
        ),
        (({"n": 1.0}, None), r"\(int\) has no derivative. Write None, or make it a fl"),
        ((None, 1j), r"tangents\[1\] is complex"),
        ((None,), "tangents has 1 entries, the argument has 2"),
    ],
)
def test_tangents_that_do_not_fit(push, tangents, message):
    with pytest.raises(jnp.TangentError, match=message):
        push(*tangents)


def test_mistakes_are_told_before_anything_is_computed():
    calls = []
    with pytest.raises(jnp.TangentError):
        jnp.jvp(calls.append, (1.0,), (X,))
    assert calls == []


def test_jvp_takes_tuples():
    with pytest.raises(
        jnp.TangentError, match=r"3.0 for primals.*jvp\(f, \(x,\), \(dx,"
    ):
        jnp.jvp(g, 3.0, 1.0)
    assert jnp.jvp(lambda x: x**2, [3.0], [1.0])[1] == 6


@pytest.mark.parametrize("nondiff", ["float0", "zeros"])
def test_nondiff_of_results(nondiff):
    _, slope = jnp.jvp(g, PRIMALS, (None, 1.0), nondiff=nondiff)
    again = jnp.linearize(g, *PRIMALS, nondiff=nondiff)[1](None, 1.0)
    for found in (slope, again):
        assert found["s"] is None
        assert found["n"] == 0 if nondiff == "zeros" else found["n"].dtype == float0


# ------------------------------------------------------- inside transformations


def test_the_functions_cross_the_border_of_jit():
    @jax.jit
    def forward(x):
        return jnp.vjp(lambda p: (p["x"] ** p["n"], p["n"]), {"x": x, "n": 3})

    (value, n), pull = forward(2.0)
    assert (value, n) == (8, 3)
    assert jax.jit(lambda pull: pull((1.0, None)))(pull)[0]["x"] == 12
    _, push = jax.jit(lambda x: jnp.linearize(lambda x: (x**3, "a")[0], x))(2.0)
    assert push(1.0) == 12


def test_under_vmap_and_grad():
    _, pull = jnp.vjp(lambda p: {"y": p["x"] ** p["n"], "s": "a"}, {"x": X, "n": 2})
    rows = jax.vmap(lambda ct: pull({"y": ct})[0]["x"])(np.eye(3, dtype="float32"))
    np.testing.assert_allclose(rows, np.diag(2 * X), rtol=1e-6)

    def slope(x):
        return jnp.vjp(lambda x: (x**3, 1), x)[1]((1.0, None))[0]

    assert jax.grad(slope)(2.0) == 12
    assert (
        jnp.grad(lambda x: jnp.jvp(lambda x: (x**3, 1), (x,), (1.0,))[1][0])(2.0) == 12
    )


def test_random_draws_of_the_forward_pass():
    (value, _), pull = jnp.vjp(lambda x: (x * jnp.rand(), "a"), 3.0)
    assert value == pytest.approx(3 * float(pull((1.0, None))[0]))
    _, slope = jnp.jvp(lambda x: x * jnp.rand(), (3.0,), (1.0,))
    assert 0 < slope < 1


SHARDED = """
import jax, numpy as np, jfi as jnp
mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
x = jax.device_put(np.arange(4, dtype="float32"), place)
def f(p):
    return p["w"] ** p["n"]
with jax.set_mesh(mesh):
    p = {"w": x, "n": 2}
    out, pull = jnp.vjp(lambda p: {"y": f(p), "sum": p["w"].sum()}, p)
    print(pull({"sum": 1.0})[0]["w"].sharding.spec)
    print(jnp.linearize(f, p)[1](None).sharding.spec)
    for jacobian in (jnp.jacrev, jnp.jacfwd):
        whole = jacobian(f)(p)["w"]
        chunked = jacobian(f, chunk_size=3)(p)["w"]
        assert (np.asarray(whole) == np.asarray(chunked)).all()
"""


def test_arrays_on_several_devices():
    env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    lines = output_of(SHARDED, env=env).splitlines()
    assert lines == ["P('d',)", "P('d',)"]


# ------------------------------------------------ what the function of jax.vjp has


def sine_times(p, y):
    return jax.numpy.sin(p["a"]) * y


POINT = {"a": jax.numpy.ones(2)}, jax.numpy.full(2, 3.0)


def test_the_function_of_vjp_has_what_that_of_jax_has():
    pulls = [module.vjp(sine_times, *POINT)[1] for module in (jax, jnp)]
    theirs, ours = pulls
    public = {n for n in dir(theirs) if not n.startswith("_")} - {"replace"}
    assert all(hasattr(ours, name) for name in public)
    assert str(ours.args_res) == str(theirs.args_res)
    assert str(ours.jaxpr) == str(theirs.jaxpr)
    assert len(jax.tree.leaves(ours)) == len(jax.tree.leaves(theirs))
    for pull in pulls:
        pull.args_res = [pull.args_res[0], jax.numpy.full(2, 5.0)]
    ct = jax.numpy.ones(2)
    for x, y in zip(*(jax.tree.leaves(p(ct)) for p in pulls), strict=True):
        np.testing.assert_array_equal(x, y)
    for name in ("nonsense", "__array__"):
        assert not hasattr(ours, name)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("jitted", [False, True])
def test_vjp_adds_to_references(mixed, jitted):
    def f(p, y):
        return sine_times(p, y) * p.get("n", 1)

    p = {"a": POINT[0]["a"]} | ({"n": 2, "name": "f"} if mixed else {})
    _, pull = jnp.vjp(f, p, POINT[1])
    expected = pull(jax.numpy.ones(2))[0]["a"]
    total = jax.new_ref(jax.numpy.ones(2))
    refs = {"a": total} | ({"n": None, "name": 0} if mixed else {})
    bound = pull.with_refs(refs, jax.ad.GradValue())
    run = jax.jit(lambda ct: bound(ct)[1]) if jitted else lambda ct: bound(ct)[1]
    for _ in range(2):
        got = run(jax.numpy.ones(2))
    np.testing.assert_allclose(total[...], 1 + 2 * expected, rtol=1e-6)
    np.testing.assert_allclose(got, pull(jax.numpy.ones(2))[1])
    with pytest.raises(jnp.TangentError, match=r"one entry for each array"):
        pull.with_refs(total)
    with pytest.raises(jnp.TangentError, match=r"one entry for each array"):
        pull.with_refs({"b": total}, total)


def test_the_function_of_vjp_goes_through_jit_and_copies():
    _, pull = jnp.vjp(sine_times, *POINT)
    ct = jax.numpy.ones(2)
    for other in (copy.copy(pull), jax.tree.map(lambda x: x, pull)):
        np.testing.assert_array_equal(other(ct)[1], pull(ct)[1])
        assert str(other.args_res) == str(pull.args_res)
    for jit in (jax.jit, jnp.jit, jnp.autojit):
        np.testing.assert_allclose(
            jit(lambda pull, ct: pull(ct)[1])(pull, ct), pull(ct)[1], rtol=1e-6
        )
