"""inspect: what it says of functions of all kinds, compared with XLA and by hand."""

import io
import re

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jfi as jnp
from jfi import _jax_internals


# ------------------------------------------------------------ costs

A = jnp.ones((6, 5))
SQUARE = jnp.ones((5, 5))
STRAIGHT = {
    "arithmetic": (lambda x: (x + 1.0) * x - x / 3.0, A),
    "comparison": (lambda x: jnp.where(x > 0, x, -x), A),
    "conversion": (lambda x: x.astype(int) + 1, A),
    "functions": (lambda x: jnp.exp(x) + jnp.sin(x) * jnp.sqrt(x), A),
    "power": (lambda x: x**3 + x**2, A),
    "sums": (lambda x: x.sum(0).max() + x.min(), A),
    "logistic": (jax.nn.sigmoid, A),
    "matmul": (lambda x: x @ SQUARE, A),
    "einsum": (lambda x: jnp.einsum("ij,kj->ik", x, x), A),
    "batched": (lambda x: jnp.einsum("bij,bjk->bik", x, x), jnp.ones((3, 4, 4))),
    "vjp": (lambda x: jax.vjp(lambda x: jnp.tanh(x @ SQUARE), x)[1](x), A),
}


def xla(fn, *args):
    """XLA's own count for the program as it is written."""
    found = jax.jit(fn).lower(*args).cost_analysis()
    names = "flops", "transcendentals", "bytes accessed"
    return [found.get(name, 0) for name in names]


@pytest.mark.parametrize("name", STRAIGHT)
def test_straight_programs_cost_what_xla_counts(name):
    fn, x = STRAIGHT[name]
    report = jnp.inspect(fn)(x)
    flops, functions, moved = xla(fn, x)
    assert report.flops == flops
    assert report.transcendentals == functions
    if name not in ("logistic", "power", "vjp"):  # several operations to XLA
        assert report.bytes == pytest.approx(moved, rel=0.4)  # with its constants


def convolved(strides=(1, 1), padding="VALID", **options):
    return lambda x, k: jax.lax.conv_general_dilated(x, k, strides, padding, **options)


@pytest.mark.parametrize(
    ("fn", "kernel"),
    [
        (convolved(), (4, 3, 3, 3)),
        (convolved(padding="SAME"), (4, 3, 3, 3)),
        (convolved((2, 1), "SAME"), (4, 3, 3, 2)),
        (convolved(rhs_dilation=(2, 2)), (4, 3, 3, 3)),
        (convolved(feature_group_count=3), (6, 1, 3, 3)),
    ],
)
def test_convolutions_cost_what_xla_counts(fn, kernel):
    image, kernel = jnp.ones((2, 3, 9, 8)), jnp.ones(kernel)
    assert jnp.inspect(fn)(image, kernel).flops == xla(fn, image, kernel)[0]


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (jnp.linalg.cholesky, 60**3 / 3),
        (jnp.linalg.eigh, 9 * 60**3),
        (lambda x: jnp.linalg.svd(x, compute_uv=False), 8 * 60**3 / 3),
        (lambda x: jnp.linalg.svd(x, full_matrices=False), 22 * 60**3),
        (jnp.linalg.qr, 8 * 60**3 / 3),
        (lambda x: jnp.linalg.solve_triangular(x, x, upper=True), 60**3),
        (lambda x: jnp.linalg.solve(x, x), 8 * 60**3 / 3),
        (jnp.linalg.slogdet, 2 * 60**3 / 3),
        (lambda x: jnp.fft.fft(x), 60 * 5 * 60 * np.log2(60)),
        (lambda x: jnp.sort(x), 60 * 60 * 6),
    ],
)
def test_factorizations_cost_what_books_say(fn, expected):
    report = jnp.inspect(fn)(jax.ShapeDtypeStruct((60, 60), "float32"))
    assert report.flops == pytest.approx(expected, rel=0.3)
    batch = jnp.inspect(jax.vmap(fn))(jax.ShapeDtypeStruct((2, 60, 60), "float32"))
    assert batch.flops == pytest.approx(2 * expected, rel=0.3)


