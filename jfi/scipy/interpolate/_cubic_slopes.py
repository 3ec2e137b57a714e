"""Slopes at the knots by local rules: Fritsch and Butland's, and Akima's."""

import jax
import jax.numpy as jnp


@jax.jit
def pchip_slopes(x: jax.Array, y: jax.Array) -> jax.Array:
    """Slopes that keep monotone data monotone; values have the knots on axis 0."""
    width = _widths(x, y)
    secant = (y[1:] - y[:-1]) / width
    if x.shape[0] == 2:
        return jnp.concatenate([secant, secant])
    before, after = secant[:-1], secant[1:]
    turns = (jnp.sign(before) != jnp.sign(after)) | (before == 0) | (after == 0)
    weight = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    # The slope 1 stands where there is an extremum: 1 / 0 would spoil the gradients.
    before, after = (jnp.where(turns, 1, slope) for slope in (before, after))
    mean = (weight[0] + weight[1]) / (weight[0] / before + weight[1] / after)
    inner = jnp.where(turns, 0, mean)
    ends = (
        _end_slope(width[0], width[1], secant[0], secant[1]),
        _end_slope(width[-1], width[-2], secant[-1], secant[-2]),
    )
    return jnp.concatenate([ends[0][None], inner, ends[1][None]])


def _end_slope(
    width: jax.Array, next_width: jax.Array, secant: jax.Array, next_secant: jax.Array
) -> jax.Array:
    """The slope at an end by three points, limited so that nothing overshoots."""
    slope = ((2 * width + next_width) * secant - width * next_secant) / (
        width + next_width
    )
    steep = (jnp.sign(secant) != jnp.sign(next_secant)) & (
        jnp.abs(slope) > 3 * jnp.abs(secant)
    )
    slope = jnp.where(steep & (jnp.sign(slope) == jnp.sign(secant)), 3 * secant, slope)
    return jnp.where(jnp.sign(slope) != jnp.sign(secant), 0, slope)


def akima_slopes(x: jax.Array, y: jax.Array, *, modified: bool) -> jax.Array:
    """Slopes as weighted means of the secants on both sides; knots on axis 0."""
    found: jax.Array
    found = _akima_slopes(x, y) if not modified else _makima_slopes(x, y)
    return found


@jax.jit
def _akima_slopes(x: jax.Array, y: jax.Array) -> jax.Array:
    return _weighted_secants(x, y, modified=False)


@jax.jit
def _makima_slopes(x: jax.Array, y: jax.Array) -> jax.Array:
    return _weighted_secants(x, y, modified=True)


def _weighted_secants(x: jax.Array, y: jax.Array, *, modified: bool) -> jax.Array:
    secant = (y[1:] - y[:-1]) / _widths(x, y)
    if x.shape[0] == 2:
        return jnp.concatenate([secant, secant])
    first = 2 * secant[0] - secant[1]
    last = 2 * secant[-1] - secant[-2]
    before = jnp.stack([2 * first - secant[0], first])
    after = jnp.stack([last, 2 * last - secant[-1]])
    m = jnp.concatenate([before, secant, after])
    change = jnp.abs(m[1:] - m[:-1])
    if modified:
        change = change + jnp.abs(m[1:] + m[:-1]) / 2
    left, right = change[2:], change[:-2]  # each side counts by the other's change
    total = left + right
    is_even = total <= 1e-9 * jnp.max(total, initial=0)
    share = right / jnp.where(is_even, 1, total)
    weighted = m[1:-2] + share * (m[2:-1] - m[1:-2])
    return jnp.where(is_even, (m[3:] + m[:-3]) / 2, weighted)


def _widths(x: jax.Array, y: jax.Array) -> jax.Array:
    return (x[1:] - x[:-1]).reshape(-1, *(1,) * (y.ndim - 1))
