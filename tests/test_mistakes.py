"""What jfi says of the common mistakes, under each of its tools; docs/mistakes.md."""

import ast
import enum
import inspect
import itertools
import math
import re
from contextlib import nullcontext

import equinox as eqx
import jax
import numpy as np
import optax
import pytest
import scipy.special

import jfi as jnp
from jfi._advice._torch_methods import OF_ARRAYS, OF_MODELS, OF_OPTIMIZERS


X = jnp.array([1.0, -2.0, 3.0])


def said(error):
    """The advice: what is put before JAX's words, or the note of jfi."""
    notes = [n for n in getattr(error, "__notes__", []) if "JAX has removed" not in n]
    if "\n\nJAX says: " in str(error):
        assert not notes
        return str(error).partition("\n\nJAX says: ")[0]
    return "\n".join(notes)


def advice(call, *args, raises=Exception):
    with pytest.raises(raises) as info:
        call(*args)
    return said(info.value)


def instead(text):
    """The lines that an advice says to write."""
    lines = text.partition("Write instead:\n")[2].partition("\nIf it is a setting")[0]
    taken = [line[2:] for line in lines.splitlines() if line.startswith("  ")]
    return "\n".join(taken)


# ------------------------------------------------- traced code alone: the line runs


def a_float(x):
    return float(x[0]) * x


def an_int(x):
    return x * int(x[2] + 0.5)


def an_item(x):
    return x.sum().item() + x


def of_math(x):
    return x * math.sin(x[0])


def of_numpy(x):
    return np.sin(x) * 2


def from_scipy(x):
    return scipy.special.erf(x)


def in_numpy_alone(x):
    return np.trim_zeros(x) if x is None else np.trapezoid(x) + x


def a_list(x):
    return [1.0, 2.0, 3.0][jnp.argmax(x)] * x


def a_table(x):
    return TABLE[jnp.argmax(x)] * x


TABLE = np.arange(3.0)


def a_slice(x):
    i = jnp.argmax(x) - 1
    return x[i : i + 2]


def the_first(x):
    n = jnp.sum(x > 0)
    return x[:n].sum()


def the_rest(x):
    n = jnp.sum(x > 0)
    return x[n:].sum()


def a_masked_sum(x):
    return jnp.sum(x[x > 0])


def a_masked_method(x):
    return x[x > 0].sum() + 1


def a_masked_loss(x):
    y = x[x > 0]
    return y.sum()


def a_loop(x):
    n = jnp.sum(x > 0)
    total, last = 0.0, 1.0
    for i in range(n):
        total = total + x[i] * last
        last = last + 1
    return total


def a_range(x):
    n = jnp.sum(x > 0)
    total = 0.0
    for i in range(1, n):
        total += x[i]
    return total


def a_flag(x):
    flag = x.sum() > 0
    if flag:
        x = x + 1.0
    return x


def a_returned_flag(x):
    flag = x.sum() > 0
    if not flag:
        return jnp.sin(x)
    else:
        return x


def a_chosen_flag(x):
    flag = x.sum() > 0
    return 2.0 * x if flag else x


def a_loop_on_a_flag(x):
    flag = x.sum() < 9
    while flag:
        x = 2 * x
        flag = x.sum() < 9
    return x


LINES = {
    a_flag: "x = jnp.where(flag, x + 1.0, x)",
    a_returned_flag: (
        "return jnp.cond(jnp.logical_not(flag), lambda: jnp.sin(x), lambda: x)"
    ),
    a_chosen_flag: "return jnp.where(flag, 2.0 * x, x)",
    a_loop_on_a_flag: """\
def cond(state):
    x, flag = state
    return flag
def body(state):
    x, flag = state
    x = 2 * x
    flag = x.sum() < 9
    return x, flag
x, flag = jnp.while_loop(cond, body, (x, flag))""",
    a_float: "return x[0].astype(float) * x",
    an_int: "return x * (x[2] + 0.5).astype(int)",
    an_item: "return x.sum() + x",
    of_math: "return x * jnp.sin(x[0])",
    of_numpy: "return jnp.sin(x) * 2",
    from_scipy: "return jnp.scipy.special.erf(x)",
    in_numpy_alone: ("return np.trim_zeros(x) if x is None else jnp.trapezoid(x) + x"),
    a_list: "return jnp.array([1.0, 2.0, 3.0])[jnp.argmax(x)] * x",
    a_table: "return jnp.asarray(TABLE)[jnp.argmax(x)] * x",
    a_slice: "return jnp.lax.dynamic_slice_in_dim(x, i, 2)",
    the_first: "return jnp.where(jnp.arange(len(x)) < n, x, 0).sum()",
    the_rest: "return jnp.where(jnp.arange(len(x)) >= n, x, 0).sum()",
    a_masked_sum: "return jnp.sum(x, where=x > 0)",
    a_masked_method: "return jnp.sum(x, where=x > 0) + 1",
    a_masked_loss: "y = jnp.where(x > 0, x, 0)",
    a_loop: """\
def body(i, state):
    total, last = state
    total = total + x[i] * last
    last = last + 1
    return total, last
total, last = jnp.fori_loop(0, n, body, (total, last))""",
    a_range: """\
def body(i, total):
    total += x[i]
    return total
total = jnp.fori_loop(1, n, body, total)""",
}