def test_what_is_not_known_is_named_and_counts_nothing():
    from jax.experimental import sparse

    matrix = sparse.BCOO.fromdense(SQUARE)
    report = jnp.inspect(lambda m, x: jnp.sin(m @ x))(matrix, jnp.ones((5, 1)))
    assert (report.flops, report.transcendentals) == (0, 5)
    assert report.uncounted == {"bcoo_dot_general": 1}
    assert "without bcoo_dot_general" in str(report)
    pooled = lambda x: jax.lax.reduce_window(
        x, -np.inf, jax.lax.max, (2, 2), (2, 2), "SAME"
    )
    report = jnp.inspect(jax.grad(lambda x: pooled(x).sum()))(jnp.ones((4, 4)))
    assert report.flops_by_operation["select_and_scatter_add"] == 16
    assert report.uncounted == {}


def test_complex_products_are_four_real_ones():
    x = jnp.ones((5, 5), complex)
    assert jnp.inspect(lambda x: x @ x)(x).flops == 8 * 125


# ------------------------------------------------------------ loops and branches


def nested(x):
    def row(c, y):
        inner = jnp.fori_loop(0, 3, lambda i, z: z @ SQUARE, c)
        return inner + y, None

    return jnp.scan(row, x, jnp.arange(4.0))[0]


def test_bodies_count_in_each_turn():
    report = jnp.inspect(nested)(SQUARE)
    assert report.executed["dot_general"] == 12
    assert report.counts["dot_general"] == 1
    assert report.flops_by_operation["dot_general"] == 12 * 250
    assert [loop.times for loop in report.loops] == [4, 3]
    assert not report.unbounded


def test_the_gradient_of_a_scan_counts_in_each_turn():
    def final(x):
        return jax.lax.scan(lambda c, _: (jnp.tanh(c @ SQUARE), None), x, length=7)[0]

    report = jnp.inspect(jnp.grad(lambda x: final(x).sum()))(SQUARE)
    assert report.executed["dot_general"] == 14


def test_a_loop_of_unknown_length_counts_once_and_says_so():
    def fn(x):
        return jnp.while_loop(lambda x: x.sum() < 100, lambda x: x @ SQUARE, x)

    report = jnp.inspect(fn)(SQUARE)
    assert report.unbounded
    assert report.flops_by_operation["dot_general"] == 250
    assert "unknown length" in str(report)
    assert report.loops[0].times is None


@pytest.mark.parametrize("depth", [1, 2])
def test_the_larger_branch_counts(depth):
    def fn(x, n):
        def large(x):
            return fn_inner(x) if depth == 2 else x @ SQUARE

        def fn_inner(x):
            return jnp.cond(x[0, 0] > 1, lambda x: x @ SQUARE, lambda x: x, x)

        return jnp.switch(n, [lambda x: x + 1, large, lambda x: x * 2], x)

    report = jnp.inspect(fn)(SQUARE, np.int32(1))
    assert report.executed["dot_general"] == 1
    assert "mul" not in report.executed
    assert report.counts["mul"] == 1
    (branches,) = [b for b in report.branches if len(b.flops) == 3]
    assert branches.counted == 1
    assert (branches.flops[0], branches.flops[2]) == (25, 25)


def test_derivative_rules_and_solvers_count_once():
    def fn(x):
        solve = jax.lax.custom_linear_solve(
            lambda v: SQUARE @ v, x, lambda matvec, b: b * 2.0, symmetric=True
        )
        return jax.nn.relu(jax.checkpoint(jnp.sin)(solve))

    report = jnp.inspect(fn)(jnp.ones(5))
    assert report.executed["sin"] == 1
    assert report.executed["dot_general"] == 0
    assert report.executed["mul"] == 1


STEPS = {
    "sin": jnp.sin,
    "matmul": lambda x: x @ SQUARE,
    "square": lambda x: x * x + 1.0,
    "sum": lambda x: x - x.sum(0),
    "where": lambda x: jnp.where(x > 0, x, -x),
}
PROGRAMS = st.recursive(
    st.sampled_from(sorted(STEPS)).map(lambda name: [name]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(
            lambda parts: [step for part in parts for step in part]
        ),
        st.tuples(st.integers(0, 3), inner).map(lambda pair: [pair]),
    ),
    max_leaves=5,
)


def computed(program, x, loop):
    """What a program does: names of steps, and loops (turns, program)."""
    for part in program:
        if isinstance(part, str):
            x = STEPS[part](x)
        else:
            turns, inner = part
            x = loop(turns, lambda x, inner=inner: computed(inner, x, loop), x)
    return x


def unrolled_loop(turns, body, x):
    for _ in range(turns):
        x = body(x)
    return x


def scanned_loop(turns, body, x):
    return jax.lax.scan(lambda x, _: (body(x), None), x, length=turns)[0]


