"""A tree of parameters that are more than floats."""

import numpy as np

import jfi as jnp


X = np.linspace(1, 2, 3, dtype="float32")


def params():
    return {
        "w": jnp.asarray(X),
        "n": 2,
        "act": "tanh",
        "f": len,
        "key": jnp.key(0),
        "none": None,
        "flag": True,
        "index": jnp.arange(2),
    }
