"""A PyTorch network inside a JAX optimisation: learn a pendulum, then swing it up.

    python examples/torch_in_jax.py [picture.png]

The network is an ordinary torch.nn.Module. jfi trains it as a tree of JAX arrays, in
one compiled function. Then the torques that swing the pendulum up are found by gradient
descent through forty steps of the network, in a scan, for eight starts at once: in
each step one call of PyTorch computes all of them, and one their derivatives. It prints
what the plans do to the true pendulum, and saves a picture.
"""

import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import torch

import jfi as jnp


mpl.use("Agg")  # to files, without a screen
from matplotlib import pyplot as plt


torch.set_num_threads(1)  # PyTorch and JAX share the cores
STEPS, STARTS, STRONGEST = 40, 8, 8.0


class Pendulum(torch.nn.Module):
    """How angle and speed change in a twentieth of a second, for a torque."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2)
        )

    def forward(self, state: torch.Tensor, torque: torch.Tensor) -> torch.Tensor:
        """The next state, `(..., 2)`."""
        angle, speed = state[..., 0], state[..., 1]
        seen = torch.stack([angle.sin(), angle.cos(), speed, torque], -1)
        change: torch.Tensor = self.layers(seen)
        return state + change


def true_step(state: Any, torque: Any) -> Any:
    """The pendulum itself, in NumPy or JAX: it hangs at angle 0, and pi is up."""
    angle, speed = state[..., 0], state[..., 1]
    speed = speed + 0.05 * (torque - 9.81 * jnp.sin(angle) - 0.1 * speed)
    return jnp.stack([angle + 0.05 * speed, speed], -1)


class Trainer:
    """Trains a network by Adam, written by hand."""

    def __init__(self, network: Any, rate: float) -> None:
        self.network, self.rate, self.count = network, rate, jnp.zeros(())
        self.mean = jnp.tree.map(jnp.zeros_like, network)
        self.square = jnp.tree.map(jnp.zeros_like, network)

    @jnp.autojit
    def step(self) -> jnp.Array:
        """One step on a fresh batch; returns the loss."""
        span = jnp.array([6.4, 14.0])
        states = (jnp.rand(256, 2) - 0.5) * span
        torques = STRONGEST * (2 * jnp.rand(256) - 1)
        target = true_step(states, torques)

        def loss(network: Any) -> jnp.Array:
            error: jnp.Array = network(states, torques) - target
            return 100 * (error**2).mean()

        value: jnp.Array
        gradient_of: Any = jnp.value_and_grad(loss)
        value, g = gradient_of(self.network)
        self.count = self.count + 1
        tree = jnp.tree
        self.mean = tree.map(lambda m, g: 0.9 * m + 0.1 * g, self.mean, g)
        self.square = tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, self.square, g)
        rate = self.rate * jnp.sqrt(1 - 0.99**self.count) / (1 - 0.9**self.count)
        self.network = tree.map(
            lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8),
            self.network,
            self.mean,
            self.square,
        )
        return value


def roll_out(step: Any, start: jnp.Array, torques: jnp.Array) -> jnp.Array:
    """The states that some torques lead to, `(steps, 2)`."""

    def move(state: Any, torque: Any) -> tuple[Any, Any]:
        state = step(state, torque)
        return state, state

    states: jnp.Array = jnp.scan(move, start, torques)[1]
    return states


def all_roll_outs(step: Any, starts: jnp.Array, torques: jnp.Array) -> jnp.Array:
    """The same for all starts, `(starts, steps, 2)`."""
    rows: jnp.Array = jnp.vmap(lambda s, t: roll_out(step, s, t))(starts, torques)
    return rows


def cost(network: Any, start: jnp.Array, torques: jnp.Array) -> jnp.Array:
    """How far from upright the last steps are, and a little for the torques."""
    angle, speed = roll_out(network, start, torques)[-8:].T
    moving = 0.02 * (speed**2).mean() + 1e-4 * (torques**2).mean()
    total: jnp.Array = (1 + jnp.cos(angle)).mean() + moving
    return total


@jnp.jit
def plan(network: Any, starts: jnp.Array) -> jnp.Array:
    """The best torques for each start, `(starts, steps)`."""

    def improve(plans: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        torques, momentum = plans
        gradient = jnp.vmap(jnp.grad(cost, 2), (None, 0, 0))(network, starts, torques)
        momentum = 0.9 * momentum - 2.0 * gradient
        return (jnp.clip(torques + momentum, -STRONGEST, STRONGEST), momentum), None

    # At first a push to one side, and then to the other.
    torques = jnp.where(jnp.arange(STEPS) < STEPS // 4, -0.5, 0.5) * STRONGEST
    begin = jnp.broadcast_to(torques, (len(starts), STEPS))
    found: jnp.Array = jnp.scan(improve, (begin, 0 * begin), length=50)[0][0]
    return found


def save_picture(path: str, learnt: Any, true: Any) -> None:
    """Draw the angles that the network expects, and those of the true pendulum."""
    figure, axes = plt.subplots(figsize=(7, 3.5))
    time = 0.05 * np.arange(1, STEPS + 1)
    for k, color in enumerate(plt.get_cmap("viridis")(np.linspace(0, 0.9, STARTS))):
        axes.plot(time, true[k, :, 0], color=color)
        axes.plot(time, learnt[k, :, 0], "--", color=color, lw=1)
    for upright in (-np.pi, np.pi):
        axes.axhline(upright, color="gray", lw=0.5)
    axes.set(
        xlabel="seconds", ylabel="angle", title="as planned (dashed), and as it is"
    )
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Learn, plan, and see what the plans do."""
    jnp.manual_seed(0)
    torch.manual_seed(0)
    trainer = Trainer(jnp.from_torch(Pendulum()), 5e-3)
    losses = [trainer.step() for _ in range(500)]
    print(f"loss of the network: {losses[0]:.3f}, after training {losses[-1]:.5f}")

    angles = jnp.linspace(-0.5, 0.5, STARTS)
    starts = jnp.stack([angles, jnp.zeros(STARTS)], 1)
    torques = plan(trainer.network, starts)
    learnt = jnp.jit(all_roll_outs)(trainer.network, starts, torques)
    true = all_roll_outs(true_step, starts, torques)
    height = -jnp.cos(true[:, -8:, 0]).mean(1)
    print("height at the end, 1 is upright:", np.round(np.asarray(height), 2))
    again = trainer.network.to_torch()  # a PyTorch module with what was learnt
    numbers = sum(p.numel() for p in again.parameters())
    print(f"a torch.nn.Module again: {type(again).__name__}, {numbers} numbers")
    path = sys.argv[1] if len(sys.argv) > 1 else "torch_in_jax.png"
    save_picture(path, np.asarray(learnt), np.asarray(true))
    print("saved", path)


if __name__ == "__main__":
    main()
