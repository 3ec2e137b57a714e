"""NumPy's odd arrays: every tool gives the numbers of plain Python, or refuses."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import jfi


X = np.arange(3.0)
FIELDS = [("x", "f8"), ("y", "f8")]
SECOND = np.timedelta64(1, "s")


def matrix(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(rows)


def records(y):
    return np.array([(1.0, y)], dtype=FIELDS)


# Values that differ, and what a function reads from one of them.
VALUES = {
    "masked": (
        [
            np.ma.masked_array([a, 2.0], mask=[0, b])
            for a, b in [(1, 1), (3, 1), (1, 0)]
        ],
        lambda a, x: x * float(a.sum()),
    ),
    "fill value": (
        [np.ma.masked_array([1.0], mask=[1], fill_value=f) for f in (5.0, 6.0)],
        lambda a, x: x * float(a.filled()[0]),
    ),
    "masked constant": (
        [np.ma.masked, np.float64(1.0)],
        lambda a, x: x * (1.0 if a is np.ma.masked else 2.0),
    ),
    "matrix": (
        [matrix([[1.0, 2.0], [3.0, 4.0]]), matrix([[3.0, 6.0], [9.0, 12.0]])],
        lambda a, x: x * (a * a)[0, 0],
    ),
    "duration": (
        [np.timedelta64(1, "s"), np.timedelta64(3, "s"), np.timedelta64(1, "m")],
        lambda a, x: x * (a / SECOND),
    ),
    "durations": (
        [np.array([1], "m8[s]"), np.array([3], "m8[s]"), np.array([1], "m8[m]")],
        lambda a, x: x * (a[0] / SECOND),
    ),
    "dates": (
        [np.array([day], "M8[D]") for day in ("2020-01-01", "2020-01-03")],
        lambda a, x: x * float(a[0].astype("i8")),
    ),
    "record array": (
        [records(y).view(np.recarray) for y in (1.0, 3.0)],
        lambda a, x: x * float(a.y[0]),
    ),
    "structured": ([records(1.0), records(3.0)], lambda a, x: x * float(a["y"][0])),
    "structured number": (
        [records(1.0)[0], records(3.0)[0]],
        lambda a, x: x * float(a["y"]),
    ),
    "text": (
        [np.array(["a", "b"]), np.array(["abc", "b"])],
        lambda a, x: x * len(str(a[0])),
    ),
    "one text": ([np.str_("a"), np.str_("abc")], lambda a, x: x * len(a)),
    "objects": (
        [np.array([a, "b"], dtype=object) for a in (1.0, 3.0)],
        lambda a, x: x * a[0],
    ),
    "long floats": (
        [np.array([a], np.longdouble) for a in (1, 3)],
        lambda a, x: x * float(a[0]),
    ),
    "one long float": (
        [np.longdouble(1), np.longdouble(3)],
        lambda a, x: x * float(a),
    ),
    "bool": ([np.bool_(False), np.bool_(True)], lambda a, x: x * a),
    "other bytes": ([np.array([a], ">f8") for a in (1, 3)], lambda a, x: x * a[0]),
}


class Holder:
    def __init__(self, a):
        self.a = a


def captured(tool):
    def wrap(fn):
        def call(a, x):
            return tool(lambda x: fn(a, x))(x)

        return call

    return wrap


def in_a_list(tool):
    def wrap(fn):
        compiled = tool(lambda values, x: fn(values[0], x))
        return lambda a, x: compiled([a], x)

    return wrap


def in_self(tool):
    def wrap(fn):
        compiled = tool(lambda holder, x: fn(holder.a, x))
        return lambda a, x: compiled(Holder(a), x)

    return wrap


def in_a_batch(fn):
    return lambda a, x: jfi.vmap_automatically(
        lambda problem: fn(problem["a"], problem["x"]), {"a": a, "x": x}
    )


def stacked(fn):
    def call(a, x):
        trees = [{"a": a, "n": 1.0}, {"a": a, "n": 2.0}]
        return fn(jfi.unstack_tree(jfi.stack_trees(trees))[1]["a"], x)

    return call


TOOLS = {
    "autojit": jfi.autojit,
    "autojit, in a list": in_a_list(jfi.autojit),
    "autojit, in self": in_self(jfi.autojit),
    "autojit, captured": captured(jfi.autojit),
    "autojit, static": lambda fn: jfi.autojit(fn, static="a"),
    "jit, captured": captured(jfi.jit),
    "persistent": jfi.persistent,
    "persistent, in a list": in_a_list(jfi.persistent),
    "persistent, in self": in_self(jfi.persistent),
    "persistent, captured": captured(jfi.persistent),
    "batch": in_a_batch,
    "scan, captured": lambda fn: (
        lambda a, x: jfi.scan(lambda carry, row: (carry, fn(a, row)), 0.0, x)[1]
    ),
    "map": lambda fn: lambda a, x: jfi.map(lambda row: fn(a, row), x),
    "cond": lambda fn: (
        lambda a, x: jfi.cond(True, lambda x: fn(a, x), lambda x: fn(a, x), x)
    ),
    "vjp": lambda fn: lambda a, x: jfi.vjp(fn, a, x)[0],
    "jvp": lambda fn: lambda a, x: jfi.jvp(fn, (a, x), (None, x))[0],
    "to": lambda fn: lambda a, x: fn(jfi.to({"a": a}, "cpu")["a"], x),
    "stack_trees": stacked,
}


@pytest.mark.filterwarnings("ignore::jfi.LocalFallbackWarning")
@pytest.mark.filterwarnings("ignore:.*matrix subclass is not the recommended")
@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", VALUES)
def test_the_numbers_of_plain_python_or_an_error(name, tool):
    values, fn = VALUES[name]
    call = TOOLS[tool](fn)
    for a in [*values, *values]:
        try:
            found = call(a, jnp.asarray(X))
        except (TypeError, ValueError, jfi.JfiError):
            continue
        np.testing.assert_allclose(found, fn(a, X))


@pytest.mark.filterwarnings("ignore::jfi.LocalFallbackWarning")
@pytest.mark.filterwarnings("ignore:.*matrix subclass is not the recommended")
@pytest.mark.parametrize("name", VALUES)
def test_persistent_takes_them_all(name):
    values, fn = VALUES[name]
    call = jfi.persistent(fn)
    for a in [*values, *values]:
        np.testing.assert_allclose(call(a, jnp.asarray(X)), fn(a, X))


def test_the_line_to_write_says_what_stands_for_hidden_numbers():
    masked = np.ma.masked_array([1.0, 2.0], mask=[0, 1])
    with pytest.raises(jfi.AutoJitError, match=r"a = a\.filled\(0\)"):
        jfi.autojit(lambda a: a + 1)(masked)
    with pytest.raises(jfi.LoopError, match=r"init = init\.filled\(0\)"):
        jfi.scan(lambda a, _: (a, None), masked, length=2)


def test_a_table_of_pandas_is_refused():
    table = pd.DataFrame({"x": [1.0, 2.0]})
    read = jfi.autojit(lambda t: jfi.array(t["x"]))
    with pytest.raises(jfi.AutoJitError, match=r"t = jnp\.asarray\(t\)"):
        read(table)
    with pytest.raises(jfi.AutoJitError, match=r"t = jnp\.asarray\(t\)"):
        jfi.autojit(lambda t: jfi.array(t))(table["x"])


TABLE = pd.DataFrame({"x": [1.0, 2.0]})


def test_a_table_of_pandas_outside_is_never_stale():
    def add(carry, _):
        return carry + jfi.array(TABLE["x"]), None

    add_to = jfi.autojit(lambda x: x + jfi.array(TABLE["x"]))
    for k in range(3):
        TABLE["x"] = [k, 2.0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jfi.UncompiledWarning)
            summed, _ = jfi.scan(add, jfi.zeros(2), None, length=1)
            np.testing.assert_array_equal(summed, [k, 2])
            np.testing.assert_array_equal(add_to(jfi.zeros(2)), [k, 2])


def test_the_values_of_a_dict_are_refused():
    values = {"a": 1.0}.values()
    with pytest.raises(jfi.AutoJitError, match="a dict_values for v, which can change"):
        jfi.autojit(lambda v: jfi.array(list(v)))(values)


# ------------------------------------------------- what JAX makes of plain values

# A plain call of a function with rules of its own hands it these in classes of JAX's.
PLAIN = [np.ones(2, np.float32), np.arange(3, dtype="int32"), np.float32(2), 2.0, 3, 1j]


def with_own_rules(fn):
    """`fn`, given what JAX makes of its argument; returns also what it was given."""
    seen = []

    def called(x):
        seen[:] = [type(x), fn(x)]
        return x

    ours = jax.custom_jvp(called)
    ours.defjvp(lambda xs, ts: (xs[0], ts[0]))
    return lambda x: (ours(x), *seen)[1:]


def test_what_jax_makes_of_plain_values_is_data_to_every_tool():
    tools = {
        "autojit": jfi.autojit(lambda x: x * 2),
        "captured": lambda x: jfi.autojit(lambda y: y + x)(1.0),
        "static": lambda x: jfi.autojit(lambda x: x * 2, static="x")(x),
        "vjp": lambda x: jfi.vjp(lambda y: y * 2, x)[0],
        "to": lambda x: jfi.to(x, jnp.complex64),
        "stack_trees": lambda x: jfi.stack_trees([{"x": x}, {"x": x}])["x"],
        "scan": lambda x: jfi.scan(lambda c, _: (c, None), x, length=2)[0],
        "scan_while": lambda x: (
            jfi.scan_while(lambda c: True, lambda c: (c, c), x, 2).carry
        ),
    }
    of_floats = {
        "jvp": lambda x: jfi.jvp(lambda y: y * y, (x,), (x,))[1],
        "grad": jfi.grad(lambda x: (jnp.asarray(x) ** 2).sum()),
        "apply_updates": lambda x: jfi.apply_updates({"x": x}, {"x": x})["x"],
    }
    for x in PLAIN:
        is_float = np.asarray(x).dtype.kind == "f"
        rows = {"batch": jfi.auto_vmap(lambda r: r * 2)} if np.ndim(x) else {}
        for name, tool in {**tools, **rows, **(of_floats if is_float else {})}.items():
            cls, found = with_own_rules(tool)(x)
            assert cls.__module__.startswith("jax"), cls
            expected = tool(x)
            assert np.shape(found) == np.shape(expected), (name, x)
            np.testing.assert_array_equal(found, expected, err_msg=f"{name} {x!r}")


def test_a_float_of_jax_is_no_setting():
    twice = jfi.autojit(lambda x: x * 2)
    for x in (2.0, 3.0, 4.0):
        assert with_own_rules(twice)(x)[1] == 2 * x
    assert twice.cache_info().traces == 1


SMALL = "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz int4 uint4"


@pytest.mark.parametrize("name", SMALL.split())
def test_arrays_of_small_numbers_are_data(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    run = jfi.autojit(lambda x: x.astype("float32") * 2)
    for k in (1, 2, 3):
        x = np.full(2, k).astype(getattr(ml_dtypes, name))
        assert run(x).tolist() == [2 * k] * 2
    assert run.cache_info().traces == 1
