"""Which line of the user's code a value of a jaxpr comes from.

JAX keeps the place of each operation in `source_info`, for its own messages. Where a
release keeps it elsewhere, messages do without the line. Checked in JAX 0.10.2.
"""

from collections.abc import Callable
from typing import Any


def origin_of_output(
    closed_jaxpr: Any, number: int, is_wrong: Callable[[Any], bool]
) -> tuple[str, int] | None:
    """The file and line of the operation that first made an output what it is.

    Args:
        closed_jaxpr: A traced function.
        number: Which of its outputs.
        is_wrong: Whether a value (its shape and dtype) is as the output should not be.
    """
    try:
        from jax._src.source_info_util import user_frame

        jaxpr = closed_jaxpr.jaxpr
        maker = {id(v): eqn for eqn in jaxpr.eqns for v in eqn.outvars}
        variable, found = jaxpr.outvars[number], None
        while id(variable) in maker:
            found = maker[id(variable)]
            wrong = [v for v in found.invars if id(v) in maker and is_wrong(v.aval)]
            if not wrong:
                break
            variable = wrong[0]
        frame = found and user_frame(found.source_info.traceback)
        return (frame.file_name, frame.start_line) if frame else None
    except (ImportError, AttributeError, TypeError):
        return None
