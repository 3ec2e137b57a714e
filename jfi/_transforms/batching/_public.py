"""`vmap_automatically` and `auto_vmap`, as users call them."""

import functools
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack, cast, overload

from ..._advice import hide_frames, hiding_frames
from ..._errors import BatchError
from ..._random.traced._rows import Randomness
from ..._shown import shown_as
from ..._values import function_name, names_to_copy, refuse_no_function
from . import _messages as messages
from ._calls import BatchCalls
from ._cluster import Cluster
from ._defaults import with_defaults
from ._leaves import Arguments, arguments_of_call, arguments_of_problem
from ._mapping import Mapping as RowMapping
from ._plan import Paths, key_of, make_plan


P = ParamSpec("P")
R = TypeVar("R")
ProblemT = TypeVar("ProblemT")
ResultT = TypeVar("ResultT")


class BatchOptions(TypedDict, total=False):
    """The options of `vmap_automatically` beside `batch_size`; see `auto_vmap`."""

    shared: Paths
    batched: Mapping[str, int] | None
    out_axes: Any
    randomness: Randomness
    chunk_size: int | None
    progress: bool
    devices: Any
    sharding: Any


_NO_PROBLEM: Any = object()


# Without data it is refused at run time: to type checkers, `problem` has no default.
@overload
def vmap_automatically(
    fn: Callable[[ProblemT], ResultT],
    problem: ProblemT,
    batch_size: int | None = None,
    *,
    client: Any = None,
    **options: Unpack[BatchOptions],
) -> ResultT: ...
@overload
def vmap_automatically(
    fn: Callable[[ProblemT], ResultT],
    *,
    problem: ProblemT,
    batch_size: int | None = None,
    client: Any = None,
    **options: Unpack[BatchOptions],
) -> ResultT: ...
@hiding_frames
def vmap_automatically(
    fn: Callable[[ProblemT], ResultT],
    problem: ProblemT = _NO_PROBLEM,
    batch_size: int | None = None,
    *,
    client: Any = None,
    **options: Unpack[BatchOptions],
) -> ResultT:
    """Run `fn(problem)` for each element of a batch, and stack the results.

    `problem` is a tree (dicts, lists, registered classes) of arrays and settings. An
    array whose leading size is the batch size is batched. Everything else is shared:
    `fn` gets it as it is, so that strings, ints, functions and objects work as in
    plain Python.

    >>> import jfi as jnp
    >>> problem = {"x": jnp.ones((5, 2)), "A": jnp.eye(2), "power": 3}
    >>> solve = lambda p: (p["A"] @ p["x"]).sum() ** p["power"]
    >>> jnp.vmap_automatically(solve, problem)
    Array([8., 8., 8., 8., 8.], dtype=float32)

    Without `batch_size` each leading size that occurs is tried, by tracing `fn`, and
    the batch is the one with which `fn` works. The call is compiled as by `autojit`:
    what was found out is known at the next call, also if `fn` is a new lambda.

    Args:
        fn: The function of one element of the batch. It returns a tree of arrays and
            numbers; strings, None and other settings may be in it, too.
        problem: The argument of `fn`, with a leading batch dimension on each array
            that is batched: NumPy and JAX arrays, and random keys.
        batch_size: The leading size of the batched arrays, an int of 0 or more.
        client: A `distributed.Client`: the workers of a Dask cluster share the rows.
        options: `shared`, `batched`, `out_axes`, `randomness`, `chunk_size`,
            `progress`, `devices` and `sharding` as of `auto_vmap`. Paths begin below
            the problem: `shared="dyn.Q"` is `problem["dyn"]["Q"]`.

    Returns:
        What `fn` returns. Arrays and numbers in it have a leading dimension of the
        batch size; everything else comes back as it is.

    Raises:
        AmbiguousBatchError: More than one reading of `problem` is possible.
        BatchError: No reading is possible, an option can't be, `fn` returns what hides
            arrays, or can't be sent to workers.
        MissingDependencyError: There is a `client`, and Dask is not installed.
    """
    tool, given = "vmap_automatically", {**options, "batch_size": batch_size}
    if problem is _NO_PROBLEM:
        raise BatchError(messages.no_problem(function_name(fn)))
    if client is None:
        calls = _calls_of(tool, fn, given, arguments_of_problem)
        result: ResultT = calls.run(fn, (problem,), {})
        return result
    on_workers = _on_workers(tool, fn, client, given, arguments_of_problem)
    return cast("ResultT", on_workers(fn, (problem,), {}))