@settings(max_examples=25, deadline=None)
@given(PROGRAMS)
def test_a_scan_costs_what_its_unrolled_twin_costs(program):
    unrolled, scanned = (
        jnp.inspect(lambda x, loop=loop: computed(program, x, loop))(SQUARE)
        for loop in (unrolled_loop, scanned_loop)
    )
    assert unrolled.flops == scanned.flops
    assert unrolled.transcendentals == scanned.transcendentals
    assert unrolled.bytes == scanned.bytes
    graphs = (scanned.graph(fold) for fold in ("none", "call", "line"))
    costs = {sum(node.flops for node in graph.nodes) for graph in graphs}
    assert costs == {scanned.flops + scanned.transcendentals}


# ------------------------------------------------------------ all kinds of functions

WEIGHTS = np.ones((3, 3), np.float32)


class Model:
    def __init__(self):
        self.w, self.rate, self.name = jnp.ones((3, 3)), 0.5, "m"

    @jnp.autojit
    def step(self, x, mode="a", *rest, extra=None):
        self.w = self.w - self.rate * jnp.randn(3, 3)
        return (self.w @ x @ WEIGHTS).sum()


def test_methods_are_seen_with_their_object_and_left_alone():
    model, state = Model(), jnp.get_rng_state()
    before = model.w
    report = jnp.inspect(model.step)(jnp.ones((3, 3)), "b", extra={"k": jnp.ones(2)})
    paths = {x.path: x.used for x in report.inputs}
    assert paths == {"x": True, "self.rate": True, "self.w": True, "extra['k']": False}
    assert report.unused == ("extra['k']",)
    assert [(c.path, c.nbytes) for c in report.constants] == [("WEIGHTS", 36)]
    assert [draw.times for draw in report.draws] == [1]
    assert report.draws[0].line.text.startswith("self.w =")
    assert model.w is before
    assert jnp.get_rng_state() == state
    assert Model.step.cache_info().traces == 0


def test_each_tool_is_seen_as_itself():
    def fn(x, n, scale=2.0):
        return (x * scale).sum() * n

    x = jnp.ones(3)
    wrapped = {
        "plain": fn,
        "jit": jnp.jit(fn, static_argnums=1),
        "jax": jax.jit(fn, static_argnums=1),
        "autojit": jnp.autojit(fn),
        "persistent": jnp.persistent(fn, mode="off"),
        "vmap": jnp.vmap(fn, (0, None, None)),
    }
    for name, one in wrapped.items():
        rows = jnp.ones((2, 3)) if name == "vmap" else x
        report = jnp.inspect(one)(rows, 3, 0.5)
        assert [i.path for i in report.inputs if i.shape] == ["x"], name
        assert report.counts["mul"] == 2, name
    assert jnp.inspect(fn)(x, n=3).counts["mul"] == 2


def test_gradients_have_the_names_of_the_function():
    def loss(params, x):
        return (params["w"] @ x).sum() + params["unused"]

    report = jnp.inspect(jnp.grad(lambda params, x: loss(params, x)))(
        {"w": jnp.ones(3), "unused": 1.0}, jnp.ones(3)
    )
    assert {i.path for i in report.inputs} >= {"x", "params['w']"}
    assert "params['unused']" in report.unused


def test_a_function_that_reads_the_clock_is_traced_as_it_is():
    import time

    report = jnp.inspect(lambda p: p["x"] * time.time())({"x": jnp.ones(2), "s": "a"})
    assert [i.path for i in report.inputs] == ["p['x']"]


def test_objects_stay_as_they_are_where_autojit_compiles_nothing():
    import time

    class Clock:
        def __init__(self):
            self.last = jnp.zeros(2)

        def tick(self, x):
            self.last = self.last + x * time.time()
            return self.last

    clock = Clock()
    before = clock.last
    assert jnp.inspect(clock.tick)(jnp.ones(2)).counts["add"] == 1
    assert clock.last is before


def test_what_autojit_refuses_is_refused_untouched():
    numbers = iter([1.0, 2.0])
    with pytest.raises(jnp.AutoJitError, match="iterator"):
        jnp.inspect(lambda xs: sum(xs))(numbers)
    assert next(numbers) == 1.0


def test_captured_constants_have_their_names():
    table = {"rows": jnp.ones((8, 8)), "n": 3}
    report = jnp.inspect(jnp.jit(lambda x: table["rows"] @ x))(jnp.ones(8))
    assert [(c.path, c.nbytes) for c in report.constants] == [("table['rows']", 256)]
    assert report.constants[0].line.text.startswith("report = jnp.inspect")


