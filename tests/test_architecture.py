"""The shape of the code itself: who imports whom, how long things get."""

import ast
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "jfi").rglob("*.py")) + sorted((ROOT / "server").rglob("*.py"))

# From the bottom up: a module imports only from the rows above its own in this list.
ROWS = [
    {"_code", "_errors", "_compat", "_torch_advice"},
    {
        "_lazy", "_devices", "_distributions", "_missing_names", "_numpy_functions",
    },
    {"_config"},
    {
        "_float64", "_generator", "_placement", "_python_branches", "_sizes", "_trees",
    },
    {
        "_arguments", "_kinds_of_draws", "_outside", "_per_function", "_seeding",
        "_staging",
    },
    {"_compiled", "_jitted"},
    {"_jit", "_own_stream", "_sampling"},
    {"_vmap"},
    {"_autojit", "_progress"},
    {
        "_batching", "_callback", "_conversion", "_creation", "_derivatives",
        "_fingerprint", "_loops", "_random", "_random_keys", "_ranges", "_sharing",
    },
    {"_torch_names", "_transforms"},
    {"_haiku", "_kdtree", "_numpy_random", "_persistent", "_torch"},
    {"_generators"},
    {"linalg", "fft", "nn", "random", "scipy"},
    {"_numpy"},
    {"__init__"},
    {"__main__"},
]  # fmt: skip
ROW = {name: i for i, names in enumerate(ROWS) for name in names}
PRIVATE_JAX = ("jax._src", "jax.extend", "jax.interpreters", "jaxlib")
OPTIONAL = {"torch", "scipy", "rpyc", "haiku", "dask", "pytensor", "autoray"}


def imported(tree, *, top_level=False):
    """(module, line) of each import; names of `from . import x` come as `.x`."""
    for node in tree.body if top_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((a.name, node.lineno) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            names = [node.module] if node.module else [a.name for a in node.names]
            yield from ((dots + name, node.lineno) for name in names)


def attribute_chains(tree):
    """Dotted names that are used, such as `jax._src.core`, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node), node.lineno


def misplaced_imports(path, tree):
    """Imports of a module of jfi that are not from a row below its own.

    A folder is one concept: its files import each other freely, and are one module
    to all others.
    """
    name, *inside = path.relative_to(ROOT / "jfi").with_suffix("").parts
    dots = "." * (1 + len(inside))
    for target, line in imported(tree):
        if target.startswith(dots) and not target.startswith(dots + "."):
            module = target.removeprefix(dots).split(".")[0]
            if ROW[module] >= ROW[name]:
                yield f"line {line}: {name} imports {module}"


def private_uses(tree):
    """Uses of what JAX does not document."""
    for name, line in [*imported(tree), *attribute_chains(tree)]:
        if name.startswith(PRIVATE_JAX):
            yield f"line {line}: {name}"


def long_functions(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[1 if ast.get_docstring(node) else 0 :]
            length = node.end_lineno - first[0].lineno + 1 if first else 0
            if length > 60:
                yield f"line {node.lineno}: {node.name} has {length} lines"


@pytest.fixture(params=FILES, ids=lambda file: str(file.relative_to(ROOT)))
def module(request):
    return request.param, ast.parse(request.param.read_text())


def test_imports_point_down(module):
    path, tree = module
    if path.is_relative_to(ROOT / "jfi"):
        assert list(misplaced_imports(path, tree)) == []


def test_undocumented_jax_only_in_compat(module):
    path, tree = module
    if path.parent != ROOT / "jfi" / "_compat":
        assert list(private_uses(tree)) == []


def test_optional_packages_are_imported_on_use(module):
    path, tree = module
    if path.is_relative_to(ROOT / "jfi"):
        names = [name for name, _ in imported(tree, top_level=True)]
        assert not OPTIONAL & {name.split(".")[0] for name in names}


def test_jfi_names_the_server_only_on_use(module):
    path, tree = module
    if path.is_relative_to(ROOT / "jfi"):
        assert not [n for n, _ in imported(tree) if n.startswith("jfi_server")]


def test_sizes(module):
    path, tree = module
    assert len(path.read_text().splitlines()) <= 400
    assert list(long_functions(tree)) == []


def test_modules_say_what_they_hold(module):
    path, tree = module
    assert ast.get_docstring(tree), path


def test_every_module_has_a_row():
    names = {
        f.relative_to(ROOT / "jfi").parts[0]
        for f in FILES
        if f.is_relative_to(ROOT / "jfi")
    }
    assert {name.removesuffix(".py") for name in names} == set(ROW)


# ------------------------------------------------------- the checks above can fail


def test_a_misplaced_import_is_seen():
    tree = ast.parse("from ._autojit import autojit")
    assert list(misplaced_imports(ROOT / "jfi" / "_trees.py", tree)) != []


def test_a_misplaced_import_of_a_folder_is_seen():
    path = ROOT / "jfi" / "_autojit" / "_kinds.py"
    assert list(misplaced_imports(path, ast.parse("from ._opening import x"))) == []
    assert list(misplaced_imports(path, ast.parse("from .._trees import x"))) == []
    assert list(misplaced_imports(path, ast.parse("from .._torch import x"))) != []


@pytest.mark.parametrize(
    "code", ["import jax._src.core", "from jaxlib import xla_client", "jax._src.config"]
)
def test_private_jax_is_seen(code):
    assert list(private_uses(ast.parse(code))) != []


def test_a_long_function_is_seen():
    code = "def f():\n" + "    pass\n" * 61
    assert list(long_functions(ast.parse(code))) == ["line 1: f has 61 lines"]
