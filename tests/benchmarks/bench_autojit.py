"""What a call under `autojit` costs, to `jax.jit` with the settings declared by hand.

python tests/benchmarks/bench_autojit.py

The bodies are trivial and the arrays have 4 elements: what is timed is the call. The
bases are the fastest forms by hand: they get arrays and settings, never an object.
Also, jfi has to be 2.5 times faster than equinox wherever `jax.jit` itself is so.
"""

import no_audit_hooks  # noqa: F401 - before all that imports JAX


# isort: split
import importlib.util
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import equinox
import jax
import jax.numpy as jnp
from autojit_rows import EQUINOX, LOG, NNX, Row, Way, measure, report
from autojit_tools_rows import tools
from autojit_training_rows import training
from jax.core import eval_jaxpr
from same_code_rows import rows as same_code

import jfi


X, Y = jnp.arange(4.0), jnp.ones(4)
nnx: Any = importlib.util.find_spec("flax") and importlib.import_module("flax.nnx")


def row(
    name: str,
    limit: float,
    fn: Callable[..., Any],
    call: Callable[[Any], Way],
    static: str | tuple[()] = (),
    *,
    base: Way | None = None,
    others: tuple[str, ...] = (EQUINOX, NNX),
    **measured: Any,
) -> Row:
    """A function called in the same way, whatever compiles it; or with a base apart."""
    ways: dict[str, Way] = {}
    if EQUINOX in others:
        ways[EQUINOX] = call(equinox.filter_jit(fn))
    if NNX in others and nnx:
        ways[NNX] = call(nnx.jit(fn, static_argnames=static))
    by_hand = base or call(jax.jit(fn, static_argnames=static))
    return Row(
        name, call(jfi.autojit(fn, warn_after=1000)), by_hand, limit, ways, **measured
    )


def with_each(arguments: list[tuple[Any, ...]]) -> Callable[[Any], Way]:
    def call(f: Any) -> Way:
        following = cycle(arguments)
        return lambda: f(*next(following))

    return call


def of(tree: Any) -> Callable[[Any], Way]:
    return lambda f: lambda: f(tree)


def plain_arguments() -> Iterator[Row]:
    call: Callable[[Any], Way] = lambda f: lambda: f(X, Y)
    yield row("two arrays", 1.15, lambda x, y: x + y, call)
    combine = lambda x, y, mode, scale=1: x + y * scale if mode == "add" else x - y
    call = lambda f: lambda: f(X, Y, "add")
    choose = lambda x, y, mode: x + y if mode == "add" else x - y
    yield row("two arrays and a static string", 1.10, choose, call, "mode")
    name = "keywords: array, float, static string (equinox: float static)"
    call = lambda f: lambda: f(X, y=Y, scale=0.5, mode="add")
    yield row(name, 1.10, combine, call, "mode")
    scaled = lambda x, y, scale: x + y * scale
    call = lambda f: lambda: f(X, Y, 0.5)
    yield row("two arrays and a float (equinox: static)", 1.10, scaled, call)
    call = lambda f: lambda: f(X, Y, 2)
    yield row("two arrays and a static int", 1.10, scaled, call, "scale")
    name, call = (
        "300 values of a static int",
        with_each([(X, Y, n) for n in range(300)]),
    )
    yield row(name, 1.10, scaled, call, "scale", compared=300)


def nested(layers: int) -> dict[str, Any]:
    return {f"layer{k}": {"w": X + k, "b": Y * k} for k in range(layers)}


def total(tree: Any) -> Any:
    return sum(jax.tree.leaves(tree))


def total_by_hand(tree: Any, name: str, kind: str, n: int, k: int, add: bool) -> Any:
    shift = len(name) + k if add else k
    return total(tree) * n + shift if kind == "sum" else total(tree)


def total_with_settings(tree: Any) -> Any:
    arrays = [x for x in jax.tree.leaves(tree) if not isinstance(x, (str, int))]
    kind, k, add = (tree["layer0"][name] for name in ("kind", "k", "add"))
    return total_by_hand(arrays, tree["name"], kind, tree["n"], k, add)


