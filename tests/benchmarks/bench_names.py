"""What jfi's functions of `jax.numpy` cost in an eager call, to `jax.numpy`'s own.

python tests/benchmarks/bench_names.py
"""

import contextlib
from collections.abc import Callable
from typing import Any

import jax.numpy
from harness import Case, ratios, report

import jfi as jnp


LIMIT = 1.04
LIMITS = {"stack((x, x))": 1.03, "sum(x, axis=0)": 1.08}
X = jax.numpy.ones((3, 4))
Y, B = X.T, X > 0
#: Calls without PyTorch's words, the same for both.
PLAIN: dict[str, Callable[[Any], object]] = {
    "exp(x)": lambda m: m.exp(X),
    "matmul(x, y)": lambda m: m.matmul(X, Y),
    "where(b, x, x)": lambda m: m.where(B, X, X),
    "add(x, x)": lambda m: m.add(X, X),
    "clip(x, 0, 1)": lambda m: m.clip(X, 0, 1),
    "round(x)": lambda m: m.round(X),
    "linalg.norm(x)": lambda m: m.linalg.norm(X),
    "einsum('ij->j', x)": lambda m: m.einsum("ij->j", X),
    "sum(x)": lambda m: m.sum(X),
    "sum(x, axis=0)": lambda m: m.sum(X, axis=0),
    "sum(x, axis=0, keepdims=True)": lambda m: m.sum(X, axis=0, keepdims=True),
    "mean(x, axis=0)": lambda m: m.mean(X, axis=0),
    "max(x, axis=0)": lambda m: m.max(X, axis=0),
    "std(x, axis=0, ddof=1)": lambda m: m.std(X, axis=0, ddof=1),
    "argmax(x, axis=0)": lambda m: m.argmax(X, axis=0),
    "cumsum(x, axis=0)": lambda m: m.cumsum(X, axis=0),
    "sort(x, axis=0)": lambda m: m.sort(X, axis=0),
    "nansum(x, axis=0)": lambda m: m.nansum(X, axis=0),
    "squeeze(x)": lambda m: m.squeeze(X),
    "flip(x, axis=0)": lambda m: m.flip(X, axis=0),
    "concatenate((x, x), axis=0)": lambda m: m.concatenate((X, X), axis=0),
    "stack((x, x))": lambda m: m.stack((X, X)),
    "zeros((2, 3), float32)": lambda m: m.zeros((2, 3), "float32"),
}
#: Calls with PyTorch's words, and with NumPy's.
WORDS: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "sum(x, dim=0)": (
        lambda: jnp.sum(X, dim=0),
        lambda: jax.numpy.sum(X, axis=0),
    ),
    "sum(x, dim=0, keepdim=True)": (
        lambda: jnp.sum(X, dim=0, keepdim=True),
        lambda: jax.numpy.sum(X, axis=0, keepdims=True),
    ),
    "cumsum(x, dim=0)": (
        lambda: jnp.cumsum(X, dim=0),
        lambda: jax.numpy.cumsum(X, axis=0),
    ),
    "argmax(x, dim=0)": (
        lambda: jnp.argmax(X, dim=0),
        lambda: jax.numpy.argmax(X, axis=0),
    ),
}


class Diagonal(jnp.CustomArray):
    """What rules are timed with."""

    def __init__(self, diagonal: Any) -> None:
        self.diagonal = diagonal


jnp.register_function(Diagonal, "exp", lambda x: x)
DIAGONAL = Diagonal(X)


def through_others() -> dict[str, Callable[[], object]]:
    """`exp` of a plain array by other libraries that dispatch, if they are there."""
    found: dict[str, Callable[[], object]] = {}
    exp = jax.numpy.exp
    with contextlib.suppress(ImportError):
        import autoray

        found["autoray.do"] = lambda: autoray.do("exp", X)
    with contextlib.suppress(ImportError):
        import plum

        def of_array(x: jax.Array) -> jax.Array:
            return exp(x)

        by_plum = plum.Dispatcher()(of_array)
        found["plum"] = lambda: by_plum(X)
    with contextlib.suppress(ImportError):
        import quax

        quaxified = quax.quaxify(exp)
        found["quaxify"] = lambda: quaxified(X)
    return found


def cases() -> list[Case]:
    """Each row of the table."""

    def calling(call: Callable[[Any], object], module: Any) -> Callable[[], object]:
        return lambda: call(module)

    plain = [
        # Creation also looks up the default dtype and device: shown, not limited.
        Case(
            name,
            calling(call, jnp),
            calling(call, jax.numpy),
            None if name.startswith("zeros") else LIMITS.get(name, LIMIT),
            through_others() if name == "exp(x)" else {},
        )
        for name, call in PLAIN.items()
    ]
    rule = Case(
        "exp(x) by a rule that does nothing",
        lambda: jnp.exp(DIAGONAL),
        lambda: jax.numpy.exp(X),
        None,
    )
    words = [Case(name, *ways, LIMITS.get(name, LIMIT)) for name, ways in WORDS.items()]
    return [*plain, *words, rule]


if __name__ == "__main__":
    found = []
    for case in cases():
        case.ours(), case.base()  # compiled before they are measured
        found.append((case, ratios(case, rounds=501, calls=40)))
    report("Eager calls (medians of 501 interleaved rounds)", found)
