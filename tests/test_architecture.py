"""The shape of the code itself: who imports whom, how long things get."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "jfi").rglob("*.py")) + sorted((ROOT / "server").rglob("*.py"))

# The table of docs/design.md: a room imports only from floors below its own.
MAP = (ROOT / "docs" / "design.md").read_text()
FLOOR = {
    room: int(floor)
    for floor, rooms in re.findall(r"^\| (\d) \| ([^|]+) \|", MAP, re.MULTILINE)
    for room in re.findall(r"`(\w+)`", rooms)
}
# The floor below the table of contents: what nobody else imports.
WINGS = {room for room, floor in FLOOR.items() if floor == 8} | {"testing"}
CONTENTS = ROOT / "jfi" / "__init__.py"
PRIVATE_JAX = ("jax._src", "jax.extend", "jax.interpreters", "jaxlib")
OPTIONAL = {"torch", "scipy", "haiku", "dask", "pytensor", "autoray"}


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
        names, below = [], node
        while isinstance(below, ast.Attribute):
            names.append(below.attr)
            below = below.value
        if names and isinstance(below, ast.Name):
            yield ".".join([below.id, *reversed(names)]), node.lineno


def misplaced_imports(path, tree):
    """Imports that are not from a floor below; files of one room are free."""
    if not path.is_relative_to(ROOT / "jfi") or path == CONTENTS:
        return
    name, *inside = path.relative_to(ROOT / "jfi").with_suffix("").parts
    dots = "." * (1 + len(inside))
    for target, line in imported(tree):
        if target.startswith(dots) and not target.startswith(dots + "."):
            module = target.removeprefix(dots).split(".")[0]
            if FLOOR[module] >= FLOOR[name]:
                yield f"line {line}: {name} imports {module}"


def early_wings(path, tree):
    """Wings that the table of contents does not leave for their first use."""
    if path == CONTENTS:
        for node in tree.body:
            if not isinstance(node, ast.If):
                for name, line in imported(ast.Module([node], [])):
                    if name.strip(".").split(".")[0] in WINGS:
                        yield f"line {line}: {name}"


def private_uses(path, tree):
    """Uses of what JAX does not document."""
    if path.parent == ROOT / "jfi" / "_jax_internals":
        return
    for name, line in [*imported(tree), *attribute_chains(tree)]:
        if name.startswith(PRIVATE_JAX):
            yield f"line {line}: {name}"


def early_imports(path, tree):
    """Optional packages that are not imported on use, and the server."""
    if path.is_relative_to(ROOT / "jfi"):
        for name, line in imported(tree, top_level=True):
            if name.split(".")[0] in OPTIONAL:
                yield f"line {line}: {name}"


def imports_of_the_server(path, tree):
    """The server, which jfi knows by name alone, but for its types."""
    if path.is_relative_to(ROOT / "jfi"):
        blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
        typing = [b for b in blocks if ast.unparse(b.test) == "TYPE_CHECKING"]
        for_types = {line for block in typing for _, line in imported(block)}
        for name, line in imported(tree):
            if name.startswith("jfi_server") and line not in for_types:
                yield f"line {line}: {name}"


def long_functions(path, tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[1 if ast.get_docstring(node) else 0 :]
            length = node.end_lineno - first[0].lineno + 1 if first else 0
            if length > 60:
                yield f"line {node.lineno}: {node.name} has {length} lines"


def long_files(path, tree):
    length = len(path.read_text().splitlines())
    if length > 700:
        yield f"{length} lines"


def missing_docstrings(path, tree):
    if not ast.get_docstring(tree):
        yield "says not what it holds"


def silent_fallbacks(path, tree):
    """Errors of every class that are dropped, without a comment that says why."""
    lines = path.read_text().splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            takes_all = not node.type or ast.unparse(node.type).endswith("Exception")
            passes_on = any(isinstance(n, ast.Raise) for n in ast.walk(node))
            silent = takes_all and not (node.name or passes_on)
        else:
            silent = isinstance(node, ast.With) and "suppress(Exc" in ast.unparse(node)
        if silent:
            code = "\n".join(lines[node.lineno - 2 : node.end_lineno])
            if "#" not in code and "_log." not in code:
                yield f"line {node.lineno}: says not why errors are dropped"


RULES = (
    misplaced_imports, early_wings, private_uses, early_imports, imports_of_the_server,
    long_functions, long_files, missing_docstrings, silent_fallbacks,
)  # fmt: skip


@pytest.fixture(scope="module")
def trees():
    return {path: ast.parse(path.read_text()) for path in FILES}


@pytest.mark.parametrize("rule", RULES)
def test_every_module_keeps_the_rule(rule, trees):
    found = {
        str(path.relative_to(ROOT)): list(rule(path, trees[path])) for path in trees
    }
    assert {path: faults for path, faults in found.items() if faults} == {}


def test_the_map_names_every_room():
    names = {
        f.relative_to(ROOT / "jfi").parts[0]
        for f in FILES
        if f.is_relative_to(ROOT / "jfi")
    }
    assert {name.removesuffix(".py") for name in names} == set(FLOOR)


def rooms_of_the_map():
    """Each room that has a table in the map, and the files and folders in it."""
    rooms = re.findall(
        r"^\| (?:module \()?in `([\w/]+)`\)? \| holds \|\n\|[ -|]+\n((?:\|.+\n)+)",
        MAP,
        re.MULTILINE,
    )
    for room, rows in rooms:
        cells = " ".join(row.split("|")[1] for row in rows.splitlines())
        yield ROOT / "jfi" / room, re.findall(r"`([\w/]+)`", cells)


def test_the_map_names_the_files_of_rooms():
    tables = list(rooms_of_the_map())
    assert len(tables) > 6
    for folder, named in tables:
        places = {folder / name for name in named}
        assert [
            x for x in places if not (x.is_dir() or x.with_suffix(".py").exists())
        ] == []
        files = [f.with_suffix("") for f in folder.rglob("[!_]*.py")]
        files += [f.with_suffix("") for f in folder.rglob("_[!_]*.py")]
        assert [f for f in files if not places & {f, *f.parents}] == []


def test_a_folder_says_what_it_holds():
    for init in ROOT.glob("jfi/**/__init__.py"):
        folder = init.parent
        names = re.findall(r"`(_\w+)", ast.get_docstring(ast.parse(init.read_text())))
        around = (folder, ROOT / "jfi")
        places = {place for a in around for place in (*a.glob("_*"), *a.glob("_*.py"))}
        assert set(names) <= {place.stem for place in places}, init


def complex_functions():
    """Where functions with 12 branches or more are, by ruff."""
    command = [sys.executable, "-m", "ruff", "check", "--select=C901", "--isolated"]
    command += ["--config=lint.mccabe.max-complexity=11", "--output-format=json"]
    found = subprocess.run([*command, "jfi", "server"], cwd=ROOT, capture_output=True)
    for fault in json.loads(found.stdout):
        yield Path(fault["filename"]), fault["location"]["row"]


def test_a_comment_says_why_a_function_is_complex():
    places = list(complex_functions())
    assert len(places) > 5
    for path, line in places:
        tree, lines = ast.parse(path.read_text()), path.read_text().splitlines()
        defs = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        (fn,) = (n for n in defs if n.lineno == line)
        code = lines[fn.lineno : fn.end_lineno]
        assert sum(x.strip().startswith("# ") for x in code) >= 1, (path, fn.name)


# ------------------------------------------------------- the checks above can fail


def test_a_misplaced_import_is_seen():
    tree = ast.parse("from .._autojit import autojit")
    assert list(misplaced_imports(ROOT / "jfi" / "_values" / "_data.py", tree)) != []


def test_a_misplaced_import_of_a_folder_is_seen():
    path = ROOT / "jfi" / "_autojit" / "_kinds.py"
    assert list(misplaced_imports(path, ast.parse("from ._opening import x"))) == []
    assert list(misplaced_imports(path, ast.parse("from .._values import x"))) == []
    assert list(misplaced_imports(path, ast.parse("from .._transforms import x"))) != []


def test_an_import_of_a_wing_by_the_core_is_seen():
    tree = ast.parse("def f():\n    from ..scipy.linalg import expm")
    for room in ("_autojit", "_inspect", "bridges"):
        assert list(misplaced_imports(ROOT / "jfi" / room / "_x.py", tree)) != []
    tree = ast.parse("from .._autojit import autojit")
    assert list(misplaced_imports(ROOT / "jfi" / "scipy" / "_x.py", tree)) == []


def test_an_early_import_of_a_wing_is_seen():
    assert list(early_wings(CONTENTS, ast.parse("from . import nn, scipy"))) != []
    assert list(early_wings(CONTENTS, ast.parse("from .bridges.torch import x"))) != []
    lazy = "if TYPE_CHECKING:\n    from .bridges.torch import x"
    assert list(early_wings(CONTENTS, ast.parse(lazy))) == []


PLACE = ROOT / "jfi" / "_values" / "_data.py"


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (private_uses, "import jax._src.core"),
        (private_uses, "from jaxlib import xla_client"),
        (private_uses, "jax._src.config"),
        (early_imports, "from torch import nn"),
        (imports_of_the_server, "if x:\n    import jfi_server.client"),
        (imports_of_the_server, "def f():\n    import jfi_server.client"),
        (long_functions, "def f():\n" + "    pass\n" * 61),
        (missing_docstrings, "x = 1"),
    ],
)
def test_a_fault_is_seen(rule, code):
    assert list(rule(PLACE, ast.parse(code)))


def test_a_long_file_is_seen(tmp_path):
    (tmp_path / "long.py").write_text("pass\n" * 701)
    assert list(long_files(tmp_path / "long.py", None)) == ["701 lines"]


def test_a_silent_fallback_is_seen(tmp_path):
    for code, n in [
        ("try:\n    x\nexcept Exception:\n    pass", 1),
        ("try:\n    x\nexcept Exception:  # as x says\n    pass", 0),
        ("\nwith suppress(Exception):\n    x", 1),
    ]:
        path = tmp_path / "module.py"
        path.write_text(code)
        assert len(list(silent_fallbacks(path, ast.parse(code)))) == n


def test_the_map_names_files_that_there_are():
    rows = MAP.partition("| to change | go to, in `jfi/` |")[2].partition("\n\n")[0]
    places = re.findall(r"`([\w/]+(?:\.py|/))`", rows)
    assert len(places) > 10
    assert [x for x in places if not (ROOT / "jfi" / x).exists()] == []