@pytest.mark.parametrize("function", LINES, ids=lambda f: f.__name__)
def test_the_line_to_write_does_the_same(function):
    """The source of the function with the advised lines gives the plain results."""
    text = advice(jax.disable_jit(False)(jnp.jit(function)), X)
    assert instead(text) == LINES[function]
    assert f"{function.__name__}() needs" in text
    file, line, shown = re.search(
        r"^  (.*), line (\d+): (.*)$", text, re.MULTILINE
    ).groups()
    assert file == __file__
    lines, start = inspect.getsourcelines(function)
    where = int(line) - start
    assert lines[where].strip() == shown
    (definition,) = ast.parse("".join(lines)).body
    (statement,) = (s for s in definition.body if s.lineno == where + 1)
    new = ["    " + line + "\n" for line in LINES[function].splitlines()]
    source = [*lines[:where], *new, *lines[statement.end_lineno :]]
    variables = {**globals()}
    exec("".join(source), variables)
    out = jnp.jit(variables[function.__name__])(X)
    np.testing.assert_allclose(out, function(X), rtol=1e-6)


def test_a_function_that_jfi_does_not_have_runs_on_the_host():
    def ours(x):
        return np.nan_to_num(np.emath.sqrt(x))

    assert instead(advice(jnp.jit(ours), X)).endswith(
        "jnp.from_numpy(np.emath.sqrt)(x))"
    )


# ------------------------------------------------- plain Python's errors: a note


def setting(x):
    x[0] = 1.0
    return x


def adding(x):
    x[1] *= 2.0
    return x


def at_a_float(x):
    n = jnp.sum(x)
    return x[n]


def at_a_quotient(x):
    return x[len(x) / 2]


def rows_times_columns(x):
    w = jnp.ones((3, 2))
    return x * w


def product(x):
    w = jnp.ones((3, 2))
    return w @ x


def minus_a_list(x):
    return 2 * (x - [1.0, 2.0, 3.0])


def a_tuple_minus(x):
    return (1.0, 2.0, 3.0) - x


def adding_a_list(x):
    x += [1.0, 2.0, 3.0]
    return x


def above_a_list(x):
    bounds = [1.0, 2.0, 3.0]
    return x > bounds


def at_a_list(x):
    return x[[0, 2]] * 2


def too_large(x, n=2**40):
    return 2 * (x + n)


def above_too_large(x):
    return x > 2**40


def of_two_dtypes(x):
    n = jnp.arange(3)
    return jnp.lax.add(x, n)


