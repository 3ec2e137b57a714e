from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contracting import A, X, close, contract
from hypothesis import given, settings, strategies as st
from jax import lax
from jax.sharding import AxisType, PartitionSpec as P
from subprocesses import output_of

import jfi
from jfi import LoopError, scan_while


def test_vmap_gives_the_loop_of_each_row(x64):
    batched = jax.vmap(contract, (None, 0))(A, X)
    rows = [contract(A, x) for x in X]
    stacked = jax.tree.map(lambda *rows: jnp.stack(rows), *rows)
    close(batched, stacked)
    assert len(set(batched.length.tolist())) == 4
    np.testing.assert_array_equal(batched.mask, [row.mask for row in rows])
    nested = jax.vmap(jax.vmap(contract, (None, 0)), (0, None))(np.stack([A, A / 2]), X)
    close(jax.tree.map(lambda x: x[0], nested), stacked)
    close(jax.tree.map(lambda x: x[1, 2], nested), contract(A / 2, X[2]))


WAYS = {
    "jit of vmap": lambda f, axes: jax.jit(jax.vmap(f, axes)),
    "vmap of jit": lambda f, axes: jax.vmap(jax.jit(f), axes),
    "jfi.vmap": lambda f, axes: jfi.vmap(f, axes),
    "spmd_axis_name": lambda f, axes: jax.vmap(f, axes, spmd_axis_name="rows"),
    "axis_name": lambda f, axes: jax.vmap(f, axes, axis_name="rows"),
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_batch(way):
    expected = [contract(A, x) for x in X]
    close(
        WAYS[way](contract, (None, 0))(A, X),
        jax.tree.map(lambda *rows: jnp.stack(rows), *expected),
    )


def test_chunks():
    rows = jax.vmap(contract, (None, 0))(A, X)
    close(lax.map(lambda x: contract(A, x), X, batch_size=3), rows)
    close(jfi.vmap(lambda x: contract(A, x), chunk_size=3)(X), rows)


def test_an_empty_batch():
    none = jax.vmap(lambda x: jax.value_and_grad(total)(jnp.asarray(A), x))(X[:0])
    assert [x.shape for x in jax.tree.leaves(none)] == [(0,), (0, 2, 2)]


def total(A, x):
    result = contract(A, x)
    return jnp.sum(result.carry["x"]) + jnp.sum(result.ys[0] ** 2)


def test_other_axes_and_a_loop_that_is_not_batched():
    def history(A, x):
        return contract(A, x).ys[0]

    ys = jax.vmap(history, (2, None), out_axes=1)(np.stack([A, A / 2], 2), X[0])
    close(ys[:, 0], history(A, X[0]))
    close(ys[:, 1], history(A / 2, X[0]))
    same = jax.vmap(lambda x: (history(A, X[0]), x), out_axes=(None, 0))(X)
    close(same[0], history(A, X[0]))


def test_rows_of_one_length():
    def run(scale, x):
        result = scan_while(
            lambda c: c[0] < 3, lambda c: ((c[0] + 1, c[1] * scale), c[1]), (0, x), 5
        )
        return result.carry[1] + result.ys.sum()

    gradient = jax.jit(jax.vmap(jax.grad(run, (0, 1)), (None, 0)))
    # x(s**3 + 1 + s + s**2), with s = 2
    close(gradient(2.0, jnp.array([1.0, 2.0])), ([17.0, 34.0], [15.0, 15.0]))


def test_a_batch_in_which_no_row_begins():
    result = jax.vmap(lambda x: contract(A, x))(np.zeros((3, 2), "float32"))
    assert not result.length.any()
    assert not result.mask.any()
    close(result.carry["x"], np.zeros((3, 2)))


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=4), st.integers(0, 7))
def test_any_lengths(stops, max_steps):
    def run(factor, stop):
        return scan_while(
            lambda c: c[0] < stop,
            lambda c: ((c[0] + 1, c[1] * factor), c[1]),
            (0, 1.0),
            max_steps,
        )

    stops = jnp.array(stops)
    steps = np.minimum(stops, max_steps)
    result = jax.vmap(run, (None, 0))(2.0, stops)
    np.testing.assert_array_equal(result.length, steps)
    close(result.carry[1], 2.0**steps)
    rows = np.arange(max_steps)
    close(result.ys, np.where(rows < steps[:, None], 2.0**rows, 0))
    gradient = jax.grad(lambda f: jax.vmap(run, (None, 0))(f, stops).carry[1].sum())
    close(gradient(2.0), np.sum(steps * 2.0 ** (steps - 1)))


