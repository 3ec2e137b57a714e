"""Names that are not there: the nearest one, or what to write for PyTorch's."""

import copy
import doctest
import inspect
import pickle

import jax
import numpy as np
import pytest
import scipy.optimize
from subprocesses import output_of

import jfi as jnp
from jfi import testing
from jfi._advice import _numpy_lines, _older_lines
from jfi._advice._torch_lines import INSTEAD


LINES = [
    (owner, module, name, line)
    for owner, instead in (("PyTorch", INSTEAD), ("NumPy", _numpy_lines.INSTEAD))
    for module, lines in instead.items()
    for name, line in lines.items()
]
IDS = [f"{module}.{name}" for _, module, name, _ in LINES]
MODULES = {
    "jfi": jnp,
    "jfi.nn": jnp.nn,
    "jfi.linalg": jnp.linalg,
    "jfi.testing": testing,
}


def values(path="none"):
    """What the names in the lines stand for."""
    square = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    return {
        "jnp": jnp, "jax": jax, "numpy": np, "path": path,
        "x": square / 5, "y": square.T + 1, "A": square, "B": square + 2,
        "L": jnp.linalg.cholesky(square), "As": jnp.ones((2, 3, 3)),
        "Bs": jnp.ones((2, 3, 3)), "v": jnp.array([1.0, 2.0, 3.0]),
        "w": jnp.array([0.5, 0.2, 0.1]), "b": jnp.ones(()), "s": jnp.ones(()),
        "z": square + 1j, "pairs": jnp.ones((3, 2)), "index": jnp.array([2, 0, 1]),
        "mask": square > 1, "data": [1.0, 2.0], "loss": lambda x: (x**2).sum(),
        "params": {"w": square}, "updates": {"w": square}, "value": 0.5, "weight": 0.5,
        "k": 2, "start": 1, "length": 2, "images": jnp.ones((1, 1, 4, 4)),
        "kernels": jnp.ones((1, 1, 2, 2)),
    }  # fmt: skip


@pytest.mark.parametrize(("owner", "module", "name", "line"), LINES, ids=IDS)
def test_a_line_runs_and_is_in_the_message(owner, module, name, line, tmp_path):
    code, _, remark = line.partition("  # ")
    path = tmp_path / "numbers.txt"
    path.write_text("1 2\n3 4\n")
    exec(code, values(path))
    with pytest.raises(AttributeError) as raised:
        getattr(MODULES[module], name)
    assert f"For {owner}'s {name} write: {code}" in str(raised.value)
    assert remark in str(raised.value)


def test_there_are_many_lines():
    assert len(LINES) > 100


def test_a_generator_says_what_to_write():
    rng = jnp.random.default_rng(0)
    with pytest.raises(AttributeError, match=r"Write x = jnp.random.permutation\(x\)"):
        _ = rng.shuffle
    with pytest.raises(AttributeError, match="has no nothing"):
        _ = rng.nothing
    assert copy.copy(rng).normal() == pickle.loads(pickle.dumps(rng)).normal()


def test_the_lines_at_the_top_are_of_names_of_torch(torch):
    places = [torch, torch.Tensor, torch.nn.functional, torch.cuda, torch.nn]
    for name in INSTEAD["jfi"]:
        name = {"multi_dot": "linalg", "manual_seed_all": "cuda"}.get(name, name)
        assert any(hasattr(place, name) for place in places), name


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("addmm", "torch.addmm(x, A, B)"),
        ("baddbmm", "torch.baddbmm(x.expand(2, 3, 3), As, Bs)"),
        ("addbmm", "torch.addbmm(x, As, Bs)"),
        ("addr", "torch.addr(A, v, w)"),
        ("addcmul", "torch.addcmul(x, v, w, value=0.5)"),
        ("lerp", "torch.lerp(x, y, 0.5)"),
        ("rsub", "torch.rsub(x, y)"),
        ("dist", "torch.dist(x, y)"),
        ("logdet", "torch.logdet(A)"),
        ("cholesky_inverse", "torch.cholesky_inverse(L)"),
        ("kthvalue", "torch.kthvalue(x, 2)[0]"),
        ("logcumsumexp", "torch.logcumsumexp(x, 0)"),
        ("cartesian_prod", "torch.cartesian_prod(v, w)"),
        ("scatter_add", "torch.scatter_add(v, 0, index, w)"),
        ("index_add", "torch.index_add(x, 0, index, y[index])"),
        ("linear", "torch.nn.functional.linear(x, A, v)"),
        ("normalize", "torch.nn.functional.normalize(x, dim=-1)"),
        ("cosine_similarity", "torch.cosine_similarity(v, w, 0)"),
        ("nll_loss", "torch.nn.functional.nll_loss(x, index)"),
        (
            "binary_cross_entropy_with_logits",
            "torch.nn.functional.binary_cross_entropy_with_logits(x, y)",
        ),
    ],
)
def test_a_line_gives_what_torch_gives(torch, line, value):
    ours = values()
    tensors = {
        name: torch.from_numpy(np.array(x)) if isinstance(x, jax.Array) else x
        for name, x in ours.items()
    }
    tensors["index"] = tensors["index"].long()
    code = INSTEAD["jfi"][line]
    np.testing.assert_allclose(
        eval(code, ours), eval(value, {"torch": torch, **tensors}).numpy(), rtol=1e-5
    )


