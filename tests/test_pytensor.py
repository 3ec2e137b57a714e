"""PyTensor's graphs as JAX functions: its own values, gradients, what is refused."""

import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from subprocesses import output_of

import jfi
from jfi import JaxifyError, jaxify


pytensor = pytest.importorskip("pytensor")
pt = pytest.importorskip("pytensor.tensor")
try:
    from pytensor.conditional.op import ifelse
except ModuleNotFoundError:  # an older PyTensor
    from pytensor.ifelse import ifelse


@pytest.fixture(autouse=True)
def _without_c_compiler():
    with pytensor.config.change_flags(cxx="", mode="FAST_COMPILE"):
        yield


RANDOM = np.random.default_rng(0)
VECTOR = RANDOM.normal(size=3)
MATRIX = RANDOM.normal(size=(3, 3)) + 3 * np.eye(3)

x, y, a, n = pt.vector("x"), pt.scalar("y"), pt.matrix("a"), pt.iscalar("n")
small, whole, single = pt.bvector("small"), pt.ivector("whole"), pt.fvector("single")
VALUES = {
    x: VECTOR, y: -1.5, a: MATRIX, n: 2, small: np.arange(3, dtype="int8"),
    whole: np.arange(3, dtype="int32"), single: np.arange(1, 4, dtype="float32"),
}  # fmt: skip


def products(values):
    start = pt.constant(np.array(1.0))
    return pytensor.scan(
        lambda value, before: value * before,
        sequences=[values],
        outputs_info=[start],
        return_updates=False,
    )


