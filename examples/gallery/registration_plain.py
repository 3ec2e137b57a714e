"""Registration of point clouds in plain JAX: SciPy's tree is called back by hand."""

import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.spatial


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


def rotation(vector: jax.Array) -> jax.Array:
    """The matrix that turns about a vector, by its length in radians (Rodrigues)."""
    angle = jnp.sqrt((vector**2).sum() + 1e-12)
    x, y, z = vector / angle
    cross = jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return jnp.eye(3) + jnp.sin(angle) * cross + (1 - jnp.cos(angle)) * (cross @ cross)


def place(pose: jax.Array, scan: jax.Array) -> jax.Array:
    """The scan, turned and moved by a pose of six numbers."""
    return scan @ rotation(pose[:3]).T + pose[3:]


def nearest(tree: scipy.spatial.KDTree, x: jax.Array) -> jax.Array:
    """The indices of the points of the tree that are nearest to each point."""
    shape = jax.ShapeDtypeStruct((*x.shape[:-1], NEAREST), jnp.int32)

    def search(x: np.ndarray) -> np.ndarray:
        indices: Any = tree.query(np.asarray(x), k=NEAREST)[1]
        return indices.astype(np.int32)

    # The callback has no derivative: the indices are constants.
    x = jax.lax.stop_gradient(x)
    return jax.pure_callback(search, shape, x, vmap_method="expand_dims")


def residuals(
    pose: jax.Array, tree: scipy.spatial.KDTree, model: jax.Array, scan: jax.Array
) -> jax.Array:
    """How far each point of the scan is from its nearest points: smoothed, robust."""
    placed = place(pose, scan)
    apart = placed[:, None] - model[nearest(tree, placed)]
    softened = jnp.sqrt((apart**2).sum(-1) + 1e-6).mean(-1)
    return softened / jnp.sqrt(1 + (softened / 0.3) ** 2)  # few outliers don't pull


@partial(jax.jit, static_argnames=("tree", "steps"))
def register_all(
    guesses: jax.Array,
    tree: scipy.spatial.KDTree,
    model: jax.Array,
    scan: jax.Array,
    steps: int,
) -> dict[str, jax.Array]:
    return jax.vmap(lambda guess: register(guess, tree, model, scan, steps))(guesses)


def register(
    guess: jax.Array,
    tree: scipy.spatial.KDTree,
    model: jax.Array,
    scan: jax.Array,
    steps: int,
) -> dict[str, jax.Array]:
    """The pose and its error after damped Gauss-Newton steps from a guess."""
    clouds = tree, model, scan

    def step(carry: Any, _: None) -> Any:
        pose, damping = carry
        r, slopes = residuals(pose, *clouds), jax.jacfwd(residuals)(pose, *clouds)
        normal = slopes.T @ slopes
        normal += damping * jnp.diag(jnp.diag(normal) + 1e-6)
        new = pose - jnp.linalg.solve(normal, slopes.T @ r)
        better = (residuals(new, *clouds) ** 2).sum() < (r**2).sum()
        pose = jnp.where(better, new, pose)
        return (pose, jnp.where(better, damping / 3, damping * 4)), None

    start = guess, jnp.array(0.01)
    (pose, _), _ = jax.lax.scan(step, start, length=steps)
    return {"pose": pose, "error": (residuals(pose, *clouds) ** 2).mean()}


def run(short: bool = False) -> dict[str, Any]:
    clouds = make_clouds()
    turns = np.random.default_rng(1).uniform(-1, 1, (20, 3)) * [0.1, 0.1, 2.5]
    guesses = np.hstack([turns, np.zeros((20, 3))]).astype("float32")
    tree = scipy.spatial.KDTree(clouds["model"])
    steps = 12 if short else 25
    found = register_all(guesses, tree, clouds["model"], clouds["scan"], steps)
    best = found["pose"][found["error"].argmin()]
    placed = np.array(place(best, clouds["scan"]))
    right = clouds["scan"] @ clouds["turn"].T + clouds["move"]
    error = float(np.linalg.norm(placed - right, axis=1).mean())
    return {**clouds, **found, "placed": placed, "mean error": error}


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    errors = np.sqrt(result["error"])
    found = (errors < 1.2 * errors.min()).sum()
    print(f"{found} of {len(errors)} guesses led to the best pose")
    print(f"its points are {result['mean error']:.4f} from where they should be")
