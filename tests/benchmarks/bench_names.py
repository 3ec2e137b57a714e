"""What jfi's functions of `jax.numpy` cost in an eager call, to `jax.numpy`'s own.

python tests/benchmarks/bench_names.py
"""

import importlib
import importlib.util
import types
from collections.abc import Callable
from typing import Any

import jax.numpy
from harness import OF_PROCESSES, Case, measure_for_medians, medians, ratios, report

import jfi as jnp


Ways = dict[str, Callable[[], object]]

LIMIT = 1.04
#: To pass `axis=` on takes 3 % alone, in Python without any look at types: calls with
#: such words have the limit of `sum(axis=)`.
AXIS_LIMIT = 1.08
#: Python remembers where it found a name of a module, but not of one with a
#: `__getattr__`, such as jfi and `jfi.linalg`, which make names on first use. That is
#: 1 % for each of the two names of `linalg.norm`: see "a call between".
NESTED_LIMIT = 1.06
LIMITS = {
    "stack((x, x))": 1.03,
    "linalg.norm(x)": NESTED_LIMIT,
    **dict.fromkeys(
        [
            "sum(x, axis=0)",
            "sum(x, axis=0, keepdims=True)",
            "mean(x, axis=0)",
            "nansum(x, axis=0)",
            "cumsum(x, axis=0)",
            "sum(x, dim=0)",
            "sum(x, dim=0, keepdim=True)",
            "cumsum(x, dim=0)",
        ],
        AXIS_LIMIT,
    ),
}
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


#: A function that passes its arguments on and does nothing: what Python takes for one
#: more call. That is 1 % on some machines, and 2 to 5 % where JAX's part of a call
#: leaves nothing of Python's in the processor's caches.
BETWEEN: dict[str, Callable[[], object]] = {
    "exp(x)": lambda: _exp(X),
    "matmul(x, y)": lambda: _matmul(X, Y),
    "clip(x, 0, 1)": lambda: _clip(X, 0, 1),
    "sort(x, axis=0)": lambda: _sort(X, axis=0),
    "linalg.norm(x)": lambda: LAZY.linalg.norm(X),
}


#: A module of modules that make their names on first use, as jfi is.
LAZY: Any = types.ModuleType("lazy")
LAZY.linalg = types.ModuleType("linalg")
LAZY.__getattr__ = LAZY.linalg.__getattr__ = getattr


def _exp(x: Any, /) -> Any:
    return jax.numpy.exp(x)


def _matmul(a: Any, b: Any, **named: Any) -> Any:
    return jax.numpy.matmul(a, b)


def _clip(x: Any, low: Any, high: Any, **named: Any) -> Any:
    return jax.numpy.clip(x, low, high)


def _sort(x: Any, axis: Any, **named: Any) -> Any:
    return jax.numpy.sort(x, axis=axis)


def _norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    return jax.numpy.linalg.norm(x)


LAZY.linalg.norm = _norm


class Diagonal(jnp.CustomArray):
    """What rules are timed with."""

    def __init__(self, diagonal: Any) -> None:
        self.diagonal = diagonal


jnp.register_function(Diagonal, "exp", lambda x: x)
DIAGONAL = Diagonal(X)


def other_libraries() -> dict[str, Any]:
    """Libraries that dispatch, of those that are installed."""
    found = {}
    for name in ("autoray", "plum", "quax"):
        if importlib.util.find_spec(name):
            found[name] = importlib.import_module(name)
        else:
            print(f"{name} is not installed: its columns are left out.")
    return found


def through_others(libraries: dict[str, Any]) -> tuple[Ways, Ways]:
    """`exp` by other libraries: of a plain array, and by a rule that does nothing."""
    plain: Ways = {}
    by_rule: Ways = {}
    exp = jax.numpy.exp
    if autoray := libraries.get("autoray"):
        autoray.register_backend(Diagonal, "diagonals")
        autoray.register_function("diagonals", "exp", lambda x: x)
        plain["autoray.do"] = lambda: autoray.do("exp", X)
        by_rule["autoray.do"] = lambda: autoray.do("exp", DIAGONAL)
    if plum := libraries.get("plum"):

        def exp_by_plum(x: jax.Array) -> jax.Array:
            return exp(x)

        by_plum = plum.Dispatcher()(exp_by_plum)
        by_plum.register(lambda x: x, signature=plum.Signature(Diagonal))
        plain["plum"] = lambda: by_plum(X)
        by_rule["plum"] = lambda: by_plum(DIAGONAL)
    if quax := libraries.get("quax"):
        quaxified = quax.quaxify(exp)
        plain["quaxify"] = lambda: quaxified(X)
        by_rule["quaxify"] = _rule_of_quax(quax, quaxified)
    return plain, by_rule


def _rule_of_quax(quax: Any, exp: Callable[[Any], object]) -> Callable[[], object]:
    """The same rule of a value of quax's, which is a rule of the primitive."""
    base: Any = quax.ArrayValue

    class Value(base):  # type: ignore[misc]
        diagonal: jax.Array

        def aval(self) -> Any:
            return jax.core.ShapedArray(self.diagonal.shape, self.diagonal.dtype)

        def materialise(self) -> jax.Array:
            return self.diagonal

    def unchanged(x: Any, **_: Any) -> Any:
        return x

    unchanged.__annotations__ = {"x": Value}
    quax.register(jax.lax.exp_p)(unchanged)
    value = Value(X)
    return lambda: exp(value)


def cases() -> list[Case]:
    """Each row of the table."""
    of_plain, by_rule = through_others(other_libraries())

    def calling(call: Any, module: Any) -> Callable[[], object]:
        # Python keeps in the code of a line where it found `m.exp` the last time. In a
        # line of both modules it would search the one or the other at each call.
        own = types.FunctionType(call.__code__.replace(), globals())
        return lambda: own(module)

    plain = [
        # Creation also looks up the default dtype and device: shown, not limited.
        Case(
            name,
            calling(call, jnp),
            calling(call, jax.numpy),
            None if name.startswith("zeros") else LIMITS.get(name, LIMIT),
            {
                **({"a call between": BETWEEN[name]} if name in BETWEEN else {}),
                **(of_plain if name == "exp(x)" else {}),
            },
        )
        for name, call in PLAIN.items()
    ]
    rule = Case(
        "exp(x) by a rule that does nothing",
        lambda: jnp.exp(DIAGONAL),
        lambda: jax.numpy.exp(X),
        None,
        by_rule,
    )
    words = [Case(name, *ways, LIMITS.get(name, LIMIT)) for name, ways in WORDS.items()]
    return [*plain, *words, rule]


def measured() -> dict[str, dict[str, float]]:
    """The ratios of each row, in this process."""
    found = {}
    for case in cases():
        for way in (case.ours, case.base, *case.others.values()):
            way()  # compiled before it is measured
        found[case.name] = ratios(case, rounds=201, calls=40)
    return found


if __name__ == "__main__":
    measure_for_medians(measured)
    found = medians(__file__)
    report(
        f"Eager calls {OF_PROCESSES}", [(case, found[case.name]) for case in cases()]
    )
