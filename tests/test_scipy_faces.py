"""The modules of `jfi.scipy`: how they are imported, what is in them."""

import pickle
import sys

import jax.scipy.stats
import jedi
import pytest
from subprocesses import output_of

import jfi
from jfi._dispatch._names import DISTRIBUTIONS


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution_has_all_names_of_jax(name):
    ours, theirs = getattr(jfi.scipy.stats, name), getattr(jax.scipy.stats, name)
    assert sys.modules[f"jfi.scipy.stats.{name}"] is ours
    public = {n for n in dir(theirs) if not n.startswith("_")}
    assert public <= set(dir(ours))
    for n in public:
        assert getattr(ours, n).__wrapped__ is getattr(theirs, n)


def test_distribution_is_imported_by_its_name_in_a_new_process():
    code = "import jfi.scipy.stats.norm as n; print(n.pdf(0.0) > 0.39, n.__name__)"
    assert output_of(code, fresh=True) == "True jfi.scipy.stats.norm"


def test_distribution_functions_pickle_by_name():
    logpdf = jfi.scipy.stats.beta.logpdf
    assert pickle.loads(pickle.dumps(logpdf)) is logpdf


def test_distribution_missing_name_says_what_to_write():
    with pytest.raises(AttributeError, match="jfi has random numbers of its own"):
        _ = jfi.scipy.stats.norm.rvs


@pytest.mark.parametrize(
    "name",
    [
        "ndimage.rotate", "optimize.minimize", "integrate.quad", "linalg.sqrtm",
        "sparse.linalg.spsolve", "stats.norm.pdf", "interpolate.CubicSpline",
    ],
)  # fmt: skip
def test_jedi_completes_names_of_scipy(name):
    place, _, last = name.rpartition(".")
    line = f"jnp.scipy.{place}.{last[:3]}"
    found = jedi.Script(f"import jfi as jnp\n{line}").complete(2, len(line))
    assert last in {completion.name for completion in found}


def test_scipy_itself_is_not_imported_by_the_modules():
    names = """cluster fft integrate interpolate linalg ndimage optimize signal sparse
    special stats""".split()
    modules = ", ".join(f"jfi.scipy.{name}" for name in names)
    code = f"import sys, jfi; {modules}, jfi.KDTree; print('scipy' in sys.modules)"
    assert output_of(code, fresh=True) == "False"
