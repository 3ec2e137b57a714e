"""What functions under autojit cost as tasks of Dask, and how often they are compiled.

python tests/benchmarks/bench_dask.py

Two processes on this machine, twelve tasks a round. After the first rounds no task may
trace or compile anything. A round may take at most three times that of a function that
returns its argument: what Dask itself needs. The tasks of `jax.jit` are shown beside.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import dask
import distributed
import jax
from rich.console import Console
from rich.table import Table

import jfi as jnp


TASKS, ROUNDS = 12, 7
LIMIT = 3.0
A = 0.3 * jnp.eye(6)
XS = [jnp.arange(6.0) * k for k in range(TASKS)]

Gather = Callable[[], Any]


def rolled_out(x: Any, steps: int = 20) -> Any:
    """Steps of a small network, unrolled: some tenths of a second of compiling."""
    for _ in range(steps):
        x = jnp.tanh(A @ x)
    return x.sum()


def loss(x: Any) -> Any:
    return jax.value_and_grad(rolled_out)(x)


compiled = jnp.autojit(loss)
by_jax = jax.jit(loss)


class Model:
    """A model with its step as a method."""

    def __init__(self, k: float) -> None:
        self.w, self.steps = k * jnp.ones(6), 20

    @jnp.autojit
    def step(self, x: Any) -> Any:
        return rolled_out(self.w * x, self.steps)


def itself(x: Any) -> Any:
    return x


def captured(k: int) -> Callable[[Any], Any]:
    w = k * jnp.ones(6)
    return lambda x: compiled(w * x)


def ways(client: Any) -> dict[str, Gather]:
    """Each runs a round of tasks, and waits for the results."""

    def submitted(fns: list[Callable[..., Any]]) -> Any:
        pairs = zip(fns, XS, strict=True)
        return client.gather([client.submit(f, x, pure=False) for f, x in pairs])

    def delayed() -> Any:
        tasks = [dask.delayed(compiled, pure=False)(x) for x in XS]
        return dask.compute(*tasks, scheduler=client)

    rows = jnp.stack(XS)
    one_each = {"client": client, "chunk_size": 1}
    return {
        "itself": lambda: submitted([itself] * TASKS),
        "submit(autojit)": lambda: submitted([compiled] * TASKS),
        "map(autojit)": lambda: client.gather(client.map(compiled, XS, pure=False)),
        "delayed(autojit)": delayed,
        "a closure over other arrays": lambda: submitted(
            [captured(k) for k in range(TASKS)]
        ),
        "a method of other objects": lambda: submitted(
            [Model(float(k)).step for k in range(TASKS)]
        ),
        "vmap_automatically(client=)": lambda: jnp.vmap_automatically(
            loss, rows, batch_size=TASKS, **one_each
        ),
        BY_JAX: lambda: submitted([by_jax] * TASKS),
    }


BY_JAX = "submit(jax.jit)"


def count() -> None:
    """Let a worker count what it traces and compiles."""
    import jax.monitoring

    counts = {"jaxpr_trace": 0, "backend_compile": 0}

    def listen(event: str, seconds: float, **_: Any) -> None:
        name = event.rpartition("/")[2].removesuffix("_duration")
        if name in counts:
            counts[name] += 1

    jax.monitoring.register_event_duration_secs_listener(listen)
    setattr(jax, "counts_of_benchmark", counts)  # noqa: B010 - unknown to type checkers


def counted(client: Any) -> tuple[int, int]:
    """How often all workers traced and compiled so far."""
    found = client.run(lambda: dict(jax.counts_of_benchmark))  # type: ignore[attr-defined]
    return (
        sum(counts["jaxpr_trace"] for counts in found.values()),
        sum(counts["backend_compile"] for counts in found.values()),
    )


def measure(client: Any) -> dict[str, tuple[int, int, int, float]]:
    """Of each way: compilations at first; traces and compilations later; seconds."""
    found: dict[str, tuple[int, int, int, float]] = {}
    rounds = ways(client)
    first: dict[str, int] = {}
    for name, run in rounds.items():
        before = counted(client)
        # Which worker gets which task is Dask's choice: each has to meet the function.
        for _ in range(1 if name == BY_JAX else 3):
            run()
        first[name] = counted(client)[1] - before[1]
    seconds: dict[str, list[float]] = {name: [] for name in rounds}
    later: dict[str, list[int]] = {name: [0, 0] for name in rounds}
    for k in range(ROUNDS):
        for name, run in rounds.items():
            if name == BY_JAX and k:  # it takes as long as all others together
                continue
            before = counted(client)
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
            for i, (old, new) in enumerate(zip(before, counted(client), strict=True)):
                later[name][i] += new - old
    for name in rounds:
        pairs = zip(seconds[name], seconds["itself"], strict=False)
        ratio = statistics.median(own / base for own, base in pairs)
        found[name] = (first[name], later[name][0], later[name][1], ratio)
    return found


def main() -> None:
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        known: Any = client
        known.run(count)
        found = measure(known)
    table = Table(
        "tasks", "compiled at first", "traced later", "compiled later",
        "time / itself", "limit",
        title=f"{TASKS} tasks on 2 workers",
    )  # fmt: skip
    missed = False
    for name, (first, traced, again, ratio) in found.items():
        shown = name in ("itself", BY_JAX)
        over = not shown and (traced > 0 or again > 0 or ratio > LIMIT)
        missed |= over
        style = "white" if shown else "red" if over else "green"
        limit = "-" if shown else f"{LIMIT:.2f}"
        numbers = (str(first), str(traced), str(again), f"{ratio:.2f}")
        table.add_row(name, *(f"[{style}]{x}[/]" for x in numbers), limit)
    Console(width=110).print(table)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
