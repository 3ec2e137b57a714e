"""The layouts of one function, and the programs that they run."""

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any

import jax

from .._dispatch._active import are_active, before_first
from ._checks import NAMES
from ._layouts import NO_SETTINGS, Written
from ._outcomes import Outcome


MAX_LAYOUTS = 16  # per function: they are tried one after the other


class Layout:
    """A form of calls, and the programs for each of its sets of settings.

    Attributes:
        recognise: Runs a call of this form, and hands others on.
    """

    def __init__(
        self, written: Written, name: str, otherwise: Callable[..., Any]
    ) -> None:
        self._programs: dict[Hashable, Callable[..., Any]] = {}
        self._only: list[Callable[..., Any] | None] = [None]  # if it has no settings
        self._names: dict[str, Any] = {
            **NAMES,
            "programs": self._programs,
            "only": self._only,
            "otherwise": otherwise,
            "Outcome": Outcome,
            "Array": type(jax.numpy.zeros(())),
            **{f"c{k}": value for k, value in enumerate(written.constants)},
        }
        exec(compile(written.source, f"<autojit {name}>", "exec"), self._names)
        self.recognise: Callable[..., Any] = self._names["recognise"]

    def hand_on_to(self, otherwise: Callable[..., Any]) -> None:
        """Who runs calls of other forms."""
        self._names["otherwise"] = otherwise

    def is_empty(self) -> bool:
        """Whether it runs no calls."""
        return not self._programs and self._only[0] is None

    def empty(self) -> None:
        """Hand all calls on; whose calls come again are put again."""
        self._programs.clear()
        self._only[0] = None

    def close(self) -> None:
        """Hand all calls on, whatever is put from now on."""
        self._names |= {"programs": {}, "only": [None]}

    def put(self, settings: Hashable, run: Callable[..., Any] | None) -> None:
        """Run calls with these settings by a function; None: hand them on."""
        if settings is NO_SETTINGS:
            self._only[0] = run
        elif run is None:
            self._programs.pop(settings, None)
        else:
            self._programs[settings] = run


class WeakLayout:
    """A layout, among those of a program: it goes with the function it is written for.

    A program may be that of many copies of a function (see `_recent`).
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = weakref.ref(layout)

    def put(self, settings: Hashable, run: Callable[..., Any] | None) -> None:
        """As of the layout, while there is one."""
        layout = self._layout()
        if layout is not None:
            layout.put(settings, run)


class Layouts:
    """The forms of calls that one function recognises.

    When there are too many, those go that no call has come to for long: all are
    emptied, and those that are still empty when the next form comes are dropped.

    Attributes:
        recognise: Runs a call of any form: the newest layout, which hands others on.
    """

    def __init__(self, name: str, otherwise: Callable[..., Any]) -> None:
        self._name, self._otherwise = name, otherwise
        self._layouts: dict[Hashable, Layout] = {}  # the oldest first
        self._lock = threading.Lock()
        self.recognise: Callable[..., Any] = otherwise
        with _lock:
            _all.add(self)

    def get(self, written: Written) -> Layout | None:
        """The layout for a form, made if there is none; None: not yet."""
        with self._lock:
            if are_active() and not written.has_rules:
                return None
            known = self._layouts.get(written.form)
            if known is not None:
                return known
            if len(self._layouts) >= MAX_LAYOUTS and not self._drop_some():
                return None
            layout = Layout(written, self._name, self.recognise)
            self._layouts[written.form] = layout
            self.recognise = layout.recognise
            return layout

    def _drop_some(self) -> bool:
        layouts = self._layouts.items()
        kept = {form: layout for form, layout in layouts if not layout.is_empty()}
        if len(kept) == len(self._layouts):
            for layout in kept.values():
                layout.empty()
            return False
        first = self._otherwise
        for layout in kept.values():
            layout.hand_on_to(first)
            first = layout.recognise
        self._layouts = kept
        self.recognise = first
        return True

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            for layout in self._layouts.values():
                layout.close()  # who has it may still call it
            self._layouts.clear()
            self.recognise = self._otherwise


_all: weakref.WeakSet[Layouts] = weakref.WeakSet()
_lock = threading.RLock()  # what is collected meanwhile may bring a rule


@before_first
def _forget_all() -> None:
    """Forget the layouts of calls that no rule could reach: they don't look for one."""
    with _lock:
        known = tuple(_all)
    for layouts in known:
        layouts.clear()
