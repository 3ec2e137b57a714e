"""Calls with SciPy's arguments that functions of `jfi.scipy` don't have."""

import inspect
import traceback
import types

import numpy as np
import pytest
import scipy
import scipy.cluster.vq
import scipy.sparse
import scipy.stats

import jfi as jnp
from jfi.scipy import _scipy_lines


PLACES = [
    *"fft integrate interpolate linalg ndimage optimize signal special".split(),
    *"cluster.vq sparse.linalg stats.norm stats.beta stats.logistic".split(),
]
KINDS = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


class Odd:
    """A value that no function takes."""


def at(root, path):
    for name in path.split("."):
        root = getattr(root, name)
    return root


def pairs():
    """Functions of jfi.scipy and those of SciPy that they stand for."""
    for place in PLACES:
        module = at(jnp.scipy, place)
        for name in dir(module):
            ours, theirs = getattr(module, name), getattr(at(scipy, place), name, None)
            if name.startswith("_") or isinstance(ours, types.ModuleType):
                continue
            if callable(ours) and theirs is not None:
                try:
                    yield f"{place}.{name}", ours, inspect.signature(theirs)
                except (TypeError, ValueError):  # written in C
                    continue


def positional(signature):
    return [p for p in signature.parameters.values() if p.kind in KINDS]


def test_every_argument_that_is_not_there_is_refused_with_what_to_write():
    refused = []
    for name, function, theirs in pairs():
        own = inspect.signature(function)
        lines = _scipy_lines.INSTEAD.get(name, {})
        for word, p in theirs.parameters.items():
            is_same = word.startswith("x") and len(word) == 2  # of universal functions
            if word in own.parameters or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                continue
            if word in _scipy_lines.IDLE or lines.get(word, "") is None or is_same:
                continue
            if p.default is p.empty or word in _scipy_lines.RENAMED.get(name, {}):
                continue
            required = [q for q in positional(own) if q.default is q.empty]
            with pytest.raises(TypeError) as raised:
                function(*[None] * len(required), **{word: Odd()})
            said = str(raised.value)
            assert said.startswith(f"{name.rpartition('.')[2]}() takes no {word}=")
            assert len(said) > 55, said
            refused.append((name, word))
    assert len(refused) > 300
    assert {("optimize.root", "jac"), ("special.erf", "out")} <= set(refused)


def test_every_line_is_for_an_argument_of_scipy():
    for name, lines in _scipy_lines.INSTEAD.items():
        theirs = inspect.signature(at(scipy, name)).parameters
        free = any(p.kind is p.VAR_KEYWORD for p in theirs.values())
        own = inspect.signature(at(jnp.scipy, name)).parameters
        for word in lines:
            assert word in theirs or free, (name, word)
            assert word not in own, (name, word)
    for name, line in _scipy_lines.ELSEWHERE.items():
        place, _, own = name.rpartition(".")
        module = at(jnp.scipy, place) if place else jnp.scipy
        with pytest.raises(AttributeError) as raised:
            getattr(module, own)
        assert str(raised.value).endswith(line)
        if line.startswith("jnp."):
            at(jnp, line.partition("(")[0].removeprefix("jnp."))


def test_own_functions_take_by_position_what_scipy_takes():
    for name, function, theirs in pairs():
        made = function.__init__ if isinstance(function, type) else function
        code = getattr(inspect.unwrap(made), "__code__", None)
        if code is None or "/jfi/" not in code.co_filename:
            continue  # of JAX
        own = [p.name for p in positional(inspect.signature(function))]
        expected = [p.name for p in positional(theirs)][: len(own)]
        if name not in ("linalg.solve_sylvester", "sparse.linalg.LinearOperator"):
            assert own == expected, name


def square(x):
    return x**2 - 2.0


