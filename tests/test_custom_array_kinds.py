"""Custom arrays as users write them: with slots, as dataclasses, of quax, sparse."""

import copy
import dataclasses
import pickle
import warnings
from typing import Generic, TypeVar

import jax
import numpy as np
import pytest
from jax.experimental import sparse

import jfi as jnp


T = TypeVar("T")
V = np.array([1.0, 2.0, 3.0], "float32")
M = np.arange(9.0, dtype="float32").reshape(3, 3) / 10


class Slotted(jnp.CustomArray):
    __slots__ = ("d",)

    def __init__(self, d):
        self.d = d

    def __jfi_array__(self):
        return jnp.diag(self.d)


class InSlotted(Slotted):
    __slots__ = ("name",)

    def __init__(self, d, name="n"):
        super().__init__(d)
        self.name = name


@dataclasses.dataclass
class Data(jnp.CustomArray):
    d: object
    real: str = "a field that is called as an attribute of arrays"

    def __jfi_array__(self):
        return jnp.diag(self.d)


@dataclasses.dataclass(slots=True, frozen=True)
class SlottedData(jnp.CustomArray, data_fields=["d"]):
    d: object

    def __jfi_array__(self):
        return jnp.diag(self.d)


class Typed(jnp.CustomArray, Generic[T]):
    def __init__(self, d):
        self.d, self.shape, self.dtype = d, (d.shape[-1],) * 2, d.dtype

    def __jfi_array__(self):
        return jnp.diag(self.d)


class Scaled(jnp.CustomArray):
    """An array in an array."""

    def __init__(self, d):
        self.inner, self.scale = Slotted(d), 2.0

    def __jfi_array__(self):
        return jnp.materialise(self.inner) * self.scale


KINDS = [Slotted, InSlotted, Data, SlottedData, Typed, Scaled]


def step(x, v):
    return jnp.tanh(x @ v) + jnp.sum(x, axis=0)


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_are_trees_and_arrays(kind):
    x = kind(V)
    dense = np.asarray(x)
    wanted = np.tanh(dense @ V) + dense.sum(0)
    made = [copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))]
    made += [jax.tree.map(lambda leaf: leaf + 0, x)]
    with jnp.on_materialise("allow"):
        for same in made:
            assert type(same) is kind
            np.testing.assert_allclose(step(same, V), wanted, rtol=1e-6)
        np.testing.assert_allclose(jax.jit(step)(x, V), wanted, rtol=1e-6)
        np.testing.assert_array_equal(x == x, np.ones((3, 3)))
    zeros = jax.tree.map(lambda leaf: 0, x)
    assert jax.tree.structure(zeros) == jax.tree.structure(x)
    assert "d=" in repr(x)


def test_slots_are_data_of_autojit_and_of_batches():
    x = InSlotted(V)
    with jnp.on_materialise("allow"):
        f = jnp.autojit(lambda x: x @ V)
        for scale in (1, 2, 3):
            x.d = V * scale
            np.testing.assert_allclose(f(x), scale * V * V)
        batch = InSlotted(np.stack([V, 2 * V, V, V]))
        rows = jnp.vmap_automatically(lambda x: x @ V, batch)
        gradient = jnp.grad(lambda x: jnp.sum(x @ V))(x)
    np.testing.assert_allclose(rows[1], 2 * V * V)
    np.testing.assert_allclose(gradient.d, V)


# --------------------------------------------------------------------- names


class Recorded(jnp.CustomArray):
    """Says which function was called, with what."""

    def __init__(self, d):
        self.d = d

    @property
    def ndim(self):
        return 2

    def __jfi_function__(self, name, types, args, named):
        return name, len(args), named


