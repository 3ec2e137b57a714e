"""The user's code asks what its arguments are, and sees what plain Python shows it."""

import functools
import numbers
import textwrap
import warnings
from collections.abc import Container, Iterable, Sequence, Sized
from typing import Union

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from autojitting import Counted, same
from subprocesses import output_of

import jfi
from jfi import UncompiledWarning, autojit
from jfi._jax_internals import without


def is_float(x):
    return x * 2 if isinstance(x, float) else x * 3


def is_number(x):
    return x * 2 if isinstance(x, (int, complex)) else x * 3


def is_any_number(x):
    return x * 2 if isinstance(x, numbers.Real) else x * 3


def is_numpy(x):
    return x * 2 if isinstance(x, np.ndarray | np.generic) else x * 3


def is_array_of_jax(x):
    return x * 2 if issubclass(x.__class__, np.ndarray) else x * 3


def is_scalar(x):
    return x * 2 if np.isscalar(x) else x * 3


def has_a_shape(x):
    return x * 2 if hasattr(x, "shape") else x * 3


def has_items(x):
    return x * 2 if hasattr(x, "tolist") or hasattr(x, "item") else x * 3


def has_dimensions(x):
    return x * 2 if getattr(x, "ndim", 7) == 7 else x * 3


def matched(x):
    match x:
        case float():
            return x * 2
        case np.ndarray(ndim=1):
            return x * 5
        case {"x": float(y)}:
            return y * 7
        case _:
            return x * 3


def by_name(x):
    return {"float": x * 2, "ndarray": x * 5}.get(type(x).__name__, x * 3)


@functools.singledispatch
def dispatched(x):
    return x * 3


@dispatched.register
def _(x: float):
    return x * 2


@dispatched.register
def _(x: np.ndarray):
    return x * 5


@dispatched.register
def _(x: jax.Array):
    return x * 7


class Visitor:
    @functools.singledispatchmethod
    def visit(self, x):
        return x * 3

    @visit.register
    def _(self, x: jax.Array):
        return x * 7


def dispatched_inside(x):
    return dispatched(jnp.sum(x)), Visitor().visit(jnp.ones(2)), Visitor().visit(x)


def in_a_helper(x):
    return is_float(x) + is_numpy(x)


class Checked:
    """A descriptor that asks what it is given."""

    def __set__(self, owner, value):
        owner.given = value * 2 if isinstance(value, float) else value * 3


class Owner:
    checked = Checked()


def in_a_descriptor(x):
    owner = Owner()
    owner.checked = x
    return owner.given


def with_a_check(x):
    if isinstance(x, (float, np.ndarray)):
        return x * 2
    raise ValueError("no number")


def has_a_length(x):
    has = [hasattr(x, "__len__"), hasattr(x, "__iter__"), hasattr(x, "__array__")]
    return [x * 2 if some else x * 3 for some in has]


def is_a_container(x):
    classes = (Iterable, Sized, Sequence, Container)
    return [x * 2 if isinstance(x, cls) else x * 3 for cls in classes]


def tries_attributes(x):
    try:
        kept = x.shape
    except AttributeError:
        kept = "none"
    try:
        return kept, x.is_integer()
    except AttributeError:
        return kept, x * 3


def asks_in_words(x):
    return x * 2 if getattr(x, "is_integer", None) else x * 3


QUESTIONS = [
    has_a_length,
    is_a_container,
    tries_attributes,
    asks_in_words,
    is_float,
    is_number,
    is_any_number,
    is_numpy,
    is_array_of_jax,
    is_scalar,
    has_a_shape,
    has_items,
    has_dimensions,
    matched,
    by_name,
    lambda x: dispatched(x),
    dispatched_inside,
    in_a_helper,
    in_a_descriptor,
]
VALUES = [
    2.5,
    jnp.ones(2),
    np.ones(2, np.float32),
    np.float32(2.5),
    np.ones((), np.float32),
    jnp.ones(()),
    2,
    True,
    1.5j,
    np.float64(2.5),
    np.int32(2),
    np.arange(3),
]


