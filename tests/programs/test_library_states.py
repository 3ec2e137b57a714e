"""What a script sets in a library, or in files, is never found old after a restart."""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from library_states import MYLIB, STATES
from subprocesses import output_of


RUN = """
import pathlib, sys, warnings
sys.path.insert(0, {libraries!r})
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_num_cpu_devices", {devices})
import jfi
warnings.simplefilter("ignore")
file, args = pathlib.Path({libraries!r}) / "file", (2.0,)
exec({script!r}, globals())

def shown(out):
    return [np.asarray(x, np.float64).round(5).tolist() for x in jax.tree.leaves(out)]

kept = jfi.persistent(f, mode="disk")
print(shown(kept(*args)))
print(shown(f(*args)))
report = jfi.cache_report()
print(report.hits, report.misses, list(report.not_kept.values()))
"""


def start(tmp_path, script, value):
    libraries = tmp_path / "site-packages"
    if not libraries.exists():
        libraries.mkdir()
        (libraries / "mylib.py").write_text(MYLIB)
    script = re.sub(r"\bP\b", str(value), script)
    devices = value if "device" in script else 1
    code = RUN.format(libraries=str(libraries), script=script, devices=devices)
    env = {"JFI_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    return output_of(code, env=env).splitlines()


@pytest.mark.parametrize("name", STATES)
def test_what_is_set_between_two_starts_is_seen(tmp_path, name):
    before, after, again = (start(tmp_path, STATES[name], n) for n in (2, 3, 3))
    print(*before, *after, *again, sep="\n")
    assert before[0] == before[1] != after[1]
    assert after[0] == after[1] == again[0]
    # What is kept is found where nothing has changed.
    assert again[2] == after[2].replace("0 1 []", "1 0 []")


PACKAGE = "import mypackage\ndef f(x): return mypackage.times(x)"


@pytest.mark.parametrize("metadata", [True, False])
def test_a_package_installed_again_with_the_same_version_is_another_one(
    tmp_path, metadata
):
    results = []
    for value in (2, 3):
        package = tmp_path / "site-packages" / "mypackage"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(
            "from .inner import times\n__version__ = '1'"
        )
        (package / "inner.py").write_text(f"def times(x): return x * {value}")
        if metadata:
            info = package.with_name("mypackage-1.dist-info")
            info.mkdir(exist_ok=True)
            text = "Metadata-Version: 2.1\nName: mypackage\nVersion: 1\n"
            (info / "METADATA").write_text(text)
        results.append(start(tmp_path, PACKAGE, value))
    again = start(tmp_path, PACKAGE, 3)
    assert [r[0] for r in (*results, again)] == ["[4.0]", "[6.0]", "[6.0]"]
    assert (results[1][2], again[2]) == ("0 1 []", "1 0 []")


EXTENSION = """
#include <Python.h>
static PyObject *k(PyObject *self, PyObject *none) { return PyLong_FromLong(VALUE); }
static PyMethodDef methods[] = {{"k", k, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "myext", 0, -1, methods};
PyMODINIT_FUNC PyInit_myext(void) { return PyModule_Create(&module); }
"""


@pytest.mark.parametrize("jit", ["", "@jax.jit\n"])
def test_an_extension_that_is_built_again_is_another_one(tmp_path, jit):
    compiler, headers = shutil.which("cc"), sysconfig.get_path("include")
    if not compiler or not Path(headers, "Python.h").exists():
        pytest.skip("it takes a compiler of C, and Python's headers")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport myext\n"
    script += f"{jit}def g(x): return x * myext.k()\ndef f(x): return g(x)"
    results = []
    for value in (2, 3, 3):
        source = tmp_path / "myext.c"
        source.write_text(EXTENSION.replace("VALUE", str(value)))
        target = tmp_path / f"myext{sysconfig.get_config_var('EXT_SUFFIX')}"
        if value == 2 or results[-1][0] == "[4.0]":
            words = ["-shared", "-fPIC", f"-I{headers}", source, "-o", target]
            subprocess.run([compiler, *words], check=True)
        results.append(start(tmp_path, script, value))
    assert [r[0] for r in results] == ["[4.0]", "[6.0]", "[6.0]"]
    assert [r[2] for r in results] == ["0 1 []", "0 1 []", "1 0 []"]


def test_flags_in_an_object_that_one_process_has_are_told(tmp_path):
    script = STATES["a flag of absl, by its own name"]
    report = start(tmp_path, script, 2)[2]
    assert "it reads an object of type absl.flags._flagvalues.FlagValues" in report
