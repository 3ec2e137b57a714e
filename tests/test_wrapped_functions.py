"""Functions of jax.numpy as jfi has them: the same programs, whatever they look for."""

import functools
import inspect
import os
import pickle
import re
import warnings
from functools import partial

import cloudpickle
import jax
import numpy as np
import pytest
from subprocesses import output_of

import jfi as jnp
from jfi._dispatch._names import PLACES, TORCH, functions_of, qualified


def found(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


X = np.array([[3.0, 1.0, 2.0], [4.0, 8.0, 7.0], [5.0, 2.0, 9.0]], "float32")
V, N, B = X[0], np.arange(3), X > 2
EVERY = [
    qualified(place, name) for place in PLACES for name in sorted(functions_of(place))
] + sorted(TORCH)
#: Those of JAX that are compared in one program.
OTHERS = """scipy.cluster scipy.integrate scipy.interpolate scipy.ndimage
    scipy.optimize scipy.stats""".split()
OF_JFI = """linalg.householder_product scipy.linalg.fractional_matrix_power
    scipy.linalg.logm scipy.linalg.solve_continuous_are
    scipy.linalg.solve_continuous_lyapunov scipy.linalg.solve_discrete_are
    scipy.linalg.solve_discrete_lyapunov scipy.linalg.solve_sylvester
    scipy.linalg.sqrtm""".split()
NAMES = [n for n in EVERY if not n.startswith(tuple(OTHERS)) and n not in OF_JFI]
#: Arguments to try in this order, until JAX's function takes them.
TRIED = [
    (X,), (X, X), (X, 1), (N,), (N, N), (B,), (B, X, X), ([X, X],), (X, X, X),
    (X, (3, 3)), (X, N), (X, N, 1), (X, 0, 1), ((3, 3), X), (V, V), (V,), (X, [V]),
    ([B], [X]), (N.astype("uint8"),),
]  # fmt: skip
#: Those that take none of these.
CALLS = {
    "apply_along_axis": lambda f, x: f(lambda row: row.sum(), 0, x),
    "apply_over_axes": lambda f, x: f(lambda x, axis: x.sum(axis), x, [0]),
    "argwhere": lambda f, x: f(x, size=2),
    "astype": lambda f, x: f(x, "int32"),
    "bincount": lambda f, x: f(x[0].astype(int), length=3),
    "bmm": lambda f, x: f(x[None], mat2=x[None]),
    "choose": lambda f, x: f(N % 2, [x[0], x[1]], mode="clip"),
    "compress": lambda f, x: f(B[0], x, axis=1, size=2),
    "dsplit": lambda f, x: f(x[None], 3),
    "extract": lambda f, x: f(B, x, size=2),
    "fill_diagonal": lambda f, x: f(x, 0.0, inplace=False),
    "flatnonzero": lambda f, x: f(x, size=2, fill_value=0),
    "gather": lambda f, x: f(x, 0, index=N[None]),
    "interp": lambda f, x: f(x[1], x[0], x[2], left=0.0),
    "intersect1d": lambda f, x: f(x[0], x[1], size=2),
    "linalg.solve_triangular": lambda f, x: f(x, x, upper=True),
    "lu_solve": lambda f, x: f((x, N), x, trans=1),
    "masked_fill": lambda f, x: f(x, B, 0.0),
    "nn.glu": lambda f, x: f(x[:2], axis=0),
    "nn.scaled_dot_general": lambda f, x: f(x, x, (((1,), (0,)), ((), ()))),
    "nn.scaled_matmul": lambda f, x: f(
        *(jax.numpy.zeros((1, 32, 32), "float8_e4m3fn") for _ in "ab"),
        *(jax.numpy.ones((1, 32, 1), "float8_e8m0fnu") for _ in "ab"),
    ),
    "nonzero": lambda f, x: f(x, size=2),
    "permute": lambda f, x: f(x, (1, 0)),
    "permute_dims": lambda f, x: f(x, (1, 0)),
    "piecewise": lambda f, x: f(x, [x < 1, x > 2], [-1.0, 1.0]),
    "place": lambda f, x: f(x, B, V, inplace=False),
    "polyfit": lambda f, x: f(x[0], x[1], 2),
    "put": lambda f, x: f(x, N, V, inplace=False),
    "put_along_axis": lambda f, x: f(x, N[None], 1.0, 1, inplace=False),
    "ravel_multi_index": lambda f, x: f((N, N), (3, 3), mode="clip"),
    "roots": lambda f, x: f(x[0], strip_zeros=False),
    "scatter": lambda f, x: f(x, 0, index=N[None], src=x),
    "scipy.linalg.cho_solve": lambda f, x: f((x, True), x),
    "scipy.linalg.eigh_tridiagonal": lambda f, x: f(x[0], x[1, :2], eigvals_only=True),
    "scipy.linalg.funm": lambda f, x: f(x, jax.numpy.sin),
    "scipy.linalg.leslie": lambda f, x: f(x[0], x[1, :2]),
    "scipy.linalg.lu_solve": lambda f, x: f((x, N), x, trans=1),
    "scipy.special.bernoulli": lambda f, x: f(3),
    "scipy.special.bessel_jn": lambda f, x: f(x[0], v=2),
    "scipy.special.hyp2f1": lambda f, x: f(x, x, x, x),
    "scipy.special.sph_harm_y": lambda f, x: f(N, N, V, V, n_max=3),
    "setdiff1d": lambda f, x: f(x[0], x[1], size=2),
    "setxor1d": lambda f, x: f(x[0], x[1], size=2),
    "union1d": lambda f, x: f(x[0], x[1], size=2),
    "unique": lambda f, x: f(x, size=2),
    "unique_all": lambda f, x: f(x, size=2),
    "unique_counts": lambda f, x: f(x, size=2),
    "unique_inverse": lambda f, x: f(x, size=2),
    "unique_values": lambda f, x: f(x, size=2),
}
EAGER = ["result_type", "trim_zeros", "item", "to_numpy"]
NOT_ON_CPU = ["nn.scaled_matmul"]
HIDES = re.compile("custom|callback")  # functions, of which a jaxpr has only the names
#: Calls in several spellings: each is to be the program of jax.numpy in this spelling.
SPELLINGS = [
    ("clip", (X,), {"max": 2.0}), ("clip", (X, 1.0), {}),
    ("clip", (X, 1.0, 2.0), {}), ("nan_to_num", (X, True, 1.0), {}),
    ("where", (B, X, 0.0), {}), ("matmul", (X, X), {"precision": "highest"}),
    ("linalg.norm", (X, None, 1), {"keepdims": True}), ("linalg.cond", (X, 2), {}),
    ("trapezoid", (X,), {"dx": 2.0}), ("sum", (X,), {"where": B, "initial": 1.0}),
    ("average", (X, 0), {"weights": V}), ("einsum", ("ij,j->i", X, V), {}),
    ("einsum", ("ij,j", X, V), {"optimize": "greedy"}),
    ("pad", (X, ((1, 1), (0, 2))), {}), ("full_like", (X, 3), {}),
    ("concatenate", ([X, X],), {"axis": 1}), ("stack", ((X, X), 1), {}),
    ("quantile", (X, 0.3), {"axis": (0, 1)}), ("fft.fft", (X, 4), {"axis": 0}),
    ("linalg.multi_dot", ([X, X, X],), {}), ("histogram", (X, 3), {"range": [0, 9]}),
    ("round", (X, 1), {}), ("add", (X, 2), {}), ("divmod", (X, 2.0), {}),
    ("select", ([B, ~B], [X, X]), {}), ("nn.softmax", (X, 0), {"where": B}),
    ("nn.one_hot", (N, 3), {"dtype": "int32"}), ("scipy.fft.dct", (X,), {"type": 2}),
    ("nn.gelu", (X, False), {}), ("scipy.linalg.solve", (X, V), {"lower": True}),
    ("scipy.special.logsumexp", (X, 1), {"b": X}), ("cat", ([X, X],), {"axis": 1}),
    ("scipy.special.polygamma", (1, X), {}), ("topk", (X, 2), {"dim": 0}),
    ("softmax", (X,), {"dim": 1}), ("clamp", (X,), {"max": 2.0}),
    ("array", ([[1, 2], [3, X[0, 0]]],), {}),
]  # fmt: skip


def traced(function, args, named):
    static = (int, str, type(None))
    known = lambda a: isinstance(a, static) or (type(a) is tuple and a[0] is not X)
    numbers = [k for k, a in enumerate(args) if known(a)]

    def call(*args):
        return function(*args, **named)

    call.__name__ = "call"
    return jax.jit(call, static_argnums=numbers).trace(*args)


def call_of(name, plain):
    """A call that JAX's function takes, as a function of the function."""
    if name in CALLS:
        return lambda f: jax.jit(lambda x: CALLS[name](f, x)).trace(X)
    args = taken(plain)
    return lambda f: traced(f, args, {})


@functools.cache
def taken(plain):
    """Arguments that JAX's function takes."""
    for args in TRIED:
        try:
            traced(plain, args, {})
        except Exception:  # whatever it says: the next
            continue
        return args
    raise AssertionError(f"{plain.__name__}: no arguments are right")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", [n for n in NAMES if n not in EAGER])
def test_the_program_is_that_of_jax(name):
    ours = found(jnp, name)
    call = call_of(name, ours.__wrapped__)
    one, other = call(ours), call(ours.__wrapped__)
    text = str(one.jaxpr)
    assert text == str(other.jaxpr)
    # Elsewhere the text of the program has all that it does.
    if HIDES.search(text) and name not in NOT_ON_CPU:
        assert one.lower().as_text() == other.lower().as_text()


U = np.array([0.2, 0.3, 0.5], "float32")
OF_SCIPY = [
    n
    for n in EVERY
    if n.startswith(tuple(OTHERS))
    and found(jnp, n).__wrapped__.__module__.startswith("jax")
]
TRIED_OF_SCIPY = [
    (U, U), (U,), (U, U, U), (U, U, U, U), (X,), (N, 3, U), (N, N, N, U), (V, V, X),
    (U, U, U, U, U), (X, X), ((3, 3),), (N, N, 3, U),
]  # fmt: skip
CALLS_OF_SCIPY = {
    "scipy.ndimage.map_coordinates": lambda f, x: f(x, [x[0], x[1]], 1),
    "scipy.optimize.minimize": lambda f, x: f(jax.numpy.sum, x[0], method="BFGS").x,
    "scipy.stats.multinomial.logpmf": lambda f, x: f(N, 3, U),
    "scipy.stats.multinomial.pmf": lambda f, x: f(N, 3, U),
}


def call_of_scipy(name):
    """A call that JAX's function takes, as a function of the function and X."""
    if name in CALLS_OF_SCIPY:
        return CALLS_OF_SCIPY[name]
    for args in TRIED_OF_SCIPY:
        call = lambda f, x, args=args: f(*(x if a is X else a for a in args))
        try:
            jax.eval_shape(partial(call, found(jnp, name).__wrapped__), X)
        except Exception:  # whatever it says: the next
            continue
        return call
    raise AssertionError(f"{name}: no arguments are right")


def test_one_program_of_all_functions_like_scipys_is_that_of_jax():
    calls = {name: call_of_scipy(name) for name in OF_SCIPY}
    assert len(calls) > 110

    def program(function):
        def all_of_them(x):
            return [call(function(name), x) for name, call in calls.items()]

        return jax.jit(all_of_them).trace(X)

    one = program(lambda name: found(jnp, name))
    other = program(lambda name: found(jnp, name).__wrapped__)
    assert str(one.jaxpr) == str(other.jaxpr)
    assert one.lower().as_text() == other.lower().as_text()


@pytest.mark.parametrize(("name", "args", "named"), SPELLINGS)
def test_the_program_is_that_of_the_spelling(name, args, named):
    ours = found(jnp, name)
    one, other = traced(ours, args, named), traced(ours.__wrapped__, args, named)
    assert str(one.jaxpr) == str(other.jaxpr)
    assert one.lower().as_text() == other.lower().as_text()


@pytest.mark.parametrize("name", EVERY)
def test_it_looks_like_the_function_of_jax_numpy(name):
    ours = found(jnp, name)
    plain = ours.__wrapped__
    # As text: a default of NaN is not equal to itself.
    assert str(inspect.signature(ours)) == str(inspect.signature(plain))
    assert (ours.__doc__, ours.__name__) == (plain.__doc__, plain.__name__)
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert len(cloudpickle.dumps(ours)) < 200  # by reference


def test_eager_results_are_those_of_jax_numpy():
    zeros = np.array([0.0, 1.0, 0.0])
    np.testing.assert_array_equal(jnp.trim_zeros(zeros), [1.0])
    assert jnp.result_type(X, 1) == jax.numpy.result_type(X, 1)


def test_ufuncs_have_their_methods():
    assert (jnp.add.nin, jnp.add.nout, jnp.add.identity) == (2, 1, 0)
    np.testing.assert_array_equal(jnp.add.reduce(X), X.sum(0))
    np.testing.assert_array_equal(jnp.multiply.outer(V, V), np.outer(V, V))


def test_other_calls_are_refused_by_python_or_jax():
    for call in (
        lambda: jnp.exp(),
        lambda: jnp.exp(X, X),
        lambda: jnp.exp(x=X),
        lambda: jnp.add(X),
        lambda: jnp.matmul(X, X, precsion=1),
        lambda: jnp.clip(X, 1, 2, 3),
        lambda: jnp.clip(X, 1, min=2),
        lambda: jnp.clip(arr=X),
        lambda: jnp.allclose(X),
        lambda: jnp.allclose(X, rtol=1.0),
        lambda: jnp.allclose(X, X, tol=1.0),
        lambda: jnp.exp("text"),
        lambda: jnp.exp(["text"]),
        lambda: jnp.exp({"a": 1.0}),
        lambda: jnp.where(B, X, object()),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="No input"):
        jnp.clip(min=0, max=1)


# Calls that mean the same, and others that leave one argument out.
BY_NAME = [
    ("clip", [((X, 0, 1), {}), ((X,), {"min": 0, "max": 1}), ((X, 0), {"max": 1})]),
    ("clip", [((X, None, 1), {}), ((X,), {"max": 1}), ((X,), {"max": 1, "min": None})]),
    ("allclose", [((X, X, 1e-5, 0.1), {}), ((X, X), {"atol": 0.1})]),
    ("allclose", [((X, X, 0.1), {}), ((X,), {"b": X, "rtol": 0.1})]),
    ("nan_to_num", [((X, True, 1.0), {}), ((X,), {"nan": 1.0}), ((), {"x": X})]),
    ("trace", [((X, 0, 1, 0), {}), ((X,), {"axis2": 0, "axis1": 1})]),
    ("cov", [((X, None, False), {}), ((X,), {"rowvar": False})]),
]


@pytest.mark.parametrize(("name", "calls"), BY_NAME)
def test_arguments_by_name_are_those_by_position(name, calls):
    ours, theirs = getattr(jnp, name), getattr(jax.numpy, name)
    for args, named in calls:
        np.testing.assert_array_equal(ours(*args, **named), theirs(*args, **named))
        compiled = jax.jit(partial(ours, *args, **named))
        np.testing.assert_allclose(compiled(), theirs(*args, **named), rtol=1e-6)
    first, *others = [ours(*args, **named) for args, named in calls]
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_a_call_by_name_needs_no_program_of_its_own():
    x = jax.numpy.ones((3, 1, 2, 1))
    jnp.clip(x, 0, 1)
    before = jax.numpy.clip._cache_size()
    jnp.clip(x, min=0, max=1)
    jnp.clip(x, 0, max=1)
    assert jax.numpy.clip._cache_size() == before
    one = traced(jnp.clip, (X,), {"max": 2, "min": 1})
    other = traced(jax.numpy.clip, (X, 1, 2), {})
    assert str(one.jaxpr) == str(other.jaxpr)
    assert one.lower().as_text() == other.lower().as_text()


OF_LISTS = """
    add(a, b); sum(a); sum(a, -1); mean([a, b], 0); max((1, 2)); cumsum(a); exp(a);
    dot(a, b); cross(a, b); where([True, False], 1, [3, 4]); concatenate([a,
    [0.5]]); stack([a, b]); isin(2, a); clip(a, 0, [1, 2, 3]); percentile(a, [5,
    50]); full((2, 3), a); outer(a, b); linalg.norm(a); linalg.solve([[2.0, 0], [0,
    4]], [1.0, 2]); fft.fft(a); pad(a, [1, 2]); polyval(a, 2.0); searchsorted([1, 2,
    3], [2, 5]); delete(a, [0]); sum(range(4)); add.reduce(a);
    maximum.accumulate(b); einsum("i,i", a, b); interp(1.5, a, b); sort(b);
    average(a, weights=b); histogram(a, bins=[0, 1, 3])[0]; linspace([0, 1], 2, 3)
"""


@pytest.mark.parametrize("call", " ".join(OF_LISTS.split()).split("; "))
def test_lists_are_arrays_as_in_numpy(call):
    """Again, too, when it is known that JAX refuses them."""
    lists = {"a": [1.0, 2.0, 3.0], "b": (3.0, 1.0, 2.0)}
    expected = eval(f"np.{call}", {"np": np, **lists})
    for _ in range(2):
        found = eval(f"jnp.{call}", {"jnp": jnp, **lists})
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_lists_of_traced_numbers():
    def of_two(x, y):
        return jnp.linalg.norm([x, y]) + jnp.max([[x, y], [2.0, 1.0]], axis=1).sum()

    assert jnp.autojit(of_two)(3.0, 4.0) == of_two(3.0, 4.0) == 11.0
    assert jnp.grad(of_two)(jnp.float32(3.0), 4.0) == pytest.approx(0.6)
    rows = jnp.vmap(lambda x: jnp.sum([x, 2 * x]))(jnp.arange(2.0))
    assert rows.tolist() == [0, 3]


def test_lists_of_unequal_parts_are_an_error_of_numpy():
    with pytest.raises(ValueError, match="inhomogeneous"):
        jnp.sum([[1.0, 2.0], [3.0]])


def test_jit_compiles_the_function_itself():
    lowered = jax.jit(jnp.exp).lower(X).as_text()
    assert lowered == jax.jit(jax.numpy.exp).lower(X).as_text()
    assert str(jax.make_jaxpr(jnp.add)(X, X)) == str(
        jax.make_jaxpr(jax.numpy.add)(X, X)
    )


def test_operations_have_the_line_of_the_user():
    def of_user(x):
        return jnp.clip(jnp.exp(x), 0.0, 1.0)

    lowered = jax.jit(of_user).lower(X).as_text(debug_info=True)
    assert os.path.basename(__file__) in lowered
    assert "<jfi" not in lowered


def test_functions_are_made_on_first_use():
    code = """
import jfi, sys
print("exp" in vars(jfi), "jfi._dispatch._calls" in sys.modules, "exp" in dir(jfi))
from jfi import exp
from jfi.linalg import det
from jfi.fft import fft
print(exp is jfi.exp, det is jfi.linalg.det, fft is jfi.fft.fft, jfi.exp is exp)
"""
    assert output_of(code, fresh=True) == "False False True\nTrue True True True"


def test_a_warning_names_the_line_of_the_user():
    class Thing(jnp.CustomArray):
        def __jfi_array__(self):
            return jnp.ones(2)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jnp.exp(Thing())
        jax.jit(lambda: jnp.sin(Thing()))()
    assert [w.filename for w in caught] == [__file__] * 2


class Probe:
    """What stands for an array, and answers each function that looks for rules."""

    shape, ndim = (3, 3), 2

    def __jfi_function__(self, name, types, args, named):
        return "rule"

    def __getitem__(self, index):
        return self

    __lt__ = __gt__ = astype = __getitem__


def calls_with_a_probe(name):
    ours = found(jnp, name)
    if name in CALLS:
        yield CALLS[name](ours, Probe())
        return
    args = taken(ours.__wrapped__)
    for k, x in enumerate(args):
        probed = Probe() if isinstance(x, np.ndarray) else [Probe(), X]
        if isinstance(x, (np.ndarray, list)):
            yield ours(*args[:k], probed, *args[k + 1 :])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_every_array_argument_of_every_function_may_have_rules():
    without_arrays = {"ravel_multi_index", "scipy.special.bernoulli", *NOT_ON_CPU}
    without_arrays |= {"scipy.special.sph_harm_y"}  # these calls have none
    names = [n for n in NAMES if n not in [*EAGER, *without_arrays]]
    answers = {name: list(calls_with_a_probe(name)) for name in names}
    assert {n: a for n, a in answers.items() if set(map(str, a)) != {"rule"}} == {}