NOTES = {
    setting: (TypeError, "is an array of JAX", "x = x.at[0].set(1.0)"),
    adding: (TypeError, "is an array of JAX", "x = x.at[1].multiply(2.0)"),
    at_a_float: (TypeError, "`n` in at_a_float() is", "return x[n.astype(int)]"),
    too_large: (
        OverflowError, "The integer 1099511627776 in too_large() is too large",
        "return 2 * (x + float(n))"),
    above_too_large: (
        OverflowError, "is too large", "return x > float(2 ** 40)"),
    minus_a_list: (
        TypeError, "minus_a_list() has no operators with a list",
        "return 2 * (x - jnp.asarray([1.0, 2.0, 3.0]))"),
    a_tuple_minus: (
        TypeError, "no operators with", "return jnp.asarray((1.0, 2.0, 3.0)) - x"),
    adding_a_list: (
        TypeError, "no operators with", "x += jnp.asarray([1.0, 2.0, 3.0])"),
    above_a_list: (
        TypeError, "no operators with", "return x > jnp.asarray(bounds)"),
    at_a_list: (
        TypeError, "takes no index that is a list",
        "return x[jnp.asarray([0, 2])] * 2"),
    at_a_quotient: (
        TypeError, "is a float",
        "return x[jnp.asarray(len(x) / 2, dtype=int)]",
    ),
    rows_times_columns: (
        ValueError, "x is float32[3], w is float32[3,2].", "return x[:, None] * w",
    ),
    product: (TypeError, "w is float32[3,2], x is float32[3].", "return w.T @ x"),
    of_two_dtypes: (
        TypeError, "x is float32[3], n is int32[3].",
        "return jnp.lax.add(x, n.astype(x.dtype))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("function", NOTES, ids=lambda f: f.__name__)
def test_an_error_of_plain_python_keeps_its_text_and_gets_a_note(function):
    kind, part, line = NOTES[function]
    with pytest.raises(kind) as plain:
        function(X)
    with pytest.raises(kind) as info:
        jnp.jit(function)(X)
    assert type(info.value) is type(plain.value)
    of_jax = r"DynamicJaxprTracer|(jaxlib\._jax\.)?ArrayImpl"
    texts = [re.sub(of_jax, "array", str(x.value)) for x in (info, plain)]
    assert texts[0] == texts[1]
    text = said(info.value)
    assert part in text
    assert instead(text) == line
    source = inspect.getsource(function).splitlines(keepends=True)
    variables = {**globals()}
    exec(
        "".join([*source[:-2], f"    {line}\n    return x\n"])
        if source[-1].strip() == "return x"
        else "".join([*source[:-1], f"    {line}\n"]),
        variables,
    )
    assert jnp.jit(variables[function.__name__])(X).size


def test_integers_beside_one_that_is_too_large_need_64_bits():
    text = advice(jnp.jit(lambda n: n + 2**40), jnp.arange(3), raises=OverflowError)
    assert 'or jnp.set_default_dtype("float64") at the start of the script' in text


def test_an_attribute_is_named_with_its_shape():
    class Model:
        def __init__(self):
            self.w = jnp.ones((4, 5))

        def __call__(self, x):
            return self.w @ x

    text = advice(jnp.autojit(Model()), X, raises=TypeError)
    assert "don't fit: self.w is float32[4,5], x is float32[3]." in text
    assert "Write instead" not in text  # no order or transpose fits


def test_shapes_in_a_library_name_the_users_line():
    layer = eqx.nn.Linear(5, 2, key=jax.random.key(0))
    text = advice(jnp.jit(lambda x: layer(x)), X)
    assert "x is float32[3]" in text
    assert "layer(x)" in text


def test_errors_of_the_users_own_get_no_note():
    def own(x):
        if x.shape == (3,):
            raise ValueError("incompatible shapes: broadcast")
        return x

    with pytest.raises(ValueError, match=r"^incompatible shapes: broadcast") as info:
        jnp.jit(own)(X)
    assert not said(info.value)


# ------------------------------------------------- every tool


def scanned(f):
    return lambda x: jnp.scan(lambda c, _: (f(c), None), x, None, length=2)


TOOLS = {
    "jit": jnp.jit,
    "lower": lambda f: jnp.jit(f).lower,
    "autojit": jnp.autojit,
    "persistent": jnp.persistent,
    "vmap": lambda f: lambda x: jnp.vmap(f)(x[None]),
    "vmap in chunks": lambda f: lambda x: jnp.vmap(f, chunk_size=1)(x[None]),
    "vmap_automatically": lambda f: lambda x: jnp.vmap_automatically(f, x[None]),
    "scan": scanned,
    "while_loop": lambda f: lambda x: jnp.while_loop(lambda c: c[0] < 9, f, x),
    "scan_while": lambda f: (
        lambda x: jnp.scan_while(lambda c: c[0] < 9, lambda c: (f(c), None), x, 3)
    ),
    "fori_loop": lambda f: lambda x: jnp.fori_loop(0, 2, lambda i, c: f(c), x),
    "map": lambda f: lambda x: jnp.map(f, x[None]),
    "cond": lambda f: lambda x: jnp.cond(True, f, f, x),
    "switch": lambda f: lambda x: jnp.switch(0, [f, f], x),
    "checkpoint": jnp.checkpoint,
    "grad": lambda f: jnp.grad(lambda x: f(x).sum()),
    "value_and_grad": lambda f: jnp.value_and_grad(lambda x: f(x).sum()),
    "jacrev": jnp.jacrev,
    "jacfwd": jnp.jacfwd,
    "hessian": lambda f: jnp.hessian(lambda x: f(x).sum()),
    "vjp": lambda f: lambda x: jnp.vjp(f, x),
    "jvp": lambda f: lambda x: jnp.jvp(f, (x,), (x,)),
    "linearize": lambda f: lambda x: jnp.linearize(f, x),
}


def unsqueezing(x):
    return x.unsqueeze(0)


#: Of each way that errors come: JAX's about values, Python's, those of missing names.
EVERYWHERE = {
    of_numpy: (jax.errors.TracerArrayConversionError, LINES[of_numpy]),
    setting: (TypeError, "x = x.at[0].set(1.0)"),
    product: (TypeError, "return w.T @ x"),
    unsqueezing: (AttributeError, "return jnp.unsqueeze(x, 0)"),
}


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_tool_says_the_line(tool):
    for function, (kind, line) in EVERYWHERE.items():
        text = advice(tool(function), X, raises=kind)
        assert instead(text) == line
        assert text.count("Write instead") == 1


#: What code that computes as it goes, as under `grad`, can do.
NOT_COMPILED = "grad value_and_grad jacrev jacfwd hessian vjp jvp linearize".split()


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
@pytest.mark.parametrize("tool", sorted(set(TOOLS) - set(NOT_COMPILED)))
def test_every_tool_that_traces_says_the_line(tool):
    for function in (a_float, a_loop, the_first, a_masked_loss):
        assert instead(advice(TOOLS[tool](function), X)) == LINES[function]


# ------------------------------------------------- sizes, texts, elements


def test_a_size_that_is_traced():
    def sized(x):
        n = jnp.sum(x > 0)
        return jnp.zeros(n)

    def known(x):
        return jnp.zeros(int(x[0]))

    def counted(x):
        return jnp.arange(jnp.sum(x > 0))

    assert "`jnp.zeros()` in sized() needs the size `n`" in advice(jnp.jit(sized), X)
    for function in (sized, known, counted):
        text = advice(jnp.jit(function), X, raises=TypeError)
        assert "Write instead: a size that is known, such as x.shape[0]" in text
    text = advice(jnp.autojit(sized), X, raises=TypeError)
    assert "sized() needs the value of x, which is data" in text
    assert "leaves[" not in text


def test_how_many_elements_are_found():
    def found(x):
        return x[jnp.where(x > 0)[0]]

    text = advice(jnp.jit(found), X)
    assert instead(text) == "return x[jnp.where(x > 0, size=x.size)[0]]"
    assert "size= is how many there can be at most" in text


def test_masks_and_slices_of_matrices_get_general_advice():
    rows = jnp.ones((3, 2))
    text = advice(jnp.jit(lambda x: x[x[:, 0] > 0]), rows)
    assert "Write instead: jnp.where(mask, x, 0)" in text
    text = advice(jnp.jit(lambda x, n: x[:n]), rows, 2, raises=IndexError)
    assert "Write instead: jnp.lax.dynamic_slice_in_dim(x, i, n, axis)" in text


def test_a_number_in_a_text_is_printed_by_the_program(capsys):
    def shown(x):
        print(f"{x[0]:.2f} of {{{x.sum()}}}")
        return x

    text = advice(jnp.jit(shown), X, raises=TypeError)
    line = instead(text)
    assert line == "jnp.debug.print('{:.2f} of {{{}}}', x[0], x.sum())"
    jax.block_until_ready(jnp.jit(lambda x: exec(line, {"jnp": jnp, "x": x}))(X))
    jax.effects_barrier()
    assert capsys.readouterr().out == "1.00 of {2.0}\n"

    def returned(x):
        return f"{x[0]:.2f}"

    text = advice(jnp.jit(returned), X, raises=TypeError)
    assert 'Write instead: jnp.debug.print("x is {}", x)' in text


def test_an_element_of_a_numpy_array():
    def filled(x):
        a = np.zeros(3)
        a[0] = x[0]
        return a

    text = advice(jnp.jit(filled), X, raises=ValueError)
    assert instead(text) == "a = jnp.asarray(a).at[0].set(x[0])"
    ragged = lambda x: np.array([[1.0], [2.0, 3.0]]) + x
    with pytest.raises(ValueError, match="inhomogeneous") as info:
        jnp.jit(ragged)(X)
    assert not said(info.value)


def test_functions_in_a_list():
    def chosen(x):
        return FUNCTIONS[jnp.argmax(x)](x)

    text = advice(jnp.jit(chosen), X)
    assert "jnp.switch(jnp.argmax(x), FUNCTIONS, ...)" in text


FUNCTIONS = [jnp.sin, jnp.cos, jnp.tan]


# ------------------------------------------------- arguments


def test_bytes_of_other_machines():
    data = {"sky": np.ones(7, np.dtype("f4").newbyteorder("S"))}
    text = advice(jnp.jit(lambda d: d["sky"]), data, raises=TypeError)
    assert "d['sky'] is an array of >f4: its bytes are in the order of" in text
    assert "Write instead: jnp.asarray(d['sky'])" in text
    text = advice(jnp.vmap(lambda x: x), data["sky"], raises=TypeError)
    assert "Write instead: jnp.asarray(x)" in text


@pytest.mark.parametrize("dtype", ["object", "longdouble"])
def test_arrays_of_a_dtype_that_jax_does_not_have(dtype):
    data = {"mass": np.ones(7, dtype)}
    text = advice(jnp.jit(lambda d: d["mass"]), data, raises=TypeError)
    assert f"d['mass'] is an array of {np.dtype(dtype)}, which JAX does not" in text
    assert "Write instead: d['mass'].astype(float)" in text


def test_static_arguments():
    f = jnp.jit(lambda x, sizes: x, static_argnames="sizes")
    text = advice(f, X, [1, 2], raises=ValueError)
    assert "must be hashable, and this is a list" in text
    assert "@jnp.autojit, which takes lists and dicts" in text
    text = advice(f, X, X, raises=ValueError)
    assert "leave it out of static_argnums: it is data" in text
    text = advice(jnp.jit(lambda x, mode: x), X, {"name": "sin"}, raises=TypeError)
    assert "mode['name'] is of the class str" in text
    assert "static_argnames='mode'" in text
    assert f"{__file__}, line" in text


@pytest.mark.parametrize(
    ("in_axes", "args", "fitting"),
    [
        (0, (jnp.ones((4, 3)), 2.0), (0, None)),
        (0, (jnp.ones((4, 3)), jnp.ones(3)), (0, None)),
        ((0,), (jnp.ones((4, 3)), jnp.ones((4,))), (0, 0)),
        (0, ({"a": jnp.ones((4, 3)), "b": 1.0}, "tanh"), ({"a": 0, "b": None}, None)),
        ((2, None), (jnp.ones((4, 3)), {"b": X}), (0, None)),
        (0, ([jnp.ones((4, 3)), 1.0], (2.0, jnp.ones(4))), ([0, None], (None, 0))),
    ],
)
def test_axes_that_fit(in_axes, args, fitting):
    text = advice(jnp.vmap(lambda x, y: x, in_axes=in_axes), *args)
    assert f"in_axes={in_axes!r} of vmap does not fit the arguments: " in text
    assert f"jnp.vmap(f, in_axes={fitting!r}); or jnp.vmap_automatically(f" in text
    assert "{" not in text or "'a': float32[4,3]" in text or "'b': float32[3]" in text


@jnp.pytree(data="scale")
class Scaled:
    def __init__(self):
        self.rows, self.scale = jnp.ones((4, 3)), 2.0


def test_no_axes_are_written_where_no_literal_fits():
    for args in [(Scaled(),), (Scaled(), jnp.ones((4, 3))), ({"a": Scaled()},), (2.0,)]:
        text = advice(jnp.vmap(lambda *args: args), *args)
        assert "vmap_automatically(f, ...), which finds out" in text
        assert "vmap(f, in_axes" not in text


def test_the_axes_are_right_and_the_function_fails():
    text = advice(jnp.vmap(lambda x: product(x)), X[None], raises=TypeError)
    assert "in_axes" not in text
    text = advice(lambda: jnp.vmap(lambda x, y: x)(X, y=2.0))
    assert "Arguments with names are always batched" in text
    assert "in_axes=(" not in text.partition("Write instead")[2]


def test_leaked_tracers():
    kept = []

    def keep(x):
        kept.append(2 * x)
        return x.sum()

    jnp.jit(keep)(X)
    uses = lambda x: x + kept[-1]
    text = advice(jnp.jit(uses), X, raises=jax.errors.UnexpectedTracerError)
    assert text.startswith("keep() kept a traced value")
    assert "kept.append(2 * x)" in text
    assert "@jfi.autojit in place of jit" in text
    jnp.grad(keep)(X)
    text = advice(jnp.vmap(uses), X, raises=jax.errors.UnexpectedTracerError)
    assert "return it from the function; of grad with has_aux=True" in text
    kept.clear()
    helper = jnp.autojit(lambda x: kept.append(2 * x))

    def body(total, x):
        return total + x, helper(total)

    uses = jnp.jit(lambda x: (jnp.scan(body, 0.0, x), kept[-1] + 1))
    text = advice(uses, X, raises=jax.errors.UnexpectedTracerError)
    assert "Write instead: return it" in text
    kept.clear()
    uses = jnp.autojit(lambda x: (jnp.scan(body, 0.0, x), kept[-1] + 1))
    with pytest.warns(jnp.UncompiledWarning, match="writes kept"):
        uses(X)  # step by step
    kept.clear()
    jnp.autojit(keep)(X)
    np.testing.assert_array_equal(kept[-1], 2 * X)


class Fit:
    def __init__(self):
        self.w, self.predicted, self.seen = jnp.ones(3), None, []

    def loss(self, params):
        self.w, self.predicted = params["w"], params["w"] * X[0]
        self.seen.append(params)
        return jnp.sum(self.predicted**2)

    def step(self):
        params = {"w": self.w}
        slope = jnp.grad(self.loss)(params)
        self.w = params["w"] - 0.1 * slope["w"]
        return slope["w"]

    def forget(self):
        return jnp.grad(self.loss)({"w": self.w})["w"]


@pytest.mark.filterwarnings("ignore:.*it keeps a traced value:jfi.JfiWarning")
@pytest.mark.filterwarnings("ignore:.*, which is being traced:jfi.JfiWarning")
@pytest.mark.parametrize("tool", [jnp.autojit, jnp.persistent])
def test_a_loss_that_writes_its_argument_to_an_attribute(tool, tmp_path, monkeypatch):
    monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path))
    step, fit, plain = tool(Fit.step), Fit(), Fit()
    for _ in range(4):
        fit.seen.clear()
        np.testing.assert_allclose(step(fit), Fit.step(plain), rtol=1e-6)
        np.testing.assert_allclose(fit.w, plain.w, rtol=1e-6)
    assert step.cache_info().traces == 2  # the second time there is something to forget
    assert type(fit.predicted) is type(plain.predicted)  # of no value in plain Python
    forget = tool(Fit.forget)
    np.testing.assert_allclose(forget(fit), Fit.forget(plain), rtol=1e-6)
    for of, run in (fit, forget), (plain, Fit.forget):
        advice(run, of, raises=jax.errors.UnexpectedTracerError)


