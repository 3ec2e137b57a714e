"""Registration of point clouds: where was the scanner when it saw these points?

    python examples/gallery/registration.py

A scan shows a part of a surface, turned, moved and noisy. Each of its points is matched
to the nearest points of the model, and Gauss-Newton steps through the matches find the
pose, from twenty guesses at once: the scan is turned far.
"""

import sys
from typing import Any

import numpy as np

import jfi as jnp


NEAREST = 3  # the plane through so many points stands for the surface


def surface(xy: np.ndarray) -> np.ndarray:
    """Points of a hilly landscape."""
    x, y = xy.T
    hills = 0.3 * np.sin(3 * x) * np.cos(2 * y) + 0.2 * x * y + 0.15 * np.cos(5 * y)
    return np.stack([x, y, hills], 1)


def make_clouds() -> dict[str, Any]:
    """A model, a scan of a part of it, and how the scan was turned and moved."""
    rng = np.random.default_rng(0)
    model = surface(rng.uniform(-1, 1, (4000, 2)))
    seen = surface(rng.uniform([-1, -1], [0.5, 0.8], (300, 2)))
    turn = np.array(rotation(jnp.array([0.25, -0.3, 1.9])), "float64")
    move = np.array([0.15, -0.1, 0.2])
    scan = (seen - move) @ turn + rng.normal(size=seen.shape) * 0.004
    clouds = {"model": model, "scan": scan, "turn": turn, "move": move}
    return {name: np.float32(cloud) for name, cloud in clouds.items()}


def rotation(vector: jnp.Array) -> jnp.Array:
    """The matrix that turns about a vector, by its length in radians (Rodrigues)."""
    angle = jnp.sqrt((vector**2).sum() + 1e-12)
    x, y, z = vector / angle
    cross = jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return jnp.eye(3) + jnp.sin(angle) * cross + (1 - jnp.cos(angle)) * (cross @ cross)


def place(pose: jnp.Array, scan: jnp.Array) -> jnp.Array:
    """The scan, turned and moved by a pose of six numbers."""
    return scan @ rotation(pose[:3]).T + pose[3:]


def residuals(pose: jnp.Array, tree: jnp.KDTree, scan: jnp.Array) -> jnp.Array:
    """How far each point of the scan is from its nearest points: smoothed, robust."""
    distances, _ = tree.query(place(pose, scan), k=NEAREST)
    softened = jnp.sqrt(distances**2 + 1e-6).mean(-1)
    return softened / jnp.sqrt(1 + (softened / 0.3) ** 2)  # few outliers don't pull


def register(problem: dict[str, Any]) -> dict[str, jnp.Array]:
    """The pose and its error after damped Gauss-Newton steps from a guess."""
    clouds = problem["tree"], problem["scan"]

    def step(carry: Any, _: None) -> Any:
        pose, damping = carry
        r, slopes = residuals(pose, *clouds), jnp.jacfwd(residuals)(pose, *clouds)
        normal = slopes.T @ slopes
        normal += damping * jnp.diag(jnp.diag(normal) + 1e-6)
        new = pose - jnp.linalg.solve(normal, slopes.T @ r)
        better = (residuals(new, *clouds) ** 2).sum() < (r**2).sum()
        pose = jnp.where(better, new, pose)
        return (pose, jnp.where(better, damping / 3, damping * 4)), None

    start = problem["guess"], jnp.array(0.01)
    (pose, _), _ = jnp.scan(step, start, length=problem["steps"])
    return {"pose": pose, "error": (residuals(pose, *clouds) ** 2).mean()}


def run(short: bool = False) -> dict[str, Any]:
    clouds = make_clouds()
    turns = np.random.default_rng(1).uniform(-1, 1, (20, 3)) * [0.1, 0.1, 2.5]
    problem = {
        "guess": np.hstack([turns, np.zeros((20, 3))]).astype("float32"),
        "tree": jnp.KDTree(clouds["model"]),
        "scan": clouds["scan"],
        "steps": 12 if short else 25,
    }
    found = jnp.vmap_automatically(register, problem, batch_size=20)
    best = found["pose"][found["error"].argmin()]
    placed = np.array(place(best, clouds["scan"]))
    right = clouds["scan"] @ clouds["turn"].T + clouds["move"]
    error = float(np.linalg.norm(placed - right, axis=1).mean())
    return {**clouds, **found, "placed": placed, "mean error": error}


def draw(result: dict[str, Any], path: str) -> None:
    """The scan before and after."""
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(9, 4.2))
    for k, name in enumerate(["scan", "placed"]):
        axes: Any = figure.add_subplot(1, 2, k + 1, projection="3d")
        axes.scatter(*result["model"].T, s=0.5, c="lightgray")
        axes.scatter(*result[name].T, s=4, c="tab:red")
        axes.set(title=["the scan", "registered"][k], zlim=(-1, 1))
    figure.tight_layout()
    figure.savefig(path, dpi=75)


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    errors = np.sqrt(result["error"])
    found = (errors < 1.2 * errors.min()).sum()
    print(f"{found} of {len(errors)} guesses led to the best pose")
    print(f"its points are {result['mean error']:.4f} from where they should be")
    draw(result, "registration.png")