def with_settings(layers: int, limit: float) -> Row:
    arrays, tree = nested(layers), nested(layers)
    tree |= {"name": "net", "n": 2}
    tree["layer0"] |= {"kind": "sum", "k": 3, "add": True}
    base = jax.jit(total_by_hand, static_argnums=(1, 2, 3, 4, 5))
    return row(
        f"{layers} dicts of 2 arrays in a dict, and 5 settings / static arguments",
        limit,
        total_with_settings,
        of(tree),
        base=lambda: base(arrays, "net", "sum", 2, 3, True),
        others=(EQUINOX,),
        calls=100,
    )


def trees() -> Iterator[Row]:
    for layers, limit, calls in (10, 1.10, 100), (100, 1.06, 30):
        name = f"{layers} dicts of 2 arrays in a dict"
        yield row(name, limit, total, of(nested(layers)), calls=calls)
        flat = {f"w{k}": X + k for k in range(2 * layers)}
        yield row(f"dict of {len(flat)} arrays", limit, total, of(flat), calls=calls)
    yield with_settings(10, 1.20)
    yield with_settings(100, 1.10)
    base = jax.jit(lambda w, n: w * n, static_argnums=1)
    yield row(
        "300 values of an int beside an array in a dict / the int as static argument",
        1.5,
        lambda tree: tree["w"] * tree["n"],
        with_each([({"w": X, "n": n},) for n in range(300)]),
        base=with_each([(X, n) for n in range(300)])(base),
        others=(EQUINOX,),
        compared=300,
    )


def blend(w: Any, b: Any, c: Any, x: Any, kind: str, n: int) -> Any:
    return w * x + b + c * n if kind == "linear" else w - x


def move(w: Any, b: Any, c: Any, x: Any, kind: str, n: int) -> Any:
    w = (w + x) * 0.5
    return w, blend(w, b, c, x, kind, n)


class Model:
    def __init__(self) -> None:
        self.w, self.b, self.c, self.kind, self.n = X + 1, Y, X + Y, "linear", 2

    @jfi.autojit
    def blend(self, x: Any) -> Any:
        return blend(self.w, self.b, self.c, x, self.kind, self.n)

    @jfi.autojit
    def move(self, x: Any) -> Any:
        self.w, out = move(self.w, self.b, self.c, x, self.kind, self.n)
        return out


def moved(module: Any, x: Any) -> Any:
    w, out = move(module.w, module.b, module.c, x, module.kind, module.n)
    return equinox.tree_at(lambda module: module.w, module, w), out


def equinox_module(**attributes: Any) -> Any:
    """A Module, with the text and the numbers as static fields."""
    static = [k for k, v in attributes.items() if isinstance(v, (str, int))]
    fields = {k: equinox.field(static=True) for k in static}
    fields["__annotations__"] = dict.fromkeys(attributes, Any)
    meta: Any = type(equinox.Module)
    return meta("Module", (equinox.Module,), fields)(**attributes)


def of_nnx(method: Callable[..., Any], **attributes: Any) -> dict[str, Way]:
    if not nnx:
        return {}
    module, compiled = nnx.Dict(**attributes), nnx.jit(method)
    return {NNX: lambda: compiled(module, X)}


def methods() -> Iterator[Row]:
    model, by_hand = Model(), Model()
    module, w, b, c = equinox_module(**vars(model)), model.w, model.b, model.c
    base = jax.jit(blend, static_argnums=(4, 5))
    plain = Model.blend.__wrapped__
    theirs = equinox.filter_jit(plain)  # a bound method takes equinox longer
    yield Row(
        "method, 3 arrays and 2 settings in self (equinox, nnx: a Module)",
        lambda: model.blend(X),
        lambda: base(w, b, c, X, "linear", 2),
        1.35,
        {EQUINOX: lambda: theirs(module, X), **of_nnx(plain, **vars(model))},
    )
    pure, updated = jax.jit(move, static_argnums=(4, 5)), equinox.filter_jit(moved)

    def moved_by_hand() -> Any:
        by_hand.w, out = pure(by_hand.w, b, c, X, "linear", 2)
        return out

    def moved_by_equinox() -> Any:
        nonlocal module
        module, out = updated(module, X)
        return out

    yield Row(
        "method that assigns self.w (by hand: the caller; equinox: a new Module)",
        lambda: model.move(X),
        moved_by_hand,
        1.6,
        {EQUINOX: moved_by_equinox, **of_nnx(Model.move.__wrapped__, **vars(model))},
    )


