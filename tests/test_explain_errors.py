"""`explain_errors`: advice in errors of plain code, and the mistakes it is for."""

import builtins
import sys
import threading
import types

import numpy as np
import pytest
from subprocesses import run_python

import jfi as jnp


X = jnp.array([[1.0, -2.0, 3.0], [0.0, 1.0, 2.0]])


def said(error):
    notes = getattr(error, "__notes__", [])
    return "\n".join(n for n in notes if "JAX has removed" not in n)


def line_in(text):
    """The line that an advice says to write."""
    lines = text.partition("Write instead:\n")[2].splitlines()
    return lines[0].strip() if lines else ""


@pytest.fixture
def printed(monkeypatch):
    """The errors that are printed, with `explain_errors` switched on."""
    errors = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, tb: errors.append(error))
    hook = lambda args: errors.append(args.exc_value)
    monkeypatch.setattr(threading, "excepthook", hook)
    jnp.explain_errors()
    return errors


def run(code, tmp_path, **variables):
    """Run a function f(x) of one line, as code of a file; print its error."""
    file = tmp_path / "script.py"
    file.write_text(f"def f(x, b=None):\n    {code}\n")
    names = {"jnp": jnp, "np": np, **variables}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names["f"]


def error_of(call, *args):
    try:
        call(*args)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return error
    raise AssertionError("it works")


#: What is wrong, plain and compiled, and the line to write, which is run.
MISTAKES = {
    "return x.detach()": "return jnp.detach(x)",
    "return x.to('cpu')": "return jnp.to(x, 'cpu')",
    "return x.sum(dim=0)": "return x.sum(axis=0)",
    "return (2 * x).mean(dim=1, keepdim=True)": (
        "return (2 * x).mean(axis=1, keepdims=True)"
    ),
    "return x.std(dim=0)": "return x.std(axis=0, ddof=1)",
    "return x.astype('float64') + 1": "return x.astype(float) + 1",
    "return x.astype(np.int64)": "return x.astype(int)",
    "return x.astype(jnp.complex128)": "return x.astype(complex)",
    "return x * 10**10": "return x * float(10 ** 10)",
    "return jnp.pure_callback(np.size, jnp.ShapeDtypeStruct((), int), x)": (
        "return jnp.from_numpy(np.size)(x)"
    ),
    "return x.T + x": "",
}


@pytest.mark.parametrize("code", MISTAKES)
def test_mistakes_plain_and_compiled_get_the_same_line_which_runs(
    code, printed, tmp_path
):
    f = run(code, tmp_path)
    plain, compiled = error_of(f, X), error_of(jnp.jit(f), X)
    assert printed == [plain, compiled]
    assert type(plain) is type(compiled)
    assert said(plain).replace("JitTracer", "Array") == said(compiled)
    assert "script.py, line 2: return" in said(plain)
    assert line_in(said(plain)) == MISTAKES[code]
    if MISTAKES[code]:
        better = run(MISTAKES[code], tmp_path)
        np.testing.assert_allclose(better(X), jnp.jit(better)(X), rtol=1e-6)


@pytest.mark.parametrize("name", ["sum", "mean", "std", "var", "prod"])
def test_mistakes_reductions_by_dim_are_written_as_torch_computes_them(
    name, printed, tmp_path
):
    torch = pytest.importorskip("torch")
    text = said(error_of(run(f"return x.{name}(dim=1)", tmp_path), X))
    ours = run(line_in(text), tmp_path)(X)
    theirs = getattr(torch.tensor(np.asarray(X)), name)(dim=1)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "code", ["return x + b", "return b @ x", "return jnp.exp(b)", "return jnp.array(b)"]
)
def test_mistakes_none_in_place_of_an_array_is_named(code, printed, tmp_path):
    f = run(code, tmp_path)
    for call in (f, jnp.jit(f), jnp.autojit(f), jnp.vmap(f)):
        text = said(error_of(call, X))
        assert "`b` in f() is None, which is no array." in text
        assert "A function without `return` returns None" in text


def test_mistakes_functions_of_the_user_with_a_wrong_keyword_get_no_line(
    printed, tmp_path
):
    f = run("return total(x, dim=0)", tmp_path, total=lambda x: x)
    assert said(error_of(f, X)) == ""


def test_mistakes_64_bits_in_other_functions_are_explained(printed, tmp_path):
    f = run("return jnp.numpy.zeros(3, jnp.float64)", tmp_path)
    text = said(error_of(f, X))
    assert "float for float64; or jnp.set_default_dtype" in text


def test_explain_errors_twice_is_once_and_false_is_off(printed):
    jnp.explain_errors()
    error = error_of(lambda: X.detach())
    assert printed == [error]
    assert said(error).count("is PyTorch's") == 1
    jnp.explain_errors(False)
    error = error_of(lambda: X.detach())
    assert said(error) == ""
    assert printed[1:] == [error]


def test_explain_errors_in_threads(printed):
    thread = threading.Thread(target=lambda: X.detach())
    thread.start()
    thread.join()
    assert "Write instead" in said(printed[0])


def test_explain_errors_of_a_script_that_ends():
    script = "import jfi as jnp\njnp.explain_errors()\njnp.ones(3).unsqueeze(0)"
    text = run_python(script, check=False).stderr
    assert "has no attribute 'unsqueeze'" in text
    assert "jnp.unsqueeze(" in text


def test_explain_errors_other_errors_and_ends_come_as_they_are(printed):
    class Silent(AttributeError):
        def __str__(self):
            raise KeyError("text")

    for kind in (Silent, KeyboardInterrupt, SystemExit, ValueError):
        error = kind()
        sys.excepthook(kind, error, None)
        assert printed[-1] is error
        assert said(error) == ""


def test_explain_errors_in_ipython(monkeypatch, printed):
    shown = []

    class Shell:
        def set_custom_exc(self, kinds, handler):
            self.kinds, self.handler = kinds, handler

        def showtraceback(self, exc_tuple, tb_offset=None):
            shown.append((exc_tuple[1], tb_offset))

    shell = Shell()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    jnp.explain_errors()
    assert shell.kinds == (Exception,)
    try:
        X.detach()
    except AttributeError as raised:
        error = raised
    handler = types.MethodType(shell.handler, shell)
    handler(type(error), error, error.__traceback__, tb_offset=1)
    assert shown == [(error, 1)]
    assert "is PyTorch's" in said(error)
    jnp.explain_errors(False)
    assert shell.kinds == ()
