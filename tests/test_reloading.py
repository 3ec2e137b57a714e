"""Modules that a notebook's `%autoreload` reads again: what it imported is new, too."""

import contextlib
import gc
import importlib
import inspect
import itertools
import sys
import types

import jax.numpy as jnp
import pytest

import jfi


# IPython gives the old functions the code and the attributes of the new ones, and so
# mends what a session has imported by `from module import f`.
ATTRIBUTES = "__code__ __defaults__ __doc__ __closure__ __globals__ __dict__".split()
numbers = itertools.count()


def update(old, new):
    if isinstance(old, type) and isinstance(new, type):
        for name in list(vars(old)):
            if not hasattr(new, name):
                delattr(old, name)
            elif hasattr(old, name) and not update(
                getattr(old, name), getattr(new, name)
            ):
                with contextlib.suppress(AttributeError, TypeError):
                    setattr(old, name, getattr(new, name))
        for x in gc.get_referrers(old):
            if type(x) is old:
                x.__class__ = new
        return True
    if not (
        isinstance(old, types.FunctionType) and isinstance(new, types.FunctionType)
    ):
        return False
    for name in ATTRIBUTES:
        with contextlib.suppress(AttributeError, TypeError):
            setattr(old, name, getattr(new, name))
    return True


class Session:
    """A module, and what was imported from it."""

    def __init__(self, folder, monkeypatch):
        self._name = f"edited_{next(numbers)}"
        self._file = folder / f"{self._name}.py"
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        self.module, self._old = None, []

    def edit(self, text):
        self._file.write_text(f"import jax.numpy as np\nimport jfi as jnp\n{text}")
        importlib.invalidate_caches()
        if self.module is None:
            self.module = importlib.import_module(self._name)
            return self.module
        self._old += [
            (name, value)
            for name, value in vars(self.module).items()
            if getattr(value, "__module__", None) == self._name
        ]
        importlib.reload(self.module)
        for name, value in self._old:
            update(value, getattr(self.module, name))
        return self.module


@pytest.fixture
def session(tmp_path, monkeypatch):
    made = Session(tmp_path, monkeypatch)
    yield made
    sys.modules.pop(made._name, None)


X = jnp.ones(2)
TOOLS = ["@jnp.autojit", "@jnp.jit", "@jnp.persistent", "@jnp.auto_vmap", "@jnp.vmap"]
FUNCTION = """
K = {k}
{tool}
def f(x, n={k}):
    return np.sin(0 * x) + K + n
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_functions_that_were_imported_follow(session, tool):
    f = session.edit(FUNCTION.format(k=1, tool=tool)).f
    for k in (1, 2, 3):
        new = session.edit(FUNCTION.format(k=k, tool=tool)).f
        assert [f(X).tolist() for _ in range(3)] == [[2 * k] * 2] * 3
        assert f(X, 5 * X).tolist() == [k + 5] * 2
        assert repr(f) == repr(new)


@pytest.mark.parametrize("after", ["", "@jnp.autojit", "@jnp.jit", "@jnp.vmap"])
@pytest.mark.parametrize("before", ["", "@jnp.autojit", "@jnp.jit"])
def test_decorators_may_come_and_go(session, before, after):
    if not before and after in ("@jnp.jit", "@jnp.vmap"):
        pytest.skip("Python refuses the code of a closure, whatever decorates")
    f = session.edit(FUNCTION.format(k=1, tool=before)).f
    assert f(X).tolist() == [2, 2]
    for k in (2, 3):
        session.edit(FUNCTION.format(k=k, tool=after))
        assert [f(X).tolist() for _ in range(3)] == [[2 * k] * 2] * 3
        repr(f)


@pytest.mark.parametrize("tool", TOOLS)
def test_functions_that_are_patched_follow(session, tool):
    module = session.edit(FUNCTION.format(k=1, tool=tool))
    f = module.f
    assert f(X).tolist() == [2, 2]
    for k, now in ((2, tool), (3, ""), (4, tool), (5, tool)):
        module.K = k
        for decorator in ("", now):  # as IPython does, also with the file
            text = FUNCTION.format(k=k, tool=decorator).replace(f"K = {k}", "")
            names = {}
            exec(compile(text, f.__code__.co_filename, "exec"), vars(module), names)
            for name in ATTRIBUTES:
                with contextlib.suppress(AttributeError, TypeError, ValueError):
                    setattr(f, name, getattr(names["f"], name))
        assert [f(X).tolist() for _ in range(3)] == [[2 * k] * 2] * 3


CLASS = """
class Model:
    def __init__(self):
        self.w = np.ones(2)

    @staticmethod
    {tool}
    def f(x, n={k}):
        return np.sin(0 * x) + {k} + n

    {methods}
    def g(self, x):
        return self.w * x * {k}

    @jnp.autojit
    def both(self, x):
        return self.f(x) + self.g(x)
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_classes_that_were_imported_follow(session, tool):
    methods = tool if tool in ("@jnp.autojit", "@jnp.persistent") else ""

    def edit(k):
        return session.edit(CLASS.format(k=k, tool=tool, methods=methods)).Model

    Model = edit(1)
    old = Model()
    for k in (1, 2, 3):
        edit(k)
        for model in (old, Model(), session.module.Model()):
            for _ in range(3):
                assert model.f(X).tolist() == [2 * k] * 2
                assert model.g(X).tolist() == [k] * 2
                assert model.both(X).tolist() == [3 * k] * 2


def test_functions_that_draw_follow(session):
    text = "class A:\n    @staticmethod\n    @jnp.jit\n    def f():\n        return {}"
    f = session.edit(text.format("jnp.rand(2)")).A.f
    f()
    session.edit(text.format("jnp.rand(3)"))
    jfi.manual_seed(0)
    drawn = [f().tolist() for _ in range(3)]
    jfi.manual_seed(0)
    assert drawn == [jfi.rand(3).tolist() for _ in range(3)]


def test_methods_may_get_a_decorator(session):
    Model = session.edit(CLASS.format(k=1, tool="", methods="")).Model
    assert Model().g(X).tolist() == [1, 1]
    session.edit(CLASS.format(k=2, tool="@jnp.autojit", methods="@jnp.autojit"))
    for _ in range(3):
        assert Model().f(X).tolist() == [4, 4]
        assert Model().g(X).tolist() == [2, 2]
        assert Model().both(X).tolist() == [6, 6]


def test_methods_may_lose_a_decorator(session):
    tool = "@jnp.autojit"
    Model = session.edit(CLASS.format(k=1, tool=tool, methods=tool)).Model
    assert Model().both(X).tolist() == [3, 3]
    for k, now in ((2, ""), (3, ""), (4, tool), (5, tool), (6, "")):
        session.edit(CLASS.format(k=k, tool=now, methods=now))
        for _ in range(3):
            assert Model().f(X).tolist() == [2 * k] * 2
            assert Model().g(X).tolist() == [k] * 2
            assert Model().both(X).tolist() == [3 * k] * 2
    assert inspect.signature(Model.f).parameters["n"].default == 6


@pytest.mark.filterwarnings("error")
def test_attributes_may_go():
    class Model:
        @jfi.autojit
        def f(self, x):
            return 2 * x

    del Model.f._repr_html_
    gc.collect()
    assert Model().f(2.0) == 4
