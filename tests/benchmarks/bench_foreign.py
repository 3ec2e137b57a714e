"""What calls of NumPy, SciPy and PyTorch cost inside JAX.

python tests/benchmarks/bench_foreign.py

The rows of `from_numpy` are here. 1 is `jax.pure_callback` written by hand, or the bare
NumPy function where a row says so; `jax.experimental.buffer_callback` written by hand,
which has neither batches nor derivatives nor exceptions, is shown. PyTorch, k-d
trees and splines, and SciPy's solvers have modules of their own beside this one.
"""

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, ratios, report
from jax.experimental.buffer_callback import buffer_callback

import jfi


MODULES = {
    "foreign_torch_rows": "torch",
    "foreign_scipy_rows": "scipy",
    "foreign_solver_rows": "scipy",
}
ROUNDS = 15
FEW_ROUNDS = 5  # of 100 MB

Way = Callable[[], object]


def add(x: Any, y: Any) -> Any:
    return x + y


def by_hand(x: jax.Array, y: jax.Array) -> jax.Array:
    """As JAX documents it: the function must be given NumPy arrays by itself."""
    spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
    on_numpy = lambda x, y: add(np.asarray(x), np.asarray(y))
    return jax.pure_callback(on_numpy, spec, x, y, vmap_method="broadcast_all")


def by_buffers(x: jax.Array, y: jax.Array) -> jax.Array:
    def on_buffers(_: object, out: Any, x: Any, y: Any) -> None:
        np.asarray(out)[...] = add(np.asarray(x), np.asarray(y))

    spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
    called: jax.Array = buffer_callback(on_buffers, spec)(x, y)
    return called


def waiting(run: Callable[..., Any], *args: Any) -> Way:
    return lambda: jax.block_until_ready(run(*args))


def calls() -> Iterator[tuple[Case, int]]:
    """Small and large arrays, eagerly and under jit."""
    ours = jfi.from_numpy(add)
    for size, name, times in (
        (2, "2 numbers", 50),
        (10_000, "10 000 numbers", 50),
        (25_000_000, "100 MB", 1),
    ):
        x = jnp.ones(size)
        others = {"buffer_callback": waiting(jax.jit(by_buffers), x, x)}
        hand = waiting(jax.jit(by_hand), x, x)
        row = Case(f"add, jit, {name}", waiting(jax.jit(ours), x, x), hand, 1.1, others)
        yield row, times
        eager = waiting(ours, x, x)
        yield Case(f"add, eager, {name}", eager, waiting(by_hand, x, x), 1.1), times


def against_numpy() -> Iterator[tuple[Case, int]]:
    """100 MB to the bare function: NumPy's own writes where JAX reads."""
    x = jnp.ones(25_000_000)
    plain = np.asarray(x)
    bare = lambda: np.add(plain, plain)
    ufunc = jfi.from_numpy(np.add)
    name = "np.add to NumPy, 100 MB"
    yield Case(f"{name}, eager", waiting(ufunc, x, x), bare, 1.15), 1
    yield Case(f"{name}, jit", waiting(jax.jit(ufunc), x, x), bare, 2.1), 1


def batches() -> Iterator[tuple[Case, int]]:
    """A batch of 256: one call where the function computes element by element."""
    x = jnp.ones((256, 8))
    ours = jax.jit(jax.vmap(jfi.from_numpy(add)))
    hand = jax.jit(jax.vmap(by_hand))
    yield (
        Case("vmap of add, 256 rows", waiting(ours, x, x), waiting(hand, x, x), 1.1),
        50,
    )

    def rows_by_hand(x: jax.Array) -> jax.Array:
        spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
        call = lambda x: np.sort(np.asarray(x))
        return jax.pure_callback(call, spec, x, vmap_method="sequential")

    ours = jax.jit(jax.vmap(jfi.from_numpy(np.sort)))
    hand = jax.jit(jax.vmap(rows_by_hand))
    yield Case("vmap of sort, 256 rows", waiting(ours, x), waiting(hand, x), 1.1), 5


ONE_CORE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import jax, jax.numpy as jnp, numpy as np, jfi
f = jfi.from_numpy(lambda x, y: (x + y, np.sort(x)))
run = jax.jit(lambda x, y: sum(r.sum() for r in f(jnp.sin(x), y + 1)))
for k in range(10):
    x = jnp.full(4_000_000, float(k))
    jax.block_until_ready([run(x, x), run(x + 1, x), *f(x, x)])
"""


def hangs_on_one_core() -> bool:
    """Whether calls with 16 MB in flight wait for ever on a machine with one core."""
    try:
        subprocess.run([sys.executable, "-c", ONE_CORE], check=True, timeout=120)
    except subprocess.TimeoutExpired:
        return True
    return False


def more_rows() -> Iterator[tuple[Case, int]]:
    """Rows of other libraries, of those that are installed."""
    for name, package in MODULES.items():
        if importlib.util.find_spec(package):
            yield from importlib.import_module(name).rows()
        else:
            print(f"{package} is not installed: its rows are left out.")


if __name__ == "__main__":
    results = []
    for rows in (calls(), against_numpy(), batches(), more_rows()):
        for row, times in rows:
            for way in (row.ours, row.base, *row.others.values()):
                for _ in range(2 if times == 1 else 5):
                    way()  # compiles
            rounds = FEW_ROUNDS if times == 1 else ROUNDS
            results.append((row, ratios(row, rounds=rounds, calls=times)))
    if hangs_on_one_core():
        sys.exit("Calls with 16 MB in flight hang on one core.")
    print("No hang on one core with 16 MB in flight.")
    report("Foreign code (medians of interleaved ratios)", results)