def _on_workers(
    tool: str,
    fn: Callable[..., Any],
    client: Any,
    options: Mapping[str, Any],
    read: Callable[..., Arguments],
) -> Callable[..., Any]:
    """What runs the calls of a function on a cluster."""
    refuse_no_function(tool, fn, BatchError)
    plan = make_plan(tool, client=True, **options)
    mapping, cluster = RowMapping(plan, function_name(fn), read), Cluster(tool, client)
    return functools.partial(mapping.run_on, cluster)


MAX_FUNCTIONS = 256  # of which what was compiled is kept
_known: dict[
    Hashable, tuple[Any, BatchCalls]
] = {}  # keeps the code: its id stays its own
_lock = threading.Lock()


def _calls_of(
    tool: str,
    fn: Callable[..., Any],
    options: Mapping[str, Any],
    read: Callable[..., Arguments],
) -> BatchCalls:
    """The calls of all functions with the same code: lambdas are made anew."""
    code, name = _code_of(fn), function_name(fn)
    # Not by the code itself: its hash goes through all of its bytes.
    types = map(type, options.values())  # True is not 1
    key: tuple[Any, ...] = tool, id(code), name, *options.items(), *types
    try:
        return _known[key][1]
    except (KeyError, TypeError):  # new, or an option is a dict or a list
        pass
    refuse_no_function(tool, fn, BatchError)
    plan = make_plan(tool, **options)
    try:
        hash(key)
    except TypeError:
        key = tool, id(code), name, key_of(options)
        if key in _known:
            return _known[key][1]
    calls = BatchCalls(RowMapping(plan, name, read), name, plan.spread)
    with _lock:
        while len(_known) >= MAX_FUNCTIONS:
            del _known[next(iter(_known))]
        return _known.setdefault(key, (code, calls))[1]


