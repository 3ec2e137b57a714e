"""relu, sigmoid, gelu, log_softmax, logsumexp, losses, chunk, cdist, scatter ..."""

import jax
import numpy as np
import pytest
from against_torch import (
    assert_same,
    compare,
    compare_gradient,
    compiled_together,  # noqa: F401
    in_64_bits,
    numbers,
)

import jfi as jnp


torch = pytest.importorskip("torch")
F = torch.nn.functional

X = numbers((4, 5)) / 3
LOGITS = numbers((6, 4), seed=1)
CLASSES = np.array([0, 3, 1, 1, 2, 3])
WEIGHT = np.array([1.0, 0.5, 2.0, 0.2], "float32")


@pytest.fixture(autouse=True)
def _both_precisions(x64):
    """Each test of this file runs with 64-bit types allowed and not."""


# ---------------------------------------------------------------- element by element


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64"])
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3)])
def test_relu(dtype, shape):
    compare(jnp.relu, torch.relu, numbers(shape, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3)])
def test_floats(dtype, shape):
    x = numbers(shape, dtype)
    loose = "float16" if dtype == "float16" else dtype
    compare(jnp.sigmoid, torch.sigmoid, x)
    if loose != "float16":
        for approximate in ("none", "tanh"):
            assert_same(
                jnp.gelu(x, approximate=approximate),
                F.gelu(torch.tensor(x), approximate=approximate),
                rtol=2e-5,
                atol=1e-6,
            )


def test_sigmoid_of_other_numbers():
    assert jnp.sigmoid(np.array([0, 100])).tolist() == [0.5, 1.0]
    assert jnp.sigmoid(0.0) == 0.5
    compare(jnp.sigmoid, torch.sigmoid, np.array([True, False]))


def test_derivatives_element_by_element():
    compare_gradient(jnp.relu, torch.relu, X)
    compare_gradient(jnp.sigmoid, torch.sigmoid, X)
    compare_gradient(jnp.gelu, F.gelu, X)
    assert jax.grad(jnp.relu)(0.0) == 0.0


def test_gelu_is_not_that_of_jax():
    assert float(jnp.gelu(1.0)) == pytest.approx(0.8413447, abs=1e-6)
    assert float(jnp.nn.gelu(1.0)) == pytest.approx(0.8411920, abs=1e-6)
    assert jnp.nn.gelu.__wrapped__ is jax.nn.gelu
    with pytest.raises(ValueError, match=r"takes 'none' or 'tanh'\. .* jnp\.nn\.gelu"):
        jnp.gelu(1.0, approximate=True)


@in_64_bits
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: jnp.relu(np.array([True])),
            "relu.* array of bool; .* integers or flo",
        ),
        (lambda: jnp.relu(np.array([1j])), "relu.* array of complex"),
        (lambda: jnp.gelu(np.array([1])), r"gelu.* takes floats\. Convert it: input"),
        (lambda: jnp.sigmoid([1.0]), r"sigmoid.* got a list .*jnp\.asarray\(input\)"),
        (lambda: jnp.log_softmax(X), r"jnp\.log_softmax\(x, dim=-1\)"),
        (lambda: jnp.log_softmax(np.array([1]), 0), "log_softmax.* takes floats"),
        (lambda: jnp.logsumexp(X, dim=0, axis=0), "got both dim and axis"),
        (lambda: jnp.tensor([1.0], requires_grad=True), r"jnp\.grad\(loss\)\(x\)"),
        (lambda: jnp.one_hot(CLASSES), r"pass their number, .*int\(x\.max\(\)\) \+ 1"),
    ],
)
def test_refusals_of_types(call, message):
    with pytest.raises(TypeError, match=message):
        call()


# ------------------------------------------------------------------ along dimensions


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("dim", [0, -1])
def test_log_softmax(shape, dim):
    compare(jnp.log_softmax, torch.log_softmax, numbers(shape), dim)
    compare(jnp.log_softmax, torch.log_softmax, numbers(shape, "float64"), dim=dim)
    x = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(jnp.log_softmax(x, axis=0), jax.nn.log_softmax(x))


