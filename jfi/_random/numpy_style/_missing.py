"""Names of `numpy.random` that have no counterpart here, and what to write instead."""

_ON_THE_HOST = (
    "JAX has no sampler for it. Draw on the host, outside jit: "
    "jnp.array(numpy.random.default_rng(0).{name}(...))."
)
_STATE = (
    "The state of a stream is a seed or a key. Write jnp.manual_seed(0), "
    "`with jnp.seed(0):`, or key=jnp.key(0)."
)

_SAMPLERS = "hypergeometric logseries multivariate_hypergeometric vonmises zipf"
_STATES = (
    "BitGenerator MT19937 PCG64 PCG64DXSM Philox RandomState SFC64 SeedSequence "
    "bit_generator get_bit_generator get_state set_bit_generator set_state"
)
_INSTEAD = {
    **dict.fromkeys(_SAMPLERS.split(), _ON_THE_HOST),
    **dict.fromkeys(_STATES.split(), _STATE),
    "Generator": "Write jnp.random.default_rng(0).",
    "bytes": "Write numpy.asarray(jnp.random.bits(n, 'uint8')).tobytes().",
    "rand": "Write jnp.rand(2, 3) or jnp.random.random((2, 3)).",
    "randn": "Write jnp.randn(2, 3) or jnp.random.standard_normal((2, 3)).",
    "random_integers": "Write jnp.random.integers(low, high, endpoint=True).",
    "random_sample": "Write jnp.random.random((2, 3)).",
    "ranf": "Write jnp.random.random((2, 3)).",
    "sample": "Write jnp.random.random((2, 3)).",
    "shuffle": (
        "JAX's arrays can't be changed in place. Write x = jnp.random.permutation(x)."
    ),
    "spawn": "Write jnp.make_random_keys(n), a key for each child.",
}


def missing(name: str) -> str | None:
    """Why there is no such function, and what to write; None for a name unknown."""
    why = _INSTEAD.get(name)
    if why is None:
        return None
    return f"jfi.random has no {name}. {why.format(name=name)}"
