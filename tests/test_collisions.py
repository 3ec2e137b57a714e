"""docs/collisions.md names every collision of the installed JAX, and no other."""

import importlib
import re
from pathlib import Path

import jax
import numpy as np
import pytest

import jfi as jnp
from jfi._dispatch._words import WORDS


PAGE = (Path(__file__).parents[1] / "docs" / "collisions.md").read_text()
# Rows that say so are of later releases than the installed one.
IS_OLDER = jax.__version_info__ < (0, 12)
PAIR = re.compile(r"`([\w.]+)` and `([\w.]+)`")
ROW = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)

#: Which pairs of modules the page compares: scripts mean one and get the other.
PAIRS = {
    ("jax.numpy", "jax.lax"),
    ("jax.numpy", "jax.random"),
    ("jax.numpy", "jax.nn"),
    ("jax.numpy", "jax.tree"),
    ("jax.numpy", "jax.numpy.linalg"),
    ("jax.numpy", "jax.numpy.fft"),
    ("jax.numpy", "jax.scipy.special"),
    ("jax.numpy", "jax.scipy.signal"),
    ("jax.numpy", "jax.scipy.integrate"),
    ("jax.numpy", "jax.scipy.stats"),
    ("jax.numpy", "jax.scipy.linalg"),
    ("jax.numpy.linalg", "jax.scipy.linalg"),
    ("jax.random", "jax.lax"),
    ("jax.random", "jax.scipy.special"),
    ("jax.random", "jax.scipy.stats"),
}
#: Where a name that jfi adds at the top may be another thing already.
PLACES = [
    "jax.numpy",
    "jax.lax",
    "jax.random",
    "jax.nn",
    "jax.tree",
    "jax.numpy.linalg",
    "jax.numpy.fft",
    "jax.scipy.linalg",
    "jax.scipy.special",
    "jax.scipy.stats",
]