@in_64_bits
@pytest.mark.parametrize("dim", [0, 1, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_logsumexp(dim, keepdim):
    x = numbers((2, 3, 4))
    compare(jnp.logsumexp, torch.logsumexp, x, dim, keepdim)
    compare(jnp.logsumexp, torch.logsumexp, x, dim=dim, keepdim=keepdim, jit=False)
    compare_gradient(
        lambda x: jnp.logsumexp(x, axis=dim, keepdims=keepdim),
        lambda x: torch.logsumexp(x, dim, keepdim),
        x,
    )


def test_logsumexp_of_numbers_infinities_and_everything():
    compare(jnp.logsumexp, torch.logsumexp, numbers((), "float32"), 0)
    compare(jnp.logsumexp, torch.logsumexp, numbers((2, 3), "int64"), 0)
    compare(jnp.logsumexp, torch.logsumexp, np.array([-np.inf, -np.inf], "float32"), 0)
    np.testing.assert_allclose(jnp.logsumexp(X), np.log(np.exp(X).sum()), rtol=1e-5)
    with pytest.raises(IndexError, match=r"logsumexp\(\) got dim=2"):
        jnp.logsumexp(X, 2)


@in_64_bits
@pytest.mark.parametrize("size", [0, 1, 5, 6, 7])
@pytest.mark.parametrize("chunks", [1, 2, 3, 4, 9])
def test_chunk(size, chunks):
    x = numbers((size, 2))
    ours, theirs = jnp.chunk(x, chunks), torch.chunk(torch.tensor(x), chunks)
    assert isinstance(ours, tuple)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert_same(a, b)
    along = jnp.chunk(x.T, chunks, dim=1), jnp.chunk(x.T, chunks, axis=-1)
    for a, b, c in zip(ours, *along, strict=True):
        np.testing.assert_array_equal(a, b.T)
        np.testing.assert_array_equal(a, c.T)


def test_chunk_refuses():
    for call in (lambda: jnp.chunk(X, 0), lambda: jnp.chunk(np.float32(1.0), 1)):
        with pytest.raises(ValueError, match="positive number and an array with dim"):
            call()


# ----------------------------------------------------------------------------- losses


@in_64_bits
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.3])
@pytest.mark.parametrize("ignore_index", [-100, 1])
def test_cross_entropy(reduction, weight, label_smoothing, ignore_index):
    options = {
        "reduction": reduction,
        "label_smoothing": label_smoothing,
        "ignore_index": ignore_index,
    }

    def ours(x, target):
        return jnp.cross_entropy(x, target, weight, **options)

    def theirs(x, target):
        factors = None if weight is None else torch.tensor(weight)
        return F.cross_entropy(x, target, factors, **options)

    compare(ours, theirs, LOGITS, CLASSES)
    compare_gradient(
        lambda x: ours(x, CLASSES), lambda x: theirs(x, torch.tensor(CLASSES)), LOGITS
    )


@in_64_bits
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.3])
def test_cross_entropy_of_probabilities(reduction, label_smoothing):
    target = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    for weight in (None, WEIGHT):
        assert_same(
            jnp.cross_entropy(
                LOGITS, target, weight, reduction=reduction,
                label_smoothing=label_smoothing,
            ),
            F.cross_entropy(
                torch.tensor(LOGITS), torch.tensor(target),
                None if weight is None else torch.tensor(weight), reduction=reduction,
                label_smoothing=label_smoothing,
            ),
            rtol=1e-5,
        )  # fmt: skip


def test_cross_entropy_of_other_shapes():
    compare(jnp.cross_entropy, F.cross_entropy, LOGITS[0], CLASSES[0, ...])
    images = numbers((2, 4, 3, 2))
    target = np.random.default_rng(0).integers(0, 4, (2, 3, 2))
    for reduction in ("mean", "none"):
        compare(jnp.cross_entropy, F.cross_entropy, images, target, reduction=reduction)