@pytest.mark.parametrize("ask", QUESTIONS)
def test_the_answer_is_that_of_plain_python(ask, way):
    fn = autojit(ask, warn_after=1000)
    for order in (VALUES, VALUES[::-1], VALUES):
        for x in order:
            assert same(fn(x), ask(x)), x


def test_a_number_stays_data():
    asking = is_float, is_any_number, has_a_shape, has_a_length, is_a_container
    for ask in (*asking, matched, with_a_check):
        fn = Counted(ask)
        for x in (0.5, 1.5, 2.5):
            assert same(fn(x), ask(x))
        assert fn.traces == 1


def is_of_jax(x):
    return x * 2 if isinstance(x, jax.Array) else x * 3


def own_filter(p):
    return {k: v * 2 if isinstance(v, jnp.ndarray) else v for k, v in p.items()}


def test_a_number_is_no_array_of_jax(way):
    fn = autojit(is_of_jax)
    for x in (2.5, jnp.ones(2), 1.5, np.float32(2), 2.5):
        assert same(fn(x), is_of_jax(x))
    fn = autojit(own_filter)
    for rate in (0.5, 1.5, 0.5):
        p = {"w": jnp.ones(2), "rate": rate}
        ours = fn(p)
        assert same(ours, own_filter(p))
        assert type(ours["rate"]) is float


def test_arguments_of_any_form():
    class Model:
        def __init__(self, gain):
            self.gain, self.noise = gain, np.ones(2, np.float32)

        @autojit
        def __call__(self, p):
            gain = self.gain * 2 if isinstance(self.gain, float) else self.gain
            noise = 5 if isinstance(self.noise, np.ndarray) else 7
            return gain * noise * (p["k"] if isinstance(p["k"], float) else 11)

    model = Model(0.5)
    assert model({"k": 3.0}) == 15
    model.gain = jnp.float32(0.5)
    assert model({"k": 3.0}) == 7.5
    model.noise = jnp.ones(2)
    assert model({"k": jnp.float32(3.0)}) == 38.5


gain = 2.0


def test_what_is_read_outside():
    global gain
    offset = np.ones(2, np.float32)

    def ask(x):
        x = x * 2 if isinstance(gain, float) else x * 3
        return x + 1 if isinstance(offset, np.ndarray) else x

    fn = autojit(ask)
    for value in (2.0, 3.0, jnp.ones(()), np.float32(1), 2.0):
        gain = value
        assert same(fn(jnp.ones(2)), ask(jnp.ones(2)))
    gain = 2.0


