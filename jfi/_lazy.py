"""Optional packages, imported on first use."""

import importlib
from types import ModuleType

from ._errors import MissingDependencyError


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
            raise  # the package is there and is itself broken: not ours to re-tell
        message = (
            f"{needed_by} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'jfi[{extra}]'"
        )
        raise MissingDependencyError(message, name=error.name) from error
