"""Scripts that end and start again, which is what the server is for."""

from concurrent.futures import ThreadPoolExecutor

import pytest


HELPER = """
import jax.numpy as jnp
GAIN = 2.0
def damped(x):
    return GAIN * jnp.tanh(x)
"""
SCRIPT = """
import dataclasses, sys, warnings
warnings.simplefilter("error")
import jax, jax.numpy as jnp, numpy as np
from jfi._persistent import persistent
import helper

class PlanError(Exception):
    def __init__(self, step, reason):
        super().__init__(f"{reason} at step {step}")
        self.step = step

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    x: jax.Array
    name: str = dataclasses.field(metadata=dict(static=True), default="s")

# more
@persistent
def plan(state, goal, steps=3):
    if steps < 0:
        raise PlanError(steps, "no steps")
    for _ in range(steps):
        state = State(state.x + 0.1 * helper.damped(goal - state.x), state.name)
    return state, {"cost": jnp.sum((state.x - goal) ** 2)}

state, rest = plan(State(jnp.zeros(3)), np.ones(3))
assert type(state) is State and type(rest) is dict and isinstance(state.x, jax.Array)
print(float(rest["cost"]))
try:
    plan(State(jnp.zeros(3)), np.ones(3), steps=-1)
except PlanError as error:
    print(error.step, error)
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def lines(done):
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no warning, and no traceback at the end
    return done.stdout.splitlines()


def test_the_second_run_compiles_nothing(server, project):
    before = server.report()
    first = lines(server.script(project / "script.py", PYTHONHASHSEED="1"))
    middle = server.report()
    assert middle.compiled == before.compiled + 1
    assert first[1] == "-1 no steps at step -1"

    # Moved lines, a comment, another hash seed: the same program.
    moved = "#\n#\n" + SCRIPT.replace("# more", '"""More."""\n\n')
    (project / "script.py").write_text(moved)
    (project / "helper.py").write_text("# gain\n\n" + HELPER)
    second = lines(server.script(project / "script.py", PYTHONHASHSEED="2"))
    assert second == first
    after = server.report()
    assert after.compiled == middle.compiled
    assert after.functions == middle.functions
    assert after.calls == middle.calls + 1


def test_an_edited_helper_is_not_stale(server, project):
    first = lines(server.script(project / "script.py"))
    (project / "helper.py").write_text(HELPER.replace("2.0", "0.0"))
    second = lines(server.script(project / "script.py"))
    assert float(second[0]) == 3.0 != float(first[0])
    (project / "helper.py").write_text(HELPER)
    assert lines(server.script(project / "script.py")) == first


SLOW = """
import warnings
warnings.simplefilter("error")
import numpy as np, jax.numpy as jnp
from jfi._persistent import persistent

@persistent
def slow(x):
    for k in range(150):
        x = jnp.sin(x) * k + jnp.cos(x)
    return x

print(float(slow(np.ones(3))[0]))
"""


def test_clients_that_ask_at_once_compile_once(server, tmp_path):
    (tmp_path / "script.py").write_text(SLOW)
    before = server.report().compiled
    with ThreadPoolExecutor() as pool:
        results = pool.map(lambda _: server.script(tmp_path / "script.py"), range(2))
    one, other = (lines(done) for done in results)
    assert one == other
    assert server.report().compiled == before + 1


DEFAULTS = """
import sys, warnings
warnings.simplefilter("error")
import jfi as jnp
import jax
from jfi._persistent import persistent

if sys.argv[1] == "x32":
    jax.config.update("jax_enable_x64", False)
elif sys.argv[1] == "float64":
    jnp.set_default_dtype("float64")

@persistent
def zeros(n):
    return jnp.zeros(n)

print(zeros(2).dtype)
"""


@pytest.mark.parametrize(
    ("choice", "dtype"), [("x32", "float32"), ("float64", "float64")]
)
def test_the_defaults_are_the_clients(server, tmp_path, choice, dtype):
    (tmp_path / "script.py").write_text(DEFAULTS)
    assert lines(server.script(tmp_path / "script.py", choice)) == [dtype]
