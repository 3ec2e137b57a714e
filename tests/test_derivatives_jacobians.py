"""`jacrev`, `jacfwd` and `hessian` of functions of any trees, and in chunks."""

import jax
import numpy as np
import pytest
from jax.dtypes import float0

import jfi as jnp


X = np.linspace(1, 2, 3, dtype="float32")
TOOLS = ["jacrev", "jacfwd", "hessian"]


def f(p):
    w = p["w"]
    return {"y": w ** p["n"] * p["b"], "n": p["n"], "s": "a", "index": jnp.arange(2)}


def params():
    return {"w": X, "b": np.float32(2), "n": 3, "s": "c", "index": np.arange(4)}


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("tool", TOOLS)
def test_blocks_of_mixed_trees(tool, chunk_size):
    found = getattr(jnp, tool)(f, chunk_size=chunk_size)(params())
    expected = getattr(jax, tool)(lambda p: p["w"] ** 3 * p["b"])(
        {name: params()[name] for name in "wb"}
    )
    blocks, of_jax = found["y"], expected
    if tool == "hessian":
        blocks, of_jax = blocks["w"], of_jax["w"]
        assert set(found["y"]["n"].values()) == {None}
    assert blocks["n"] is blocks["s"] is blocks["index"] is None
    for name in "wb":
        np.testing.assert_allclose(blocks[name], of_jax[name], rtol=1e-6)
    for name in ("n", "s", "index"):
        assert jax.tree.leaves(found[name]) == []
        assert set(found[name]) == set(params())


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("tool", TOOLS[:2])
def test_nondiff_has_the_shapes_of_blocks(tool):
    found = getattr(jnp, tool)(f, nondiff="float0")(params())
    assert found["index"]["w"].dtype == found["y"]["index"].dtype == float0
    shapes = found["index"]["w"].shape, found["y"]["index"].shape, found["n"]["n"].shape
    assert shapes == ((2, 3), (3, 4), ())
    assert found["s"]["w"] is found["y"]["s"] is None
    found = getattr(jnp, tool)(f, nondiff="zeros")(params())
    assert found["y"]["index"].dtype == params()["index"].dtype
    assert not found["y"]["index"].any()
    assert found["index"]["w"].shape == (2, 3)


def test_allow_int_is_that_of_jax():
    p = {"a": 2.0, "n": np.arange(2)}
    ours = jnp.jacrev(lambda p: p["a"] * p["n"], allow_int=True)(p)
    theirs = jax.jacrev(lambda p: p["a"] * p["n"], allow_int=True)(p)
    for name in p:
        np.testing.assert_array_equal(ours[name], theirs[name])
        assert ours[name].dtype.kind == theirs[name].dtype.kind


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("tool", TOOLS)
def test_auxiliary_data_of_any_kind(tool, chunk_size):
    def with_aux(p):
        return (p["w"] ** 2).sum(), {"s": "a", "f": len, "w": p["w"], "k": jnp.key(1)}

    found, aux = getattr(jnp, tool)(with_aux, has_aux=True, chunk_size=chunk_size)(
        {"w": X, "n": 2}
    )
    block = found["w"]["w"] if tool == "hessian" else found["w"]
    expected = 2 * np.eye(3) if tool == "hessian" else 2 * X
    np.testing.assert_allclose(block, expected, rtol=1e-6)
    assert (aux["s"], aux["f"]) == ("a", len)
    np.testing.assert_array_equal(aux["w"], X)
    assert aux["k"] == jnp.key(1)


def test_jacobian_is_jacrev():
    assert jnp.jacobian is jnp.jacrev


# ------------------------------------------------------- in chunks


def several(p, q):
    return {"a": jnp.outer(p["x"], q) + p["y"], "b": [(p["x"] ** 2).sum() * q[0]]}


@pytest.mark.parametrize(
    ("tool", "chunk_size"),
    [("jacrev", 1), ("jacrev", 3), ("jacrev", 7), ("jacrev", 100), ("jacfwd", 1),
     ("jacfwd", 4), ("jacfwd", 6), ("hessian", 4)],
)  # fmt: skip
def test_chunks_give_the_same_numbers(tool, chunk_size):
    """7 entries of the result, 6 of the arguments: chunks that fit, and that don't."""
    p, q = {"x": X, "y": np.float32(0.5)}, jnp.asarray(X[:2])
    q = q if tool == "hessian" else q.astype("bfloat16")
    whole = jax.jit(getattr(jnp, tool)(several, (0, 1)))(p, q)
    by_chunks = getattr(jnp, tool)(several, (0, 1), chunk_size=chunk_size)
    chunked = jax.jit(by_chunks)(p, q)
    assert jax.tree.structure(whole) == jax.tree.structure(chunked)
    pairs = zip(jax.tree.leaves(whole), jax.tree.leaves(chunked), strict=True)
    for a, b in pairs:
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a.astype("float32"), b.astype("float32"), rtol=1e-5)


