"""Errors of the user's function show the user's lines, and none of jfi's."""

import builtins
import gc
import traceback
import weakref

import jax
import numpy as np
import pytest

import jfi as jnp
from jfi import _jax_internals


X = np.ones(3, np.float32)
MODES = ["tracebackhide", "remove_frames", "quiet_remove_frames"]


def outer(*args):
    return inner(*args)


def inner(*args):
    raise KeyError("the user's own")


def drawing(*args):
    return inner(jnp.randn(3))


class Model:
    def __init__(self):
        self.w = X

    @jnp.autojit
    def step(self, x):
        return outer(self.w, x)


TOOLS = {
    "associative_scan": lambda: jnp.associative_scan(outer, X),
    "auto_vmap": lambda: jnp.auto_vmap(outer)({"x": X}),
    "autojit": lambda: jnp.autojit(outer)(X),
    "autojit, lower": lambda: jnp.autojit(outer).lower(X),
    "autojit, method": lambda: Model().step(X),
    "checkpoint": lambda: jnp.checkpoint(outer)(X),
    "cond": lambda: jnp.cond(True, outer, outer, X),
    "eval_shape": lambda: jnp.eval_shape(outer, X),
    "fori_loop": lambda: jnp.fori_loop(0, 3, outer, 0.0),
    "from_numpy": lambda: jnp.from_numpy(outer)(X),
    "from_numpy, jit": lambda: jnp.jit(jnp.from_numpy(outer))(X),
    "grad": lambda: jnp.grad(outer)(1.0),
    "hessian": lambda: jnp.hessian(outer)(X),
    "inspect": lambda: jnp.inspect(outer)(X),
    "jacfwd": lambda: jnp.jacfwd(outer)(X),
    "jacrev": lambda: jnp.jacrev(outer)(X),
    "jit": lambda: jnp.jit(outer)(X),
    "jit, lower": lambda: jnp.jit(outer).lower(X),
    "jvp": lambda: jnp.jvp(outer, (X,), (X,)),
    "linearize": lambda: jnp.linearize(outer, X),
    "map": lambda: jnp.map(outer, X),
    "minimize": lambda: jnp.scipy.optimize.minimize(outer, X),
    "nested": lambda: jnp.jit(jnp.vmap(jnp.grad(jnp.checkpoint(outer))))(X),
    "persistent": lambda: jnp.persistent(outer, mode="off")(X),
    "plain jit around": lambda: jax.jit(jnp.vmap(outer))(X),
    "scan": lambda: jnp.scan(outer, 0.0, X),
    "scan_while": lambda: jnp.scan_while(lambda c: c < 3, outer, 0, 4),
    "switch": lambda: jnp.switch(1, [outer, outer], X),
    "timeit": lambda: jnp.timeit(outer, X),
    "value_and_grad": lambda: jnp.value_and_grad(outer)(1.0),
    "vjp": lambda: jnp.vjp(outer, X),
    "vmap": lambda: jnp.vmap(outer)(X),
    "vmap, chunks": lambda: jnp.vmap(outer, chunk_size=2)(X),
    "vmap_automatically": lambda: jnp.vmap_automatically(outer, {"x": X}),
    "while_loop": lambda: jnp.while_loop(lambda c: c < 3, outer, 0),
}


def error_of(call):
    try:
        call()
    except Exception as error:
        return error
    pytest.fail("no error")


def shown(error, *, marks=False):
    """The functions in a traceback below the one that called the tool."""
    frames = [
        frame
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if not (marks and "__tracebackhide__" in frame.f_locals)
    ]
    names = [frame.f_code.co_name for frame in frames]
    files = {frame.f_code.co_filename for frame in frames}
    assert files == {__file__}, files
    return names[names.index("error_of") + 1 :]


@pytest.mark.parametrize("tool", TOOLS)
def test_no_frame_of_jfi_or_jax_is_shown(tool):
    error = error_of(TOOLS[tool])
    assert type(error) is KeyError
    assert error.args == ("the user's own",)
    assert error.__cause__ is error.__context__ is None
    names = [name for name in shown(error) if name not in ("<lambda>", "step")]
    assert names == ["outer", "inner"]


def test_no_frame_of_jfi_is_shown_around_functions_of_torch():
    pytest.importorskip("torch")
    for call in (
        lambda: jnp.from_torch(outer)(X),
        lambda: jnp.jit(jnp.from_torch(outer))(X),
    ):
        assert shown(error_of(call)) == ["<lambda>", "outer", "inner"]


@pytest.mark.parametrize("make", [jnp.jit, jnp.autojit, jnp.vmap])
def test_functions_that_draw_show_the_same(make):
    assert shown(error_of(lambda: make(drawing)(X))) == ["<lambda>", "drawing", "inner"]


class Diagonal(jnp.CustomArray):
    def __init__(self):
        self.x = X

    def exp(self):
        return outer(self.x)


