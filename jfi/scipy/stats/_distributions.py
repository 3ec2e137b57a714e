"""The distributions: modules such as `jfi.scipy.stats.norm`, made of those of JAX."""

import importlib
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

from ..._dispatch._names import DISTRIBUTIONS
from .._faces import face


def distributions(package: str) -> dict[str, ModuleType]:
    """Make the modules of the distributions.

    They have no files: 26 would hold the same lines. `import jfi.scipy.stats.norm`
    finds them all the same, as the import of the package has put them where Python
    looks first.
    """
    return {name: _distribution(f"{package}.{name}", name) for name in DISTRIBUTIONS}


def _distribution(full_name: str, name: str) -> ModuleType:
    theirs = importlib.import_module(f"jax.scipy.stats.{name}")
    module: Any = module_from_spec(ModuleSpec(full_name, None, origin=theirs.__file__))
    module.__doc__ = f"The distribution {name}: `{theirs.__name__}`."
    public = {n: v for n, v in vars(theirs).items() if not n.startswith("_")}
    vars(module).update(public)
    sys.modules[full_name] = module
    module.__getattr__, module.__dir__ = face(full_name)
    made: ModuleType = module
    return made
