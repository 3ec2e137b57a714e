"""What jfi says of Python's `if` and `while` on a traced value."""
# ruff: noqa: SIM108, SIM201, RET504 - they are the subject

import ast
import inspect
import linecache
import re

import jax
import pytest

import jfi as jnp


def message_of(call, *args):
    """The message without JAX's own words."""
    with pytest.raises(jax.errors.TracerBoolConversionError) as info:
        call(*args)
    text, _, theirs = str(info.value).partition("\n\nJAX says: ")
    assert "Attempted boolean conversion" in theirs
    return text


def instead(call, *args):
    """The lines that the message says to write."""
    text = message_of(call, *args)
    place = re.search(
        r"^  (.*), line (\d+): (.*)\nWrite instead:\n", text, re.MULTILINE
    )
    assert place is not None, text
    file, number, line = place.groups()
    assert file == __file__
    with open(__file__) as lines:
        assert line == lines.readlines()[int(number) - 1].strip()
    return "\n".join(line[2:] for line in text[place.end() :].splitlines())


def choose(x):
    if x > 0:
        y = x
    else:
        y = -x
    return y


def replace(x):
    if x > 0:
        x = x * 2
    return x


def add(x):
    if x > 0:
        x += 1
    return x


def give_back(x):
    if 0 < x < 1 and not x == 3:
        return x
    return x * 2


def of_two(x):
    if x > 0:
        return x
    else:
        return -x


def root(x):
    return jnp.sqrt(x - 1) if x > 1 else 0.0 * x


def safe_root(x):
    y = 0.0 * x
    if x > 1:
        y = jnp.sqrt(x - 1)
    return y


def double(x):
    while x < 100:
        x = x * 2
    return x


def count(x):
    i = 0
    while x < 100:
        step = x * 2
        x = step
        i += 1
    return x, i


REWRITTEN = {
    choose: "y = jnp.where(x > 0, x, -x)",
    replace: "x = jnp.where(x > 0, x * 2, x)",
    add: "x = jnp.where(x > 0, x + 1, x)",
    give_back: (
        "return jnp.where(jnp.logical_and(jnp.logical_and(0 < x, x < 1), "
        "jnp.logical_not(x == 3)), x, x * 2)"
    ),
    of_two: "return jnp.where(x > 0, x, -x)",
    root: "return jnp.cond(x > 1, lambda: jnp.sqrt(x - 1), lambda: 0.0 * x)",
    safe_root: "y = jnp.cond(x > 1, lambda: jnp.sqrt(x - 1), lambda: y)",
    double: """\
def body(x):
    x = x * 2
    return x
x = jnp.while_loop(lambda x: x < 100, body, x)""",
    count: """\
def cond(state):
    x, i = state
    return x < 100
def body(state):
    x, i = state
    step = x * 2
    x = step
    i += 1
    return x, i
x, i = jnp.while_loop(cond, body, (x, i))""",
}


@pytest.mark.parametrize("function", REWRITTEN, ids=lambda f: f.__name__)
@pytest.mark.parametrize("jit", [jnp.jit, jnp.autojit])
def test_the_message_shows_the_rewritten_line(function, jit):
    array = jnp.ones(())  # autojit makes a float a setting where its value is needed
    told = instead(jit(function), array)
    if jit is jnp.autojit:  # which says more
        told = told.partition("\n it is a setting")[0]
    assert told.startswith(REWRITTEN[function])


@pytest.mark.parametrize("function", REWRITTEN, ids=lambda f: f.__name__)
def test_the_rewritten_line_does_the_same(function):
    """The source of the function with the advised lines gives the plain results."""
    told = instead(jnp.jit(function), 1.0)
    source, begin, end = _source_and_span(function)
    indented = ["    " + line for line in told.splitlines()]
    lines = [*source[:begin], *indented, *source[end:]]
    variables = {"jnp": jnp}
    exec("\n".join(lines), variables)
    rewritten = jnp.jit(variables[function.__name__])
    for x in (-2.0, 0.5, 3.0):
        if function in (double, count) and x < 0:
            continue  # never ends
        expected = function(x)
        out = rewritten(x)
        assert jax.tree.all(jax.tree.map(jnp.allclose, out, expected)), x


def _source_and_span(function):
    """The lines of a function, and which of them the statement with the test takes."""
    text = inspect.getsource(function)
    (definition,) = ast.parse(text).body
    kinds = (ast.If, ast.While)
    statements = [s for s in definition.body if isinstance(s, kinds)]
    statement = (statements or definition.body[:1])[0]
    end = statement.end_lineno
    if function is give_back:  # the `return` after the `if` is part of it
        end = definition.end_lineno
    return text.splitlines(), statement.lineno - 1, end


# ---- what can't be rewritten ----


def early(x):
    for i in range(3):
        if x > i:
            break
    return x


def writing(x, table):
    if x > 0:
        table["x"] = 1
        table["y"] = 2
    return x


def appending(x):
    values = []
    while x < 3:
        x = x + 1
        values.append(x)
    return values


def one_of(x):
    return 1.0 if x in (0.0, 1.0) else 2.0


def a_text(x):
    return "high" if x > 1 else "low"


def filtering(x):
    return [y for y in [x, 1.0] if y > 0]


def inline(x):
    y = 2 * (x if x > 0 else -x)
    return y


def largest(x):
    return max(x, 0.0) + 1


def largest_of_three(x):
    return max(x, 0.0, 1.0)


def both(x):
    inside = x > 0 and x < 1
    return inside


