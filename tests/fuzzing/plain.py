"""What jfi's tools mean, in plain Python: a function is called, a loop is a loop."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from .plain_floats import apply_updates, grad, jit, pytree, value_and_grad, vmap


# What the scripts have from here, by the rule of what is data.
__all__ = ["apply_updates", "grad", "jit", "pytree", "value_and_grad", "vmap"]


def autojit(fn=None, **options):
    return (lambda fn: fn) if fn is None else fn


def checkpoint(fn, **options):
    return fn


def scan(f, init, xs=None, length=None, reverse=False):
    carry, ys = init, []
    steps = range(length if xs is None else _size(xs))
    for k in reversed(steps) if reverse else steps:
        carry, y = f(carry, _row(xs, k))
        ys.append(y)
    return _arrays(carry), _stacked(ys[::-1] if reverse else ys)


def while_loop(cond_fun, body_fun, init_val, max_steps=None):
    carry = init_val
    while cond_fun(carry):
        carry = body_fun(carry)
    return _arrays(carry)


def fori_loop(lower, upper, body_fun, init_val):
    carry = init_val
    for i in range(lower, upper):
        carry = body_fun(i, carry)
    return _arrays(carry)


def cond(pred, true_fun, false_fun, *operands):
    return _arrays((true_fun if pred else false_fun)(*operands))


def switch(index, branches, *operands):
    return _arrays(branches[min(max(int(index), 0), len(branches) - 1)](*operands))


def map(f, xs, batch_size=None):
    return _stacked([f(_row(xs, k)) for k in range(_size(xs))])


def associative_scan(fn, elems, reverse=False):
    rows = [_row(elems, k) for k in range(_size(elems))]
    rows = rows[::-1] if reverse else rows
    for k in range(1, len(rows)):
        rows[k] = fn(rows[k - 1], rows[k])
    return _stacked(rows[::-1] if reverse else rows)


class ScanWhileResult(NamedTuple):
    carry: object
    ys: object
    length: int


def scan_while(cond, body, init, max_steps):
    carry, ys = init, []
    while len(ys) < max_steps and cond(carry):
        carry, y = body(carry)
        ys.append(y)
    length = len(ys)
    like = ys[0] if ys else jax.eval_shape(body, init)[1]
    zero = jax.tree.map(lambda y: jnp.zeros(jnp.shape(y), jnp.result_type(y)), like)
    ys += [zero] * (max_steps - length)
    return ScanWhileResult(_arrays(carry), _stacked(ys), length)


def vmap_automatically(fn, problem, batch_size):
    def row(k):
        return jax.tree.map(
            lambda leaf: leaf[k] if jnp.shape(leaf)[:1] == (batch_size,) else leaf,
            problem,
        )

    return _stacked([fn(row(k)) for k in range(batch_size)])


def auto_vmap(fn, batch_size):
    return lambda *args: vmap_automatically(lambda args: fn(*args), args, batch_size)


def _size(xs):
    return len(jax.tree.leaves(xs)[0])


def _row(xs, k):
    return jax.tree.map(lambda x: x[k], xs)


def _arrays(tree):
    return jax.tree.map(jnp.asarray, tree)


def _stacked(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