def double(x: Any) -> Any:
    return x * 2


def halve(x: Any) -> Any:
    return x / 2


FUNCTIONS = (double, halve, double, halve, double)


def chain(x: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    return double(halve(double(halve(double(x + a) + b) + c) + d) + e)


class Part:
    def __init__(self, w: Any, fn: Callable[[Any], Any]) -> None:
        self.w, self.fn = w, fn


class Chain:
    def __init__(self) -> None:
        self.parts = [Part(X + k, fn) for k, fn in enumerate(FUNCTIONS)]

    @jfi.autojit
    def apply(self, x: Any) -> Any:
        for part in self.parts:
            x = part.fn(x + part.w)
        return x


def sub_objects() -> Iterator[Row]:
    model, plain = Chain(), Chain.apply.__wrapped__
    a, b, c, d, e = (part.w for part in model.parts)
    parts = [vars(part) for part in model.parts]
    module = equinox_module(parts=[equinox_module(**part) for part in parts])
    base, theirs = jax.jit(chain), equinox.filter_jit(plain)
    of_flax = nnx and nnx.List([nnx.Dict(**part) for part in parts])
    yield Row(
        "object with 5 objects of an array and a function (equinox, nnx: Modules)",
        lambda: model.apply(X),
        lambda: base(X, a, b, c, d, e),
        1.8,
        {EQUINOX: lambda: theirs(module, X), **of_nnx(plain, parts=of_flax)},
    )


def called(fn: Callable[[Any], Any], x: Any) -> Any:
    LOG.info("traced")
    return fn(x)


def times(factor: float) -> Callable[[Any], Any]:
    return lambda x: x * factor


def twice() -> Callable[[Any], Any]:
    return lambda x: x * 2


def functions() -> Iterator[Row]:
    call: Callable[[Any], Way] = lambda f: lambda: f(double, X)
    yield row("the same module-level function as argument", 1.25, called, call, "fn")
    base = jax.jit(lambda fn, x: fn(x), static_argnums=0)
    kept = twice()
    yield row(
        "a fresh lambda / the same lambda, as static argument",
        1.5,
        called,
        lambda f: lambda: f(twice(), X),
        base=lambda: base(kept, X),
        others=(),  # they compile for each lambda
        once=True,
    )
    factors = (0.5, 2.0, 4.0)
    fresh, known = cycle(factors), cycle(factors)
    by_hand = jax.jit(lambda factor, x: times(factor)(x))
    yield row(
        "a fresh lambda over a captured float / the float as argument",
        1.5,
        called,
        lambda f: lambda: f(times(next(fresh)), X),
        base=lambda: by_hand(next(known), X),
        others=(),
        once=True,
    )


def first_call(jit: Any) -> Way:
    kept: list[Any] = []  # so that nothing is freed within the time

    def call() -> Any:
        number = len(kept)  # of the same code nothing would be compiled

        def body(x: Any, y: Any) -> Any:
            x = x + number
            for _ in range(10):  # 30 operations
                x = x * 0.5 + y
                y = y - x
            return x

        kept.append(jit(body))
        return kept[-1](X, Y)

    return call


def tracing() -> Iterator[Row]:
    yield row(
        "make_jaxpr of a fresh function that calls it",
        1.25,
        lambda x, y: x + y,
        lambda f: lambda: jax.make_jaxpr(lambda x, y: f(x, y))(X, Y),
        value=lambda traced: eval_jaxpr(traced.jaxpr, traced.consts, X, Y)[0],
        calls=10,
    )
    compilers = {EQUINOX: equinox.filter_jit} | ({NNX: nnx.jit} if nnx else {})
    yield Row(
        "first call of a function of 30 operations",
        first_call(jfi.autojit),
        first_call(jax.jit),
        1.15,
        {name: first_call(jit) for name, jit in compilers.items()},
        calls=1,
    )


SECTIONS = (
    plain_arguments,
    trees,
    methods,
    sub_objects,
    tools,
    training,
    functions,
    tracing,
    same_code,
)

if __name__ == "__main__":
    if not nnx:
        print(f"flax is not installed: no column for {NNX}")
    report((row, measure(row)) for section in SECTIONS for row in section())