def first_true(x):
    y = x or 5.0
    return y


def last_true(x):
    y = x and 5.0
    return y


def blocks(x):
    z = 1.0
    if x > 0:
        y = x + 1
        z = y * 2
    else:
        y = x
    return y + z


def smallest(x):
    if min(x, 1.0) > 0:
        return x
    return -x


def largest_in_a_condition(x):
    if x > 0 and max([x, 1.0]) > 0:
        return x
    return -x


def set_or_returned(x):
    if x > 0:
        y = x
    else:
        return -x
    return y


GENERAL = (
    "Write instead: jnp.where(condition, a, b) for a choice of values, "
    "jnp.cond(condition, f, g, ...) for a choice of code, jnp.while_loop(cond, "
    "body, state) for a loop, jnp.logical_and(a, b), jnp.logical_or(a, b) and "
    "jnp.logical_not(a) for `a and b`, `a or b` and `not a`, jnp.maximum(a, b) "
    "and jnp.minimum(a, b) for `max(a, b)` and `min(a, b)`"
)


@pytest.mark.parametrize(
    ("function", "args", "part"),
    [
        (early, (1.0,), "Python's `if` in early() needs"),
        (writing, (1.0, {}), "Python's `if` in writing() needs"),
        (appending, (1.0,), "Python's `while` in appending() needs"),
        (one_of, (1.0,), "truth value of `x in (0.0, 1.0)`"),
        (a_text, (1.0,), "truth value of `x > 1`"),
        (filtering, (1.0,), "`if` of a comprehension"),
        (inline, (1.0,), "Python's `... if ... else ...` in inline() needs"),
        (largest, (1.0,), "truth value of `max(x, 0.0)`"),
        (largest_of_three, (1.0,), "truth value of `max(x, 0.0, 1.0)`"),
        (both, (1.0,), "Python's `and` in both() needs"),
        (first_true, (1.0,), "Python's `or` in first_true() needs"),
        (last_true, (1.0,), "Python's `and` in last_true() needs"),
        (blocks, (1.0,), "Python's `if` in blocks() needs"),
        (smallest, (1.0,), "truth value of `min(x, 1.0)`"),
        (
            largest_in_a_condition,
            (1.0,),
            "truth value of `x > 0 and max([x, 1.0]) > 0`",
        ),
        (set_or_returned, (1.0,), "Python's `if` in set_or_returned() needs"),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_what_cannot_be_rewritten_gets_advice(function, args, part):
    text = message_of(jnp.jit(function), *args)
    assert part in text
    assert f"{__file__}, line " in text
    assert text.endswith("\n" + GENERAL)


# ---- where ----


def scanned(x):
    return jnp.scan(lambda c, _: (c if c > 0 else -c, None), x, length=2)


TOOLS = {
    "jit": jnp.jit,
    "vmap": lambda f: lambda x: jnp.vmap(f)(jnp.stack([x, x])),
    "autojit": jnp.autojit,
    "scan": lambda f: lambda x: jnp.scan(lambda c, _: (f(c), None), x, length=2),
    "while_loop": lambda f: lambda x: jnp.while_loop(lambda c: c < 9, f, x),
    "condition": lambda f: lambda x: jnp.while_loop(lambda c: f(c) < 9, lambda c: c, x),
    "fori_loop": lambda f: lambda x: jnp.fori_loop(0, 2, lambda i, c: f(c), x),
    "cond": lambda f: lambda x: jnp.cond(True, f, f, x),
    "switch": lambda f: lambda x: jnp.switch(0, [f, f], x),
    "map": lambda f: lambda x: jnp.map(f, jnp.stack([x, x])),
    "checkpoint": jnp.checkpoint,
    "scan_while": lambda f: (
        lambda x: jnp.scan_while(lambda c: c < 9, lambda c: (f(c), None), x, 3)
    ),
    "vmap_automatically": lambda f: (
        lambda x: jnp.vmap_automatically(f, jnp.stack([x, x]))
    ),
}


@pytest.mark.parametrize("inside_of_jax", [False, True])
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_tool_tells_the_line(tool, inside_of_jax):
    def choose(x):
        if x > 0:
            return x
        return -x

    call = tool(choose)
    if inside_of_jax:
        call = jax.jit(call)
    told = instead(call, jnp.ones(()))
    assert told.splitlines()[0] == "return jnp.where(x > 0, x, -x)"


def test_code_without_a_file_gets_jax_words_and_advice():
    variables = {}
    exec("def f(x):\n    return 1 if x > 0 else 2", variables)
    text = message_of(jnp.jit(variables["f"]), 1.0)
    assert "in f() needs the truth value here" in text
    assert "jnp.where(condition, a, b)" in text


def written(name, source):
    """A function `f` of a file that pytest does not rewrite."""
    variables = {"__name__": "script"}
    lines = source.splitlines(True)
    linecache.cache[name] = (len(source), None, lines, name)
    exec(compile(source, name, "exec"), variables)
    return variables["f"]


def test_the_name_of_jfi_is_the_users():
    f = written("a.py", "import jfi\ndef f(x):\n    return x if x > 0 else -x")
    assert "return jfi.where(x > 0, x, -x)" in message_of(jnp.jit(f), 1.0)


def test_an_assert_can_only_be_taken_out():
    f = written("b.py", "def f(x):\n    assert x > 0, 'positive'\n    return x")
    text = message_of(jnp.jit(f), 1.0)
    assert "Python's `assert` in f() needs the truth value of `x > 0`" in text
    assert "Take the assert out" in text
