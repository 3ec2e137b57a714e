"""Proximal policy optimization balances a cart-pole, all of it in one compiled method.

    python examples/gallery/ppo.py

Sixty-four cart-poles run side by side, in a batch. The method is that of Schulman et
al. (2017), with their clipped objective and generalized advantages.
"""

import sys
from typing import Any

import numpy as np
import optax

import jfi as jnp


ENVS, STEPS, LONGEST = 64, 128, 500  # an episode ends when it falls, or after LONGEST


@jnp.pytree
class MLP:
    def __init__(self, *sizes: int) -> None:
        self.w = [jnp.randn(n, m) / n**0.5 for n, m in zip(sizes, sizes[1:])]
        self.b = [jnp.zeros(m) for m in sizes[1:]]

    def __call__(self, x: jnp.Array) -> jnp.Array:
        for w, b in zip(self.w[:-1], self.b[:-1]):
            x = jnp.tanh(x @ w + b)
        return x @ self.w[-1] + self.b[-1]


def start_state(*batch: int) -> jnp.Array:
    """Position, speed, angle and its speed: nearly at rest, nearly upright."""
    return 0.1 * jnp.rand(*batch, 4) - 0.05


def cart_pole(state: jnp.Array, action: jnp.Array) -> jnp.Array:
    """The state a fiftieth of a second later; the action pushes left or right."""
    _, v, angle, turn = state
    force = jnp.where(action == 1, 10.0, -10.0)
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    push = (force + 0.05 * turn**2 * sin) / 1.1
    turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    change = jnp.stack([v, push - 0.05 * turning * cos / 1.1, turn, turning])
    return state + 0.02 * change


def has_fallen(state: jnp.Array) -> jnp.Array:
    return (abs(state[0]) > 2.4) | (abs(state[2]) > 0.21)


class PPO:
    def __init__(self, rate: float) -> None:
        self.nets: Any = {"policy": MLP(4, 64, 64, 2), "value": MLP(4, 64, 64, 1)}
        clip: Any = optax.clip_by_global_norm(0.5)
        self.optimizer: Any = optax.chain(clip, optax.adam(rate))
        self.state = self.optimizer.init(self.nets)
        self.envs = start_state(ENVS)
        self.ages = jnp.zeros(ENVS, int)

    def roll_out(self, env: jnp.Array, age: jnp.Array) -> Any:
        """STEPS steps of one cart-pole; it starts anew when an episode ends."""

        def step(carry: Any, _: None) -> Any:
            env, age = carry
            logits = jnp.log_softmax(self.nets["policy"](env), -1)
            action = jnp.random.categorical(logits)
            after, age = cart_pole(env, action), age + 1
            fallen = has_fallen(after)
            ended = fallen | (age >= LONGEST)
            seen = {"env": env, "action": action, "log p": logits[action]}
            seen |= {"fallen": fallen, "ended": ended, "age": age, "after": after}
            return (jnp.where(ended, start_state(), after), age * ~ended), seen

        return jnp.scan(step, (env, age), length=STEPS)

    def advantages(self, seen: Any) -> jnp.Array:
        """Generalized advantages of one cart-pole's steps; the reward is 1 a step."""
        values = self.nets["value"](seen["env"])[:, 0]
        after = self.nets["value"](seen["after"])[:, 0]
        errors = 1 + 0.99 * jnp.where(seen["fallen"], 0, after) - values

        def back(later: Any, at: Any) -> Any:
            error, ended = at
            advantage = error + 0.99 * 0.95 * jnp.where(ended, 0, later)
            return advantage, advantage

        return jnp.scan(back, 0.0, (errors, seen["ended"]), reverse=True)[1]

    def loss(self, nets: Any, seen: Any) -> jnp.Array:
        logits = jnp.log_softmax(nets["policy"](seen["env"]), -1)
        chosen = jnp.take_along_axis(logits, seen["action"][:, None], 1)[:, 0]
        ratio, gain = jnp.exp(chosen - seen["log p"]), seen["advantage"]
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        clipped = jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain).mean()
        entropy = -(jnp.exp(logits) * logits).sum(-1).mean()
        values = nets["value"](seen["env"])[:, 0]
        return 0.5 * ((values - seen["return"]) ** 2).mean() - clipped - 0.01 * entropy

    @jnp.autojit
    def iteration(self) -> jnp.Array:
        """Roll out and update for four epochs; returns the mean length of episodes."""
        (self.envs, self.ages), seen = jnp.vmap(self.roll_out)(self.envs, self.ages)
        seen["advantage"] = jnp.vmap(self.advantages)(seen)
        seen["return"] = seen["advantage"] + self.nets["value"](seen["env"])[..., 0]
        flat = jnp.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), seen)

        def update(carry: Any, rows: jnp.Array) -> Any:
            nets, state = carry
            slope = jnp.grad(self.loss)(nets, jnp.tree.map(lambda x: x[rows], flat))
            updates, state = self.optimizer.update(slope, state)
            return (jnp.apply_updates(nets, updates), state), None

        orders = [jnp.randperm(ENVS * STEPS) for _ in range(4)]
        order = jnp.concatenate(orders).reshape(32, -1)
        carry = self.nets, self.state
        (self.nets, self.state), _ = jnp.scan(update, carry, order)
        return (seen["age"] * seen["ended"]).sum() / seen["ended"].sum()

    @jnp.autojit
    def balance(self, env: jnp.Array) -> tuple[jnp.Array, jnp.Array]:
        """What the policy does when it takes its best action: states and length."""

        def step(env: jnp.Array) -> Any:
            return cart_pole(env, self.nets["policy"](env).argmax()), env

        _, envs, length = jnp.scan_while(lambda s: ~has_fallen(s), step, env, LONGEST)
        return envs, length


def run(short: bool = False) -> dict[str, Any]:
    jnp.manual_seed(0)
    agent = PPO(rate=1e-3)
    lengths = [agent.iteration() for _ in range(12 if short else 60)]
    envs, balanced = jnp.vmap(agent.balance)(start_state(50))
    return {"lengths": np.array(lengths), "envs": envs, "balanced": np.array(balanced)}


def draw(result: dict[str, Any], path: str) -> None:
    """How training went, and the angles of fifty cart-poles afterwards."""
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    left.plot(result["lengths"])
    left.set(title="training", xlabel="iteration", ylabel="steps in an episode")
    time = 0.02 * np.arange(LONGEST)
    for states, n in zip(result["envs"], result["balanced"]):
        right.plot(time[:n], np.degrees(states[:n, 2]), lw=0.5, c="tab:blue", alpha=0.6)
    right.set(title="fifty cart-poles", xlabel="seconds", ylabel="angle, degrees")
    figure.tight_layout()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    lengths, balanced = result["lengths"], result["balanced"]
    print(f"steps in an episode: {lengths[0]:.0f} at first, {lengths[-1]:.0f} at last")
    print(f"{(balanced == LONGEST).sum()} of {len(balanced)} stay up for 10 seconds")
    draw(result, "ppo.png")
