"""Traced values that are used after their trace has ended."""

import os
import re

from .._values import shown_line


_JFI = os.path.dirname(os.path.dirname(__file__)) + os.sep


def advice_for(error: BaseException) -> str:
    """Which function kept the value, and where it made it, as far as JAX says."""
    text = str(error)
    traced = re.search(
        r"when the value leaked was (.+?) at (.*?) traced for (\w+)", text
    )
    made = re.search(r"was created on line (.+?):(\d+)", text)
    if traced and (made is None or made[1].startswith(_JFI)):
        made = re.fullmatch(r"(.+):(\d+)", traced[2])  # the function that kept it
    name = f"{traced[1]}()" if traced else "A function"
    shown = ""
    if made:
        shown = shown_line(made[1], int(made[2]))
    its = name if traced else "the function"
    ways = f"return it from {its}; of grad with has_aux=True"
    if traced and traced[3] == "jit":
        ways = (
            f"return it from {its}; or @jfi.autojit in place of jit, which writes back "
            f"what {its} changes"
        )
    return (
        f"{name} kept a traced value, in a global variable, a list or an attribute. "
        f"It has no value, and can't be used now that {its} has returned.\n{shown}"
        f"Write instead: {ways}"
    )