@pytest.mark.parametrize("tool", TOOLS)
def test_chunks_of_holomorphic_functions(tool):
    def cube(z):
        return z**3

    z = X + 1j * X[::-1]
    derivative = getattr(jnp, tool)
    whole = derivative(cube, holomorphic=True)(z)
    chunked = derivative(cube, holomorphic=True, chunk_size=2)(z)
    np.testing.assert_allclose(whole, chunked, rtol=1e-5)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_function_is_traced_once(tool):
    calls = []

    def counted(x):
        calls.append(x)
        return x**2

    getattr(jnp, tool)(counted, chunk_size=2)(X)
    assert len(calls) == 1


@pytest.mark.parametrize("tool", TOOLS)
def test_chunks_of_nothing(tool):
    derivative = getattr(jnp, tool)(lambda x: x * 2, chunk_size=2)
    assert derivative(jnp.ones(0)).size == 0


@pytest.mark.parametrize("tool", ["jacrev", "jacfwd"])
def test_chunks_bound_the_memory(tool):
    def costly(x):  # the sort keeps XLA from computing it all in one loop
        return jnp.sort(x[:, None] * np.linspace(0, 1, 128, dtype="float32")).sum(1)

    def temporary_bytes(chunk_size):
        jacobian = getattr(jnp, tool)(costly, chunk_size=chunk_size)
        compiled = jax.jit(jacobian).lower(np.ones(128, "float32")).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert temporary_bytes(4) < temporary_bytes(None) / 8


def test_chunks_bound_the_memory_of_a_gradient_through_them():
    def costly(x):
        return jnp.sin(x[:, None] * np.linspace(0, 1, 64)).sum(1) * x.sum()

    def temporary_bytes(chunk_size):
        jacobian = jnp.jacrev(costly, chunk_size=chunk_size)
        slope = jax.jit(jax.grad(lambda x: (jacobian(x) ** 2).sum()))
        compiled = slope.lower(np.ones(128, "float32")).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert temporary_bytes(4) < temporary_bytes(None) / 4


@pytest.mark.parametrize("chunk_size", [0, -1, 2.0, True, "2"])
def test_a_chunk_size_that_is_none(chunk_size):
    with pytest.raises(jnp.DerivativeError, match="Write an int of 1 or more, or None"):
        jnp.hessian(f, chunk_size=chunk_size)


# ------------------------------------------------------- mistakes


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("tool", TOOLS)
def test_results_without_floats(tool, chunk_size):
    def index(x):
        return {"a": jnp.arange(3), "b": 1, "c": "text"}

    message = r"of index\(\), which returned int.*\[3\], int, no number. Let it return"
    with pytest.raises(jnp.DerivativeError, match=message):
        getattr(jnp, tool)(index, chunk_size=chunk_size)(1.0)


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_complex_numbers_are_refused_as_by_jax(chunk_size):
    z = np.complex64(1j)
    with pytest.raises(TypeError, match="holomorphic=True"):
        jnp.jacfwd(jnp.real, chunk_size=chunk_size)(z)
    with pytest.raises(TypeError, match="holomorphic=True"):
        jnp.jacrev(lambda x: x * 1j, chunk_size=chunk_size)(1.0)
    with pytest.raises(TypeError, match="complex"):
        jnp.jacfwd(lambda x: x, holomorphic=True, chunk_size=chunk_size)(1.0)
    assert jnp.jacrev(jnp.real, chunk_size=chunk_size)(z) == 1
    assert jnp.jacfwd(lambda x: x * 1j, chunk_size=chunk_size)(1.0) == 1j


# ------------------------------------------------------- inside transformations


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("tool", TOOLS)
def test_under_jit_and_vmap(tool, chunk_size):
    def block(w):
        found = getattr(jnp, tool)(f, chunk_size=chunk_size)({**params(), "w": w})
        return found["y"]["w"]["w"] if tool == "hessian" else found["y"]["w"]

    expected = block(X)
    np.testing.assert_allclose(jax.jit(block)(X), expected, rtol=1e-6)
    rows = jnp.vmap(block)(np.stack([X, X]))
    np.testing.assert_allclose(rows[1], expected, rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, jnp.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("tool", TOOLS)
def test_draws_are_the_same_in_all_directions(tool, chunk_size, wrap):
    def scaled(p):
        return p["w"] ** p["n"] * jnp.rand()

    def run(w):
        found = getattr(jnp, tool)(scaled, chunk_size=chunk_size)({"w": w, "n": 2})
        return found["w"]["w"] if tool == "hessian" else found["w"]

    run = wrap(run)
    first, second = run(X), run(X)
    i = np.arange(3)
    scales = first[i, i, i] / 2 if tool == "hessian" else first[i, i] / (2 * X)
    np.testing.assert_allclose(scales, np.full(3, scales[0]), rtol=1e-5)
    assert 0 < scales[0] < 1
    assert (first != second).any()
