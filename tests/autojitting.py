"""What the tests of `autojit` share: counted functions, objects, descriptions."""

import dataclasses
import enum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jfi import autojit
from jfi._values import is_array, is_scalar


class Counted:
    """A function under `autojit` that knows how often it was compiled."""

    def __init__(self, fn):
        self.plain, self.fn = fn, autojit(fn, warn_after=1000)
        self.fn.clear_cache()  # what other tests compiled of this function

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)

    @property
    def traces(self):
        return self.fn.cache_info().traces


COUNTS = {"step": 0}  # how often methods ran


def same(a, b):
    """Whether a result under autojit stands for the same value as a plain one."""
    if isinstance(b, (jax.Array, np.ndarray, np.generic, float, complex)):
        a, b = np.asarray(a), np.asarray(b)
        return a.shape == b.shape and np.allclose(a, b, equal_nan=True)
    if isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in b)
    if isinstance(b, (list, tuple)):
        pairs = zip(a, b, strict=True)
        return type(a) is type(b) and all(same(x, y) for x, y in pairs)
    return type(a) is type(b) and a == b


def describe(x):
    """Types and values of settings, as text; the data goes by its sum."""
    if is_array(x):
        return "data", jnp.sum(x)
    if is_scalar(x):
        return "data", jnp.asarray(x)
    if isinstance(x, dict):
        return [(describe(k), describe(v)) for k, v in x.items()]
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [describe(v) for v in x]
    if isinstance(x, Box):
        return [(k, describe(v)) for k, v in vars(x).items()]
    return type(x).__name__, repr(x)


class Box:
    def __init__(self, value):
        self.value = value


class Pair(NamedTuple):
    a: object
    b: object


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(slots=True)
class Slotted:
    w: object
    mode: str = "a"


class Model:
    scale = 2

    def __init__(self, k=3.0, mode="a"):
        self.w, self.k, self.mode = jnp.ones(2), k, mode

    @autojit
    def step(self, x, mode="train"):
        """One step."""
        COUNTS["step"] += 1
        return self.w * x * self.k + len(mode) + len(self.mode)

    @autojit
    def __call__(self, x):
        return self.step(x) * 2

    @staticmethod
    @autojit
    def static_above(x):
        return x * 2

    @autojit
    @staticmethod
    def static_below(x):
        return x * 2

    @classmethod
    @autojit
    def class_above(cls, x):
        return x * cls.scale

    @autojit
    @classmethod
    def class_below(cls, x):
        return x * cls.scale

    @property
    @autojit
    def total(self):
        return self.w.sum() * self.k
