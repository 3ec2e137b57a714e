"""What is data in an argument, and its gradient, by the rule that the documentation has.

In objects of classes under `pytree` arrays and numbers of NumPy's are data, and what the
class declares; in dicts, lists and tuples that are the argument floats are, too. All
else are settings: they stay in objects, and have None for a gradient elsewhere.
"""

import copy

import jax
import jax.numpy as jnp
import numpy as np


DECLARED = "__declared__"


def pytree(cls=None, *, data=(), settings=(), buffers=()):
    def declare(cls):
        before = getattr(cls, DECLARED, ((), (), ()))
        given = [
            (n,) if isinstance(n, str) else (*n,) for n in (data, settings, buffers)
        ]
        both = [(*old, *new) for old, new in zip(before, given, strict=True)]
        setattr(cls, DECLARED, tuple(both))
        return cls

    return declare if cls is None else declare(cls)


def jit(fn):
    return fn


def vmap(fn):
    def rows(xs):
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(fn, xs))

    return rows


def value_and_grad(fun):
    def both(tree, *rest):
        values = []
        mapped(tree, lambda x, _: values.append(jnp.asarray(x, _dtype(x))))

        def of(values):
            values = iter(values)
            return fun(mapped(tree, lambda *_: next(values)), *rest)

        value, slopes = jax.value_and_grad(of)(values)
        slopes = iter(slopes)

        def slope(x, is_buffer):
            found = next(slopes)
            return jnp.zeros_like(found) if is_buffer else found

        return value, mapped(tree, slope, lambda _: None)

    return both


def grad(fun):
    return lambda *args: value_and_grad(fun)(*args)[1]


def apply_updates(params, updates):
    steps = []
    mapped(updates, lambda x, _: steps.append(x))
    steps = iter(steps)

    def moved(x, is_buffer):
        step = next(steps)
        return jnp.asarray(x, _dtype(x)) + (0 if is_buffer else step)

    return mapped(params, moved)


def mapped(tree, fn, other=lambda x: x):
    """A tree with `fn(x, is_buffer)` for data, and `other(x)` for settings in arguments."""
    if isinstance(tree, dict):
        return {key: mapped(tree[key], fn, other) for key in sorted(tree)}
    if isinstance(tree, (list, tuple)):
        parts = [mapped(x, fn, other) for x in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if hasattr(type(tree), DECLARED):
        return _of_object(tree, fn)
    return fn(tree, False) if _is_array(tree) or _is_float(tree) else other(tree)


def _of_object(x, fn):
    data, settings, buffers = getattr(type(x), DECLARED)
    new = copy.copy(x)
    for name, value in vars(x).items():
        if name not in settings:
            value = _in_object(value, fn, name in data, name in buffers)
        object.__setattr__(new, name, value)
    return new


def _in_object(x, fn, is_declared, is_buffer):
    inside = lambda x: _in_object(x, fn, is_declared, is_buffer)
    if isinstance(x, dict):
        return {key: inside(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(map(inside, x))
    if hasattr(type(x), DECLARED):
        return _of_object(x, fn)
    if _is_array(x) or (is_declared and _is_float(x)):
        return fn(x, is_buffer)
    return x


def _is_array(x):
    return isinstance(x, (jax.Array, np.ndarray, np.floating))


def _is_float(x):
    return type(x) is float


def _dtype(x):
    return jnp.asarray(x).dtype
