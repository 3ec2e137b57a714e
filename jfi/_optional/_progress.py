"""A progress bar that compiled code moves."""

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._interrupts import refuse_after_interrupt
from ._packages import require


# Of one loop. Each costs some 50 microseconds; and Ctrl-C waits for the next one.
MOST_REPORTS = 50


class ProgressBar:
    """A bar in the terminal or the notebook, for a loop in traced code.

    It appears with the first report of a run and goes with the last. A run that
    begins again, such as the next call of a compiled function, begins a new bar.

    Args:
        title: What is written in front of it.
        needed_by: The public name to show where `tqdm` is not installed.
    """

    traced = 0  # how often JAX traced a report, of any bar

    def __init__(self, title: str, needed_by: str) -> None:
        self._tqdm: Any = require("tqdm.auto", extra="progress", needed_by=needed_by)
        self._title = title
        self._lock = threading.Lock()
        self._bar: Any = None

    def report(self, done: Any, total: Any) -> None:
        """Say in traced code how many steps are done.

        Under `vmap` it is reported once, for the row that is farthest.

        Args:
            done: The number of steps so far, an int scalar.
            total: The number of all, an int scalar.
        """

        @jax.custom_batching.custom_vmap
        def report(steps: Any) -> tuple[()]:
            ProgressBar.traced += 1
            jax.debug.callback(self._move_to, steps)
            return ()

        @report.def_vmap
        def of_batch(size: int, batched: Any, steps: Any) -> Any:
            report(jnp.max(steps, axis=0))
            return (), ()

        # One array: each that Python gets takes as long as all the rest of a report.
        report(jnp.stack([done, total]))

    def _move_to(self, steps: Any) -> None:
        refuse_after_interrupt()
        self.move(*np.asarray(steps).tolist())

    def move(self, done: int, total: int) -> None:
        """Say in Python how many steps are done; as of `report`."""
        with self._lock:
            if self._bar is None or done < self._bar.n:
                self._close()
                self._bar = self._tqdm.tqdm(total=total, desc=self._title)
            self._bar.update(done - self._bar.n)
            if done >= total:
                self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def title_of(progress: bool | str, otherwise: str) -> str:
    """The title of a bar: what the user wrote, or another."""
    return progress if isinstance(progress, str) else otherwise
