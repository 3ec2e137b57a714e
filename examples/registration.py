"""Registration of point clouds: where was the scanner when it saw these points?

A scan shows a part of a surface, turned, moved and noisy. The pose is found by
gradients through the matches: each point of the scan is matched to the nearest points
of the model with `jfi.KDTree`, and the distances to them are differentiated with
respect to the pose. Gauss-Newton steps need the Jacobian of the distances, which is
one call of `jax.jacfwd`, in one compiled function with the search inside.

The iterative closest point method of Besl and McKay, written by hand with NumPy and
SciPy, needs more steps to the same pose. From twenty wrong guesses at once, in a batch,
the best pose is found also where the scan is turned by a right angle.

    python examples/registration.py [picture.png]
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.spatial

import jfi as jnp


Array = jnp.Array
NEAREST = 3  # the plane through so many points stands for the surface


def make_clouds() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A model, a scan of a part of it, and how the scan was turned and moved."""
    rng = np.random.default_rng(0)
    model = surface(rng.uniform(-1, 1, (4000, 2)))
    seen = surface(rng.uniform([-1, -1], [0.5, 0.8], (300, 2)))
    turn = np.array(rotation(np.array([0.25, -0.3, 0.4], "float32")))
    move = np.array([0.15, -0.1, 0.2])
    scan = (seen - move) @ turn + rng.normal(size=seen.shape) * 0.004
    return model.astype("float32"), scan.astype("float32"), turn, move


def surface(xy: np.ndarray) -> np.ndarray:
    """Points of a hilly landscape."""
    x, y = xy.T
    hills = 0.3 * np.sin(3 * x) * np.cos(2 * y) + 0.2 * x * y + 0.15 * np.cos(5 * y)
    return np.stack([x, y, hills], 1)


def rotation(vector: Any) -> Array:
    """The matrix that turns about a vector, by its length in radians (Rodrigues)."""
    angle = jnp.sqrt(jnp.sum(vector**2) + 1e-12)
    x, y, z = vector / angle
    cross = jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turning: Array = jnp.sin(angle) * cross + (1 - jnp.cos(angle)) * (cross @ cross)
    return jnp.eye(3) + turning


def place(pose: Any, scan: Any) -> Array:
    """The scan, turned and moved by a pose of six numbers."""
    placed: Array = scan @ rotation(pose[:3]).T + pose[3:]
    return placed


def residuals(tree: jnp.KDTree, pose: Any, scan: Any) -> Array:
    """How far each point of the scan is from its nearest points: smoothed, robust."""
    distances, _ = tree.query(place(pose, scan), k=NEAREST)
    softened: Array = jnp.sqrt(distances**2 + 1e-6).mean(-1)
    return softened / jnp.sqrt(1 + (softened / 0.3) ** 2)  # few outliers don't pull


@jnp.jit
def step(
    tree: jnp.KDTree, pose: Any, damping: Any, scan: Any
) -> tuple[Array, Array, Array]:
    """One damped Gauss-Newton step, if it makes the error smaller, and the error."""
    error = residuals(tree, pose, scan)
    slopes = jnp.jacfwd(lambda pose: residuals(tree, pose, scan))(pose)
    normal = slopes.T @ slopes
    normal = normal + damping * jnp.diag(jnp.diag(normal) + 1e-6)
    new = pose - jnp.linalg.solve(normal, slopes.T @ error)
    before, after = jnp.sum(error**2), jnp.sum(residuals(tree, new, scan) ** 2)
    better = after < before
    pose = jnp.where(better, new, pose)
    return pose, jnp.where(better, damping / 3, damping * 4), jnp.minimum(before, after)


def register(tree: jnp.KDTree, scan: Any, pose: Any, steps: int) -> list[np.ndarray]:
    """The poses after each step."""
    damping, poses = jnp.float32(0.01), [np.asarray(pose)]
    for _ in range(steps):
        pose, damping, _ = step(tree, pose, damping, scan)
        poses.append(np.asarray(pose))
    return poses


def iterative_closest_point(
    model: np.ndarray, scan: np.ndarray, steps: int
) -> list[np.ndarray]:
    """The scan after each step of the classical method, by hand."""
    tree, placed = scipy.spatial.KDTree(model), [scan]
    for _ in range(steps):
        matched = model[tree.query(placed[-1])[1]]
        centre, other = placed[-1].mean(0), matched.mean(0)
        u, _, v = np.linalg.svd((placed[-1] - centre).T @ (matched - other))
        turn = (u * [1, 1, np.linalg.det(u @ v)]) @ v
        placed.append((placed[-1] - centre) @ turn + other)
    return placed


def from_many_guesses(tree: jnp.KDTree, scan: Any, guesses: int = 20) -> np.ndarray:
    """The best of many registrations, all in one batch: a step is one host call."""
    rng = np.random.default_rng(1)
    turns = rng.uniform(-1.6, 1.6, (guesses, 3)) * [0.1, 0.1, 1]
    poses = jnp.array(np.hstack([turns, np.zeros((guesses, 3))]), "float32")
    damping, errors = jnp.full(guesses, 0.01), jnp.zeros(guesses)
    steps = jnp.vmap(step, in_axes=(None, 0, 0, None))
    for _ in range(25):
        poses, damping, errors = steps(tree, poses, damping, scan)
    return np.asarray(poses[jnp.argmin(errors)])


def draw(model: np.ndarray, clouds: dict[str, np.ndarray], path: Path) -> None:
    """Save a picture of the scan before and after."""
    import matplotlib as mpl

    mpl.use("Agg")  # to files, without a screen
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(12, 5))
    for k, (title, cloud) in enumerate(clouds.items()):
        axes: Any = figure.add_subplot(1, len(clouds), k + 1, projection="3d")
        axes.scatter(*model.T, s=0.5, c="lightgray")
        axes.scatter(*cloud.T, s=4, c="tab:red")
        axes.set(title=title, zlim=(-1, 1))
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main() -> None:
    """Register the scan in both ways, compare, and draw."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "registration.png")
    model, scan, turn, move = make_clouds()
    tree = jnp.KDTree(model)
    right = scan @ turn.T + move

    def error(placed: Any) -> float:
        return float(np.linalg.norm(np.asarray(placed) - right, axis=1).mean())

    poses = register(tree, scan, np.zeros(6, "float32"), 15)
    ours = [error(place(pose, scan)) for pose in poses]
    classical = [error(placed) for placed in iterative_closest_point(model, scan, 15)]
    print("mean error after 0, 3, 6, 15 steps")
    for name, errors in (("gradients", ours), ("closest points", classical)):
        print(f"  {name:15}", *(f"{errors[k]:.4f}" for k in (0, 3, 6, 15)))

    quarter = np.array(rotation(np.array([0, 0, np.pi / 2], "float32")))
    pose = from_many_guesses(tree, scan @ quarter)
    print(f"turned by 90 degrees, 20 guesses: {error(place(pose, scan @ quarter)):.4f}")
    try:
        clouds = {"the scan": scan, "registered": np.asarray(place(poses[-1], scan))}
        draw(model, clouds, path)
        print(f"see {path}")
    except ImportError:
        print("matplotlib is not installed: no picture")


if __name__ == "__main__":
    main()