def test_a_batch_is_one_loop_without_scatters():
    # A counter for each row would make a scatter of each write to the history.
    def program(f):
        return str(jax.make_jaxpr(f)(A, X))

    def loss(A, X):
        return jax.vmap(total, (None, 0))(A, X).sum()

    for f in (jax.vmap(contract, (None, 0)), jax.grad(loss)):
        assert "scatter" not in program(f)
    naive = jax.vmap(lambda i: jnp.zeros(3).at[i].set(1.0))
    assert "scatter" in str(jax.make_jaxpr(naive)(jnp.arange(2)))  # it can fail


def test_collectives_among_the_rows():
    def spread(x):
        def body(c):
            return c / 2 + lax.pmean(c, "rows") / 4, c

        return scan_while(lambda c: c > 1, body, x, 4)

    start = np.array([1.1, 1.2, 4.0])
    result = jax.vmap(spread, axis_name="rows")(start)
    x, steps = start, np.zeros(3)
    for _ in range(4):  # a row that has stopped keeps its carry, which the mean sees
        going = x > 1
        x, steps = np.where(going, x / 2 + x.mean() / 4, x), steps + going
    close(result.length, steps)
    close(result.carry, x)
    assert len(set(steps)) > 1

    def total(x):
        return jax.vmap(lambda x: spread(x).carry, axis_name="rows")(x).sum()

    eps = 1e-3
    finite = [
        (total(start + eps * e) - total(start - eps * e)) / (2 * eps) for e in np.eye(3)
    ]
    close(jax.jacfwd(total)(start), finite, rtol=1e-2)
    for refused in (jax.grad(total), jax.jacfwd(jax.jacfwd(total))):
        with pytest.raises(LoopError, match=r"exchange values .*\nWrite jax\.jacfwd"):
            refused(start)


def test_a_row_that_knows_its_number():
    def run(x):
        def body(c):
            return (c[0] * x + lax.axis_index("rows"), c[1] + 1), None

        return scan_while(lambda c: c[1] < 2, body, (x, 0), 3).carry[0]

    def of_rows(derivative):
        return jax.vmap(derivative(run), axis_name="rows")(jnp.array([1.0, 2.0]))

    # x * (x * x + n) + n
    close(of_rows(lambda f: f), [1.0, 11.0])
    close(of_rows(jax.grad), [3.0, 13.0])
    close(of_rows(jax.hessian), [6.0, 12.0])


def test_a_condition_without_derivative():
    def run(x):
        def cond(c):
            return lax.pmax(c, "rows") > 1

        return scan_while(cond, lambda c: (c / 2, None), x, 9).carry

    rows = jax.vmap(jax.value_and_grad(run), axis_name="rows")(jnp.array([1.5, 6.0]))
    close(rows, ([1.5 / 8, 6 / 8], [1 / 8, 1 / 8]))


def test_a_row_that_has_stopped_is_not_stepped_from_zeros():
    # The inner loop never ends for 0, which is no carry of any row.
    @jax.custom_vjp
    def normalized(x):
        return lax.while_loop(lambda x: x < 1, lambda x: 2 * x, x)

    normalized.defvjp(lambda x: (normalized(x), x), lambda x, g: (g * normalized(x),))

    def f(x, stop):
        def body(c):
            return (normalized(c[0]) / 4, c[1] + 1), None

        return scan_while(lambda c: c[1] < stop, body, (x, 0), 6).carry[0]

    gradients = jax.jit(jax.vmap(jax.grad(f)))(jnp.full(3, 0.3), jnp.array([1, 2, 4]))
    assert np.isfinite(gradients).all()


