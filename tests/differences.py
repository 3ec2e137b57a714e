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