def test_the_nearest_name_is_suggested():
    for name, near in {
        "matmull": "matmul",
        "autojitt": "autojit",
        "zeross": "zeros",
    }.items():
        with pytest.raises(AttributeError, match=rf"Did you mean '{near}'\?"):
            getattr(jnp, name)
    with pytest.raises(AttributeError, match=r"'jfi\.nn' .* Did you mean 'silu'"):
        _ = jnp.nn.sillu


def test_names_like_no_other_have_no_suggestion():
    with pytest.raises(AttributeError) as raised:
        _ = jnp.qwertyuiop
    assert str(raised.value) == "module 'jfi' has no attribute 'qwertyuiop'"
    assert raised.value.name == "qwertyuiop"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from jfi import zeross", "Did you mean 'zeros'?"),
        ("from jfi import mm", "write: A @ B"),
        ("from jfi.nn import Linear", "write: x @ w.T + b"),
    ],
)
def test_an_import_says_the_same(statement, message):
    with pytest.raises(ImportError) as raised:
        exec(statement, {})
    assert message in str(raised.value)
    assert raised.value.name.startswith("jfi")


def test_imports_with_another_way_still_work():
    names = {}
    exec(
        "try:\n    from jfi import mm\nexcept ImportError:\n    mm = 1\n"
        "from jfi import _autojit, linalg, KDTree",
        names,
    )
    assert names["mm"] == 1
    assert names["_autojit"].__name__ == "jfi._autojit"


def test_python_sees_a_plain_attribute_error():
    for name in ("mm", "nope", "__wrapped__", "__deepcopy__", "_private"):
        assert not hasattr(jnp, name)
        assert getattr(jnp, name, None) is None
        with pytest.raises(AttributeError) as raised:
            getattr(jnp, name)
        assert type(raised.value) is AttributeError
    with pytest.raises(AttributeError, match=r"'__wrapped__'$"):
        _ = jnp.__wrapped__
    assert inspect.unwrap(jnp) is jnp
    assert inspect.getmodule(jnp.zeros).__name__.startswith("jfi")
    assert doctest.DocTestFinder(recurse=False).find(jnp, "jfi")
    assert copy.copy(jnp.randn) is jnp.randn
    assert pickle.loads(pickle.dumps(jnp.KDTree)) is jnp.KDTree


def test_names_that_are_there_load_no_advice():
    code = """
import sys, jfi
jfi.zeros, jfi.sum, jfi.KDTree, hasattr(jfi, "__wrapped__")
print([m for m in ("jfi._advice._torch_lines", "difflib", "torch") if m in sys.modules])
advice = "jfi._advice._torch_lines"
print(hasattr(jfi, "matmull"), advice in sys.modules, "torch" in sys.modules)
"""
    before, after = output_of(code, fresh=True).splitlines()
    assert "jfi._advice._torch_lines" not in before
    assert after == "False True False"


@pytest.mark.parametrize(
    ("module", "name", "line"),
    [
        ("ndimage", "fourier_shift", "jnp.from_numpy(scipy.ndimage.fourier_shift)"),
        ("stats", "lognorm", "write: jnp.from_numpy(scipy.stats.lognorm.pdf)"),
        ("spatial", "ConvexHull", "SciPy's class is scipy.spatial.ConvexHull"),
        ("special", "gama", "Did you mean 'gamma'?"),
    ],
)
def test_names_of_scipy_that_are_not_there_say_what_to_write(module, name, line):
    pytest.importorskip("scipy")
    with pytest.raises(AttributeError) as raised:
        getattr(getattr(jnp.scipy, module), name)
    assert line in str(raised.value)
    with pytest.raises(ImportError) as raised:
        exec(f"from jfi.scipy.{module} import {name}")
    assert line in str(raised.value)


@pytest.mark.parametrize("name", _older_lines.INSTEAD["jfi"])
def test_names_of_the_older_jfi_have_a_line(name):
    code, _, _ = _older_lines.INSTEAD["jfi"][name].partition("  # ")
    exec(code, values())
    with pytest.raises(AttributeError, match="For older jfi's") as raised:
        getattr(jnp, name)
    assert code in str(raised.value)


def test_functions_of_scipy_that_take_functions_are_called_by_scipy():
    minimum = scipy.optimize.differential_evolution
    for module, name in (
        (jnp.scipy.optimize, "differential_evolution"),
        (jnp.scipy.optimize, "basinhopping"),
        (jnp.scipy.integrate, "solve_bvp"),
    ):
        with pytest.raises(AttributeError, match=rf"write: scipy\..*{name}\(jnp\.jit"):
            getattr(module, name)
    found = minimum(jnp.jit(lambda x: (x**2).sum()), [(-1.0, 1.0)] * 2, rng=0)
    assert abs(found.x).max() < 1e-3
    with pytest.raises(AttributeError, match=r"Write: jnp\.fft\.fft$"):
        _ = jnp.scipy.fft.fft


def test_pytorchs_order_of_device_and_dtype():
    assert jnp.to(jnp.ones(2), "cpu", "bfloat16").dtype == "bfloat16"
    assert jnp.to({"x": np.ones(2)}, "bfloat16")["x"].dtype == "bfloat16"
