"""A sweep over the workers of a Dask cluster, and what a function costs there.

    python examples/many_machines.py [picture.png]

Pendulums are held upright by controllers of different gains, in gusts that each draws
by itself. The sweep runs here and on a cluster, with the same numbers. Then a function
under autojit runs as a task: each worker compiles it once. The cluster is two processes
of this machine; for others, write the address of its scheduler: Client("tcp://...").
The picture shows when each worker computed what.
"""

import sys
from pathlib import Path
from typing import Any

import distributed
import matplotlib as mpl
import numpy as np

import jfi as jnp


mpl.use("Agg")  # to files, without a screen
from matplotlib import pyplot as plt


Problem = dict[str, Any]

GAINS, STEPS, STEP = 40, 1000, 0.01
WIND = 3.0


def fall(p: Problem) -> Problem:
    """How far one pendulum leans at most, with one pair of gains."""

    def step(state: Any, _: Any) -> Any:
        angle, speed = state
        push = -p["stiffness"] * angle - p["damping"] * speed
        gust = WIND * jnp.randn()
        speed = speed + STEP * (p["gravity"] * jnp.sin(angle) + push + gust)
        angle = angle + STEP * speed
        return (angle, speed), abs(angle)

    _, leans = jnp.scan(step, (0.1, 0.0), length=STEPS)
    return {"lean": leans.max(), "model": p["model"]}


def make_problem() -> Problem:
    """All pairs of gains."""
    stiffness, damping = np.meshgrid(
        np.linspace(5, 40, GAINS, dtype="float32"),
        np.linspace(0, 10, GAINS, dtype="float32"),
    )
    gains = {"stiffness": stiffness.ravel(), "damping": damping.ravel()}
    return {**gains, "gravity": 9.81, "model": "pendulum"}


@jnp.autojit
def energy(angle: jnp.Array, speed: float, order: int = 8) -> jnp.Array:
    """The energy of a pendulum, by a series of some order."""
    potential, term = 0.0 * angle, 1.0 + 0.0 * angle
    for k in range(1, order):
        term = -term * angle**2 / (2 * k * (2 * k - 1))
        potential = potential - term
    return speed**2 / 2 + 9.81 * potential


def draw(stream: list[dict[str, Any]], found: Problem, path: Path) -> None:
    """Save a picture: the tasks of each worker in time, and what the sweep found."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4), width_ratios=[3, 2])
    workers = sorted({task["worker"] for task in stream})
    start = min(span["start"] for task in stream for span in task["startstops"])
    colors = {"compute": "tab:blue", "transfer": "tab:red"}
    for task in stream:
        for span in task["startstops"]:
            left.barh(
                workers.index(task["worker"]),
                span["stop"] - span["start"],
                left=span["start"] - start,
                color=colors.get(span["action"], "lightgray"),
                edgecolor="white",
            )
    left.set_yticks(range(len(workers)), [f"worker {k}" for k in range(len(workers))])
    left.set(title="what each worker computed", xlabel="seconds")
    lean = np.asarray(found["lean"]).reshape(GAINS, GAINS)
    image = right.imshow(
        np.minimum(lean, 1), origin="lower", extent=(5, 40, 0, 10), aspect="auto"
    )
    right.set(title="how far it leans", xlabel="stiffness", ylabel="damping")
    figure.colorbar(image, ax=right, label="rad")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main() -> None:
    """Run the sweep here and on the cluster, compare, and draw."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "many_machines.png")
    problem = make_problem()
    jnp.manual_seed(0)
    here = jnp.vmap_automatically(fall, problem)

    # One thread each: XLA uses all cores by itself.
    dask: Any = distributed  # not completely typed
    cluster = dask.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
    )
    with cluster, dask.Client(cluster) as client:
        with dask.get_task_stream(client) as stream:
            jnp.manual_seed(0)
            there = jnp.vmap_automatically(fall, problem, client=client, chunk_size=50)
        np.testing.assert_allclose(there["lean"], here["lean"], rtol=1e-4)
        upright = np.mean(np.asarray(there["lean"]) < 1)
        print(f"{GAINS**2} gains of a {there['model']}, the same numbers on 2 workers")
        print(f"{upright:.0%} of them hold it upright")

        angles = jnp.linspace(0.0, 1.0, 5)
        tasks = client.map(energy, [angles + 0.1 * k for k in range(12)], speed=0.5)
        energies = jnp.stack(client.gather(tasks))
        compiled = client.run(lambda: energy.cache_info().traces)
        print(f"12 energies up to {energies.max():.2f}")
        for worker, times in enumerate(compiled.values()):
            print(f"worker {worker} compiled energy() {times} time(s)")
    draw(list(stream.data), there, path)
    print(f"see {path}")


if __name__ == "__main__":
    main()
