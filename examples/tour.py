"""A tour of jfi on real data: handwritten digits.

    python examples/tour.py

A small network in plain classes is trained, compared with a haiku network and with the
nearest neighbours, and attacked until it changes its mind. No static argument is listed
and no in_axes spelled out. Weights, orders, dropout and noise are drawn without a key,
in compiled code too, and one seed repeats all. It prints a table, saves two pictures,
and looks inside the step that it trained by. Run it again: what it compiles is kept,
and the second run starts faster.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import haiku as hk
import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.datasets import load_digits

import jfi as jnp


Params = dict[str, Any]  # of haiku
Weights = list[dict[str, jnp.Array]]
PICTURE, STEP_PICTURE = Path("tour.png"), Path("tour_step.png")
TEST = 360  # how many digits are kept for the test

HAS_TORCH = find_spec("torch") is not None


def make_cross_entropy() -> Callable[..., jnp.Array]:
    """PyTorch's own cross-entropy, inside JAX, with its gradient."""
    if not HAS_TORCH:
        return in_jfi
    import torch

    torch.set_num_threads(1)  # so small a network is slower on several
    return jnp.from_torch(torch.nn.functional.cross_entropy)


def in_jfi(scores: jnp.Array, labels: jnp.Array) -> jnp.Array:
    """The same without PyTorch."""
    scores = jnp.nn.log_softmax(scores)
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


cross_entropy = make_cross_entropy()


class Network:
    """Layers of weights; an ordinary class, as one would write it in NumPy."""

    def __init__(self, sizes: list[int], activation: str = "relu") -> None:
        self.activation = activation
        self.weights: Weights = [
            {"w": jnp.randn(n, m) * (2 / n) ** 0.5, "b": jnp.zeros(m)}
            for n, m in pairwise(sizes)
        ]

    def scores(
        self, weights: Weights, x: jnp.Array, training: bool = False
    ) -> jnp.Array:
        """The score of each digit, `(10,)` or `(batch, 10)`."""
        activate = getattr(jnp.nn, self.activation)
        for layer in weights[:-1]:
            x = activate(x @ layer["w"] + layer["b"])
            x = jnp.dropout(x, 0.1, training)  # others at each call of `step`
        return x @ weights[-1]["w"] + weights[-1]["b"]

    @jnp.autojit
    def step(
        self, images: jnp.Array, labels: jnp.Array, rate: float, regularize: str | None
    ) -> jnp.Array:
        """One step of gradient descent on the weights; returns the loss."""

        def loss(weights: Weights) -> jnp.Array:
            scores = self.scores(weights, images, training=True)
            value: jnp.Array = cross_entropy(scores, labels)
            if regularize == "l2":
                value = value + 1e-4 * sum((w["w"] ** 2).sum() for w in weights)
            return value

        value, gradient = jnp.value_and_grad(loss)(self.weights)
        self.weights = jnp.tree.map(lambda w, g: w - rate * g, self.weights, gradient)
        return value

    @jnp.autojit
    def predict(self, images: jnp.Array) -> jnp.Array:
        """The most probable digits, `(batch,)` ints."""
        return self.scores(self.weights, images).argmax(-1)


def batches(n: int, size: int) -> jnp.Array:
    """The indices of one epoch in a random order, `(steps, size)` ints."""
    return jnp.randperm(n)[: n - n % size].reshape(-1, size)


def train(network: Network, images: Any, labels: Any, epochs: int) -> None:
    """Train the network with a falling learning rate."""
    for epoch in track(range(epochs), "a network of plain classes"):
        rate = 0.5 * 0.95**epoch  # a new float each time compiles nothing
        for rows in jnp.to_numpy(batches(len(images), 128)):
            network.step(images[rows], labels[rows], rate, "l2")


def train_haiku(images: Any, labels: Any, epochs: int) -> tuple[Any, Any]:
    """Train a network written with dm-haiku; its keys come from the generator."""
    images, labels = jnp.array(images), jnp.array(labels)

    def forward(x: Any, training: bool = False) -> Any:
        x = jnp.nn.relu(hk.Linear(64)(x))
        if training:
            x = hk.dropout(hk.next_rng_key(), 0.1, x)
        return hk.Linear(10)(x)

    net = jnp.from_haiku(hk.transform(forward))
    params = net.init(images[:1])

    def step(params: Params, rows: jnp.Array) -> tuple[Params, None]:
        def loss(params: Params) -> jnp.Array:
            scores = jnp.nn.log_softmax(net.apply(params, images[rows], training=True))
            return -jnp.take_along_axis(scores, labels[rows, None], axis=1).mean()

        gradient = jnp.grad(loss)(params)
        return jnp.tree.map(lambda p, g: p - 0.5 * g, params, gradient), None

    @jnp.jit
    def epoch(params: Params) -> Params:  # one program, which draws its own order
        trained: Params = jnp.scan(step, params, batches(len(images), 128))[0]
        return trained

    for _ in track(range(epochs), "a network of dm-haiku"):
        params = epoch(params)
    return net, params


def attack(problem: dict[str, Any]) -> tuple[jnp.Array, jnp.Array]:
    """Change one image step by step until the network takes it for another digit.

    It begins at a random image nearby: each row of the batch draws its own noise.

    Returns the number of steps that it took, and the changed image.
    """
    network: Network = problem["network"]

    def margin(image: jnp.Array) -> jnp.Array:
        scores = network.scores(problem["weights"], image)
        others = jnp.where(jnp.arange(10) == problem["label"], -jnp.inf, scores)
        return scores[problem["label"]] - others.max()

    def body(image: jnp.Array) -> tuple[jnp.Array, jnp.Array]:
        downhill = -jnp.sign(jnp.grad(margin)(image))
        image = jnp.clamp(image + problem["size"] * downhill, 0.0, 1.0)
        return image, margin(image)

    noise = problem["size"] * jnp.randn_like(problem["image"])
    start = jnp.clamp(problem["image"] + noise, 0.0, 1.0)
    result = jnp.scan_while(
        lambda image: margin(image) > 0, body, start, problem["max_steps"]
    )
    return result.length, result.carry


@jnp.persistent
def confusion(predicted: jnp.Array, actual: jnp.Array) -> jnp.Array:
    """How often each digit, a row, is taken for each digit, a column."""
    return jnp.zeros((10, 10), int).at[actual, predicted].add(1)


def save_picture(
    images: Any, changed: Any, labels: Any, before: Any, after: Any, steps: Any
) -> None:
    """Draw digits with their predictions, and below what the attack made of them."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 10, figsize=(11, 2.8), layout="constrained")
    for i, (top, bottom) in enumerate(axes.T):
        top.imshow(images[i].reshape(8, 8), cmap="gray_r")
        color = "green" if before[i] == labels[i] else "red"
        top.set_title(f"{before[i]}", color=color)
        bottom.imshow(changed[i].reshape(8, 8), cmap="gray_r")
        bottom.set_title(f"{after[i]} after {steps[i]} steps", fontsize=9)
        top.axis("off")
        bottom.axis("off")
    figure.suptitle("Predictions, and what it takes to change them")
    figure.savefig(PICTURE, dpi=120)


def look_inside(console: Console, network: Network, images: Any, labels: Any) -> None:
    """Show what one step of training computes, and draw it; nothing is trained."""
    console.rule("jnp.inspect(network.step)(...)")
    report = jnp.inspect(network.step)(images, labels, 0.5, "l2")
    console.print(report)
    report.plot(STEP_PICTURE)
    console.rule(f"drawn in {STEP_PICTURE}")


def main() -> None:
    """Run the tour."""
    start = time.perf_counter()
    console = Console()
    jnp.enable_cache()  # the next run finds what this one compiles
    jnp.manual_seed(0)  # of all that is drawn below

    if not HAS_TORCH:
        console.print(
            "[dim]PyTorch is not installed: the tour leaves out from_torch. "
            "To see it: pip install 'jfi\\[torch]'[/]"
        )

    data: Any = load_digits()
    images = (data.data / 16).astype(np.float32)
    order = jnp.to_numpy(jnp.randperm(len(images)))
    train_x, test_x = images[order[TEST:]], images[order[:TEST]]
    train_y, test_y = data.target[order[TEST:]], data.target[order[:TEST]]

    network = Network([64, 64, 10])
    train(network, train_x, train_y, epochs=25)
    haiku_net, haiku_params = train_haiku(train_x, train_y, epochs=25)
    neighbours = jnp.KDTree(train_x)
    _, nearest = neighbours.query(test_x, k=1)

    console.print("attacking every test digit at once: vmap_automatically, scan_while")
    problem = {
        "image": test_x,
        "label": test_y,
        "weights": network.weights,
        "network": network,
        "size": 0.02,
        "max_steps": 40,
    }
    steps, changed = jnp.vmap_automatically(attack, problem)

    fooled = network.predict(changed)

    table = Table("way", "accuracy", title=f"{TEST} test digits")
    predicted = network.predict(test_x)
    tools = "autojit, from_torch" if HAS_TORCH else "autojit"
    ways = {
        f"network of plain classes ({tools})": predicted,
        "dm-haiku (from_haiku)": haiku_net.apply(haiku_params, test_x).argmax(-1),
        "nearest neighbour (KDTree)": train_y[nearest],
        "the first network, attacked": fooled,
    }
    for name, digits in ways.items():
        table.add_row(name, f"{np.mean(np.asarray(digits) == test_y):.1%}")
    console.print(table)

    mistaken = confusion(predicted, test_y)
    mistaken = mistaken.at[jnp.arange(10), jnp.arange(10)].set(0)
    actual, taken_for = np.unravel_index(int(mistaken.argmax()), mistaken.shape)
    console.print(f"The most frequent mistake: {actual} taken for {taken_for}.")
    console.print(f"It takes {steps.mean():.0f} small steps to fool the network.")

    save_picture(test_x, changed, test_y, predicted, fooled, jnp.to_numpy(steps))
    look_inside(console, network, train_x[:128], train_y[:128])
    console.print(f"The digits are in {PICTURE}; {time.perf_counter() - start:.0f} s.")
    report = jnp.cache_report()
    if report.misses > report.hits:
        console.print("Run it again: it need not compile any more, and starts faster.")
    else:
        console.print(
            f"{report.hits} compiled programs were there from an earlier run, which "
            f"saved {report.seconds_saved:.1f} s of tracing and compiling."
        )


if __name__ == "__main__":
    main()
