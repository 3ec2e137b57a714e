"""Compare a function of jfi with PyTorch's: values, shapes, dtypes and derivatives."""

import contextlib
import os
from importlib.util import find_spec

import jax
import numpy as np
import pytest


if find_spec("torch"):
    import torch

    torch.set_num_threads(1)

# For tests of many cases of one dtype. The precision changes nothing but dtypes, which
# other tests compare in both worlds; in this one a float64 that slips in is seen.
in_64_bits = pytest.mark.parametrize("x64", [True], ids=["x64"], indirect=True)

# Those that tests of all dtypes try.
DTYPES = [
    "float32",
    "float64",
    "float16",
    "int32",
    "int64",
    "uint8",
    "bool",
    "complex64",
]

NARROW = {"int64": "int32", "float64": "float32", "complex128": "complex64"}


def to_torch(value):
    """NumPy arrays as tensors, in lists too; anything else as it is."""
    if isinstance(value, list) and is_data(value):
        return [to_torch(v) for v in value]
    return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value


def assert_same(ours, theirs, rtol=2e-6, atol=1e-7):
    """Equal values, shapes and dtypes; without 64-bit types, half as wide ones."""
    theirs = theirs.detach().resolve_conj().numpy()
    name = theirs.dtype.name
    if not jax.config.jax_enable_x64:
        name = NARROW.get(name, name)
    assert isinstance(ours, jax.Array)
    assert ours.dtype.name == name
    assert ours.shape == theirs.shape
    if name == "float16":
        rtol, atol = 2e-3, 1e-3
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=rtol, atol=atol)


def compare(ours, theirs, *args, jit=True, **options):
    """Call both with the same NumPy arrays: plain, with jax arrays, and under jit.

    Under jit with 64-bit types alone: what depends on the precision is the same in
    both.
    """
    expected = theirs(*map(to_torch, args), **options)
    fixed = [not is_data(arg) for arg in args]
    data = [arg for arg in args if is_data(arg)]

    def call(*data):
        rest = iter(data)
        pairs = zip(args, fixed, strict=True)
        return ours(*(arg if keep else next(rest) for arg, keep in pairs), **options)

    assert_same(call(*data), expected)
    assert_same(call(*jax.tree.map(jax.numpy.asarray, data)), expected)
    if jit and jax.config.jax_enable_x64:
        under_jit(call, data, lambda result: assert_same(result, expected))


_cases = None  # those that are not compiled yet; None where none wait
TOGETHER = 40


@pytest.fixture(autouse=True, scope="module")
def compiled_together():
    """In a file that imports this, one program has the calls of many tests.

    A program for each takes most of the time of such a file. What fails names its own
    test, and is seen in that of the last call of the program.
    """
    global _cases
    _cases = []
    yield
    with jax.enable_x64(True):
        _compile()
    _cases = None


def under_jit(function, arguments, check):
    """Check what a function gives in a compiled program, at once or with others."""
    if _cases is None:
        check(jax.jit(function)(*arguments))
        return
    arguments = jax.tree.map(np.array, arguments)  # the test may change its own
    _cases.append((function, arguments, check, os.environ["PYTEST_CURRENT_TEST"]))
    if len(_cases) == TOGETHER:
        _compile()


def _compile():
    cases = _cases.copy()
    _cases.clear()

    def program(inputs):
        results = []
        for (function, _, _, test), arguments in zip(cases, inputs, strict=True):
            with _naming(test):
                results.append(function(*arguments))
        return results

    results = jax.jit(program)([arguments for _, arguments, _, _ in cases])
    for (_, _, check, test), result in zip(cases, results, strict=True):
        with _naming(test):
            check(result)


@contextlib.contextmanager
def _naming(test):
    """An error says of which test it is."""
    try:
        yield
    except Exception as error:
        error.add_note(f"This is the compiled call of {test}.")
        raise


def is_data(arg):
    return any(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(arg))


def compare_gradient(ours, theirs, *arrays, rtol=1e-5, atol=1e-6):
    """The gradients of a weighted sum of the result by all arrays agree.

    With 64-bit types under jit, without them eagerly, so that both are tested once.
    """
    tensors = [torch.from_numpy(a.copy()).requires_grad_() for a in arrays]
    result = theirs(*tensors)
    weights = np.cos(np.arange(result.numel()) + 1.0).reshape(result.shape)
    (result * torch.from_numpy(weights.astype(arrays[0].dtype))).sum().backward()

    def loss(*arrays):
        return (ours(*arrays) * weights.astype(arrays[0].dtype)).sum()

    def check(gradients):
        for gradient, tensor in zip(gradients, tensors, strict=True):
            expected = (
                np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()
            )
            np.testing.assert_allclose(
                np.asarray(gradient), expected, rtol=rtol, atol=atol
            )

    slope = jax.grad(loss, argnums=tuple(range(len(arrays))))
    if jax.config.jax_enable_x64:
        under_jit(slope, arrays, check)
    else:
        check(slope(*arrays))


def numbers(shape, dtype="float32", seed=0):
    """Numbers of any dtype, from -8 to 8 or from 0 to 8, some of them equal."""
    draw = np.random.default_rng(seed)
    whole = draw.integers(0 if dtype in ("bool", "uint8") else -8, 9, size=shape)
    if dtype == "bool":
        return np.asarray(whole > 4)
    if dtype.startswith("complex"):
        return np.asarray(whole + 1j * draw.integers(-8, 9, size=shape)).astype(dtype)
    scaled = whole / 2 if dtype.startswith("float") else whole
    return np.asarray(scaled).astype(dtype)
