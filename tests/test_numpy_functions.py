"""PyTorch's `dim` and `keepdim` in the functions of jax.numpy."""

import inspect
import os
import pickle

import jax
import numpy as np
import pytest
from against_torch import compare, compiled_together  # noqa: F401
from subprocesses import output_of

import jfi as jnp
from jfi._dispatch._words import WORDS


X = np.array([[3.0, -1.0, 2.0, 5.0], [4.0, 8.0, -7.0, 6.0]], "float32")
NAN = np.where(X == 2.0, np.nan, X).astype("float32")
INDEX = np.array([[0, 1], [3, 2]])

#: For each function, arguments with which it can be called, and the words it takes.
CALLS = {
    **dict.fromkeys(WORDS, ((X,), {})),
    **dict.fromkeys(["std", "var", "nanstd", "nanvar"], ((X,), {"ddof": 1})),
    "array_split": ((X, 2), {}),
    "concat": (([X, X],), {}),
    "concatenate": (([X, X],), {}),
    "cross": ((X[:, :3], X[:, 1:]), {"dim": 1}),
    "percentile": ((X, 30.0), {}),
    "nanpercentile": ((X, 30.0), {}),
    "quantile": ((X, 0.3), {}),
    "nanquantile": ((X, 0.3), {}),
    "repeat": ((X, 2), {}),
    "roll": ((X, 1), {}),
    "rot90": ((X,), {"dims": (1, 0)}),
    "squeeze": ((X[None],), {}),
    "stack": (([X, X],), {}),
    "take": ((X, INDEX[:, 0] // 3), {}),
    "take_along_axis": ((X, (X > 2).astype(int)), {}),
    "tensordot": ((X, X.T), {"dims": 1}),
    "vecdot": ((X, X), {}),
}
REFUSED = ["gradient", "max", "min", "median", "nanmedian", "sort", "split"]
TAKEN = sorted(set(WORDS) - set(REFUSED))


def both_spellings(name):
    """The arguments, and the keywords with PyTorch's words and with NumPy's."""
    args, given = CALLS[name]
    words = {"dim": 0} if "dim" in WORDS[name] else {}
    if "keepdim" in WORDS[name]:
        words["keepdim"] = True
    torch_words = {**words, **given}
    numpy_words = {WORDS[name].get(word, word): v for word, v in torch_words.items()}
    return args, torch_words, numpy_words


def assert_equal(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(a, b)
        assert getattr(a, "dtype", None) == getattr(b, "dtype", None)


def program(function, args, words):
    """The jaxpr of a call; whole numbers among the arguments are known."""

    def call(*args):
        return function(*args, **words)

    static = [i for i, arg in enumerate(args) if isinstance(arg, int)]
    return str(jax.make_jaxpr(call, static_argnums=static)(*args))


@pytest.mark.parametrize("name", TAKEN)
def test_dim_is_axis(name):
    args, torch_words, numpy_words = both_spellings(name)
    plain = getattr(jax.numpy, name)
    args = jax.tree.map(jax.numpy.asarray, args)
    assert_equal(getattr(jnp, name)(*args, **torch_words), plain(*args, **numpy_words))
    assert_equal(getattr(jnp, name)(*args, **numpy_words), plain(*args, **numpy_words))


@pytest.mark.parametrize("name", TAKEN)
def test_compiled_it_is_the_same_program(name):
    args, torch_words, numpy_words = both_spellings(name)
    if name in ("size", "unique"):
        pytest.skip("gives numbers, or shapes that depend on them")
    ours = program(getattr(jnp, name), args, torch_words)
    mixed = program(getattr(jnp, name), args, numpy_words)
    theirs = program(getattr(jax.numpy, name), args, numpy_words)
    assert ours == theirs == mixed


NEEDS_WORDS = {"cumulative_prod", "cumulative_sum", "expand_dims", "tensordot"}


@pytest.mark.parametrize("name", sorted(set(WORDS) - {"size", "unique"} - NEEDS_WORDS))
def test_without_words_it_is_the_same_program(name):
    args, _ = CALLS[name]
    args = (*args, 2) if name == "split" else args
    args = (X[:, :3], X[:, 1:]) if name == "cross" else args
    ours = program(getattr(jnp, name), args, {})
    theirs = program(getattr(jax.numpy, name), args, {})
    assert ours == theirs


@pytest.mark.parametrize("name", sorted(WORDS))
def test_signature_and_documentation_are_those_of_jax_numpy(name):
    ours, plain = getattr(jnp, name), getattr(jax.numpy, name)
    assert inspect.signature(ours) == inspect.signature(plain)
    assert (ours.__doc__, ours.__name__) == (plain.__doc__, plain.__name__)
    assert ours.__wrapped__ is plain
    assert pickle.loads(pickle.dumps(ours)) is ours is getattr(jnp, name)
    assert not hasattr(ours, "lower")  # jax.jit would copy it, and compile JAX's own


@pytest.mark.parametrize("name", sorted(set(TAKEN) - {"size"}))
def test_both_words_are_refused(name):
    args, torch_words, _ = both_spellings(name)
    word = "dims" if "dim" not in WORDS[name] else "dim"
    target = WORDS[name][word]
    value = torch_words.get(word, 0)
    message = rf"^{name}\(\) got both {word} and {target}, which mean the same\. Pass"
    with pytest.raises(TypeError, match=message):
        getattr(jnp, name)(*args, **{**torch_words, target: value, word: value})


def test_both_words_are_refused_by_position_and_as_none():
    for call in (
        lambda: jnp.sum(X, 0, dim=1),
        lambda: jnp.sum(X, axis=None, dim=1),
        lambda: jnp.cumsum(X, 0, dim=1),
        lambda: jnp.sum(X, 0, None, None, True, keepdim=True),
    ):
        with pytest.raises(TypeError, match="which mean the same"):
            call()


@pytest.mark.parametrize("name", [n for n in REFUSED if n != "gradient"])
def test_another_result_than_pytorchs_is_refused(name):
    args = (X, 2) if name == "split" else (X,)
    words = (
        [{"dim": 1}, {"keepdim": True}] if "keepdim" in WORDS[name] else [{"dim": 1}]
    )
    for given in words:
        with pytest.raises(TypeError, match=rf"{name}\(\) takes no dim") as raised:
            getattr(jnp, name)(*args, **given)
    assert f"jnp.{name}(x" in str(raised.value)
    assert_equal(
        getattr(jnp, name)(*args, axis=1), getattr(jax.numpy, name)(*args, axis=1)
    )


def test_the_gradient_is_refused():
    with pytest.raises(TypeError, match=r"Write jnp\.gradient\(x, axis=0\)\."):
        jnp.gradient(X, dim=0)
    assert_equal(jnp.gradient(X, axis=0), jax.numpy.gradient(X, axis=0))


@pytest.mark.parametrize("name", ["std", "var", "nanstd", "nanvar"])
def test_the_divisor_must_be_named(name):
    message = rf"Write jnp\.{name}\(x, axis=0, ddof=1\)"
    with pytest.raises(TypeError, match=message):
        getattr(jnp, name)(X, dim=0)
    with pytest.raises(TypeError, match=rf"jnp\.{name}\(x, axis=0, ddof=1\)"):
        getattr(jnp, name)(X, 0, keepdim=True)
    plain = getattr(jax.numpy, name)
    for ddof in (0, 1):
        assert_equal(getattr(jnp, name)(X, dim=0, ddof=ddof), plain(X, 0, ddof=ddof))
    assert_equal(getattr(jnp, name)(X, 0), plain(X, 0))


def test_lines_of_refusals_run():
    for line, shape in {
        "jnp.max(x, axis=0)": (4,),
        "jnp.argmax(x, axis=0)": (4,),
        "jnp.sort(x, axis=1)": (2, 4),
        "jnp.std(x, axis=0, ddof=1)": (4,),
        "jnp.median(x, axis=0)": (4,),
    }.items():
        assert eval(line, {"jnp": jnp, "x": X}).shape == shape
    assert [p.shape for p in jnp.chunk(X, 2, dim=1)] == [(2, 2), (2, 2)]


AS_TORCH = {
    "all": {"dim": 1}, "amax": {"dim": 0, "keepdim": True}, "amin": {"dim": (0, 1)},
    "any": {"dim": 0, "keepdim": True}, "argmax": {"dim": 1, "keepdim": True},
    "argmin": {"dim": 0}, "argsort": {"dim": 1, "descending": True},
    "count_nonzero": {"dim": 0}, "cumprod": {"dim": 0}, "cumsum": {"dim": 1},
    "diff": {"dim": 0, "n": 1}, "flip": {"dims": (0, 1)},
    "mean": {"dim": (0, 1), "keepdim": True}, "nanmean": {"dim": 0},
    "nansum": {"dim": 1, "keepdim": True}, "prod": {"dim": 0, "keepdim": True},
    "rot90": {"dims": (1, 0), "k": 1}, "squeeze": {"dim": 0},
    "std": {"dim": 0, "correction": 1}, "sum": {"dim": 0, "keepdim": True},
    "trapezoid": {"dim": 0}, "var": {"dim": 1, "correction": 0, "keepdim": True},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(AS_TORCH))
def test_results_are_those_of_torch(x64, torch, name):
    x = X[:1] if name == "squeeze" else X
    if name in ("nanmean", "nansum"):
        x = NAN
    compare(getattr(jnp, name), getattr(torch, name), x, **AS_TORCH[name])


def test_results_with_several_arguments_are_those_of_torch(x64, torch):
    compare(jnp.stack, torch.stack, [X, X], dim=1)
    compare(jnp.concat, torch.concat, [X, X], dim=1)
    compare(jnp.concatenate, torch.concatenate, [X, X], dim=1)
    compare(jnp.roll, torch.roll, X, 1, dims=1)
    compare(jnp.quantile, torch.quantile, X, 0.3, dim=1, keepdim=True)
    compare(jnp.nanquantile, torch.nanquantile, NAN, 0.3, dim=0)
    compare(jnp.cross, torch.cross, X[:, :3], X[:, 1:], dim=1)
    compare(jnp.repeat, torch.repeat_interleave, X, 2, dim=1)
    compare(jnp.take_along_axis, torch.take_along_dim, X, INDEX, dim=1)
    compare(jnp.vecdot, torch.linalg.vecdot, X, X, dim=0)
    compare(jnp.tensordot, torch.tensordot, X, np.ascontiguousarray(X.T), dims=1)
    for ours, theirs in zip(
        jnp.unstack(X, dim=1), torch.unbind(torch.tensor(X), dim=1), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs.numpy())
    rows = np.array([[1, 2], [0, 1], [1, 2]])
    found = jnp.unique(rows, return_inverse=True, dim=0)
    wanted = torch.unique(torch.tensor(rows), return_inverse=True, dim=0)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(ours).reshape(theirs.shape), theirs)


def test_several_dimensions_as_a_list_as_of_torch(torch):
    x = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
    for name in ("sum", "mean", "amax", "amin", "nansum", "nanmean", "flip"):
        words = {"dims": [0, 2]} if name == "flip" else {"dim": [0, 2]}
        theirs = getattr(torch, name)(torch.tensor(x), **words)
        ours = getattr(jnp, name)(x, **words)
        np.testing.assert_allclose(ours, theirs)


def test_no_dimensions_are_refused_as_they_are_all_to_torch():
    for words in ({"dim": ()}, {"dim": []}, {"dim": (), "keepdim": True}):
        with pytest.raises(TypeError, match=r"sum\(\) got dim=\(\).* Write dim=None"):
            jnp.sum(jnp.ones((2, 3)), **words)
    assert jnp.sum(jnp.ones((2, 3)), axis=()).shape == (2, 3)


def test_under_transformations():
    def loss(x):
        return jnp.sum(jnp.mean(x, dim=0, keepdim=True) ** 2)

    def by_axis(x):
        return jax.numpy.sum(jax.numpy.mean(x, axis=0, keepdims=True) ** 2)

    for transform in (jax.jit, jnp.jit, jax.grad, jnp.grad, jnp.autojit):
        assert_equal(transform(loss)(X), transform(by_axis)(X))
    sums = jnp.vmap(lambda row: jnp.sum(row, dim=0))(X)
    assert_equal(sums, jax.numpy.asarray(X.sum(1)))
    assert_equal(jax.jit(jnp.sum, static_argnames="axis")(X, axis=0), X.sum(0))


def test_other_errors_are_those_of_python():
    with pytest.raises(TypeError, match=r"sum\(\) got an unexpected keyword .*'dims'"):
        jnp.sum(X, dims=0)
    with pytest.raises(
        TypeError, match=r"^expand_dims\(\) missing 1 required .*'axis'"
    ):
        jnp.expand_dims(X)
    with pytest.raises(TypeError, match=r"^cumsum\(\) missing 1 required .*'a'"):
        jnp.cumsum()


def test_jax_numpy_is_not_changed():
    with pytest.raises(TypeError, match="dim"):
        jax.numpy.sum(X, dim=0)
    assert jnp.numpy is jax.numpy
    assert jnp.sin.__wrapped__ is jax.numpy.sin


def test_a_function_is_made_on_first_use():
    code = """
import jfi
print("sum" in vars(jfi), "sum" in dir(jfi), jfi.sum is jfi.sum, "sum" in vars(jfi))
from jfi import sum, cumsum, any
print(sum is jfi.sum, cumsum.__wrapped__ is jfi.numpy.cumsum, any.__name__)
"""
    assert output_of(code) == "False True True True\nTrue True any"


def test_autojit_compiles_once_and_traces_the_users_function_alone():
    names = {"jnp": jnp}
    exec(
        """
@jnp.autojit
def f(x, flip):
    y = jnp.cumsum(x, dim=0) if flip else jnp.amax(x, dim=0, keepdim=True)
    return y.sum() + jnp.std(x, axis=0).sum()

def step(carry, row):
    return carry + jnp.sum(row, dim=0), jnp.mean(row, dim=-1)

def loop(x):
    return jnp.scan(step, 0.0, x)
""",
        names,
    )
    f, loop = names["f"], names["loop"]
    for _ in range(3):
        f(X, True), f(X, False)
        total, means = loop(jnp.array(X))
    assert f.cache_info().traces == 2
    np.testing.assert_allclose(total, X.sum(), rtol=1e-6)
    np.testing.assert_allclose(means, X.mean(1), rtol=1e-6)


def test_an_operation_has_the_line_of_the_user():
    def of_user(x):
        return jnp.sum(x, dim=0)

    lowered = jax.jit(of_user).lower(X).as_text(debug_info=True)
    assert os.path.basename(__file__) in lowered
    assert "<jfi" not in lowered


def test_the_table_names_functions_with_those_parameters():
    for name, words in WORDS.items():
        parameters = inspect.signature(getattr(jax.numpy, name)).parameters
        assert set(words.values()) <= set(parameters)


def test_stubs_have_the_words():
    import ast
    from pathlib import Path

    import jfi._dispatch._numpy_functions as module

    stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text())
    found = {}
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            a = node.args
            names = {x.arg for x in [*a.posonlyargs, *a.args, *a.kwonlyargs]}
            found[node.name] = names & {"dim", "dims", "keepdim"}
    wanted = {n: set() if n in REFUSED else set(words) for n, words in WORDS.items()}
    assert found == wanted


# ---- arrays in the byte order of another machine, as files of FITS hold them ----


@pytest.mark.parametrize(
    "fn",
    [
        jnp.sin,
        jnp.sum,
        jnp.array,
        jnp.asarray,
        jnp.to,
        jnp.linalg.norm,
        jnp.scipy.special.erf,
        lambda x: jnp.where(x > 1, x, 0.0),
        lambda x: jnp.softmax(x, dim=0),
        lambda x: jnp.clip(x, 0, 2),
        lambda x: jnp.add(x, x),
        lambda x: jnp.array([x, x]),
        lambda x: jnp.KDTree(x).query(np.zeros(3))[0],
    ],
)
def test_bytes_of_other_machines_are_numbers(fn):
    native = np.arange(6.0, dtype="f4").reshape(2, 3)
    theirs = fn(native)  # JAX takes other bytes for those of what it has compiled
    ours = fn(native.astype(native.dtype.newbyteorder("S")))
    np.testing.assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype
