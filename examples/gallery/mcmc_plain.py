"""Many chains of Hamiltonian Monte Carlo in plain JAX, each with its keys."""

import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


EFFECT = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def log_density(p: dict[str, jax.Array]) -> jax.Array:
    """Of mean, spread and schools: mu ~ N(0, 5), tau ~ half-Cauchy(0, 5)."""
    tau = jnp.exp(p["log tau"])
    effect = p["mu"] + tau * p["school"]  # standard normal: an easier shape
    prior = -((p["mu"] / 5) ** 2) / 2 - (p["school"] ** 2).sum() / 2
    prior_of_tau = p["log tau"] - jnp.log1p((tau / 5) ** 2)
    return prior + prior_of_tau - (((EFFECT - effect) / ERROR) ** 2).sum() / 2


def hamiltonian_step(
    p: Any, key: jax.Array, size: float, leaps: int
) -> tuple[Any, jax.Array]:
    """The next position, and the chance with which the move was accepted."""
    slope = jax.grad(log_density)

    def move(x: Any, v: Any, scale: float) -> Any:
        return jax.tree.map(lambda x, v: x + scale * v, x, v)

    def leap(carry: Any, _: None) -> Any:
        q, v = carry
        v = move(v, slope(q), size / 2)
        q = move(q, v, size)
        return (q, move(v, slope(q), size / 2)), None

    def energy(q: Any, v: Any) -> jax.Array:
        return sum((v**2).sum() for v in jax.tree.leaves(v)) / 2 - log_density(q)

    momentum_key, accept_key = jax.random.split(key)
    leaves, treedef = jax.tree.flatten(p)
    keys = jax.tree.unflatten(treedef, [*jax.random.split(momentum_key, len(leaves))])
    momentum = jax.tree.map(lambda k, x: jax.random.normal(k, x.shape), keys, p)
    (q, v), _ = jax.lax.scan(leap, (p, momentum), length=leaps)
    chance = jnp.exp(jnp.minimum(0, energy(p, momentum) - energy(q, v)))
    accepted = jax.random.uniform(accept_key) < chance
    return jax.tree.map(lambda q, p: jnp.where(accepted, q, p), q, p), chance


def chain(
    start: Any, key: jax.Array, warm_up: int, samples: int, size: float, leaps: int
) -> Any:
    """The samples of one chain, and its mean chance of acceptance."""

    def step(p: Any, key: jax.Array) -> Any:
        p, chance = hamiltonian_step(p, key, size, leaps)
        return p, (p, chance)

    keys = jax.random.split(key, warm_up + samples)
    p, _ = jax.lax.scan(step, start, keys[:warm_up])
    _, (found, chances) = jax.lax.scan(step, p, keys[warm_up:])
    return found, chances.mean()


@partial(jax.jit, static_argnames=("chains", "warm_up", "samples"))
def sample(key: jax.Array, chains: int, warm_up: int, samples: int) -> Any:
    """Samples `(chains, samples, ...)` from random starts."""
    mu_key, tau_key, school_key, chain_key = jax.random.split(key, 4)
    start = {
        "mu": 5 * jax.random.normal(mu_key, (chains,)),
        "log tau": jax.random.normal(tau_key, (chains,)),
        "school": jax.random.normal(school_key, (chains, 8)),
    }
    one = lambda p, key: chain(p, key, warm_up, samples, size=0.3, leaps=8)
    return jax.vmap(one)(start, jax.random.split(chain_key, chains))


def r_hat(x: np.ndarray) -> float:
    """How much wider all chains are than each: 1 when they agree (Gelman and Rubin)."""
    within = x.var(axis=1, ddof=1).mean()
    between = x.mean(axis=1).var(ddof=1)
    return float(np.sqrt((x.shape[1] - 1) / x.shape[1] + between / within))


def run(short: bool = False) -> dict[str, Any]:
    key = jax.random.key(0)
    found, chance = sample(key, 128, 50 if short else 500, 50 if short else 1000)
    mu, tau = np.array(found["mu"]), np.exp(found["log tau"])
    effect = mu[..., None] + tau[..., None] * np.array(found["school"])
    return {
        "mu": mu,
        "tau": tau,
        "effect": effect,
        "chance": float(chance.mean()),
        "r hat": r_hat(np.log(tau)),
    }


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    mu, tau, effect = result["mu"], result["tau"], result["effect"]
    print(f"mean of schools {mu.mean():.2f}, their spread {tau.mean():.2f}")
    print(f"school A: {effect[..., 0].mean():.1f}, where 28 was measured")
    print(f"accepted {result['chance']:.0%}; r-hat of the spread {result['r hat']:.3f}")