def sections(page):
    """The rows of each section: heading -> {name: rest of the row}."""
    parts = re.split(r"^## (.*)$", page, flags=re.MULTILINE)[1:]
    return {
        heading: {
            name: rest
            for name, rest in ROW.findall(text)
            if not (IS_OLDER and "since JAX 0.12" in rest)
        }
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


def public(module):
    return {name for name in dir(module) if not name.startswith("_")}


def collisions(one, other):
    """Names of two modules that are not the same object."""
    one, other = importlib.import_module(one), importlib.import_module(other)
    shared = public(one) & public(other)
    return {name for name in shared if getattr(one, name) is not getattr(other, name)}


def plain(value):
    """JAX's function behind one of jfi that looks for rules."""
    is_ours = str(getattr(value, "__module__", "")).startswith("jfi.")
    return value.__wrapped__ if is_ours and hasattr(value, "__wrapped__") else value


def differences(page):
    """What the tables of a page have too much or too little, pair by pair."""
    told = {
        PAIR.fullmatch(h).groups(): set(r)
        for h, r in sections(page).items()
        if PAIR.search(h)
    }
    found = {pair: collisions(*pair) for pair in PAIRS}
    assert set(told) <= PAIRS
    return {
        pair: told.get(pair, set()) ^ found[pair]
        for pair in PAIRS
        if told.get(pair, set()) != found[pair]
    }


def test_the_page_has_every_collision_and_no_other():
    assert differences(PAGE) == {}


def test_a_missing_and_a_wrong_row_are_seen():
    pair = ("jax.numpy", "jax.random")
    assert differences(PAGE.replace("| `split` | `jnp.split`", "| `cut` |")) == {
        pair: {"split", "cut"}
    }


def test_the_counts_are_those_of_the_installed_jax():
    assert len(collisions("jax.numpy", "jax.lax")) == (63 if IS_OLDER else 65)
    assert collisions("jax.numpy", "jax.random") == {"split"}


@pytest.mark.parametrize("pair", sorted(p for p in PAIRS if p[0] == "jax.numpy"))
def test_the_first_of_a_pair_wins(pair):
    """At the top of jfi the name is NumPy's, and the other's is where the page says."""
    one, other = pair
    numpy, theirs = importlib.import_module(one), importlib.import_module(other)
    for name in collisions(*pair):
        ours = getattr(jnp, name)
        assert ours is not getattr(theirs, name)
        # Functions that create arrays are jfi's own, modules have the same contents.
        if name not in ("empty", "full", "full_like", "identity", "linalg", "fft"):
            assert plain(ours) is getattr(numpy, name)
        reached = other.replace("jax.numpy.", "").removeprefix("jax.")
        module = jnp
        for part in reached.split("."):
            module = getattr(module, part)
        assert plain(getattr(module, name)) is getattr(theirs, name)


def test_names_that_jfi_adds():
    added = (public(jnp) - public(jnp.numpy)) | {"linalg", "fft"}
    found = {
        name: {p for p in PLACES if name in public(importlib.import_module(p))}
        for name in added
    }
    told = {
        name: set(re.findall(r"`(jax[\w.]+)`", rest.split("|")[0]))
        for name, rest in sections(PAGE)["Names that jfi adds"].items()
    }
    assert told == {name: places for name, places in found.items() if places}


X = np.array([[3.0, 1.0, 2.0, 5.0], [4.0, 8.0, 7.0, 6.0]], "float32")
V = np.arange(4.0, dtype="float32")

#: For each row of the last table, an expression of `lib` that differs; `x` is a matrix,
#: `v` a vector, `i` an integer vector.
EXPRESSIONS = {
    "cumprod": "lib.cumprod(x)",
    "cumsum": "lib.cumsum(x)",
    "dot": "lib.dot(x, v)",
    "flip": "lib.flip(x)",
    "gradient": "len(lib.gradient(v))",
    "linspace": "lib.linspace(0, 1)",
    "logspace": "lib.logspace(0, 1)",
    "max": "lib.max(x, 1)",
    "mean": "lib.mean(i)",
    "median": "lib.median(v)",
    "meshgrid": "lib.meshgrid(v, v[:2])",
    "min": "lib.min(x, 1)",
    "nanmedian": "lib.nanmedian(v)",
    "nonzero": "lib.nonzero(v)",
    "numpy": "lib.numpy",
    "outer": "lib.outer(x, v)",
    "repeat": "lib.repeat(v, 2)",
    "select": "lib.select(x, 0, 1)",
    "sort": "lib.sort(v)",
    "split": "lib.split(i, 3)",
    "std": "lib.std(v)",
    "transpose": "lib.transpose(x[None], 0, 1)",
    "tril_indices": "lib.tril_indices(2, 2)",
    "triu_indices": "lib.triu_indices(2, 2)",
    "var": "lib.var(v)",
}


def outcome(expression, lib, make):
    """The value as NumPy arrays and their nesting, or the kind of failure."""
    names = {"lib": lib, "x": make(X), "v": make(V), "i": make(np.arange(6))}
    try:
        value = eval(expression, names)
    except Exception:
        return "refused"
    return nested(value)


def nested(value):
    if isinstance(value, (tuple, list)):
        return [nested(v) for v in value]
    return np.asarray(value).tolist() if hasattr(value, "shape") else repr(value)


def test_names_of_torch_are_the_rows(torch):
    rows = sections(PAGE)["Names of PyTorch with another meaning"]
    assert set(rows) == set(EXPRESSIONS)
    for name in rows:
        assert hasattr(jnp, name)
        assert hasattr(torch, name) or hasattr(torch.Tensor, name)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_names_of_torch_mean_something_else(torch, name):
    ours = outcome(EXPRESSIONS[name], jnp, jnp.numpy.asarray)
    theirs = outcome(EXPRESSIONS[name], torch, lambda x: torch.from_numpy(x.copy()))
    assert ours != theirs


def test_equal_meanings_would_be_seen(torch):
    ours = outcome("lib.stack([x, x])", jnp, jnp.numpy.asarray)
    theirs = outcome("lib.stack([x, x])", torch, lambda x: torch.from_numpy(x.copy()))
    assert ours == theirs != "refused"


def test_which_names_of_jax_numpy_are_others_in_jfi():
    _, _, rest = PAGE.partition("## `jax.numpy` and jfi")
    named = set(re.findall(r"`(\w+)`", rest.partition("\n## ")[0]))
    names = (name for name in jax.numpy.__dir__() if not name.startswith("_"))
    own = {n for n in names if plain(getattr(jnp, n)) is not getattr(jax.numpy, n)}
    assert own | set(WORDS) == named - {"dim", "keepdim", "exp", "numpy"}
