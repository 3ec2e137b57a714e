"""Python functions of clients, where the owner of the server allows them.

Whoever may send one is whoever the server runs as: nothing here is a sandbox.
"""

import threading
import traceback
from collections import OrderedDict
from typing import Any

import cloudpickle


_MOST_FUNCTIONS = 256


class PythonCode:
    """Calls functions; one that was sent before is found again by its name.

    So what it has compiled for itself is there for the next call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._functions: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def knows(self, client: str, name: str) -> bool:
        """Whether a client has sent a function of this name."""
        return (client, name) in self._functions

    def call(
        self, client: str, name: str, code: bytes, data: bytes
    ) -> tuple[bool, bytes]:
        """Call a function.

        Args:
            client: Whose it is.
            name: Its fingerprint.
            code: The function, pickled; empty if it is known.
            data: Its arguments, pickled.

        Returns:
            Whether it has raised an error; that, or its result, pickled.
        """
        try:
            function = self._function(client, name, code)
            args, kwargs = cloudpickle.loads(data)
            return False, cloudpickle.dumps(function(*args, **kwargs))
        except BaseException as error:  # SystemExit, too: it is the client's
            lines = traceback.format_exc()
            try:
                return True, cloudpickle.dumps((error, lines))
            except Exception:  # it holds what no other process can have
                plain = RuntimeError(f"{type(error).__name__}: {error}")
                return True, cloudpickle.dumps((plain, lines))

    def _function(self, client: str, name: str, code: bytes) -> Any:
        key = client, name
        with self._lock:
            function = self._functions.get(key)
            if function is None:
                function = self._functions[key] = cloudpickle.loads(code)
            self._functions.move_to_end(key)
            while len(self._functions) > _MOST_FUNCTIONS:
                self._functions.popitem(last=False)
        return function
