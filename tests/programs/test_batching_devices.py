"""Batches on several devices, in processes that have some."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

from subprocesses import output_of


PROBLEM = """
import functools, json, sys, warnings
import jax, numpy as np
import jfi as jnp
from jax.sharding import NamedSharding, PartitionSpec

def fn(p):
    y = p["A"] @ p["x"] * p["gain"]
    return {"y": y, "draw": jnp.randn(2), "kind": p["kind"]}

def problem(rows):
    x = np.arange(3.0 * rows, dtype="float32").reshape(rows, 3)
    A = np.eye(3, dtype="float32")
    return {"x": x, "A": A, "gain": 2.0, "kind": "linear"}

def run(rows, problem_=None, **options):
    jnp.manual_seed(0)
    p = problem(rows) if problem_ is None else problem_
    return jnp.vmap_automatically(fn, p, rows, **options)

def same(one, other):
    return (
        one["kind"] == other["kind"]
        and bool((one["y"] == other["y"]).all())
        and bool((one["draw"] == other["draw"]).all())
    )
"""

CHECKS = """
alone = functools.cache(run)
devices = jax.devices()
seen = {}
mesh = jax.make_mesh((2, len(devices) // 2), ("a", "b"))
ways = {
    "all": {"devices": "all"},
    "cpu": {"devices": "cpu"},
    "two": {"devices": 2},
    "list": {"devices": devices[-1:]},
    "device": {"devices": devices[1]},
    "name": {"devices": "cpu:1"},
    "names": {"devices": ["cpu:1", devices[0]]},
    "chunks": {"devices": "all", "chunk_size": 2},
    "mesh": {"sharding": mesh},
    "sharding": {"sharding": NamedSharding(mesh, PartitionSpec("a"))},
    "both axes": {"sharding": NamedSharding(mesh, PartitionSpec(("a", "b")))},
}
for name, options in ways.items():
    seen[name] = same(run(7, **options), alone(7))
for rows in 0, 1, 8:
    seen[f"{rows} rows"] = same(run(rows, devices="all"), alone(rows))
split = run(8, devices="all")["y"].sharding
seen["split"] = len(split.device_set) == len(devices) and split.spec[0] is not None

# What was put on one device goes to all.
there = {**problem(8), "A": jax.device_put(np.eye(3, dtype="float32"), devices[-1])}
seen["committed"] = same(run(8, there, devices="all"), alone(8))

# Data with a sharding in its type.
explicit = jax.make_mesh(
    (len(devices),), ("i",), axis_types=(jax.sharding.AxisType.Explicit,)
)
rows_split = NamedSharding(explicit, PartitionSpec("i"))
typed = {**problem(8), "x": jax.device_put(problem(8)["x"], rows_split)}
for name, options in {**ways, "mesh of it": {"sharding": explicit}}.items():
    seen["typed: " + name] = same(run(8, typed, **options), alone(8))
compilers = {"plain": lambda f: f, "jit": jnp.jit, "autojit": jnp.autojit}
def total(x):
    p = {**problem(8), "x": x}
    return jnp.vmap_automatically(fn, p, 8, devices="all")["y"].sum()
for name, compiled in compilers.items():
    gradient = compiled(jax.grad(total))(typed["x"])
    seen["typed: grad, " + name] = bool((gradient == 2).all())

# Axes, under transformations, and where a value must be known.
seen["alone again"] = same(run(7), alone(7))
x = jnp.asarray(problem(7)["x"])
def loss(x, **options):
    tree = {"x": x.T}
    out = jnp.vmap_automatically(
        lambda p: jnp.sin(p["x"]), tree, batched={"x": 1}, out_axes=1, **options
    )
    return (out**2).sum()
spread = jax.jit(jax.grad(lambda x: loss(x, devices="all", chunk_size=1)))(x)
seen["grad"] = bool(np.allclose(spread, jax.grad(loss)(x)))
def odd(p):
    return p["x"] * float(p["A"][0, 0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", jnp.UncompiledWarning)
    result = jnp.vmap_automatically(odd, problem(7), 7, devices="all")
seen["value"] = bool((result == problem(7)["x"]).all())
try:
    run(8, devices=len(devices) + 1)
except jnp.BatchError as error:
    seen["too many"] = f"this process has {len(devices)}" in str(error)
for name in "cpu:9", "abacus", ["cpu:0", "tpu:0"]:
    try:
        run(8, devices=name)
    except jnp.BatchError as error:
        seen[f"{name}"] = "There is 'cpu:0', 'cpu:1'" in str(error)
print(json.dumps(seen))
"""


def test_devices_share_a_batch_and_change_no_number():
    # Slow: a process with other devices, in which each way to share is compiled.
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    seen = json.loads(output_of(PROBLEM + CHECKS, env=flags))
    assert seen == dict.fromkeys(seen, True)
    assert "too many" in seen


PROCESS = """
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.config.update("jax_num_cpu_devices", 2)
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
from jax.experimental.multihost_utils import process_allgather

mesh = jax.make_mesh((4,), ("x",))
sharding = NamedSharding(mesh, PartitionSpec("x"))
p = problem(8)
mine = p["x"][4 * rank : 4 * rank + 4]
in_parts = {**p, "x": jax.make_array_from_process_local_data(sharding, mine)}
for rows, tree in (8, p), (8, in_parts), (7, problem(7)):
    result = run(rows, tree, sharding=mesh)
    y, draw = (process_allgather(result[k], tiled=True) for k in ("y", "draw"))
    assert y.tolist() == expected[str(rows)]["y"], y
    np.testing.assert_array_equal(draw, np.float32(expected[str(rows)]["draw"]))
    assert result["kind"] == "linear"
    assert len(result["y"].sharding.device_set) == 4
print("right")
"""

EXPECTED = """
print(json.dumps({
    n: {k: np.asarray(run(n)[k]).tolist() for k in ("y", "draw")} for n in (7, 8)
}))
"""


def test_a_mesh_of_two_processes_gives_the_same_numbers():
    expected = output_of(PROBLEM + EXPECTED)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    codes = [
        f"rank, port, expected = {rank}, {port}, {expected}\n" + PROBLEM + PROCESS
        for rank in (0, 1)
    ]
    with ThreadPoolExecutor() as pool:
        for output in pool.map(output_of, codes):
            assert output.endswith("right")  # after what Gloo says