CLASSES = bool, int, float, complex, np.ndarray, np.generic, np.floating
COMPUTE = [
    lambda x: x / 2,
    lambda x: 1 / x,
    lambda x: [-x, +x, abs(x)],
    lambda x: sum([x, x]) ** 2,
    lambda x: functools.reduce(lambda a, b: a * b, [x, x, 2]),
    lambda x: divmod(x, 2),
    lambda x: [x // 2, 7 % x, x > 1, x == 2],
    lambda x: [x * np.float32(2), np.ones(2, "f4") * x, x + 1j, x - True],
    lambda x: [x * jnp.ones(2), jnp.ones(2) - x, jnp.square(x), jnp.deg2rad(x)],
    lambda x: round(x, 1),
    lambda x: [x.real, x.imag],
    lambda x: [x[0], x[None], x[:1], *x],
    lambda x: [x.T, x.sum(), x.reshape(-1), x.astype("f4"), x.max()],
    lambda x: [x @ x, jnp.ones(2) @ x],
]


def classes_of_results(computes, x, also=None):
    """Of which classes is what the code computes of a value."""
    answers = []
    for compute in computes:
        results = compute(x)
        for y in results if isinstance(results, (list, tuple)) else [results]:
            found = [isinstance(y, cls) for cls in CLASSES]
            answers.append((*found, hasattr(y, "shape"), np.isscalar(y)))
    return answers


def computes_plainly(compute, x):
    try:
        compute(x)
    except (TypeError, ValueError, AttributeError, IndexError):
        return False
    return True


# Of an array without axes NumPy makes both, and 1 / 0 warns.
WITH_AXES = [
    x for x in VALUES if np.all(x) and not (isinstance(x, np.ndarray) and x.ndim == 0)
]


@pytest.mark.parametrize("x", WITH_AXES)
def test_what_is_computed_has_its_class_of_plain_python(x):
    computes = [compute for compute in COMPUTE if computes_plainly(compute, x)]
    ask = functools.partial(classes_of_results, computes)
    assert autojit(ask)(x, jnp.ones(2)) == ask(x)


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # ~True
def test_truth_values_of_floats_are_numbers_in_arithmetic():
    """Nothing here asks for a class; an array of JAX adds truth values as `or` does."""

    def count(x, y, z):
        above = (x > 0) + (y > 0) + (x > y)
        return [above, above * z, +(y > 0), abs(x > y), ~(x > 0), -(x > 0), x > 0]

    fn = Counted(count)
    for x, y in ((1.5, 2.5), (3.0, -1.0), (2.5, 1.5)):
        pairs = zip(fn(x, y, jnp.ones(2)), count(x, y, jnp.ones(2)), strict=True)
        assert all(np.array_equal(ours, theirs) for ours, theirs in pairs)
    assert fn.traces == 1
    either = autojit(lambda x, y: (x > 0) + (y > 0))
    assert either(jnp.ones(1), 2.0).tolist() == [True]


def numpys_types(x, y):
    """Small integers and halves, where JAX's types are others."""
    sums = [
        x.cumsum(),
        x.cumprod(0),
        x.cumsum(dtype="int8"),
        x.mean(),
        x.std(),
        x.prod(),
    ]
    return [*sums, x / y, x * y, x**2, divmod(x, y)[1], 3 - x, x > y, x.dot(x), abs(x)]


@pytest.mark.parametrize(
    "dtypes", ["i1 i1", "u1 f2", "? i4", "f2 i8", "f4 i4", "i4 u4"]
)
def test_what_is_computed_of_numpy_has_its_dtype(x64, dtypes):
    x, y = (np.array([100, 2, 3]).astype(dtype) for dtype in dtypes.split())
    with np.errstate(over="ignore"):
        theirs = numpys_types(x, y)
    ours = autojit(numpys_types)(x, y)
    canonical = jax.dtypes.canonicalize_dtype
    assert [a.dtype for a in ours] == [canonical(b.dtype) for b in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert np.allclose(a, b, rtol=1e-3, equal_nan=True)


def test_an_array_that_shares_memory_is_written_as_in_plain_python():
    def write(x):
        first = x[:1]
        first += 1
        return x * 2

    fn = autojit(write)
    ours, theirs = np.ones(2), np.ones(2)
    with pytest.warns(UncompiledWarning, match=r"`first \+= 1`"):
        assert same(fn(ours), write(theirs))
    assert same(ours, theirs)


def test_what_is_computed_of_numbers_is_no_array_of_jax():
    def ask(x, dt):
        h = dt / 2
        return x * h if isinstance(h, jax.Array) else x * h * 3

    fn = autojit(ask)
    for dt in (0.5, 0.25):
        assert same(fn(jnp.ones(2), dt), ask(jnp.ones(2), dt))


def test_arrays_that_numpy_makes_of_numbers_are_kept():
    class Regulator:
        def __init__(self):
            self.kp, self.ki, self.seen = 2.0, 1.0, []

        @functools.cached_property
        def gains(self):
            return np.array([self.kp, self.ki])

        @autojit
        def norm(self):
            self.seen.append(np.array([self.ki]))
            return jnp.sqrt((self.gains**2).sum()), np.array([self.kp])

    regulator = Regulator()
    for kp in (2.0, 3.0):
        regulator.__dict__.pop("gains", None)
        regulator.kp = kp
        assert [x.tolist() for x in regulator.norm()[1:]] == [[kp]]
        assert regulator.gains.tolist() == [kp, 1.0]
    assert [x.tolist() for x in regulator.seen] == [[1.0], [1.0]]


def test_inside_transformations_and_other_functions():
    def ask(x, dt):
        scale = dt if isinstance(dt, float) else 100.0
        slope = jax.grad(lambda x: (x * dt).sum() if isinstance(dt, float) else x.sum())
        steps = jfi.scan(lambda c, _: (c * scale, dt), x, None, length=2)[0]
        rows = jax.vmap(lambda row: row * dt if isinstance(dt, float) else row)(x)
        return slope(x) + steps + rows + inner(dt)

    inner = autojit(is_float)
    x = jnp.ones(2)
    fn = autojit(ask)
    for dt in (0.5, 0.25):
        assert same(fn(x, dt), ask(x, dt))
    assert fn.cache_info().traces == 1


def test_jax_computes_with_what_passes_for_a_number():
    fn = autojit(lambda x: (isinstance(x, float), jnp.sin(x) + jnp.where(x > 1, x, 0)))
    is_known, y = fn(2.0)
    assert is_known is True
    assert same(y, jnp.sin(2.0) + 2)
    assert autojit(lambda x: isinstance(x, Iterable))(np.ones(2)) is True


def test_nothing_of_it_is_left_in_the_traced_values():
    def ask(x):
        raise KeyError(x, isinstance(x, jnp.ndarray | np.ndarray))

    with pytest.raises(KeyError) as caught:
        autojit(ask)(np.ones(2))
    x, was_array = caught.value.args
    assert was_array
    assert isinstance(x, np.ndarray)  # that of the caller: it was run plainly


def test_an_interrupt_ends_the_call_and_starts_no_uncompiled_run():
    def interrupted(x):
        x += 1
        raise KeyboardInterrupt

    x = np.zeros(2)
    with pytest.raises(KeyboardInterrupt):
        autojit(interrupted)(x)
    assert x.tolist() == [0, 0]


# ------------------------------------------------------------ what can't be answered


@pytest.mark.parametrize(
    ("ask", "x"),
    [
        (lambda x: x * 2 if type(x) is float else x * 3, 2.0),
        (lambda x: x * 2 if type(x) in (int, float) else x * 3, 2.0),
        (lambda x: x * 2 if type(1.0) is type(x) else x * 3, 2.0),  # noqa: UP003
        (lambda x: x * 2 if type(x) == type(1.0) else x * 3, 2.0),  # noqa: E721, UP003
        (lambda x: x * 2 if type(x) is not np.float32 else x * 3, np.float32(2)),
        (lambda x: x * 2 if issubclass(type(x), (int, float)) else x * 3, 2.0),
        (lambda x: {float: 2, str: 5}.get(type(x), 3) * x, 2.0),
    ],
)
def test_where_the_type_itself_is_compared_it_runs_uncompiled(ask, x):
    fn = autojit(ask)
    assert same(fn(jnp.ones(2)), ask(jnp.ones(2)))
    assert fn(3) == ask(3)
    with pytest.warns(UncompiledWarning, match=r"(?s)compares type.*isinstance"):
        assert fn(x) == ask(x)


Number = Union[int, float]  # noqa: UP007 - `int | float` asks otherwise


def test_where_a_typing_union_is_asked_for_it_runs_uncompiled():
    ask = lambda x: x * 2 if isinstance(x, Number) else x * 3
    fn = autojit(ask)
    assert same(fn(jnp.ones(2)), ask(jnp.ones(2)))
    with pytest.warns(UncompiledWarning, match=r"(?s)Union.*\(x, \(float, int\)\)"):
        assert fn(2.0) == 4
    inline = autojit(lambda x: x * 2 if isinstance(x, Union[float, str]) else x * 3)  # noqa: UP007
    with pytest.warns(UncompiledWarning, match=r"(?s)Union.*\(x, \(float\)\)"):
        assert inline(2.0) == 4


def test_types_of_objects_are_no_questions_of_data():
    class Model:
        def __init__(self):
            self.w = np.ones(2, np.float32)

        @autojit
        def __call__(self, other):
            assert type(self) is type(other)
            return self.w * 2 if type(other.name) is str else self.w

        name = "a"

    model = Model()
    assert same(model(model), np.full(2, 2.0))


def sum_and_move(x, y):
    x += y
    return x.sum()


def through_an_alias(x, y):
    z = x
    z *= y
    return x


def smallest(x, y):
    x.sort()
    return x[0] * y


def from_a_dict(p, y):
    rows = p["rows"]
    rows -= y
    return p["rows"] * 2


@pytest.mark.parametrize("write", [sum_and_move, through_an_alias, smallest])
def test_a_numpy_array_is_written_as_plain_python_does(write):
    fn = autojit(write)
    ours, theirs = np.array([3.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0])
    with pytest.warns(UncompiledWarning, match="writes into a NumPy array in `"):
        assert same(fn(ours, 2.0), write(theirs, 2.0))
    assert same(fn(ours, 2.0), write(theirs, 2.0))
    assert same(ours, theirs)


def test_so_is_one_in_a_container():
    ours, theirs = {"rows": np.ones(2)}, {"rows": np.ones(2)}
    fn = autojit(from_a_dict)
    with pytest.warns(UncompiledWarning, match=r"`rows -= y`"):
        assert same(fn(ours, 2.0), from_a_dict(theirs, 2.0))
    assert same(ours["rows"], theirs["rows"])


def test_it_can_be_refused():
    refuse = autojit(sum_and_move, uncompiled=False)
    with pytest.raises(jfi.AutoJitError, match=r"(?s)`x \+= y`.*x = x \+ 1"):
        refuse(np.ones(2), 1.0)


def test_arrays_of_jax_and_what_is_made_inside_are_compiled():
    def move(x, y):
        y = y * 2
        y += 1
        total = 0.0
        for k in range(3):
            total += k * x.sum()
        x += y
        return x, total

    fn = autojit(move)
    for x in (jnp.ones(2), 2 * jnp.ones(2)):
        assert same(fn(x, np.ones(2)), move(x, np.ones(2)))
    assert fn.cache_info().traces == 1


def test_attributes_and_items_are_written_back():
    class Filter:
        def __init__(self):
            self.state, self.parts = np.zeros(2), {"sum": np.zeros(2)}

        @autojit
        def step(self, x):
            self.state += x
            self.parts["sum"] -= x
            return self.state

    one = Filter()
    for k in range(1, 4):
        assert same(one.step(np.ones(2)), np.full(2, k))
    assert same(one.parts["sum"], np.full(2, -3))


# ------------------------------------------------------------ other tools


def test_without_the_piece_numbers_are_tracers():
    with without("plain_classes"):
        assert autojit(lambda x: x * 2 if isinstance(x, float) else x * 3)(2.0) == 6


def test_persistent_functions_tell_classes_apart(tmp_path):
    code = """
        import jax.numpy as jnp, numpy as np
        import jfi

        @jfi.persistent
        def ask(x):
            if isinstance(x, float):
                return x * 2
            return x * 5 if isinstance(x, np.ndarray) else x * 3

        print(*(float(ask(x)) for x in (2.0, np.array(2.0, "f4"), jnp.float32(2.0))))
        """
    env = {"JFI_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        assert output_of(textwrap.dedent(code), env=env) == "4.0 10.0 6.0"


def test_in_batches():
    def solve(p):
        return p["x"] * (p["dt"] if isinstance(p["dt"], float) else 100.0)

    problem = {"x": jnp.ones((3, 2)), "dt": 0.5}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(jfi.vmap_automatically(solve, problem), jnp.full((3, 2), 0.5))


CAPTURED = """
import jax, jax.numpy as jnp, numpy as np, jfi
data = np.ones((2, 2), "float32")
def step(c, x):
    return c, (+data).astype("float32").sum()
def run(x):
    return jax.lax.scan(step, x, jnp.ones(2))[1], isinstance(data, np.ndarray)
print(jfi.autojit(run)(jnp.array(1.0))[0])
"""


def test_what_a_loop_captures_outlives_what_the_code_made_of_it():
    # In a process of its own: JAX still holds it where it has seen such a call before.
    assert output_of(CAPTURED).strip() == "[4. 4.]"
