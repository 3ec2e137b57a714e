"""Many chains of Hamiltonian Monte Carlo side by side: the eight schools.

    python examples/gallery/mcmc.py

Rubin's data (1981) say what coaching did for the pupils of eight schools, and how sure
that is. Each of 128 chains draws numbers of its own, without a key.
"""

import sys
from typing import Any

import numpy as np

import jfi as jnp


EFFECT = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def log_density(p: dict[str, jnp.Array]) -> jnp.Array:
    """Of mean, spread and schools: mu ~ N(0, 5), tau ~ half-Cauchy(0, 5)."""
    tau = jnp.exp(p["log tau"])
    effect = p["mu"] + tau * p["school"]  # standard normal: an easier shape
    prior = -((p["mu"] / 5) ** 2) / 2 - (p["school"] ** 2).sum() / 2
    prior_of_tau = p["log tau"] - jnp.log1p((tau / 5) ** 2)
    return prior + prior_of_tau - (((EFFECT - effect) / ERROR) ** 2).sum() / 2


def hamiltonian_step(p: Any, size: float, leaps: int) -> tuple[Any, jnp.Array]:
    """The next position, and the chance with which the move was accepted."""
    slope = jnp.grad(log_density)

    def move(x: Any, v: Any, scale: float) -> Any:
        return jnp.tree.map(lambda x, v: x + scale * v, x, v)

    def leap(carry: Any, _: None) -> Any:
        q, v = carry
        v = move(v, slope(q), size / 2)
        q = move(q, v, size)
        return (q, move(v, slope(q), size / 2)), None

    def energy(q: Any, v: Any) -> jnp.Array:
        return sum((v**2).sum() for v in jnp.tree.leaves(v)) / 2 - log_density(q)

    momentum = jnp.tree.map(jnp.randn_like, p)
    (q, v), _ = jnp.scan(leap, (p, momentum), length=leaps)
    chance = jnp.exp(jnp.minimum(0, energy(p, momentum) - energy(q, v)))
    accepted = jnp.rand() < chance
    return jnp.tree.map(lambda q, p: jnp.where(accepted, q, p), q, p), chance


def chain(start: Any, warm_up: int, samples: int, size: float, leaps: int) -> Any:
    """The samples of one chain, and its mean chance of acceptance."""

    def step(p: Any, _: None) -> Any:
        p, chance = hamiltonian_step(p, size, leaps)
        return p, (p, chance)

    p, _ = jnp.scan(step, start, length=warm_up)
    _, (found, chances) = jnp.scan(step, p, length=samples)
    return found, chances.mean()


@jnp.autojit
def sample(chains: int, warm_up: int, samples: int) -> Any:
    """Samples `(chains, samples, ...)` from random starts."""
    start = {"mu": 5 * jnp.randn(chains), "log tau": jnp.randn(chains)}
    start["school"] = jnp.randn(chains, 8)
    return jnp.vmap(lambda p: chain(p, warm_up, samples, size=0.3, leaps=8))(start)


def r_hat(x: np.ndarray) -> float:
    """How much wider all chains are than each: 1 when they agree (Gelman and Rubin)."""
    within = x.var(axis=1, ddof=1).mean()
    between = x.mean(axis=1).var(ddof=1)
    return float(np.sqrt((x.shape[1] - 1) / x.shape[1] + between / within))


def run(short: bool = False) -> dict[str, Any]:
    jnp.manual_seed(0)
    found, chance = sample(128, 50 if short else 500, 50 if short else 1000)
    mu, tau = np.array(found["mu"]), np.exp(found["log tau"])
    effect = mu[..., None] + tau[..., None] * np.array(found["school"])
    return {
        "mu": mu,
        "tau": tau,
        "effect": effect,
        "chance": float(chance.mean()),
        "r hat": r_hat(np.log(tau)),
    }


def draw(result: dict[str, Any], path: str) -> None:
    """How spread the schools are, and the effect of each."""
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    mu, tau = result["mu"].ravel()[::8], result["tau"].ravel()[::8]
    left.hist2d(mu, np.log(tau), bins=60, cmap="viridis")
    left.set(title="128 chains", xlabel="mean of schools", ylabel="log of their spread")

    names = list("ABCDEFGH")
    low, middle, high = np.quantile(result["effect"], [0.1, 0.5, 0.9], axis=(0, 1))
    right.errorbar(names, middle, [middle - low, high - middle], fmt="o", label="found")
    right.plot(names, EFFECT, "x", color="tab:red", label="measured")
    right.set(title="effect of coaching: median and 80 %")
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    mu, tau, effect = result["mu"], result["tau"], result["effect"]
    print(f"mean of schools {mu.mean():.2f}, their spread {tau.mean():.2f}")
    print(f"school A: {effect[..., 0].mean():.1f}, where 28 was measured")
    print(f"accepted {result['chance']:.0%}; r-hat of the spread {result['r hat']:.3f}")
    draw(result, "mcmc.png")
