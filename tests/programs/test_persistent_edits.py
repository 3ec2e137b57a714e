"""An edit between two runs of a script is never missed; what does the same is found."""

import json

import edited_scripts
import pytest
from subprocesses import run_python


# In one process: what all scripts give is there once.
pytestmark = pytest.mark.xdist_group("edited scripts")

# Each script is a module of its own, as a script that was imported. What it gives is
# compared with what its plain function gives in the same process.
RUN = """
import json, sys, types, warnings
import jax, numpy as np
import jfi

def shown(x):
    if isinstance(x, (jax.Array, np.ndarray, np.generic, float)):
        return f"{np.asarray(x, np.float32).round(4).tolist()}"
    if isinstance(x, (tuple, list)):
        return f"[{', '.join(map(shown, x))}]"
    return repr(x)

def call(fn, args):
    try:
        return shown(fn(*args))
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\\n")[0]

folder, number = sys.argv[1:]
sys.path.insert(0, f"{folder}/modules{number}")
sys.dont_write_bytecode = True
with open(f"{folder}/scripts{number}.json") as file:
    scripts = json.load(file)
found = {}
warnings.simplefilter("ignore", jfi.JfiWarning)
for k, (name, script) in enumerate(scripts.items()):
    module = types.ModuleType(f"script_{k}")
    sys.modules[module.__name__] = module
    exec(compile(script, f"/scripts/{number}/{k}.py", "exec"), vars(module))
    args = vars(module).get("args", (2.0,))
    before = jfi.cache_report()
    fn = jfi.persistent(module.f)
    kept = call(fn, args)
    after = jfi.cache_report()
    found[name] = {
        "plain": call(module.f, args),
        "kept": kept,
        "again": call(fn, args),
        "hits": after.hits - before.hits,
        "misses": after.misses - before.misses,
    }
print(json.dumps(found))
"""


def all_scripts(number):
    """The scripts by name, before (0) or after (1) the edit."""
    scripts = {}
    for table in ("EDITED", "UNTOUCHED"):
        for name, pair in getattr(edited_scripts, table).items():
            scripts[f"{table} {name}"] = pair[number]
    for k, (name, use) in enumerate(edited_scripts.USES.items()):
        scripts[f"USES {name}"] = use.replace("NAME", f"jfi_edited_{k}")
    return {name: edited_scripts.HEAD + script for name, script in scripts.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What all scripts give before and after, in two processes with one store."""
    folder = tmp_path_factory.mktemp("edits")
    found = []
    for number in (0, 1):
        modules = folder / f"modules{number}"
        modules.mkdir()
        source = (edited_scripts.MODULE, edited_scripts.EDITED_MODULE)[number]
        for k in range(len(edited_scripts.USES)):
            (modules / f"jfi_edited_{k}.py").write_text(source)
        (folder / f"scripts{number}.json").write_text(json.dumps(all_scripts(number)))
        code = f"import sys; sys.argv[1:] = {str(folder)!r}, '{number}'\n{RUN}"
        env = {
            "JFI_CACHE_DIR": str(folder / "cache"),
            "JFI_SERVER_DIR": str(folder / "server"),
            "PYTHONHASHSEED": str(number + 1),
        }
        found.append(json.loads(run_python(code, env=env, timeout=400).stdout))
    return found


@pytest.mark.parametrize("name", [n for n in all_scripts(0) if "UNTOUCHED" not in n])
def test_an_edit_is_seen(runs, name):
    before, after = (run[name] for run in runs)
    assert before["kept"] == before["again"] == before["plain"]
    assert after["kept"] == after["again"] == after["plain"]


@pytest.mark.parametrize("name", edited_scripts.UNTOUCHED)
def test_what_does_the_same_is_found(runs, name):
    before, after = (run[f"UNTOUCHED {name}"] for run in runs)
    assert after["kept"] == after["again"] == after["plain"]
    assert (before["hits"], before["misses"]) == (0, 1)
    assert (after["hits"], after["misses"]) == (1, 0)


def test_the_edits_change_results(runs):
    # Else a stale result would not be seen.
    alike = [
        name
        for name, before in runs[0].items()
        if "UNTOUCHED" not in name and before["plain"] == runs[1][name]["plain"]
    ]
    assert alike == ["EDITED a jitted helper's options"]
    failed = [name for name, after in runs[1].items() if "Error" in after["plain"]]
    assert failed == []