class Tables:
    rows = np.full((2, 3), 5.0, np.float32)


def test_arrays_of_closures_are_captured():
    weights, table = jnp.ones((4, 3)), {"k": [np.arange(3.0, dtype=np.float32)]}

    def fn(x, w):
        return (weights @ x + w) * (table["k"][0] @ x + Tables.rows.sum())

    x, w = jnp.ones(3), jnp.ones(4)
    expected = {"weights": 48, "table['k'][0]": 12}
    for tool in (lambda fn: fn, jnp.autojit, jax.jit, jnp.jit):
        report = jnp.inspect(tool(fn))(x, w)
        assert [one.path for one in report.inputs] == ["x", "w"]
        assert {c.path: c.nbytes for c in report.constants} == expected
    rows = jnp.inspect(jax.jit(lambda x: x * Tables.rows))(x).constants
    assert [(c.path, c.nbytes) for c in rows] == [("Tables.rows", 24)]


def test_inside_jit_it_reports_as_outside():
    seen = []

    @jax.jit
    def outer(x):
        seen.append(jnp.inspect(lambda y: y @ y)(x).flops)
        return x

    outer(SQUARE)
    assert seen == [250]


def test_what_is_no_function_is_refused_and_errors_are_those_of_the_function():
    with pytest.raises(TypeError, match="takes functions"):
        jnp.inspect(3)
    with pytest.raises(ZeroDivisionError):
        jnp.inspect(lambda x: 1 / 0)(1.0)
    with pytest.raises(TypeError, match="argument"):
        jnp.inspect(lambda x: x)()


@pytest.mark.parametrize("hidden", ["hidden_state", "source_lines", "source_files"])
def test_without_pieces_of_jax_it_says_less(hidden):
    with _jax_internals.without(hidden):
        report = jnp.inspect(lambda x: jnp.norm(x) * 2)(jnp.ones(3))
        assert report.flops > 0
        assert (report.lines[0].line is None) == (hidden == "source_lines")


# ------------------------------------------------------------ what it finds


def unrolled(x):
    for _ in range(40):
        x = x + 0.1 * jnp.sin(x)
    return x


def test_a_python_loop_is_named_by_its_line():
    report = jnp.inspect(unrolled)(jnp.ones(3))
    row = report.lines[0]
    assert (row.operations, row.times) == (120, 40)
    assert row.line.text == "x = x + 0.1 * jnp.sin(x)"
    assert any("a Python loop?" in hint for hint in report.hints)
    assert not any("Python loop" in hint for hint in jnp.inspect(nested)(SQUARE).hints)


def test_long_functions_of_libraries_are_no_loops():
    def fn(x):
        return jnp.interp(x, x[0], x[1]), jnp.random.gamma(2.0, size=3)

    report = jnp.inspect(fn)(SQUARE)
    assert report.lines[0].operations > 80
    assert not any("loop?" in hint for hint in report.hints)


def test_a_function_of_jax_counts_where_it_is_called():
    jnp.inspect(lambda x: jnp.linalg.norm(x))(jnp.ones(3))  # JAX keeps this trace
    report = jnp.inspect(lambda x: 1 + jnp.linalg.norm(x))(jnp.ones(3))
    assert [row.line.text for row in report.lines] == [
        "report = jnp.inspect(lambda x: 1 + jnp.linalg.norm(x))(jnp.ones(3))"
    ]


def test_repeated_operations_are_found_once_each():
    def fn(x):
        return jnp.sin(x) @ jnp.cos(x) + jnp.sin(x) @ jnp.cos(x)

    report = jnp.inspect(fn)(jnp.ones(4))
    assert sorted((r.name, r.times) for r in report.repeated) == [
        ("cos", 2),
        ("dot_general", 2),
        ("sin", 2),
    ]
    assert jnp.inspect(lambda x: jnp.sin(x) + jnp.sin(x + 1))(1.0).repeated == ()


def test_what_nobody_needs_costs_nothing_and_is_named():
    def fn(x):
        unneeded = jnp.scan(lambda c, _: (c @ c, None), x, length=3)[0]
        unneeded @ SQUARE
        return x + 1

    report = jnp.inspect(fn)(SQUARE)
    assert report.flops == 25
    assert report.unneeded["dot_general"] == 2
    assert jnp.inspect(nested)(SQUARE).unneeded == {}


def test_random_draws_are_not_repetitions():
    report = jnp.inspect(lambda: jnp.randn(3) + jnp.randn(3))()
    assert len(report.draws) == 2
    assert not any(r.name == "random_bits" for r in report.repeated)


