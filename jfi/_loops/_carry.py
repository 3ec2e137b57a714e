"""What fits the carry of a loop, and how its leaves are called in messages."""

from typing import Any

import jax

from .._errors import LoopError


def check_structure(returned: Any, init: Any) -> None:
    if not (isinstance(returned, tuple) and len(returned) == 2):
        message = (
            f"body of scan_while() returned a {type(returned).__name__}, not a pair.\n"
            "Return (carry, y); where there is nothing to record: return carry, None"
        )
        raise LoopError(message)
    before: Any = jax.tree.structure(init)
    after: Any = jax.tree.structure(returned[0])
    if before == after:
        return
    given, back = _names(init), _names(returned[0])
    missing = [name for name in given if name not in back]
    extra = [name for name in back if name not in given]
    differences = [
        *([f"it leaves out {', '.join(missing)}"] if missing else []),
        *([f"it adds {', '.join(extra)}"] if extra else []),
    ] or [f"{before} became {after}"]
    message = (
        "body of scan_while() returned a carry that differs from init: "
        f"{'; '.join(differences)}.\n"
        "Return the pair (carry, y) with the same containers and names as in init."
    )
    raise LoopError(message)


def check_dtypes(returned: Any, init: Any) -> None:
    pairs = zip(
        jax.tree_util.tree_leaves_with_path(init),
        jax.tree.leaves(returned),
        strict=True,
    )
    for (path, before), after in pairs:
        if before.shape == after.shape and before.dtype == after.dtype:
            continue
        name = name_of(path)
        if before.shape != after.shape:
            remedy = "A carry keeps its shape: give it the final shape in init."
        else:
            remedy = f"Let body return {name}.astype({str(before.dtype)!r})"
        message = (
            f"{name} is {kind_of(before)} but body returns {kind_of(after)}.\n{remedy}"
        )
        raise LoopError(message)


def kind_of(array: Any) -> str:
    """The dtype and shape as JAX writes them: float32[3,4]."""
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def name_of(path: Any) -> str:
    return "carry" + jax.tree_util.keystr(path)


def _names(tree: Any) -> list[str]:
    return [name_of(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
