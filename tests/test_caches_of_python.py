"""What Python caches in classes and functions while a body runs changes no result."""

import abc
import copy
import dataclasses
import enum
import functools
import inspect
import pickle
import typing

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfi import autojit


X = np.arange(3.0, dtype="float32")


def plain():
    class Point:
        def __init__(self, w=2.0):
            self.w = w

    return Point


def derived():
    class Point(plain()):
        pass

    return Point


def slotted():
    class Point:
        __slots__ = ("w",)

        def __init__(self, w=2.0):
            self.w = w

    return Point


def frozen():
    @dataclasses.dataclass(frozen=True)
    class Point:
        w: float = 2.0

    return Point


def named_tuple():
    class Point(typing.NamedTuple):
        w: float = 2.0

    return Point


def abstract():
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

    class Point(Shape):
        shape = Shape

        def __init__(self, w=2.0):
            self.w = w

        def area(self):
            return self.w

    return Point


def registered():
    @jax.tree_util.register_pytree_node_class
    class Point:
        def __init__(self, w=2.0):
            self.w = w

        def tree_flatten(self):
            return (self.w,), None

        @classmethod
        def tree_unflatten(cls, data, children):
            return cls(*children)

    return Point


def with_caches():
    @typing.runtime_checkable
    class HasArea(typing.Protocol):
        def area(self): ...

    class Mode(enum.Flag):
        A, B, C = 1, 2, 4

    class Point:
        proto, mode, w = HasArea, Mode, 2.0

        @functools.cached_property
        def square(self):
            return self.w**2

        @functools.lru_cache  # noqa: B019
        def scale(self, n):
            return n + 1

        @functools.singledispatchmethod
        def chosen(self, x):
            return self.w

        @chosen.register
        def _(self, x: int):
            return 2 * self.w

    return Point


T = typing.TypeVar("T")


class Pair(typing.NamedTuple, typing.Generic[T]):
    w: T
    x: int = 3


def pickled(p, x):
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(p)  # a local class
    return p.w * x


CASES = {
    "copy": (lambda p, x: copy.copy(p).w * x, plain),
    "deepcopy": (lambda p, x: copy.deepcopy(p).w * x, plain),
    "pickle": (pickled, plain),
    "reduce": (lambda p, x: p.__reduce_ex__(2)[2]["w"] * x, plain),
    "copy of what was made inside": (lambda p, x: copy.copy(type(p)(x)).w, plain),
    "derived": (lambda p, x: copy.copy(p).w * x, derived),
    "slots": (lambda p, x: copy.copy(p).w * x, slotted),
    "frozen": (lambda p, x: copy.copy(dataclasses.replace(p, w=x)).w, frozen),
    "named tuple": (lambda p, x: copy.deepcopy(p)._replace(w=x).w, named_tuple),
    "generic named tuple": (lambda p, x: Pair[float](p.w, 2).w * x, plain),
    "abstract": (
        lambda p, x: copy.copy(p).area() * x * isinstance(p, p.shape),
        abstract,
    ),
    "registered": (lambda p, x: copy.copy(p).w * x, registered),
    "protocol": (lambda p, x: p.w * x * (1 + isinstance(p, p.proto)), with_caches),
    "cached property": (lambda p, x: p.square * x + p.square, with_caches),
    "cached method": (lambda p, x: p.scale(3) * x + p.scale(3), with_caches),
    "chosen by class": (lambda p, x: (p.chosen(1) + p.chosen("")) * x, with_caches),
    "flag": (
        lambda p, x: (p.mode.A | p.mode.B).value * p.mode(6).value * x,
        with_caches,
    ),
    "signature": (
        lambda p, x: len(inspect.signature(type(p)).parameters) * p.w * x,
        plain,
    ),
    "type hints": (lambda p, x: len(typing.get_type_hints(type(p))) * x, frozen),
    "hash": (lambda p, x: {type(p): 2, "": hash(type(p))}[type(p)] * x, plain),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_call_and_the_second(name):
    fn, make = CASES[name]
    one, two, compiled = make(), make(), autojit(fn)
    np.testing.assert_allclose(fn(one(), X), compiled(two(), X))
    traces = compiled.cache_info().traces
    for _ in range(2):
        np.testing.assert_allclose(fn(one(), X), compiled(two(), X))
    assert compiled.cache_info().traces == traces <= 2


def test_in_a_script():
    names = {}
    exec(
        "import copy, jfi\n"
        "class P:\n"
        "    w = 2.0\n"
        "p = P()\n"
        "@jfi.autojit\n"
        "def f(x):\n"
        "    return copy.deepcopy(p).w * x\n",
        names,
    )
    for _ in range(2):
        np.testing.assert_allclose(names["f"](X), 2 * X)


def test_functions_chosen_by_class_see_what_is_registered():
    choose = functools.singledispatch(lambda x: 1.0)
    compiled = autojit(lambda x: choose(3) * choose("") * x + 0 * choose(x))
    for factor in (2.0, 3.0):
        choose.register(int, lambda x, factor=factor: factor)
        for _ in range(2):
            np.testing.assert_allclose(compiled(X), factor * X)


def test_a_class_that_the_body_writes_into():
    class Table:
        total = 1

        @autojit
        def get(self, x):
            if Table.total == 1:
                Table.total = 3
            return Table.total * jnp.asarray(x)

    for _ in range(3):
        Table.total = 1
        assert float(Table().get(1.0)) == 3.0
        assert Table.total == 3