jnp.implements(jnp.sin, Diagonal)(outer)


def test_rules_of_custom_arrays_show_one_frame_of_jfi_at_most():
    for call in (lambda: jnp.exp(Diagonal()), lambda: jnp.sin(Diagonal())):
        frames = traceback.walk_tb(error_of(call).__traceback__)
        files = [frame.f_code.co_filename for frame, _ in frames]
        assert sum(file != __file__ for file in files) <= 1
        assert len(files) <= 6


REFUSED = {
    "autojit's option": lambda: jnp.autojit(outer, static="q"),
    "vjp's cotangent": lambda: jnp.vjp(jnp.sin, X)[1]("a"),
    "vmap's axes": lambda: jnp.vmap(outer, in_axes="b"),
    "vmap_automatically's batch": lambda: jnp.vmap_automatically(outer, np.eye(3)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_jfi_refuses_shows_the_line_of_the_call(what):
    error = error_of(REFUSED[what])
    assert isinstance(error, jnp.JfiError)
    assert shown(error) == ["<lambda>"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["autojit", "jit", "scan", "timeit", "vmap"])
def test_each_way_to_filter_is_respected(mode, tool):
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", mode)
    try:
        error = error_of(TOOLS[tool])
    finally:
        jax.config.update("jax_traceback_filtering", before)
    marks = mode == "tracebackhide"
    assert shown(error, marks=marks) == ["<lambda>", "outer", "inner"]
    frames = list(traceback.walk_tb(error.__traceback__))
    assert marks == any("jfi" in f.f_code.co_filename[-40:] for f, _ in frames[2:-2])
    # A debugger begins where the user's function failed.
    assert frames[-1][0].f_code is inner.__code__
    # `timeit` calls none of JAX, nor does `autojit`, which runs what fails plainly.
    of_jax = tool not in ("timeit", "autojit")
    cause = type(error.__cause__).__name__
    assert (cause == "UnfilteredStackTrace") == (of_jax and mode == "remove_frames")
    notes = "".join(getattr(error, "__notes__", ()))
    assert ("JAX has removed" in notes) == (of_jax and mode == "quiet_remove_frames")


def test_filtering_off_shows_all():
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "off")
    try:
        error = error_of(TOOLS["jit"])
    finally:
        jax.config.update("jax_traceback_filtering", before)
    modules = [
        f.f_globals["__name__"] for f, _ in traceback.walk_tb(error.__traceback__)
    ]
    assert "jfi._jit._function" in modules
    assert any(name.startswith("jax.") for name in modules)
    assert not hasattr(error, "__notes__")


def test_notebooks_are_told_which_frames_to_hide(monkeypatch):
    monkeypatch.setattr(builtins, "get_ipython", object, raising=False)
    error = error_of(TOOLS["timeit"])
    assert shown(error, marks=True) == ["<lambda>", "outer", "inner"]
    assert len(list(traceback.walk_tb(error.__traceback__))) > 4


def test_causes_contexts_and_notes_are_the_users():
    def fails(x):
        try:
            inner(x)
        except KeyError as error:
            problem = ValueError("second")
            problem.add_note("a note")
            raise problem from error

    error = error_of(lambda: jnp.jit(jnp.vmap(fails))(X))
    assert (type(error), error.args, error.__notes__[0]) == (
        ValueError,
        ("second",),
        "a note",
    )
    assert type(error.__cause__) is KeyError
    assert error.__cause__ is error.__context__
    assert len(list(traceback.walk_tb(error.__cause__.__traceback__))) == 2


@pytest.mark.parametrize("mode", [*MODES, "off"])
def test_an_error_that_is_gone_keeps_no_argument_alive(mode):
    class Leaf:
        pass

    def fails(x, leaf=None):
        raise ValueError("gone")

    functions = [jnp.jit(fails), jnp.autojit(fails), jnp.vmap(fails)]
    calls = [lambda leaf, f=f: jax.tree.map(lambda _: f(X), leaf) for f in functions]
    calls += [lambda leaf: jnp.timeit(lambda: fails(0, leaf))]
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", mode)
    gc.collect()
    gc.disable()
    try:
        for call in calls:
            leaf = Leaf()
            gone = weakref.ref(leaf)
            with pytest.raises(ValueError, match="gone"):
                call(leaf)
            del leaf
            assert gone() is None
    finally:
        gc.enable()
        jax.config.update("jax_traceback_filtering", before)


def test_without_the_list_of_jaxs_files_all_of_its_frames_are_hidden():
    def adds(x):
        return x + np.ones(4)

    def shown_of_jax():
        frames = traceback.walk_tb(error_of(lambda: jnp.jit(adds)(X)).__traceback__)
        return [f for f, _ in frames if "site-packages" in f.f_code.co_filename]

    assert shown_of_jax()
    with _jax_internals.without("shown_files"):
        assert not shown_of_jax()