def test_cross_entropy_refuses():
    with pytest.raises(IndexError, match=r"got the class 4 among 4 classes"):
        jnp.cross_entropy(LOGITS, CLASSES + 1)
    traced = jax.jit(jnp.cross_entropy)(LOGITS, CLASSES + 1)
    assert np.isnan(traced)
    with pytest.raises(ValueError, match=r"The classes are dimension 1"):
        jnp.cross_entropy(LOGITS, CLASSES[:3])
    with pytest.raises(ValueError, match=r"reduction='avg'; it takes 'mean'"):
        jnp.cross_entropy(LOGITS, CLASSES, reduction="avg")
    with pytest.raises(ValueError, match=r"one for each class, \(4,\)"):
        jnp.cross_entropy(LOGITS, CLASSES, WEIGHT[:2])
    with pytest.raises(TypeError, match="it takes floats"):
        jnp.cross_entropy(CLASSES, CLASSES)


def test_cross_entropy_under_vmap():
    rows = jax.vmap(jnp.cross_entropy)(LOGITS, CLASSES)
    np.testing.assert_allclose(
        rows, jnp.cross_entropy(LOGITS, CLASSES, reduction="none"), rtol=1e-5
    )


@in_64_bits
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_mse_loss(reduction, weighted):
    y, weight = numbers((4, 5), seed=3), np.abs(numbers((4, 5), seed=4))
    given = weight if weighted else None

    def ours(x, y):
        return jnp.mse_loss(x, y, reduction=reduction, weight=given)

    def theirs(x, y):
        factors = torch.tensor(weight) if weighted else None
        return F.mse_loss(x, y, reduction=reduction, weight=factors)

    compare(ours, theirs, X, y)
    compare_gradient(ours, theirs, X, y)


@pytest.mark.parametrize("x64", [False], ids=["x32"], indirect=True)
def test_eager_gradients_of_what_the_grids_compile():
    """The grids run with 64-bit types, where gradients are compiled."""
    square = numbers((3, 3)) / 8
    classes = torch.tensor(CLASSES)
    for ours, theirs, arrays in (
        (lambda x: jnp.logsumexp(x, 0), lambda x: torch.logsumexp(x, 0), [X]),
        (jnp.mse_loss, F.mse_loss, [X, numbers((4, 5), seed=3)]),
        (jnp.norm, torch.norm, [X]),
        (lambda x: jnp.norm(x, 3, -1), lambda x: torch.norm(x, 3, -1), [X]),
        (
            lambda x: jnp.cross_entropy(x, CLASSES, WEIGHT, label_smoothing=0.3),
            lambda x: F.cross_entropy(
                x, classes, torch.tensor(WEIGHT), label_smoothing=0.3
            ),
            [LOGITS],
        ),
    ):
        compare_gradient(ours, theirs, *arrays)
    compare_gradient(jnp.linalg.matrix_exp, torch.linalg.matrix_exp, square, atol=1e-4)


def test_one_hot_is_that_of_jax():
    ours, theirs = jnp.one_hot(CLASSES, 3), jax.nn.one_hot(CLASSES, 3)
    np.testing.assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype
    whole = jnp.one_hot(CLASSES, 4, dtype=int)
    assert_same(whole, F.one_hot(torch.tensor(CLASSES), 4))
    assert jnp.one_hot(CLASSES, 4, axis=0).shape == (4, 6)


# ------------------------------------------------------------------- picking, writing


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("index", [[0, 2, 2], [], 1])
def test_index_select(dtype, dim, index):
    picks = np.array(index, "int64")
    compare(jnp.index_select, torch.index_select, numbers((3, 4), dtype), dim, picks)