def test_draws_in_loops_count_in_each_turn():
    def fn(x):
        return jnp.scan(lambda c, _: (c + jnp.randn(), None), x, length=5)[0]

    state = jnp.get_rng_state()
    assert sum(draw.times for draw in jnp.inspect(fn)(0.0).draws) == 5
    assert jnp.get_rng_state() == state


def test_callbacks_are_named():
    def shout(x):
        return np.asarray(x)

    def note(x):
        pass

    def fn(x):
        jax.debug.print("{}", x)
        jax.debug.callback(note, x)
        return jax.pure_callback(shout, jax.ShapeDtypeStruct((2,), "float32"), x)

    report = jnp.inspect(fn)(jnp.ones(2))
    assert [event.name for event in report.callbacks] == [
        "debug_print", "note", "shout",
    ]  # fmt: skip
    assert ["print" in e.line.text for e in report.callbacks] == [True, False, False]
    assert report.uncounted["pure_callback"] == 1


def test_float64_is_traced_to_its_line(mixed_world):
    def fn(x):
        y = jnp.sin(x)
        return y * jnp.arange(3, dtype="float64")

    report = jnp.inspect(fn)(jnp.ones(3, "float32"))
    assert {c.line.text for c in report.widened} == {
        'return y * jnp.arange(3, dtype="float64")'
    }
    assert any(hint.startswith("float64 comes in at") for hint in report.hints)
    assert report.dtypes["float64"] > 0
    assert jnp.inspect(jnp.sin)(jnp.ones(3, "float32")).widened == ()


def test_memory_follows_a_schedule():
    def fn(x):  # 400 bytes each: x, a, b alive at once; then b and c
        a = x + 1
        b = a * 2
        return b - 3

    report = jnp.inspect(fn)(jnp.ones(100))
    assert report.peak_bytes == 1200
    assert report.largest.nbytes == 400
    stacked = jnp.inspect(lambda x: jnp.scan(lambda c, _: (c, c), x, length=50)[1])
    assert stacked(jnp.ones(100)).largest.nbytes == 20_000
    assert stacked(jnp.ones(100)).peak_bytes >= 20_400


def test_odd_sizes():
    report = jnp.inspect(lambda x, y: (x @ x.T).sum() + y)(jnp.ones((0, 3)), 1.0)
    assert report.flops >= 0
    huge = jax.ShapeDtypeStruct((100_000, 100_000), "float32")
    product = jnp.inspect(lambda x, y: x @ y)(huge, huge)
    assert product.flops == 2 * 100_000**3
    assert product.peak_bytes == 3 * 4 * 100_000**2
    empty = jnp.inspect(lambda: 3)()
    assert (empty.flops, empty.largest, empty.lines) == (0, None, ())
    assert "0 operations" in str(empty)
    assert jnp.inspect(lambda k: jax.random.normal(k, (3,)))(jax.random.key(0)).flops


def test_both_worlds_give_one_count(x64):
    report = jnp.inspect(lambda x: jnp.tanh(x @ x).sum())(np.ones((4, 4)))
    assert report.flops == 128 + 15
    assert report.inputs[0].dtype == ("float64" if x64 else "float32")


# ------------------------------------------------------------ compiled, shown, drawn


@pytest.fixture(scope="module")
def report():
    return jnp.inspect(nested)(SQUARE)


def test_compiling_is_on_request():
    report = jnp.inspect(lambda x: x @ x)(SQUARE)
    assert report.compiled is None
    compiled = report.compile()
    assert report.compile() is compiled
    assert compiled.seconds > 0
    assert compiled.argument_bytes == compiled.output_bytes == 100
    assert compiled.peak_bytes >= 200
    assert "compiled" in str(report)
    assert jnp.inspect(jnp.sin, compile=True)(1.0).compiled is not None


def test_text_html_and_rich_say_the_same(report, capsys):
    rich = pytest.importorskip("rich.console")
    console = rich.Console(width=200, record=True, file=io.StringIO())
    console.print(report)
    colored, plain, html = console.export_text(), str(report), report._repr_html_()
    report.show()
    shown = capsys.readouterr().out
    for text in ("dot_general", "nested", "scan", "peak memory"):
        assert all(text in one for one in (colored, plain, html, shown))
    assert html.count("<table>") == html.count("</table>") == 2