def _code_of(fn: Any) -> Any:
    """The code of a function, also a compiled one; the class of another callable."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    code = getattr(fn, "__code__", None)
    return code or getattr(getattr(fn, "__wrapped__", None), "__code__", type(fn))


@overload
def auto_vmap(
    fn: Callable[P, R],
    /,
    *,
    batch_size: int | None = None,
    shared: Paths = (),
    batched: Mapping[str, int] | None = None,
    out_axes: Any = 0,
    randomness: Randomness = "different",
    chunk_size: int | None = None,
    progress: bool = False,
    devices: Any = None,
    sharding: Any = None,
    client: Any = None,
) -> Callable[P, R]: ...
@overload
def auto_vmap(
    *,
    batch_size: int | None = None,
    shared: Paths = (),
    batched: Mapping[str, int] | None = None,
    out_axes: Any = 0,
    randomness: Randomness = "different",
    chunk_size: int | None = None,
    progress: bool = False,
    devices: Any = None,
    sharding: Any = None,
    client: Any = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def auto_vmap(  # noqa: D417 - see overloads
    fn: Any = None, /, *, client: Any = None, **options: Any
) -> Any:
    """Make a function of one element a function of a batch, without `in_axes`.

    The arrays among the arguments whose leading size is that of the batch are batched,
    in dicts, lists and registered classes, too. All other values are shared, and
    arrive as they are. The size is found as by `vmap_automatically`.

    >>> import jfi as jnp
    >>> @jnp.auto_vmap
    ... def simulate(x, system, steps, *, kind="linear"):
    ...     for _ in range(steps):
    ...         x = system["A"] @ x if kind == "linear" else jnp.tanh(x)
    ...     return {"end": x, "kind": kind}
    >>> simulate(jnp.ones((3, 2)), {"A": 2 * jnp.eye(2), "name": "growth"}, 2)
    {'end': Array([[4., 4.],
           [4., 4.],
           [4., 4.]], dtype=float32), 'kind': 'linear'}

    Where jfi can't know what is meant, say it by name:

    >>> @jnp.auto_vmap(shared="table", batched={"x.position": 1})
    ... def height(x, table):
    ...     return (table @ x["position"]).max()
    >>> height({"position": jnp.ones((2, 5))}, jnp.ones((5, 2)))
    Array([2., 2., 2., 2., 2.], dtype=float32)

    Args:
        fn: The function of one element of the batch. It returns a tree of arrays and
            numbers; strings, None and other settings may be in it, too.
        batch_size: The leading size of the batched arrays, an int of 0 or more. Every
            array with that leading size is batched then.
        shared: Paths of what is not batched, whatever its shape: `"x"` is a parameter
            and all below it, `"system.A"` an item or attribute, `"costs.0.Q"` an item
            of a list, `"*.Q"` a glob. `jfi.shared(x)` says it in the data.
        batched: The axis of the batch by path. `jfi.batched(x, axis=1)` says it in the
            data.
        out_axes: The axis of the batch in the results, as of `jax.vmap`.
        randomness: Whether the rows draw "different" numbers or the "same", or drawing
            is an "error".
        chunk_size: How many rows to compute at a time, for batches beyond memory; all
            if None. The result is the same. With a client, how many rows a task
            computes; if None, a few tasks for each thread of the workers.
        progress: Whether to show a bar while the chunks are computed.
        devices: The devices that share the rows: "all" of this process, the name of a
            platform or a device, a number, or a list. The result is the same.
        sharding: A mesh (of several processes, too) or a `NamedSharding` of the first
            axis, in place of `devices`.
        client: A `distributed.Client`, in place of `devices`: the workers of a Dask
            cluster share the rows. The result is the same.

    Returns:
        A function of the same parameters. What it returns is what `fn` returns, where
        arrays and numbers have one more dimension, that of the batch.

    Raises:
        BatchError: An option can't be; at a call: no reading of the arguments is
            possible, or `fn` returns what hides arrays.
        AmbiguousBatchError: At a call: more than one reading is possible.
    """
    if fn is None:
        return functools.partial(auto_vmap, client=client, **options)
    if client is None:
        run = _calls_of("auto_vmap", fn, options, arguments_of_call).run
    else:
        run = _on_workers("auto_vmap", fn, client, options, arguments_of_call)

    @shown_as("auto_vmap")
    @functools.wraps(fn, names_to_copy(fn), updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(fn, args, with_defaults(fn, args, kwargs))
        except Exception as error:
            hide_frames(error)
            raise

    return mapped


def vmap_of_axes(
    fn: Callable[..., Any],
    in_axes: str,
    others: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Callable[..., Any]:
    """`vmap(fn, in_axes="auto")`.

    Args:
        fn: The function of one element.
        in_axes: What was given.
        others: Options that `auto_vmap` has not; none may be given.
        options: Those that it has.

    Raises:
        BatchError: `in_axes` is another text, or an option was given that can't be.
    """
    if in_axes != "auto":
        message = f"vmap() got in_axes={in_axes!r}.\nWrite axes, or in_axes='auto'."
        raise BatchError(message)
    given = [name for name, value in others.items() if value is not None]
    if given:
        message = (
            f"vmap() got in_axes='auto' and {given[0]}=.\n"
            f"Leave out {given[0]}, or write the axes."
        )
        raise BatchError(message)
    return auto_vmap(fn, **options)