def test_index_select_of_a_number_and_out_of_range():
    compare(
        jnp.index_select, torch.index_select, numbers(()), 0, np.array([0]), jit=False
    )
    for wrong in (-1, 4):
        index = np.array([wrong])
        with pytest.raises(
            IndexError, match=rf"index_select\(\) got the index {wrong}"
        ):
            jnp.index_select(X, 0, index)
        assert np.isnan(jax.jit(jnp.index_select, static_argnums=1)(X, 0, index)).all()
    compare_gradient(
        lambda x: jnp.index_select(x, 1, np.array([0, 0, 2])),
        lambda x: torch.index_select(x, 1, torch.tensor([0, 0, 2])),
        X,
    )


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
@pytest.mark.parametrize("reduce", [None, "add", "multiply"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scatter(reduce, dtype, dim):
    x, src = numbers((4, 5), dtype), numbers((3, 4), dtype, seed=2)
    index = np.stack([np.random.default_rng(i).permutation(4) for i in range(3)])
    index = index if dim else np.argsort(numbers((3, 4), seed=8), axis=0)
    options = {} if reduce is None else {"reduce": reduce}
    compare(jnp.scatter, torch.scatter, x, dim, index, src, **options)
    compare(jnp.scatter, torch.scatter, x, dim, index, 3, **options)


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
def test_scatter_of_a_repeated_index_and_its_derivatives():
    index = np.array([[0, 0, 1], [2, 2, 2]])
    src = numbers((2, 3), seed=1)
    compare(jnp.scatter, torch.scatter, X, 1, index, src, reduce="add")
    where = np.array([[0, 3, 1], [2, 0, 4]])
    compare_gradient(
        lambda x, src: jnp.scatter(x, 1, where, src),
        lambda x, src: torch.scatter(x, 1, torch.tensor(where), src),
        X,
        src,
    )
    rows = jax.vmap(lambda x, i, s: jnp.scatter(x, 0, i, s))(X[:2], where, src)
    np.testing.assert_array_equal(rows, jnp.scatter(X[:2], 1, where, src))


def test_scatter_out_of_range():
    for wrong in (-1, 5):
        index = np.array([[0, wrong]])
        with pytest.raises(IndexError, match=rf"scatter\(\) got the index {wrong} for"):
            jnp.scatter(X, 1, index, 9.0)
        left_out = jax.jit(lambda x, i: jnp.scatter(x, 1, i, 9.0))(X, index)
        np.testing.assert_array_equal(left_out, jnp.scatter(X, 1, index[:, :1], 9.0))


@in_64_bits
@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((X, 0, np.array([0.5]), 1.0), TypeError, "it takes integers"),
        ((X, 0, np.array([0]), 1.0), ValueError, "as many dimensions"),
        ((X, 0, np.zeros((1, 6), int), 1.0), ValueError, "longer than the array"),
        ((X, 0, np.zeros((1, 2), int), X[:1, :1]), ValueError, "longer than the elem"),
        ((X, 0, np.zeros((1, 1), int), np.ones((1, 1), int)), TypeError, "x.dtype"),
    ],
)
def test_scatter_refuses(args, error, message):
    with pytest.raises(error, match=message):
        jnp.scatter(*args)


def test_scatter_refuses_other_reductions():
    with pytest.raises(ValueError, match="None, 'add' or 'multiply'"):
        jnp.scatter(X, 0, np.zeros((1, 1), int), 1.0, reduce="mean")


# -------------------------------------------------------------- distances and matrices


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2.0, 3.0, float("inf")])
def test_cdist(p):
    x, y = numbers((4, 3)), numbers((5, 3), seed=1)
    compare(jnp.cdist, torch.cdist, x, y, p=p)
    if p >= 1:
        x += np.linspace(0, 0.1, 12, dtype="float32").reshape(
            4, 3
        )  # no equal distances
        compare_gradient(
            lambda x, y: jnp.cdist(x, y, p), lambda x, y: torch.cdist(x, y, p), x, y
        )


def test_cdist_of_batches_and_coincident_points():
    compare(jnp.cdist, torch.cdist, numbers((2, 1, 4, 3)), numbers((3, 5, 3)))
    compare(jnp.cdist, torch.cdist, numbers((4, 0)), numbers((2, 0)))
    x = numbers((4, 3))
    for p in (0, 0.5, 1, 2, 3, np.inf):
        gradient = jax.grad(lambda x, p=p: jnp.cdist(x, x, p).sum())(jnp.array(x))
        assert np.isfinite(gradient).all()
        single = jax.grad(lambda x, p=p: jnp.cdist(x, x, p).sum())(jnp.array(x[:1]))
        np.testing.assert_array_equal(single, 0)