GRAPHS = {
    "cumulative": lambda: [pt.cumsum(x), pt.cumprod(a, axis=1)],
    "lazy if": lambda: [
        ifelse(pt.gt(y, 0), x, 2 * x),
        ifelse(pt.gt(y, 0), pt.constant(np.array(3.0)), y),
    ],
    "gradient": lambda: [pt.grad((pt.exp(x) ** 2).sum(), x)],
    "eye": lambda: [pt.eye(3) * y, pt.eye(x.shape[0], x.shape[0] + 1, 1)],
    "solve": lambda: [pt.linalg.solve(a, x), pt.linalg.cholesky(a @ a.T)],
    "scan": lambda: [products(x), pt.grad(products(x)[-1], x)],
    "shapes": lambda: [
        a.reshape((a.shape[0] * a.shape[1],)), pt.arange(x.shape[0] + 2),
        pt.tile(a, (2, 1)), pt.repeat(x, 2), pt.zeros_like(a),
    ],
    "parts": lambda: [
        a[n], a[::-1], a[[0, 2]], pt.set_subtensor(x[1], y), pt.sort(a, axis=1),
        pt.split(x, [1, 2], n_splits=2)[1], pt.concatenate([x, 2 * x]),
    ],
    "dtypes": lambda: [
        small + 300, whole * single, whole // 2, single * np.float64(1 / 3), a.sum(),
        pt.cast(x, "int32"), whole.mean(),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_have_pytensors_values(name, x64):
    outputs = GRAPHS[name]()
    f = jaxify(outputs)
    values = [VALUES[variable] for variable in f.inputs]
    theirs = pytensor.function(f.inputs, outputs)(*values)
    found = f(*values)
    assert isinstance(found, tuple)
    for result, expected in zip(found, theirs, strict=True):
        np.testing.assert_allclose(result, expected, 1e-9 if x64 else 1e-4, 1e-5)
        assert not x64 or result.dtype == expected.dtype
        assert result.shape == expected.shape


def test_transformations_of_jax():
    f = jaxify(pt.cumsum(x) ** 2)
    assert isinstance(f(VECTOR), jax.Array)
    rows = jax.jit(jax.vmap(f))(np.stack([VECTOR, 2 * VECTOR]))
    np.testing.assert_allclose(rows[1], 4 * f(VECTOR), rtol=1e-6)
    loss = jaxify((pt.cumsum(x) ** 2).sum())
    theirs = jaxify(pt.grad((pt.cumsum(x) ** 2).sum(), x))
    np.testing.assert_allclose(jax.grad(loss)(VECTOR), theirs(VECTOR), rtol=1e-5)

    class Model:
        def __init__(self):
            self.f = f

        @jfi.autojit
        def step(self, x):
            return self.f(x)

    model = Model()
    for _ in range(3):
        np.testing.assert_allclose(model.step(VECTOR), f(VECTOR), rtol=1e-6)


def test_shared_variables_are_constants_of_their_value_now():
    shared = pytensor.shared(np.arange(3.0))
    f, g = jaxify(shared * y), jaxify(shared * 2, inputs=[])
    shared.set_value(np.ones(3))
    assert f(2.0).tolist() == g().tolist() == [0.0, 2.0, 4.0]
    with jax.enable_x64(True):
        third = jaxify(pytensor.shared(1 / 3) * y)
        assert third(1.0) == 1 / 3


def test_function_graphs_and_the_order_of_inputs():
    graph = pytensor.graph.FunctionGraph([x, y], [x * y])
    assert jaxify(graph)(np.ones(2), 3.0).tolist() == [3.0, 3.0]
    assert jaxify(x * y, inputs=[y, x])(3.0, np.ones(2)).tolist() == [3.0, 3.0]


def test_sizes_are_static_inputs():
    f = jaxify([pt.eye(n) * y, pt.arange(n), x[:n]], inputs=[n, y, x], static=[n])
    for size in (2, 3):
        square, numbers, part = f(size, 2.0, VECTOR)
        assert square.shape == (size, size)
        assert numbers.shape == part.shape == (size,)


def random_graph():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is the old way to write this
        return x + pt.random.normal(0, 1, size=3)


REFUSED = [
    (lambda: jaxify(pt.eye(n) * y, inputs=[n, y])(2, 1.0), r"static=\[n\]"),
    (lambda: jaxify(x[:n], inputs=[x, n])(VECTOR, 2), r"static=\[n\]"),
    (lambda: jaxify(x[x > 0])(VECTOR), r"pt\.where\(mask"),
    (lambda: jaxify(random_graph()), "draws random numbers"),
    (lambda: jaxify(x * y, inputs=[x]), "needs y, which inputs= lacks"),
    (lambda: jaxify(x * y)(1.0), r"got 1 values for its 2 inputs"),
    (lambda: jaxify(x)(MATRIX), "float32 of shape .* for x|float64 of shape"),
    (lambda: jaxify(whole)(VECTOR), "for whole"),
    (lambda: jaxify(pytensor.function([x], 2 * x)), "Pass the variables"),
    (lambda: jaxify([x, 3]), "sequences"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(JaxifyError, match=message):
        call()


def test_an_assertion_is_checked_where_its_condition_is_known():
    check = pytensor.raise_op.Assert("it is positive")
    with pytest.raises(AssertionError, match="it is positive"):
        jaxify(check(x, x.shape[0] > 5))(VECTOR)
    with pytest.warns(UserWarning, match="it is positive is not checked"):
        jaxify(check(x, pt.all(x > 0)))(VECTOR)


@pytest.mark.parametrize("world", ["False", "True"])
def test_the_import_leaves_the_world_of_dtypes_alone(world):
    lines = (
        "import jax, jfi, pytensor, pytensor.tensor as pt",
        f"jax.config.update('jax_enable_x64', {world})",
        "f = pt.vector('x') * 2",
        f"with jax.enable_x64(not {world}): print(jfi.jaxify(f)([1.0]).dtype)",
        "print(jax.config.jax_enable_x64, pytensor.config.floatX)",
    )
    inner = "float32" if world == "True" else "float64"
    assert output_of("\n".join(lines)).split() == [inner, world, "float64"]


def test_threads_trace_one_graph():
    f = jaxify(pt.cumsum(x) * 2)
    before = list(warnings.filters)
    found = [None] * 4

    def run(k):
        found[k] = f(np.arange(k + 1.0)).tolist()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(2 * np.cumsum(np.arange(k + 1.0))).tolist() for k in range(4)]
    assert warnings.filters == before
    assert jnp.zeros(1).dtype == jnp.float32


def cube():
    """An operation that PyTensor has no rule of JAX for."""

    class Cube(pytensor.graph.op.Op):
        __props__ = ()

        def make_node(self, x):
            return pytensor.graph.basic.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0] ** 3

    return Cube


def test_a_registered_operation_is_known_inside_graphs():
    Cube = cube()
    graph = pt.exp(Cube()(2 * x))
    with pytest.raises(
        JaxifyError, match=r"operation Cube.*\n.*\n.*jaxify\.register\("
    ):
        jaxify(graph)

    @jaxify.register(Cube)
    def in_jax(op):
        return lambda x: x**3

    f = jaxify(graph)
    np.testing.assert_allclose(f(VECTOR), np.exp((2 * VECTOR) ** 3), rtol=1e-5)
    slope = jax.jacrev(f)(VECTOR)
    values = np.exp((2 * VECTOR) ** 3) * 24 * VECTOR**2
    np.testing.assert_allclose(np.diag(slope), values, rtol=1e-5)


def test_a_registered_operation_of_elements_is_known_inside_graphs():
    class Cube(pytensor.scalar.UnaryScalarOp):
        def impl(self, x):
            return x**3

    of_elements = pt.elemwise.Elemwise(Cube(pytensor.scalar.upgrade_to_float))
    with pytest.raises(JaxifyError, match=r"register\(\".*Cube"):
        jaxify(of_elements(x))
    jaxify.register(Cube)(lambda op: lambda x: x**3)
    np.testing.assert_allclose(jaxify(of_elements(x))(VECTOR), VECTOR**3, rtol=1e-5)
