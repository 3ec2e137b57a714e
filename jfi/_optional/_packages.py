"""What is imported on first use: optional packages, and names that few scripts need."""

import contextlib
import gc
import importlib
import sys
from collections.abc import Callable, Generator, Mapping
from types import ModuleType
from typing import Any

from .._errors import MissingDependencyError


def require(package: str, *, extra: str, needed_by: str) -> ModuleType:
    """Import an optional package, or say which extra installs it.

    Args:
        package: The name to import, for example `"torch"`.
        extra: The extra of jfi that installs it.
        needed_by: The public name that needs it, for the message.

    Raises:
        MissingDependencyError: The package is not installed.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != package.split(".")[0]:
            raise  # the package is there and is itself broken: not ours to explain
        message = (
            f"{needed_by} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'jfi[{extra}]'"
        )
        raise MissingDependencyError(message, name=error.name) from error


def attach(
    name_of_module: str,
    homes: Mapping[str, str | Callable[[str], Any]],
    otherwise: Callable[[str], Any],
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a module with names on first use.

    Args:
        name_of_module: The `__name__` of the module.
        homes: The module of the same package that defines each name; its own name is
            the module. A dot in front is one package up. Or what makes it of its name.
        otherwise: Gives all other names, or raises AttributeError.
    """
    module = sys.modules[name_of_module]
    package = module.__spec__.parent if module.__spec__ else module.__package__

    def get(name: str) -> Any:
        if name not in homes:
            return otherwise(name)
        home = homes[name]
        if isinstance(home, str):
            with without_collections():
                defining = importlib.import_module(f".{home}", package)
            value = defining if home == name else getattr(defining, name)
        else:
            value = home(name)
        setattr(module, name, value)  # found at once from now on
        return value

    def names() -> list[str]:
        # Submodules that others have imported since, such as `jfi.bridges`, are not
        # what users look for.
        later = {n for n in vars(module) if f"{name_of_module}.{n}" in sys.modules}
        return sorted({*vars(module)} - later | known)

    known = {*vars(module), *homes}

    return get, names


@contextlib.contextmanager
def without_collections() -> Generator[None]:
    """Let Python look for no garbage in what makes none, such as an import.

    An import makes so many objects that Python would look through all that there are,
    those of JAX, too: 25 to 50 ms, of a script that starts in less than a second.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