@in_64_bits
@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((X, X, -1.0), ValueError, "a number from 0 to inf"),
        ((X, X[:, :2]), ValueError, r"A single point is x\[None\]"),
        ((X[0], X), ValueError, r"A single point is x\[None\]"),
        ((CLASSES[None], X), TypeError, r"Convert it: x1\.astype\(float\)"),
    ],
)
def test_cdist_refuses(args, error, message):
    with pytest.raises(error, match=message):
        jnp.cdist(*args)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unitriangular", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_solve_triangular(upper, left, unitriangular, dtype):
    a = numbers((2, 3, 3), dtype) / 4 + 3 * np.eye(3, dtype=dtype)
    b = numbers((3, 4) if left else (4, 3), dtype)
    options = {"upper": upper, "left": left, "unitriangular": unitriangular}
    ours, theirs = (
        jnp.linalg.solve_triangular(a, b, **options),
        torch.linalg.solve_triangular(torch.tensor(a), torch.tensor(b), **options),
    )
    assert_same(ours, theirs, rtol=1e-4, atol=1e-5)


def test_solve_triangular_differentiates_and_refuses():
    a = np.tril(X[:, :4]) + 3 * np.eye(4, dtype="float32")
    compare_gradient(
        lambda a, b: jnp.linalg.solve_triangular(a, b, upper=False),
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
        a,
        X,
    )
    with pytest.raises(ValueError, match=r"For a vector write .*b\[:, None\]"):
        jnp.linalg.solve_triangular(a, X[:, 0], upper=False)
    with pytest.raises(ValueError, match="it must be square"):
        jnp.linalg.solve_triangular(X, X, upper=False)
    with pytest.raises(TypeError, match="upper"):
        jnp.linalg.solve_triangular(a, X)


@in_64_bits
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (1, 1)])
def test_matrix_exp(shape):
    x = numbers(shape) / 8
    ours, theirs = jnp.linalg.matrix_exp(x), torch.linalg.matrix_exp(torch.tensor(x))
    assert_same(ours, theirs, rtol=1e-5, atol=1e-5)
    compare_gradient(jnp.linalg.matrix_exp, torch.linalg.matrix_exp, x, atol=1e-4)
    with pytest.raises(ValueError, match="must be square"):
        jnp.linalg.matrix_exp(X)


def test_block_diag():
    blocks = [numbers((2, 3)), numbers(3), numbers(()), numbers((1, 1))]
    tensors = [torch.tensor(b) for b in blocks]
    assert_same(jnp.linalg.block_diag(*blocks), torch.block_diag(*tensors))
    mixed = [numbers((2, 2), "int32"), numbers((1, 2))]
    tensors = [torch.tensor(b) for b in mixed]
    assert_same(jax.jit(jnp.linalg.block_diag)(*mixed), torch.block_diag(*tensors))
    with pytest.raises(ValueError, match=r"tensors\[1\] of shape \(1, 2, 2\)"):
        jnp.linalg.block_diag(X, np.ones((1, 2, 2)))


# ------------------------------------------------------------------ arrays and the rest


def test_tensor_is_array():
    for data in ([[1, 2], [3, 4]], [0.5], True, np.ones(2, "float32")):
        ours, wanted = jnp.tensor(data), jnp.array(data)
        np.testing.assert_array_equal(ours, wanted)
        assert ours.dtype == wanted.dtype
    assert jnp.tensor([1.0], dtype="float16", device="cpu").dtype == "float16"


def test_names_of_jax():
    assert jnp.devices is jax.devices
    assert jnp.make_mesh is jax.make_mesh
    assert jnp.remat is jnp.checkpoint
    assert jnp.__version__.split(".")[0].isdigit()
