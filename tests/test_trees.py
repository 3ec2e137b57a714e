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

from jfi import _trees as trees


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
    assert trees.is_array(value) is array
    assert trees.is_scalar(value) is scalar


def test_jax_values_are_arrays():
    assert trees.is_array(jnp.ones(2))
    assert trees.is_array(jax.random.key(0))
    assert jax.jit(lambda x: trees.is_array(x))(1.0)
    assert not trees.is_array(jax.ShapeDtypeStruct((2,), "float32"))


def test_numbers_of_different_types_and_bits_differ():
    values = [1, True, 1.0, 1 + 0j, np.float64(1), np.float32(1), np.int8(1)]
    values += [Colour.RED, np.bool_(True), 0, 0.0, -0.0, 0j, complex(0, -0.0), math.nan]
    keys = [trees.number_key(v) for v in values]
    assert len(set(keys)) == len(values)


@given(st.floats() | st.integers() | st.complex_numbers() | st.booleans())
def test_a_number_has_one_key(value):
    assert trees.number_key(value) == trees.number_key(value)
    assert hash(trees.number_key(value)) == hash(trees.number_key(value))


def test_contents_key_sees_dtype_shape_and_values():
    keys = {
        trees.contents_key(a)
        for a in (
            np.zeros(2),
            np.zeros((2, 1)),
            np.zeros(2, "i8"),
            np.array([0.0, -0.0]),
            np.array(["a", "b"]),
        )
    }
    assert len(keys) == 5
    assert trees.contents_key(np.arange(4)[::2]) == trees.contents_key(np.array([0, 2]))


def test_constants_are_equal_by_key():
    a, b = trees.Constant("k", [1]), trees.Constant("k", [2])
    assert a == b
    assert hash(a) == hash(b)
    assert a != trees.Constant("l", [1])
    assert a != "k"
    assert trees.identity([1]) != trees.identity([1])
    assert "[1]" in repr(a)


def test_paths():
    Pair = namedtuple("Pair", "a b")
    tree = {"w": [1, Pair(2, 3)], 4: 5}
    found = [
        *jax.tree_util.tree_flatten_with_path({"w": tree["w"]})[0],
        *jax.tree_util.tree_flatten_with_path({4: tree[4]})[0],
    ]
    names = {trees.path_name("problem", path): leaf for path, leaf in found}
    assert names["problem['w'][1].b"] == 3
    assert names["problem[4]"] == 5


def test_function_names():
    def solve(x):
        return x

    class Model:
        def __call__(self):
            return 0

    assert trees.function_name(solve) == "solve"
    assert (
        trees.function_name(functools.partial(functools.partial(solve), 1)) == "solve"
    )
    assert trees.function_name(Model()) == "Model"


def test_argument_names():
    def f(a, /, b, *more, c=1, **rest):
        return a, b, more, c, rest

    assert trees.argument_names(f, (1, 2, 3), {"c": 1, "d": 2}) == [
        *("a", "b", "more[0]", "c", "d"),
    ]
    assert trees.argument_names(f, (1,), {"b": 2}) == ["a", "b"]
    assert trees.argument_names(dict, (1, 2), {}) == ["args[0]", "args[1]"]


def module_level():
    return 0


def test_named():
    assert trees.is_named(module_level)
    assert trees.is_named(Colour)
    assert not trees.is_named(lambda: 0)
    assert not trees.is_named(3)
    copy = functools.partial(module_level)
    assert not trees.is_named(copy)


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

    assert trees.own_equality(Both) == (True, True)
    assert trees.own_equality(Unhashable) == (False, True)
    assert trees.own_equality(Colour.__base__) == (True, True)
    assert trees.own_equality(object) == (False, False)


def test_library_classes():
    assert trees.is_library(dict)
    assert trees.is_library(np.ndarray)
    assert not trees.is_library(Colour)


def test_a_user_file_named_as_a_module_of_python_is_no_library(monkeypatch):
    module = types.ModuleType("profile")
    module.__file__ = "/home/user/profile.py"
    own = type("Own", (), {"__module__": "profile"})
    monkeypatch.setitem(sys.modules, "profile", module)
    assert not trees.is_library(own)
    module.__file__ = pathlib.__file__
    assert trees.is_library(own)
    assert trees.is_library(pathlib.Path)