def test_the_first_nan():
    def root(x):
        return jnp.sqrt(x) + 1

    with jax.debug_nans(True):
        for tool in (jnp.jit, jnp.autojit):
            text = advice(tool(root), X, raises=FloatingPointError)
            line = "return jnp.safe_where(x > 0, jnp.sqrt, x, 0.0) + 1"
            assert instead(text) == line
        assert "first NaN" in advice(jnp.jit(lambda x: (x - X) / (x - X)), X)


# ------------------------------------------------- habits from PyTorch


METHODS = {
    "x.backward()": "jnp.grad(loss)(params)  # derivatives are taken of functions",
    "x.to('cpu')": "y = jnp.to(x, 'cpu')",
    "x.numpy()": (
        "y = x  # and jnp.f(x) for np.f(x); outside compiled functions np.asarray(x)"
    ),
    "x.unsqueeze(0)": "y = jnp.unsqueeze(x, 0)",
    "x.softmax(dim=0)": "y = jnp.softmax(x, dim=0)",
    "x.sigmoid()": "y = jnp.sigmoid(x)",
    "x.float()": "y = x.astype(float)",
    "x.size()": "y = x.shape",
    "x.size(0)": "y = x.shape[0]",
    "x.view(1, -1)": "y = x.reshape(1, -1)",
    "x.expand(2, 3)": "y = jnp.broadcast_to(x, (2, 3))  # sizes, without -1",
    "x.add_(1.0)": "x = jnp.add(x, 1.0)",
    "x.zero_()": "x = jnp.zeros_like(x)",
    "x.numel()": "y = x.size",
    "(2 * x).type_as(x)": "y = (2 * x).astype(x.dtype)",
    "x.requires_grad": (
        "jnp.grad(loss)(x)  # says what is differentiated: arrays record nothing"
    ),
    "x.lerp(x, 0.5)": "x + weight * (y - x)",
}