@pytest.mark.parametrize(
    ("call", "seen"),
    [
        (lambda x: jnp.cat([x, M], axis=1), ("concatenate", 1, {"axis": 1})),
        (lambda x: jnp.cat([x, M]), ("concatenate", 1, {})),
        (lambda x: jnp.relu(x), ("nn.relu", 1, {})),
        (lambda x: jnp.gelu(x), ("nn.gelu", 1, {"approximate": False})),
        (lambda x: jnp.gelu(x, "tanh"), ("nn.gelu", 1, {})),
        (lambda x: jnp.softmax(x, 0), ("nn.softmax", 1, {"axis": 0})),
        (
            lambda x: jnp.logsumexp(x, [0, 1], keepdims=True),
            ("scipy.special.logsumexp", 1, {"axis": (0, 1), "keepdims": True}),
        ),
        (lambda x: jnp.norm(x), ("linalg.norm", 1, {})),
        (lambda x: jnp.norm(x, 1, axis=0), ("linalg.norm", 1, {"ord": 1, "axis": 0})),
        (lambda x: jnp.norm(x, 1), ("norm", 1, {"p": 1})),  # no norm of a matrix
        (lambda x: jnp.t(x), ("transpose", 1, {})),
        (lambda x: jnp.clamp(x, max=1.0), ("clip", 1, {"max": 1.0})),
        (lambda x: jnp.linalg.matrix_exp(x), ("scipy.linalg.expm", 1, {})),
        (lambda x: jnp.linalg.expm(x), ("scipy.linalg.expm", 1, {})),
        (lambda x: jnp.scipy.linalg.inv(x), ("linalg.inv", 1, {})),
        (lambda x: jnp.topk(x, 2, axis=0), ("topk", 2, {"dim": 0})),
        (lambda x: jnp.unsqueeze(x, axis=0), ("expand_dims", 2, {})),
        (lambda x: jnp.nn.silu(x), ("nn.silu", 1, {})),
        (lambda x: jnp.scipy.special.erf(x), ("scipy.special.erf", 1, {})),
        (lambda x: x.at[0].set(1.0, mode="drop"), ("at.set", 3, {"mode": "drop"})),
        (lambda x: x.at[0, 1].get(), ("at.get", 2, {})),
        (lambda x: x.real, ("real", 1, {})),
        (lambda x: x.flatten(), ("ravel", 1, {})),
        (lambda x: x.diagonal(1), ("diagonal", 1, {"offset": 1})),
        (lambda x: round(x, 1), ("round", 1, {"decimals": 1})),
    ],
)
def test_each_name_asks_for_the_rule_of_its_function(call, seen):
    assert call(Recorded(V)) == seen


def test_a_rule_for_any_name_is_that_of_all():
    class Mine(Slotted):
        pass

    special = pytest.importorskip("scipy.special")
    jnp.register_function(Mine, jnp.relu, lambda x: "relu")
    jnp.register_function(Mine, jax.nn.silu, lambda x: "silu")
    jnp.register_function(Mine, special.erf, lambda x: "erf")
    jnp.register_function(Mine, "cat", lambda xs, axis=0: ("joined", axis))
    x = Mine(V)
    assert (jnp.nn.relu(x), jnp.nn.swish(x)) == ("relu", "silu")
    assert special.erf(x) == jnp.scipy.special.erf(x) == "erf"
    assert jnp.concatenate([x, x], 1) == jnp.cat([x, x], dim=1) == ("joined", 1)
    with pytest.raises(TypeError, match="both axis and dim"):
        jnp.cat([x], dim=0, axis=0)
    with pytest.raises(ValueError, match=r"Did you mean 'nn\.relu6'"):
        jnp.register_function(Mine, "nn.relu66", lambda x: x)


