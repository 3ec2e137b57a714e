"""Derivatives of what a solver finds against differences of what it finds."""

import jax
import jax.numpy as jnp
import numpy as np


def close(x64):
    return {"rtol": 1e-6, "atol": 1e-7} if x64 else {"rtol": 3e-3, "atol": 1e-3}


def check(function, *arguments, x64):
    """Values and derivatives of both modes, compiled, in a batch of two rows."""

    def everything(*arguments):
        value = function(*arguments)
        every = tuple(range(len(arguments)))
        return (
            value,
            jax.jacrev(function, every)(*arguments),
            jax.jacfwd(function)(*arguments),
        )

    batch = jax.tree.map(lambda x: jnp.stack([x, x * 1.01]), arguments)
    values, reverse, forward = jax.jit(jax.vmap(everything))(*batch)
    for row in (0, 1):
        given = [np.asarray(x[row]) for x in batch]
        np.testing.assert_allclose(values[row], function(*given), **close(x64))
        np.testing.assert_allclose(reverse[0][row], forward[row], **close(x64))
    if not x64:
        return
    for k, argument in enumerate(given):  # central differences, by SciPy
        for place in np.ndindex(argument.shape):
            step = np.zeros_like(argument)
            step[place] = 1e-4
            ends = [
                np.asarray(function(*given[:k], argument + s * step, *given[k + 1 :]))
                for s in (1, -1)
            ]
            slope = (ends[0] - ends[1]) / 2e-4
            found = np.asarray(reverse[k][1])[(..., *place)]
            np.testing.assert_allclose(found, slope, rtol=2e-4, atol=2e-5)


def check_direction(function, *arguments):
    """Derivatives of both modes in one direction, compiled once, with 64-bit types."""
    rng = np.random.default_rng(0)

    @jax.jit
    def products(arguments, directions, weights):
        _, forward = jax.jvp(function, arguments, directions)
        back = jax.vjp(function, *arguments)[1](weights)
        pairs = zip(back, directions, strict=True)
        return forward, (weights * forward).sum(), sum((b * d).sum() for b, d in pairs)

    with jax.enable_x64(True):
        primals = tuple(map(jnp.asarray, arguments))
        directions = [rng.normal(size=x.shape).astype(x.dtype) for x in primals]
        # Riccati equations want symmetric weights.
        directions = tuple(
            d + d.T if np.array_equal(x, x.T) and x.ndim else d
            for x, d in zip(primals, directions, strict=True)
        )
        ends = [
            np.asarray(function(*(x + s * 1e-5 * d for x, d in pairs)))
            for s, pairs in (
                (s, list(zip(primals, directions, strict=True))) for s in (1, -1)
            )
        ]
        weights = rng.normal(size=ends[0].shape).astype(ends[0].dtype)
        forward, along, back = products(primals, directions, weights)
        slope = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(forward, slope, rtol=1e-5, atol=1e-6)
        # Of real arguments among complex ones JAX has the real part alone.
        np.testing.assert_allclose(along.real, back.real, rtol=1e-8)
