"""Warnings that name the user's line."""

import warnings
from collections.abc import Hashable

from ._origins import user_level


class Warner:
    """Warns once of each thing.

    Args:
        category: The class of its warnings.
    """

    def __init__(self, category: type[Warning]) -> None:
        self._category = category
        self._warned: set[Hashable] = set()

    def warn(self, message: str, about: Hashable = None) -> None:
        """Warn, unless it has warned of this.

        Args:
            message: The text.
            about: What it is about; the text itself if None.
        """
        about = message if about is None else about
        if about not in self._warned:
            self._warned.add(about)
            warnings.warn(message, self._category, stacklevel=user_level())
