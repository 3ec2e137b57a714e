"""Start many scripts, one after the other, with one store.

Each script is a module of its own, as a script that was imported, and defines `f`. What
it gives is compared with what its plain function gives in the same process.
"""

import json

from subprocesses import run_python


RUN = """
import json, re, sys, types, warnings
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
    module = types.ModuleType("script_" + re.sub(r"\\W", "_", name))
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


def start(scripts, folder, number):
    """What scripts give, and whether their programs were found.

    Args:
        scripts: By name.
        folder: The store is there, and modules for them, in `modules0`, `modules1` ...
        number: That of this start.
    """
    (folder / f"scripts{number}.json").write_text(json.dumps(scripts))
    code = f"import sys; sys.argv[1:] = {str(folder)!r}, '{number}'\n{RUN}"
    env = {
        "JFI_CACHE_DIR": str(folder / "cache"),
        "JFI_SERVER_DIR": str(folder / "server"),
        "PYTHONHASHSEED": str(number + 1),
    }
    return json.loads(run_python(code, env=env, timeout=400).stdout)