def test_html_escapes_what_users_write():
    report = jnp.inspect(lambda x: x["<b>"] + 1)({"<b>": jnp.ones(2), "<i>": 1.0})
    assert "<i>" not in report._repr_html_()
    assert "&lt;i&gt;" in report._repr_html_()


def test_without_rich_the_text_is_plain(report, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    report.show()
    assert capsys.readouterr().out == f"{report}\n"


def test_graphs_fold_until_they_are_readable(report):
    whole = jnp.inspect(unrolled)(jnp.ones(3))
    assert len(whole.graph("none").nodes) == 122
    folded = whole.graph()
    assert len(folded.nodes) == 3
    assert [node.operations for node in folded.nodes if node.kind == "line"] == [120]
    kinds = [node.kind for node in report.graph().all_nodes()]
    assert kinds.count("loop") == 2
    with pytest.raises(ValueError, match='Write fold="auto"'):
        report.graph("lines")


@pytest.mark.parametrize("fold", ["none", "call", "line"])
def test_edges_join_nodes_of_one_graph(fold):
    def fn(x):
        y = jnp.linalg.norm(x) + nested(x)
        return jnp.cond(y.sum() > 0, jnp.sin, jnp.cos, y)

    def check(graph):
        numbers = {node.number for node in graph.nodes}
        assert {n for edge in graph.edges for n in edge} <= numbers
        for node in graph.nodes:
            for inside in node.inside:
                check(inside)

    report = jnp.inspect(fn)(SQUARE)
    graph = report.graph(fold)
    check(graph)
    total = sum(node.flops for node in graph.nodes)
    assert total == report.flops + report.transcendentals


def test_graphs_for_other_programs(report):
    networkx = pytest.importorskip("networkx")
    graph = report.to_networkx()
    numbers = {node.number for node in report.graph("none").all_nodes()}
    assert set(graph) == numbers
    assert networkx.is_directed_acyclic_graph(graph)
    mermaid = report.to_mermaid("none")
    assert mermaid.count("subgraph ") == 4
    assert len(re.findall("^ *end$", mermaid, re.MULTILINE)) == 4
    graphviz = pytest.importorskip("pygraphviz")
    dot = graphviz.AGraph(string=report.to_dot("none"))
    whole = report.graph("none")
    drawn = {int(name[1:]) for name in dot.nodes()}
    assert drawn == {node.number for node in whole.all_nodes() if not node.inside}
    assert len(dot.edges()) == graph.number_of_edges()
    clusters = [part.name for part in dot.subgraphs()]
    assert clusters == [f"cluster_{n.number}" for n in whole.nodes if n.inside]
    dot.close()


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures(report, tmp_path, ending):
    pytest.importorskip("pygraphviz")
    file = tmp_path / f"nested.{ending}"
    report.plot(file)
    assert file.stat().st_size > 5000


def test_plot_notebooks_show_the_picture(report):
    pytest.importorskip("pygraphviz")
    picture = report.plot()
    assert picture._repr_svg_() == picture.svg
    assert "</svg>" in picture.svg
    assert "scan, 4 times" in picture.svg
    assert len(repr(picture)) < 80


def test_plot_in_axes_of_matplotlib_shows_the_picture_there(report):
    figures = pytest.importorskip("matplotlib.figure")
    ax = figures.Figure().add_subplot()
    assert report.plot(ax=ax) is ax
    assert len(ax.images) == 1


def test_plot_of_names_that_graphviz_reads_otherwise_shows_them_as_they_are():
    pytest.importorskip("pygraphviz")
    report = jnp.inspect(lambda x: x['<a "b"> & \u00e9'] + 1)({'<a "b"> & \u00e9': 1.0})
    assert "x[&#39;&lt;a" in report.plot(fold="none").svg


def test_plot_dashes_edges_that_lead_back_in_a_python_loop():
    def fn(x, y):
        for _ in range(3):
            x = jnp.sin(y)
            y = jnp.cos(x)
        return y

    report = jnp.inspect(fn)(1.0, 2.0)
    lines = report.to_dot("line").splitlines()
    assert sum("dashed" in line for line in lines) == 1
    assert not any("dashed" in line for line in report.to_dot("none").splitlines())


def test_what_pictures_need_is_named(monkeypatch, report):
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(jnp.MissingDependencyError, match=r"jfi\[inspect\]"):
        report.to_networkx()
    monkeypatch.setitem(__import__("sys").modules, "pygraphviz", None)
    with pytest.raises(jnp.MissingDependencyError, match=r"jfi\[inspect\]"):
        report.plot()