def test_draws_of_rows_and_steps_differ_and_return_in_the_gradient():
    def walk(scale, stop):
        def body(c):
            i, x = c
            step = jfi.randn()
            return (i + 1, x + scale * step), step

        result = scan_while(lambda c: c[0] < stop, body, (0, 0.0), 5)
        return result.carry[1], result.ys

    stops = jnp.array([2, 5, 0])

    def run(scale):
        ends, steps = jfi.vmap(walk, (None, 0))(scale, stops)
        return ends.sum(), steps

    gradient, steps = jax.grad(run, has_aux=True)(3.0)
    close(gradient, steps.sum(), rtol=1e-4)
    drawn = np.asarray(steps)[np.arange(5) < np.asarray(stops)[:, None]]
    assert len(set(drawn.tolist())) == 7


# ---- shards ----


def shards(f, n=1, **options):
    mesh = jax.make_mesh((n,), ("i",), axis_types=(AxisType.Auto,))
    return jax.jit(jax.shard_map(f, mesh=mesh, **options))


def test_a_float_that_begins_to_differ_between_shards_is_refused():
    def f(x):
        body = lambda c: ({"x": c["x"] / 2, "e": c["x"].sum()}, None)
        init = {"x": x, "e": 0.0}
        return scan_while(lambda c: c["x"].sum() > 1, body, init, 6).carry["e"][None]

    line = r"Write instead: init\['e'\] = jax\.lax\.pcast\(init\['e'\], 'i', to='vary"
    with pytest.raises(LoopError, match=rf"same in all shards .*\n{line}"):
        shards(f, in_specs=P("i"), out_specs=P("i"))(X)


def test_a_sum_over_shards_in_a_gradient_is_refused():
    def f(A, x):
        return contract(A, x[0]).carry["x"][None]

    mapped = shards(f, in_specs=(P(), P("i")), out_specs=P("i"))
    with pytest.raises(LoopError, match=r"array, float32\[2,2\], that is the same"):
        jax.grad(lambda A: mapped(A, X[:1]).sum())(jnp.asarray(A))


SHARDS = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import AxisType, PartitionSpec as P
from contracting import A, X, close, contract
from test_scan_while_batches import shards
import jfi

def each(A, x):
    result = contract(lax.pcast(A, "i", to="varying"), x[0])
    return result.carry["x"][None], result.ys[0][None], result.length[None]

def loss(run, A, x):
    carry, ys, _ = run(A, x)
    return jnp.sum(carry**2) + jnp.sum(ys**3)

def rows(A, X):
    result = jax.vmap(contract, (None, 0))(A, X)
    return result.carry["x"], result.ys[0], result.length

sharded = shards(each, 4, in_specs=(P(), P("i")), out_specs=P("i"))
close(sharded(A, X), rows(A, X))
for derivative in (lambda f: jax.grad(f, (0, 1)), jax.jacfwd, jax.hessian):
    of = [jax.jit(derivative(lambda A, x: loss(f, A, x))) for f in (sharded, rows)]
    close(of[0](A, X), of[1](A, X), rtol=1e-4, atol=1e-4)

# The same number of steps, the same parameters, and a sum over shards in each step.
def fit(p, x):
    def body(c):
        p, i = c
        gradient = jax.grad(lambda p: lax.psum(jnp.sum((p * x) ** 2), "i"))(p)
        return (p - gradient, i + 1), p
    result = jfi.scan_while(lambda c: c[1] < 3, body, (p, 0), 5)
    return result.carry[0], result.length

x = X / 10
fitted, length = shards(fit, 4, in_specs=(P(), P("i")), out_specs=P())(A[0], x)
p = A[0]
for _ in range(3):
    p = p - jax.grad(lambda p: jnp.sum((p * x) ** 2))(p)
close(fitted, p)
assert int(length) == 3
print("ok")
"""


def test_shards_stop_each_at_its_own_step():
    env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    helpers = f"import sys; sys.path.append({str(Path(__file__).parent)!r})"
    assert output_of(helpers + SHARDS, env=env) == "ok"
