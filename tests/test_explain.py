"""`explain()` and RecompileWarning: what changed, how long it took, what to write."""

import builtins
import functools
import re
import types
import warnings

import jax
import numpy as np
import pytest

import jfi as jnp
from jfi import RecompileWarning, autojit


X, Y = np.ones(3, np.float32), np.ones(4, np.float32)


class Model:
    def __init__(self):
        self.kind, self.layers = "linear", [X]

    @autojit
    def step(self, x):
        return x if self.kind == "linear" else self.layers[0]


def first(x, *others, **options):
    return x


def causes(fn, *calls):
    compiled = autojit(fn)
    compiled.clear_cache()
    for args in calls:
        compiled(*args)
    return [compilation.cause for compilation in compiled.explain()][1:]


CHANGES = {
    "shape": ([X], [Y], "x: float32[3] -> float32[4]"),
    "dtype": ([X], [X.astype(np.int32)], "x: float32[3] -> int32[3]"),
    "weak type": (
        [np.float32(1)],
        [1.0],
        "x: a NumPy number -> a Python number",
    ),
    "number": ([jnp.float32(1)], [1.0], "x: an array -> a Python number"),
    "static value": ([X, 1], [X, 2], "others[0]: int 1 -> int 2"),
    "None": ([X, None], [X, 1], "others[0]: None -> int 1"),
    "one more": ([X], [X, Y], "others[0]: nothing -> float32[4]"),
    "the same one": ([X], [X, X], "others[0]: nothing -> the same as x"),
    "structure": ([{"a": X}], [{"a": X, "b": None}], "x['b']: nothing -> None"),
    "type": ([[X, 1]], [(X, 1)], "x: list -> tuple"),
    "type and parts": ([{"a": X}], [X], "x: dict -> float32[3]"),
    "order": (
        [{"a": X, "b": Y}],
        [{"b": Y, "a": X}],
        "x: in the order 'a', 'b' -> in the order 'b', 'a'",
    ),
    "function": ([X, np.sin], [X, np.cos], "others[0]: ufunc <ufunc 'sin'> -> "),
    "partial": (
        [X, functools.partial(first, 1)],
        [X, functools.partial(first, 2)],
        "others[0].args[0]: int 1 -> int 2",
    ),
    "generator": (
        [X, jnp.Generator(0)],
        [X, jnp.Generator(1)],
        "others[0]: Generator <Generator of threefry2x32 keys> -> another one",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_cause_names_what_changed(change):
    before, after, cause = CHANGES[change]
    (found,) = causes(first, before, after)
    assert found.startswith(cause)
    assert ";" not in found


def test_functions_are_named_by_their_lines():
    one, other = (lambda x: x), (lambda x: x)
    (found,) = causes(lambda f, x: f(x), (one, X), (other, X))
    line = one.__code__.co_firstlineno
    assert found == f"f: lambda at test_explain.py:{line} -> another one"
    (found,) = causes(lambda f, x: f(x), (one, X), (first, X))
    assert found == f"f: lambda at test_explain.py:{line} -> first()"


def test_attributes_globals_and_options_of_jax_are_named():
    model = Model()
    Model.step.clear_cache()
    model.step(X)
    model.kind = "other"
    model.step(X)
    assert Model.step.explain()[1].cause == "self.kind: str 'linear' -> str 'other'"
    script = {"X": X, "jfi": jnp, "scale": 2}
    exec("f = jfi.autojit(lambda x: x * scale)\nf(X)\nscale = 3\nf(X)", script)
    assert script["f"].explain()[1].cause == "scale: int 2 -> int 3"
    with jax.default_matmul_precision("highest"):
        script["f"](X)
    cause = script["f"].explain()[2].cause
    assert cause == "jax_default_matmul_precision: None -> 'highest'"


@pytest.mark.parametrize(
    ("file", "label"),
    [
        ("train.py", "train.py:1"),
        ("<ipython-input-7-0af3>", "In[7], line 1"),
        ("/tmp/ipykernel_42/1234567.py", "a cell, line 1"),
        ("<stdin>", "<stdin>:1"),
    ],
)
def test_a_lambda_is_called_by_its_line(file, label):
    script = {"jfi": jnp}
    exec(compile("f = jfi.autojit(lambda x: x)", file, "exec"), script)
    report = repr(script["f"].explain())
    assert report.endswith(f"why lambda at {label} was compiled")


def test_a_cell_of_a_kernel_is_called_by_its_number(monkeypatch):
    file = "/tmp/ipykernel_42/1234567.py"

    class Compiler:  # of IPython, which knows the files of its cells alone
        def format_code_name(self, name):
            return ("Cell", "In[7]") if name == file else None

    shell = types.SimpleNamespace(compile=Compiler())
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    script = {"jfi": jnp}
    code = "f = jfi.autojit(lambda x: x)\ndef g(x):\n    return x if x > 0 else -x"
    exec(compile(code, file, "exec"), script)
    assert "lambda at In[7], line 1" in repr(script["f"].explain())
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "remove_frames")  # without IPython
    try:
        with pytest.raises(jax.errors.TracerBoolConversionError) as info:
            jnp.jit(script["g"])(X[0])
    finally:
        jax.config.update("jax_traceback_filtering", before)
    assert "  In[7], line 3: " in str(info.value)
    assert file not in str(info.value).partition("JAX says")[0]
    other = {"jfi": jnp}
    exec(compile(code, "/tmp/ipykernel_42/7.py", "exec"), other)
    assert "lambda at a cell, line 1" in repr(other["f"].explain())


def test_explain_says_what_else_traced_the_same_arguments():
    draws = autojit(lambda x: x * 7.25 + jnp.randn(3))
    draws(X)
    jax.jit(draws)(X)
    assert "the same arguments, inside another function" in repr(draws.explain())
    looked_at = autojit(lambda x: x * 8.25)
    looked_at(X)
    looked_at.lower(X)
    asked = "the same arguments: lower(), trace() or eval_shape() asked for it"
    assert asked in repr(looked_at.explain())
    for report in (draws.explain(), looked_at.explain()):
        assert "another mesh" not in repr(report)


def test_compile_times_are_always_there():
    draws = autojit(lambda x: x * 4.5 + jnp.randn(3))
    draws(X)
    twin = autojit(lambda x, n: x * 5.5 + 1)
    twin(X, 1), twin(X, 2)
    inner = autojit(lambda x: x * 6.5)
    jax.jit(lambda x: inner(x) + 1)(X)
    found = [*draws.explain(), *twin.explain(), *inner.explain()]
    kinds = [compilation.compiled for compilation in found]
    assert kinds == ["anew", "anew", "before", "inside"]
    timed = [compilation.compiling_seconds is not None for compilation in found]
    assert timed == [kind == "anew" for kind in kinds]
    table = str(twin.explain()).splitlines()
    assert re.fullmatch(r"1  +\d\.\d{3} s  +\d\.\d{3} s  the first call", table[1])
    assert re.fullmatch(r"2  +\d\.\d{3} s  +before  n: int 1 -> int 2", table[2])
    assert " inside  the first call" in str(inner.explain())


def warning_of(fn, *calls, **options):
    compiled = autojit(fn, warn_after=2, **options)
    compiled.clear_cache()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for args in calls:
            compiled(*args)
    (warning,) = caught
    assert warning.category is RecompileWarning
    return str(warning.message)


def test_a_warning_says_which_option_fits():
    def used(x, a, b=0, f=None):
        return x if a > 1 else x + 1

    told = warning_of(used, (X, 0), (X, 1), (X, 2))
    assert told.startswith("used() was compiled 2 times because a changed (lately int")
    assert 'autojit(traced="a")' in told
    told = warning_of(used, (X, 0.5), (X, 1.0), (X, 2.0))
    assert "Python code needs its value, as in `if a > 0`" in told
    assert "traced=" not in told
    told = warning_of(used, (X, 0.0), (X, 1.0), (X, 2.0), static="a")
    assert 'leave out "a" in static= and frozen=' in told
    told = warning_of(used, (X, 0, "0"), (X, 1, "1"), (X, 2, "2"))
    assert "because a and b changed (lately int 1 -> int 2, str '1' -> str '2')" in told
    assert 'traced="a"' in told
    assert "fewer different values of b" in told

    def adding(n):
        return lambda x: x + n

    told = warning_of(lambda f, x: f(x), *((adding(n), X) for n in range(3)))
    assert "because n changed" in told
    assert "make it an array: n = jnp.asarray(n)" in told


def test_keys_that_come_and_go_are_one_cause():
    def total(parts):
        return sum(parts.values())

    told = warning_of(total, ({"a": X},), ({"b": X},), ({"c": X},))
    assert "because parts changed (lately parts['b']: float32[3] -> nothing" in told
    assert "Keep the keys and the length of parts the same." in told
    told = warning_of(total, ({"a": X},), ({"a": X, "b": X},), ({"a": X, "b[": X},))
    assert "because parts changed" in told
    told = warning_of(lambda parts: sum(parts), ([X, X, X],), ([X, X],), ([X],))
    assert "Keep the keys and the length of parts the same." in told


def test_parts_of_what_is_new_are_not_listed():
    nothing = {"a": None, "b": None}
    (found,) = causes(first, [nothing], [{"a": {"c": {"d": X}}, "b": [[X]]}])
    assert found == "x['a']: None -> dict; x['b']: None -> list"
