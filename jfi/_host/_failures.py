"""Failures of runs on sample values, by which the shapes of results are learnt."""

from collections.abc import Callable
from typing import Any


_FUNCTION = "_jfi_ran_on_samples"  # of an error; most have no weak references


def mark_failure(error: BaseException, fn: Callable[..., Any]) -> None:
    """Note on an error the function whose run on sample values it has ended."""
    setattr(error, _FUNCTION, fn)


def failed_function(error: BaseException | None) -> Callable[..., Any] | None:
    """The function whose run on sample values has led to an error, if one has."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        fn: Callable[..., Any] | None = getattr(error, _FUNCTION, None)
        if fn is not None:
            return fn
        seen.append(error)
        error = error.__cause__ or error.__context__
    return None
