"""What is data, how values are named, and which keys are equal."""

import enum
import functools
import math
import pathlib
import sys
import types
from collections import namedtuple

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from jfi import _values


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "array", "scalar"),
    [
        (np.ones(2), True, False),
        (np.ones(2, "bool"), True, False),
        (np.ones(2, jnp.bfloat16), True, False),
        (np.array(["a"]), False, False),
        (np.array([None]), False, False),
        (np.array(["2020"], "M8[D]"), False, False),
        (np.ma.masked_array([1.0]), False, False),
        (np.float32(1), False, True),
        (np.bool_(True), False, True),
        (np.str_("a"), False, False),
        (np.datetime64("2020"), False, False),
        (1.0, False, True),
        (1j, False, True),
        (1, False, False),
        (True, False, False),
        (Colour.RED, False, False),
        ("a", False, False),
        (None, False, False),
        ([1.0], False, False),
    ],
)
def test_data(value, array, scalar):
    assert _values.is_array(value) is array
    assert _values.is_scalar(value) is scalar


def test_jax_values_are_arrays():
    assert _values.is_array(jnp.ones(2))
    assert _values.is_array(jax.random.key(0))
    assert jax.jit(lambda x: _values.is_array(x))(1.0)
    assert not _values.is_array(jax.ShapeDtypeStruct((2,), "float32"))


def test_numbers_of_different_types_and_bits_differ():
    values = [1, True, 1.0, 1 + 0j, np.float64(1), np.float32(1), np.int8(1)]
    values += [Colour.RED, np.bool_(True), 0, 0.0, -0.0, 0j, complex(0, -0.0), math.nan]
    keys = [_values.number_key(v) for v in values]
    assert len(set(keys)) == len(values)


@given(st.floats() | st.integers() | st.complex_numbers() | st.booleans())
def test_a_number_has_one_key(value):
    assert _values.number_key(value) == _values.number_key(value)
    assert hash(_values.number_key(value)) == hash(_values.number_key(value))


def test_contents_key_sees_dtype_shape_and_values():
    keys = {
        _values.contents_key(a)
        for a in (
            np.zeros(2),
            np.zeros((2, 1)),
            np.zeros(2, "i8"),
            np.array([0.0, -0.0]),
            np.array(["a", "b"]),
        )
    }
    assert len(keys) == 5
    assert _values.contents_key(np.arange(4)[::2]) == _values.contents_key(
        np.array([0, 2])
    )


def test_constants_are_equal_by_key():
    a, b = _values.KeyedValue("k", [1]), _values.KeyedValue("k", [2])
    assert a == b
    assert hash(a) == hash(b)
    assert a != _values.KeyedValue("l", [1])
    assert a != "k"
    assert _values.identity_key([1]) != _values.identity_key([1])
    assert "[1]" in repr(a)


def test_paths():
    Pair = namedtuple("Pair", "a b")
    tree = {"w": [1, Pair(2, 3)], 4: 5}
    found = [
        *jax.tree_util.tree_flatten_with_path({"w": tree["w"]})[0],
        *jax.tree_util.tree_flatten_with_path({4: tree[4]})[0],
    ]
    names = {_values.path_name("problem", path): leaf for path, leaf in found}
    assert names["problem['w'][1].b"] == 3
    assert names["problem[4]"] == 5


def test_function_names():
    def solve(x):
        return x

    class Model:
        def __call__(self):
            return 0

    assert _values.function_name(solve) == "solve"
    assert (
        _values.function_name(functools.partial(functools.partial(solve), 1)) == "solve"
    )
    assert _values.function_name(Model()) == "Model"


def test_argument_names():
    def f(a, /, b, *more, c=1, **rest):
        return a, b, more, c, rest

    assert _values.argument_names(f, (1, 2, 3), {"c": 1, "d": 2}) == [
        *("a", "b", "more[0]", "c", "d"),
    ]
    assert _values.argument_names(f, (1,), {"b": 2}) == ["a", "b"]
    assert _values.argument_names(dict, (1, 2), {}) == ["args[0]", "args[1]"]


def module_level():
    return 0


def test_named():
    assert _values.is_named(module_level)
    assert _values.is_named(Colour)
    assert not _values.is_named(lambda: 0)
    assert not _values.is_named(3)
    copy = functools.partial(module_level)
    assert not _values.is_named(copy)


def test_own_equality():
    class Both:
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

    class Unhashable:
        def __eq__(self, other):
            return True

        __hash__ = None

    assert _values.own_equality(Both) == (True, True)
    assert _values.own_equality(Unhashable) == (False, True)
    assert _values.own_equality(Colour.__base__) == (True, True)
    assert _values.own_equality(object) == (False, False)


def test_library_classes():
    assert _values.is_library(dict)
    assert _values.is_library(np.ndarray)
    assert not _values.is_library(Colour)


def test_a_user_file_named_as_a_module_of_python_is_no_library(monkeypatch):
    module = types.ModuleType("profile")
    module.__file__ = "/home/user/profile.py"
    own = type("Own", (), {"__module__": "profile"})
    monkeypatch.setitem(sys.modules, "profile", module)
    assert not _values.is_library(own)
    module.__file__ = pathlib.__file__
    assert _values.is_library(own)
    assert _values.is_library(pathlib.Path)


@pytest.mark.parametrize("shape", [(2**18,), (2048, 600), (2**21, 1), (3, 2**20)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "float16"])
def test_a_large_array_is_copied_as_it_is(shape, order, dtype):
    numbers = (np.arange(np.prod(shape)) % 1000).astype(dtype)
    x = numbers.reshape(shape, order=order)[::-1]
    copy = _values.copied_if_numpy(x)
    np.testing.assert_array_equal(copy, x)
    assert (copy.dtype, copy.shape) == (x.dtype, x.shape)
    assert not np.shares_memory(copy, x)
    assert copy.ctypes.data % 64 == 0 or x.nbytes < 2**22