def test_names_without_rules_use_the_plain_array():
    x, dense = Slotted(V), np.diag(V)
    with jnp.on_materialise("allow"):
        np.testing.assert_allclose(jnp.softmax(x, 0), jax.nn.softmax(dense, 0))
        np.testing.assert_allclose(jnp.topk(x, 1).values, dense.max(-1)[:, None])
        np.testing.assert_array_equal(jnp.cat([x, M]), np.concatenate([dense, M]))
        np.testing.assert_array_equal(x.at[0].set(7.0)[0], np.full(3, 7.0))
        np.testing.assert_array_equal(jnp.zeros((2, 3, 3)).at[0].set(x)[0], dense)
        nested = jax.jit(lambda x: jnp.block([[[x, x]]]))(x)
    np.testing.assert_array_equal(nested, np.concatenate([dense, dense], 1)[None])
    assert jnp.to_numpy(x).tolist() == jnp.tensor(x).tolist() == x.tolist()
    with (
        pytest.raises(jnp.MaterialiseError, match=r"jnp\.materialise\(x\)\.at\[\.\.\."),
        jnp.on_materialise("error"),
    ):
        x.at[0].add(1.0)


def test_single_numbers_and_what_is_refused():
    class Number(jnp.CustomArray):
        def __init__(self, d):
            self.d = d

        def __jfi_array__(self):
            return jnp.asarray(self.d)

    assert (f"{Number(2.5):.2f}", float(Number(2.5)), Number(2.5).item()) == (
        "2.50", 2.5, 2.5,
    )  # fmt: skip
    assert [10, 20][Number(1)] == 20
    with pytest.raises(TypeError, match=r"Write x = x\.at\[0\]\.set\(values\)"):
        Slotted(V)[0] = 1.0


class Returning(jnp.CustomArray):
    def __init__(self, answer):
        self.answer = self if answer == "self" else answer

    def __jfi_array__(self):
        return self.answer


def test_what_stands_for_an_array_is_one_or_stands_for_one():
    with jnp.on_materialise("allow"):
        assert jnp.sum(Returning(Slotted(V))) == 6.0
        assert Returning(Slotted(V)).shape == (3, 3)
        assert float(jnp.exp(Returning(0.0))) == 1.0
    for answer, what in ([1.0], "a list"), ("1.0", "a str"), ("self", "itself"):
        text = rf"__jfi_array__\(\) of a Returning returned {what}, .* jnp.asarray"
        with pytest.raises(jnp.MaterialiseError, match=text):
            jnp.sum(Returning(answer))


def test_functions_that_know_plain_arrays_alone_say_what_to_write():
    for call in (jnp.random.permutation, jax.jit(lambda x: jnp.vectorize(jnp.sin)(x))):
        with pytest.raises(TypeError) as caught:
            call(Slotted(V))
        note = next(n for n in caught.value.__notes__ if n.startswith("A Slotted"))
        assert note.endswith("Pass one: jnp.materialise(x).")


def test_override_reaches_all_names():
    f = jnp.autojit(lambda v: jnp.nn.relu(v) + jnp.relu(v) + jnp.scipy.special.erf(v))
    assert float(f(0.0)) == 0.0
    with (
        jnp.override("nn.relu", lambda v: v + 10),
        jnp.override("relu", lambda v: v + 5),
    ):
        with jnp.override(
            jnp.scipy.special.erf, lambda old: lambda v: old(v) + 1, wrap=True
        ):
            assert float(f(0.0)) == 16.0
        assert float(f(0.0)) == 15.0
    assert float(f(0.0)) == 0.0


# --------------------------------------------------------------------- libraries


def test_sparse_matrices_in_all_tools():
    dense = np.array([[0, 2.0, 0], [1, 0, 0], [0, 0, 3]], "float32")
    for cls in (sparse.BCOO, sparse.CSR):
        S = cls.fromdense(dense)
        with jnp.on_materialise("allow"):  # JAX has no rule for a CSR
            np.testing.assert_allclose(jnp.autojit(jnp.matmul)(S, V), dense @ V)
            slope = jax.grad(lambda v, S=S: jnp.sum(jnp.matmul(S, v)))(V)
            np.testing.assert_allclose(slope, dense.sum(0))
            np.testing.assert_array_equal(jnp.asarray(jnp.t(S)), dense.T)
            np.testing.assert_array_equal(jnp.asarray(S), dense)
            gradient = jnp.grad(lambda S: jnp.sum(jnp.matmul(S, V)))(S)
            np.testing.assert_allclose(np.sort(gradient.data), [1.0, 2.0, 3.0])
            np.testing.assert_array_equal(jnp.asarray(jnp.relu(S)), dense)