def test_what_makes_no_difference_is_left_out():
    special, linalg = jnp.scipy.special, jnp.scipy.linalg
    optimize = jnp.scipy.optimize
    x = np.array([0.3, 0.6])
    same = [
        (jnp.scipy.fft.dct(x, overwrite_x=True, workers=2), scipy.fft.dct(x)),
        (special.erf(x, out=None, where=True), scipy.special.erf(x)),
        (optimize.brentq(square, 0.0, 2.0, disp=True, full_output=False), 2**0.5),
        (optimize.newton(square, 1.0, fprime=None, disp=True), 2**0.5),
        (optimize.root(square, np.ones(1), jac=False).x, [2**0.5]),
        (optimize.least_squares(square, np.ones(1), jac="3-point").x, [2**0.5]),
        (optimize.curve_fit(lambda t, a: a * t, x, x, check_finite=True)[0], [1.0]),
        (linalg.solve_discrete_lyapunov([[0.5]], [[3.0]], method="direct"), [[4.0]]),
    ]
    for found, expected in same:
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_arguments_are_found_by_the_names_that_scipy_has():
    a, b, q = np.diag([1.0, 2.0]), np.diag([3.0, 4.0]), np.ones((2, 2))
    found = jnp.scipy.linalg.solve_sylvester(a=a, b=b, q=q)
    np.testing.assert_allclose(found, scipy.linalg.solve_sylvester(a, b, q), rtol=1e-5)
    found = jnp.scipy.stats.logistic.ppf(q=0.3, scale=2.0)
    np.testing.assert_allclose(found, scipy.stats.logistic.ppf(0.3, scale=2.0), 1e-5)
    solve = jnp.scipy.sparse.linalg.cg
    found, _ = solve(jnp.asarray(a, float), jnp.ones(2), rtol=1e-6)
    np.testing.assert_allclose(found, [1.0, 0.5], rtol=1e-5)
    with pytest.raises(TypeError, match=r"jax\.debug\.print"):
        solve(jnp.asarray(a, float), jnp.ones(2), callback=print)
    matrix = scipy.sparse.csc_array(b)
    found = jnp.scipy.sparse.linalg.spsolve(matrix, np.ones(2), None, False)
    np.testing.assert_allclose(found, [1 / 3, 1 / 4], rtol=1e-6)
    with pytest.raises(TypeError, match="takes no exact= of SciPy's"):
        jnp.scipy.linalg.pascal(3, exact=False)


def test_arguments_by_position_are_those_of_scipy():
    optimize, x = jnp.scipy.optimize, np.arange(3.0)
    found = optimize.least_squares(square, np.ones(1), "2-point", (0.0, 1.2))
    np.testing.assert_allclose(found.x, [1.2], rtol=1e-4)
    line = jnp.scipy.interpolate.interp1d(x, 2 * x, "linear", -1, True, False, 7.0)
    np.testing.assert_array_equal(line([1.5, 5.0]), [3.0, 7.0])
    found = jnp.scipy.integrate.quad(square, 0.0, 3.0, (), 0, 1e-3, 1e-3)
    np.testing.assert_allclose(found[0], 3.0, rtol=1e-5)
    for refused in (
        lambda: optimize.newton(square, 1.0, square),
        lambda: optimize.root_scalar(square, (), "newton", None, square, None, 1.0),
    ):
        with pytest.raises(TypeError, match=r"fprime= of SciPy's.*leave fprime out"):
            refused()


def test_what_scipy_does_not_have_either_is_the_error_of_python():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        jnp.scipy.integrate.quad(square, 0.0, 1.0, colour=1)
    with pytest.raises(TypeError, match="missing 1 required"):
        jnp.scipy.optimize.root(square)
    with pytest.raises(TypeError, match="multiple values"):
        jnp.scipy.integrate.quad(square, 0.0, 1.0, a=2.0)
    with pytest.raises(TypeError) as raised:
        jnp.scipy.optimize.root(lambda x: x + "a", np.ones(1))
    shown = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert shown[1:2] == ["<lambda>"]


def test_modules_and_distributions_of_scipy_say_what_to_write():
    for path, line in {
        "io": r"jnp\.from_numpy\(scipy\.io\.function\)",
        "spatial.distance": r"jnp\.cdist\(x, y\)",
        "sparse.csr_array": r"jnp\.jaxify\(scipy\.sparse\.csr_array\(\.\.\.\)\)",
        "stats.norm.rvs": "dir.jnp.random",
        "stats.norm.ppff": "Did you mean 'ppf'",
        "cluster.vq.kmeans": r"'jfi\.scipy\.cluster\.vq'.*scipy\.cluster\.vq\.kmeans",
    }.items():
        with pytest.raises(AttributeError, match=line):
            at(jnp.scipy, path)
