"""What is refused, such as an ambiguous batch, and what to write instead."""

from collections.abc import Mapping, Sequence

from ._leaves import Leaf


def no_problem(name: str) -> str:
    return (
        f"vmap_automatically() got the function {name}() and no problem to run it on.\n"
        f"Write jfi.vmap_automatically({name}, problem); or, for a batched function of "
        f"any arguments, jfi.auto_vmap({name})."
    )


def nothing_has_size(tool: str, size: int, leaves: Sequence[Leaf]) -> str:
    return (
        f"{tool}() got batch_size={size}, but no array in {_whole(leaves)} has "
        f"that leading size{_table(leaves, every=True)}\n"
        "Pass the leading size of the arrays to batch, or leave out batch_size. "
        "For another axis: batched={'path': axis} or jfi.batched(x, axis=1)"
    )


def no_arrays(tool: str, leaves: Sequence[Leaf]) -> str:
    general = (
        "Pass arrays in dicts, lists, tuples, or objects of a class with @jnp.pytree."
    )
    advice = "\n".join(dict.fromkeys(leaf.advice for leaf in leaves if leaf.advice))
    return (
        f"{tool}() found no array with a leading dimension in {_whole(leaves)}"
        f"{_table(leaves, every=True)}\n{advice or general}"
    )


def none_works(
    tool: str,
    name: str,
    failures: Mapping[int, Exception | None],
    leaves: Sequence[Leaf],
    ways: Sequence[str],
) -> str:
    reasons = "\n".join(
        f"  {size}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        for size, error in failures.items()
    )
    works = f"It works with {', or with '.join(ways)}.\n" if ways else ""
    return (
        f"{name}() works with none of the possible batch sizes:\n{reasons}\n"
        f"The arrays are{_table(leaves)}\n{works}"
        "Pass batch_size= to see the whole error, or choose for each array: "
        f"{_by_hand(leaves)}"
    )


def several_work(
    tool: str, name: str, sizes: Sequence[int], leaves: Sequence[Leaf]
) -> str:
    return (
        f"{name}() may work with more than one batch size: "
        f"{', '.join(map(str, sizes))}. The arrays are{_table(leaves)}\n"
        f"Choose one: {' or '.join(f'batch_size={size}' for size in sizes)}; "
        f"or choose for each array: {_by_hand(leaves)}"
    )


def may_be_a_matrix(
    tool: str, square: Sequence[Leaf], size: int, leaves: Sequence[Leaf]
) -> str:
    names = ", ".join(leaf.name for leaf in square)
    return (
        f"{tool}() found a batch of {size}, but {names} may be "
        f"a batch of rows or a shared matrix. The arrays are{_table(leaves)}\n"
        f"To batch every array with the leading size {size}, pass batch_size={size}; "
        f"to share a matrix: {_shared(square[0])}"
    )


def foreign_array(leaf: Leaf) -> str:
    return (
        f"{leaf.name} ({leaf.kind}, shape {leaf.shape}) has the leading size of "
        "the batch, but JAX can't batch it.\n"
        f"To batch it, pass an array of numbers. To share it: {_shared(leaf)}"
    )


def not_an_array(tool: str, leaf: Leaf) -> str:
    seen = f"of shape {leaf.shape}" if leaf.shape else "without a dimension"
    return (
        f"{tool}() got batched= for {leaf.name}, {leaf.kind} {seen}, "
        "which JAX can't batch.\nPass an array of numbers with the batch along an axis."
    )


def no_such_axis(tool: str, leaf: Leaf, axis: int) -> str:
    n = len(leaf.shape)
    return (
        f"{tool}() got batched= for {leaf.name} along axis {axis}, but its shape is "
        f"{leaf.shape}.\nIts axes are 0 to {n - 1}, or -{n} to -1."
    )


def sizes_disagree(tool: str, first: str, second: str) -> str:
    return (
        f"{tool}() got batches of two sizes: {first}, and {second}.\n"
        "Everything that is batched has the same number of rows."
    )


def unstackable(name: str, result: str, kind: str, why: str) -> str:
    return (
        f"{name}() returned a {kind} for {result}, {why}.\n"
        "Return arrays in dicts, lists, tuples, or objects of a class with @jnp.pytree."
    )


def _whole(leaves: Sequence[Leaf]) -> str:
    roots = {leaf.name.split("[")[0].split(".")[0] for leaf in leaves}
    return roots.pop() if len(roots) == 1 else "its arguments"


def _by_hand(leaves: Sequence[Leaf]) -> str:
    arrays = [leaf for leaf in leaves if leaf.is_array and leaf.path]
    if not arrays:
        return "jfi.vmap(fn, in_axes=...)"
    return (
        f"batched={{{arrays[0].path!r}: 0}} and {_shared(arrays[-1])}, "
        "or jfi.vmap(fn, in_axes=...)"
    )


def _shared(leaf: Leaf) -> str:
    if not leaf.path:
        return "jfi.shared(x)"
    return f"shared={leaf.path!r} or jfi.shared(x)"


def _table(leaves: Sequence[Leaf], *, every: bool = False) -> str:
    """One line for each array, or for every leaf."""
    lines = [
        f"  {leaf.name}: {leaf.shape or leaf.kind}"
        for leaf in leaves
        if every or leaf.shape
    ]
    return ":\n" + "\n".join(lines) if lines else " (it is empty)."
