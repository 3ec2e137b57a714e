"""Proximal policy optimization in plain JAX: the same method, with keys by hand."""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax


ENVS, STEPS, LONGEST = 64, 128, 500  # an episode ends when it falls, or after LONGEST
optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3))


def init_mlp(key: jax.Array, *sizes: int) -> Any:
    keys = jax.random.split(key, len(sizes) - 1)
    pairs = zip(keys, sizes, sizes[1:])
    w = [jax.random.normal(k, (n, m)) / n**0.5 for k, n, m in pairs]
    return {"w": w, "b": [jnp.zeros(m) for m in sizes[1:]]}


def mlp(params: Any, x: jax.Array) -> jax.Array:
    for w, b in zip(params["w"][:-1], params["b"][:-1]):
        x = jnp.tanh(x @ w + b)
    return x @ params["w"][-1] + params["b"][-1]


def start_state(key: jax.Array, *batch: int) -> jax.Array:
    """Position, speed, angle and its speed: nearly at rest, nearly upright."""
    return jax.random.uniform(key, (*batch, 4), minval=-0.05, maxval=0.05)


def cart_pole(state: jax.Array, action: jax.Array) -> jax.Array:
    """The state a fiftieth of a second later; the action pushes left or right."""
    _, v, angle, turn = state
    force = jnp.where(action == 1, 10.0, -10.0)
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    push = (force + 0.05 * turn**2 * sin) / 1.1
    turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    change = jnp.stack([v, push - 0.05 * turning * cos / 1.1, turn, turning])
    return state + 0.02 * change


def has_fallen(state: jax.Array) -> jax.Array:
    return (abs(state[0]) > 2.4) | (abs(state[2]) > 0.21)


def roll_out(nets: Any, env: jax.Array, age: jax.Array, key: jax.Array) -> Any:
    """STEPS steps of one cart-pole; it starts anew when an episode ends."""

    def step(carry: Any, key: jax.Array) -> Any:
        env, age = carry
        action_key, start_key = jax.random.split(key)
        logits = jax.nn.log_softmax(mlp(nets["policy"], env))
        action = jax.random.categorical(action_key, logits)
        after, age = cart_pole(env, action), age + 1
        fallen = has_fallen(after)
        ended = fallen | (age >= LONGEST)
        seen = {"env": env, "action": action, "log p": logits[action]}
        seen |= {"fallen": fallen, "ended": ended, "age": age, "after": after}
        return (jnp.where(ended, start_state(start_key), after), age * ~ended), seen

    return jax.lax.scan(step, (env, age), jax.random.split(key, STEPS))


def advantages(nets: Any, seen: Any) -> jax.Array:
    """Generalized advantages of one cart-pole's steps; the reward is 1 a step."""
    values = mlp(nets["value"], seen["env"])[:, 0]
    after = mlp(nets["value"], seen["after"])[:, 0]
    errors = 1 + 0.99 * jnp.where(seen["fallen"], 0, after) - values

    def back(later: Any, at: Any) -> Any:
        error, ended = at
        advantage = error + 0.99 * 0.95 * jnp.where(ended, 0, later)
        return advantage, advantage

    return jax.lax.scan(back, 0.0, (errors, seen["ended"]), reverse=True)[1]


def loss_fn(nets: Any, seen: Any) -> jax.Array:
    logits = jax.nn.log_softmax(mlp(nets["policy"], seen["env"]))
    chosen = jnp.take_along_axis(logits, seen["action"][:, None], 1)[:, 0]
    ratio, gain = jnp.exp(chosen - seen["log p"]), seen["advantage"]
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    clipped = jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain).mean()
    entropy = -(jnp.exp(logits) * logits).sum(-1).mean()
    values = mlp(nets["value"], seen["env"])[:, 0]
    return 0.5 * ((values - seen["return"]) ** 2).mean() - clipped - 0.01 * entropy


@jax.jit
def iteration(agent: Any, key: jax.Array) -> tuple[Any, jax.Array]:
    """Roll out and update for four epochs; returns the mean length of episodes."""
    nets, state = agent["nets"], agent["state"]
    roll_key, *order_keys = jax.random.split(key, 5)
    roll_keys = jax.random.split(roll_key, ENVS)
    roll_outs = jax.vmap(roll_out, in_axes=(None, 0, 0, 0))
    (envs, ages), seen = roll_outs(nets, agent["envs"], agent["ages"], roll_keys)
    seen["advantage"] = jax.vmap(advantages, in_axes=(None, 0))(nets, seen)
    seen["return"] = seen["advantage"] + mlp(nets["value"], seen["env"])[..., 0]
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), seen)

    def update(carry: Any, rows: jax.Array) -> Any:
        nets, state = carry
        slope = jax.grad(loss_fn)(nets, jax.tree.map(lambda x: x[rows], flat))
        updates, state = optimizer.update(slope, state)
        return (optax.apply_updates(nets, updates), state), None

    orders = [jax.random.permutation(k, ENVS * STEPS) for k in order_keys]
    order = jnp.concatenate(orders).reshape(32, -1)
    (nets, state), _ = jax.lax.scan(update, (nets, state), order)
    length = (seen["age"] * seen["ended"]).sum() / seen["ended"].sum()
    return {"nets": nets, "state": state, "envs": envs, "ages": ages}, length


@jax.jit
def balance(nets: Any, env: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What the policy does when it takes its best action: states and length."""

    def step(carry: Any, _: None) -> Any:
        env, running = carry
        running &= ~has_fallen(env)
        after = cart_pole(env, mlp(nets["policy"], env).argmax())
        return (jnp.where(running, after, env), running), (env, running)

    carry = env, jnp.array(True)
    _, (envs, running) = jax.lax.scan(step, carry, length=LONGEST)
    return envs, running.sum()


def run(short: bool = False) -> dict[str, Any]:
    key, policy_key, value_key, *start_keys = jax.random.split(jax.random.key(0), 5)
    nets = {"policy": init_mlp(policy_key, 4, 64, 64, 2)}
    nets |= {"value": init_mlp(value_key, 4, 64, 64, 1)}
    envs, ages = start_state(start_keys[0], ENVS), jnp.zeros(ENVS, int)
    agent = {"nets": nets, "state": optimizer.init(nets), "envs": envs, "ages": ages}
    lengths = []
    for _ in range(12 if short else 60):
        key, iteration_key = jax.random.split(key)
        agent, length = iteration(agent, iteration_key)
        lengths.append(length)
    starts = start_state(start_keys[1], 50)
    envs, balanced = jax.vmap(balance, in_axes=(None, 0))(agent["nets"], starts)
    return {"lengths": np.array(lengths), "envs": envs, "balanced": np.array(balanced)}


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    lengths, balanced = result["lengths"], result["balanced"]
    print(f"steps in an episode: {lengths[0]:.0f} at first, {lengths[-1]:.0f} at last")
    print(f"{(balanced == LONGEST).sum()} of {len(balanced)} stay up for 10 seconds")