def test_arrays_of_quax():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        quax = pytest.importorskip("quax")
    import equinox

    class LowRank(quax.ArrayValue):
        w: jax.Array
        a: jax.Array

        def aval(self):
            return jax.core.ShapedArray(self.w.shape, self.w.dtype)

        def materialise(self):
            return self.w + jnp.outer(self.a, self.a)

    class Quantity(quax.ArrayValue):
        value: jax.Array
        unit: str = equinox.field(static=True)

        def aval(self):
            return jax.core.ShapedArray(self.value.shape, self.value.dtype)

        def materialise(self):
            raise TypeError("a quantity is no plain array")

    seen = []

    @quax.register(jax.lax.dot_general_p)
    def dot(x: LowRank, y: jax.Array, **named):
        seen.append(1)
        return jax.lax.dot_general(x.w, y, **named) + x.a * (x.a @ y)

    @quax.register(jax.lax.add_p)
    def add(x: Quantity, y: Quantity):
        if x.unit != y.unit:
            raise TypeError("two units")
        return Quantity(x.value + y.value, x.unit)

    w, v = jnp.asarray(M), jnp.asarray(V)
    x, dense = LowRank(w, v), M + np.outer(V, V)

    def f(x, v):
        return jnp.tanh(jnp.matmul(x, v))

    wanted = np.tanh(dense @ V)
    for tool in (lambda f: f, jnp.jit, jnp.autojit):
        np.testing.assert_allclose(tool(f)(x, v), wanted, rtol=1e-5)
    np.testing.assert_allclose(quax.quaxify(f)(x, v), wanted, rtol=1e-5)
    np.testing.assert_allclose(quax.quaxify(lambda x: jnp.relu(x @ v))(x), dense @ V)
    np.testing.assert_allclose(jnp.asarray(x), dense)
    assert len(seen) == 5
    slope = jnp.grad(lambda x: jnp.sum(jnp.matmul(x, v)))(x)
    np.testing.assert_allclose(slope.w, np.tile(V, (3, 1)))
    length = Quantity(v, "m")
    assert jnp.add(length, length).unit == "m"
    with pytest.raises(TypeError, match="two units"):
        jnp.add(length, Quantity(v, "s"))
    with pytest.raises(TypeError, match="no plain array"):
        jnp.sin(length)
    jnp.register_function(Quantity, "sum", lambda x: ("own rule", x.unit))
    assert jnp.sum(length) == ("own rule", "m")


class Powers(jnp.CustomArray):
    """An array whose settings Python's `==` would take for others."""

    def __init__(self, d, n=0, names=()):
        self.d, self.n, self.names = d, n, names

    def __jfi_array__(self):
        return self.d * (2.0 if self.n is True else 1.0) + len(self.names)


def test_settings_are_told_apart_by_type_and_by_what_is_in_them():
    compiled, names = jax.jit(jnp.materialise), ["a"]
    for x in (Powers(1.0, n=1), Powers(1.0, n=True), Powers(1.0, names=names)):
        assert compiled(x) == jnp.materialise(x)
    names.append("b")
    assert compiled(Powers(1.0, names=names)) == 3.0


def test_data_beside_settings_in_one_list():
    x = Powers(1.0, names=["a", 2.0])
    assert jax.tree.leaves(x) == [1.0, 2.0]
    assert jax.jit(jnp.materialise)(x) == jnp.materialise(x)
    assert jax.grad(lambda x: x.names[1] ** 2)(x).names == ["a", 4.0]
