"""What every test starts from: the same seed, the defaults of a fresh import."""

from pathlib import Path

import jax
import pytest
from hypothesis import settings
from sampling import sampled

import jfi
from jfi._arrays import _config
from jfi._autojit import _calls, _layouts


# The same examples in each run: the programs that they need are kept from the last one.
# `pytest --hypothesis-profile=default` looks for others.
settings.register_profile("repeated", derandomize=True, database=None)
settings.load_profile("repeated")

# pytest looks for examples in each module, so it would run the scripts among these.
collect_ignore = [
    "fuzzing",
    *(path.name for path in Path(__file__).parent.glob("[!t]*.py")),
]


@pytest.fixture(autouse=True)
def _fresh_state():
    """The generator is seeded, and no test leaves other defaults behind."""
    jfi.manual_seed(0)
    jfi.set_plain_jit_policy("ok")  # its warning comes once: tests of it say "warn"
    dtype, device = _config._default_dtype.value, jax.config.jax_default_device
    x64 = jax.config.jax_enable_x64
    yield
    jfi.manual_seed(0)  # examples in docstrings, which run later, have other fixtures
    if _config._default_dtype.value != dtype:
        jfi.set_default_dtype(dtype)
    jax.config.update("jax_enable_x64", x64)
    jax.config.update("jax_default_device", device)


@pytest.fixture(scope="session")
def torch():
    """PyTorch, to compare with; without it the test is skipped."""
    return pytest.importorskip("torch")


@pytest.fixture
def mixed_world():
    """64-bit types are allowed, in all threads, and floats are created as float32."""
    jax.config.update("jax_enable_x64", True)


@pytest.fixture(params=[True, False], ids=["x64", "x32"])
def x64(request):
    """Run the test with 64-bit types allowed and not."""
    with jax.enable_x64(request.param):
        yield request.param


@pytest.hookimpl(trylast=True)  # after `-k`, which may name a case
def pytest_collection_modifyitems(config, items):
    """A sample of each large test."""
    kept = sampled(items)
    config.hook.pytest_deselected(items=[*{*items} - {*kept}])
    items[:] = kept


@pytest.fixture(params=["layouts", "opened"])
def way(request, monkeypatch):
    """Calls under autojit are recognised from the second on; or each is opened anew."""
    if request.param == "layouts":
        monkeypatch.setattr(_calls, "CALLS_TO_LEARN", 1)
    else:
        monkeypatch.setattr(_layouts, "MAX_LAYOUTS", 0)