@pytest.mark.parametrize("code", METHODS)
def test_methods_of_torch(code, tmp_path):
    file = tmp_path / "script.py"
    file.write_text(f"def f(x):\n    y = {code}\n    return y\n")
    variables = {}
    exec(compile(file.read_text(), str(file), "exec"), variables)
    text = advice(jnp.jit(variables["f"]), X)
    assert instead(text) == METHODS[code]
    assert "is PyTorch's" in text
    line = METHODS[code]
    if "loss" not in line and "weight" not in line:
        jax.eval_shape(lambda x: exec(line, {"jnp": jnp, "x": x}), X)


#: What the methods of `_torch_methods` are called with, if with anything.
ARGUMENTS = {
    "copy_": "2 * x", "expand": "2, 3", "expand_as": "jnp.ones((2, 3))", "fill_": "1.0",
    "new_ones": "3", "new_tensor": "[1.0, 2.0]", "new_zeros": "3",
    "reshape_as": "jnp.ones((3, 1))", "type": "float", "type_as": "x", "view": "-1",
    "view_as": "jnp.ones((3, 1))",
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_methods_of_torch_every_line_runs(name, tmp_path):
    if name == "cuda":
        pytest.skip("there is no GPU")
    file = tmp_path / "script.py"
    file.write_text(f"def f(x):\n    return x.{name}({ARGUMENTS.get(name, '')})\n")
    variables = {"jnp": jnp}
    exec(compile(file.read_text(), str(file), "exec"), variables)
    line = instead(advice(jnp.jit(variables["f"]), X))
    assert line
    # What the line leaves open: a loss, parameters, a mask.
    params = {"w": X}
    names = {
        "jnp": jnp, "x": X, "params": params, "n": 3, "mask": X > 0, "y": -X,
        "loss": (lambda p: jnp.sum(jax.tree.leaves(p)[0] ** 2)),
    }  # fmt: skip
    world = jnp.default_dtype("float64") if name == "double" else nullcontext()
    with world:
        exec(f"def f(x):\n    {line}", names)
        if name == "double":
            assert names["f"](X).dtype == "float64"
        names["f"](X)


def test_lines_for_optimizers_and_models_run(tmp_path):
    layer = {"w": X}
    optimizer = optax.sgd(0.1)
    state = optimizer.init(layer)
    loss = lambda model, x: jnp.sum(model["w"] * x)
    names = {
        "jnp": jnp, "optax": optax, "optimizer": optimizer, "state": state,
        "params": layer, "grads": layer, "x": X, "args": "cpu", "loss": loss,
        "path": tmp_path / "state", "model": layer,
    }  # fmt: skip
    lines = [*OF_OPTIMIZERS.values(), *OF_MODELS.values()]
    kinds = "cuda", "optax.multi_transform(...)", "train=True", "argnums=..."
    for line in sorted(lines, key=lambda line: "load_state" in line):  # saved before
        if not any(kind in line for kind in kinds):
            exec(line.format(jnp="jnp", x="model", args="'cpu'"), dict(names))


def test_other_attributes_get_no_advice():
    with pytest.raises(AttributeError, match="nonsense") as info:
        jnp.jit(lambda x: x.nonsense)(X)
    assert not said(info.value)


def test_methods_of_torchs_optimizers_and_modules():
    optimizer = optax.sgd(0.1)
    text = advice(jnp.autojit(lambda x: optimizer.step()), X, raises=AttributeError)
    assert "jnp.apply_updates(params, updates)" in text
    layer = eqx.nn.Linear(3, 2, key=jax.random.key(0))
    text = advice(jnp.autojit(lambda x: layer.parameters()), X, raises=AttributeError)
    assert "the model itself is the tree of its parameters" in text
    text = advice(jnp.jit(lambda x: layer.to("cpu")), X, raises=AttributeError)
    assert "jnp.to(layer, 'cpu')" in text


def test_code_without_a_file():
    variables = {"np": np}
    exec("def f(x):\n    return np.sin(x)", variables)
    text = advice(jnp.jit(variables["f"]), X)
    assert "Python code in f() needs an array" in text
    assert "Write instead: jnp.f(x) for np.f(x)" in text
    exec("def g(x):\n    return x.unsqueeze(0)", variables)
    text = advice(jnp.jit(variables["g"]), X)
    assert instead(text) == "jnp.unsqueeze(x, ...)"


@pytest.mark.parametrize("tool", [jnp.jit, jnp.autojit, jnp.grad, jnp.vmap])
@pytest.mark.parametrize("kind", [TypeError, ValueError, AttributeError])
def test_an_error_without_a_text_comes_as_it_is(tool, kind):
    class Silent(kind):
        def __str__(self):
            raise KeyError("text")

    def f(x):
        raise Silent

    with pytest.raises(Silent):
        tool(f)(jnp.ones(3))


def test_loops_that_have_no_gradient_or_no_length():
    def grown(x):
        return jnp.while_loop(lambda c: c < 9, lambda c: 2 * c, x)

    told = advice(jnp.grad(grown), 1.0, raises=ValueError)
    assert "jnp.while_loop(cond, body, init, max_steps=100)" in told
    scanned = jnp.jit(lambda n: jnp.scan(lambda c, _: (c, c), 0.0, length=n))
    told = advice(scanned, 3, raises=jax.errors.ConcretizationTypeError)
    assert "length= must be a Python int" in told
    assert "jnp.fori_loop(0, length" in told


def test_text_in_the_result_of_a_loop():
    for loop in (
        lambda: jnp.scan(lambda c, _: (c, "text"), 0.0, length=2),
        lambda: jnp.cond(True, lambda x: "a", lambda x: "b", 1.0),
        lambda: jnp.checkpoint(lambda x: "a")(1.0),
    ):
        assert "Write instead: return arrays and numbers" in advice(loop)


def test_text_in_the_result_of_a_batch():
    f = lambda x: (2 * x, "text")
    text = advice(jnp.vmap(f), X, raises=TypeError)
    assert "Write instead: jnp.auto_vmap(f), which returns settings as they" in text
    assert jnp.auto_vmap(f)(X)[1] == "text"


def test_tables_of_other_numbers_of_rows_are_no_batch():
    text = advice(jnp.vmap(lambda x, y: x + y), jnp.ones(3), jnp.ones(4))
    assert "other numbers of rows are no batch of 3" in text
    assert "in_axes=(" not in text.partition("Write instead")[2]
    text = advice(jnp.vmap(lambda x, y: x + y), jnp.ones((3, 2)), jnp.ones(2))
    assert "vmap(f, in_axes=(0, None))" in text


def test_vmap_vectors_of_other_lengths_in_a_dict_are_no_batch():
    text = advice(jnp.vmap(lambda p: p), {"a": jnp.ones(3), "b": jnp.ones(4)})
    assert "other numbers of rows are no batch of 3" in text
    assert "in_axes=(" not in text.partition("Write instead")[2]
    text = advice(jnp.vmap(lambda p: p), {"a": jnp.ones((3, 2)), "b": jnp.ones(4)})
    assert "in_axes=({'a': 0, 'b': None},)" in text


class Speed(enum.Enum):
    SLOW = 0.5
    ROWS = (np.ones(2),)


def test_members_of_enums_are_settings_and_no_trees():
    """`pytree` refuses enums, so that nothing may advise it."""
    for member in Speed:
        text = advice(jnp.jit(lambda x, mode: x), X, member)
        assert "mode is of the class Speed" in text
        assert "@jnp.autojit, which takes settings" in text
        assert "pytree" not in text
        text = advice(jnp.jit(lambda x, member=member: member), X)
        assert "returns a Speed, which JAX can't take apart" in text
        assert "Write instead: @jnp.autojit" in text
        for tool in (jnp.vmap, jnp.jit, jnp.grad):
            with pytest.raises(TypeError) as info:
                tool(lambda mode: mode)(member)
            assert "pytree" not in str(info.value) + said(info.value)
    scaled = jnp.autojit(lambda x, mode: (x * mode.value, mode))
    assert scaled(2.0, Speed.SLOW) == (1.0, Speed.SLOW)


def test_an_endless_iterator_is_not_made_a_list():
    for endless in (itertools.count(), itertools.cycle([1]), itertools.repeat(1)):
        run = jnp.autojit(lambda it, x: x + next(it), uncompiled=False)
        with pytest.raises(jnp.AutoJitError, match=r"comes next: next\(it\)") as raised:
            run(endless, 1.0)
        assert "list(" not in str(raised.value)


class OwnArray:
    def __init__(self):
        self.x = jnp.ones(2)

    def __jax_array__(self):
        return self.x


def test_objects_that_jax_no_longer_takes_as_arrays():
    own = OwnArray()
    same = lambda x: x
    for call in (
        lambda: jnp.jit(same)(own),
        lambda: jnp.vmap(same)(own),
        lambda: jnp.scan(lambda c, x: (c, x), own, None, length=2),
        lambda: jnp.cond(True, same, same, own),
        lambda: jnp.fori_loop(0, 2, lambda _, c: c, own),
        lambda: jnp.map(same, own),
    ):
        text = advice(call)
        assert "a class with __jax_array__" in text
        assert "jnp.asarray(x), the array; or @jnp.pytree above its class" in text
    assert jnp.jit(same)(jnp.asarray(own)).tolist() == [1, 1]
    assert jnp.autojit(lambda x: jnp.sin(x).shape)(own) == (2,)
