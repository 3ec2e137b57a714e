"""Edits without meaning: what was compiled before one is found after it.

Each script of `edited_scripts` starts, is edited in each way of `EDITS`, and starts
again. `python -m fuzzing.edits` from the folder `tests` runs all of them; with names,
those edits alone.
"""

import ast
import collections
import shutil
import sys
import tempfile
from pathlib import Path

import edited_scripts
from restarting import start


# Of scripts that see what the edits change.
SEES = (
    "__annotations__", "__code__", "__dataclass_fields__", "__doc__", "dir(", "fields(",
    "locals", "register\n", "vars",
)  # fmt: skip
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def comments(source):
    """Comments and empty lines, and other spaces between words."""
    return "# why\n\n" + ast.unparse(ast.parse(source)).replace("\n", "\n\n    # why\n")


def docstrings(source):
    """A docstring in each function and class that has none."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (*Function, ast.ClassDef)) and not ast.get_docstring(node):
            node.body.insert(0, ast.Expr(ast.Constant("What it does.")))
    return ast.unparse(tree)


def annotations(source, nested=False):
    """Annotations of all parameters and results, and of local variables."""
    tree = ast.parse(source)
    inner = {
        below
        for node in ast.walk(tree)
        if isinstance(node, Function)
        for below in ast.walk(node)
        if isinstance(below, Function) and below is not node
    }
    for node in ast.walk(tree):
        if isinstance(node, Function) and (node in inner) == nested:
            for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                if arg.arg not in ("self", "cls"):
                    arg.annotation = ast.Name("float")
            node.returns = ast.parse("list[float]").body[0].value
    return ast.unparse(ast.fix_missing_locations(tree))


def nested_annotations(source):
    """The same for functions in functions."""
    return annotations(source, nested=True)


def future_annotations(source):
    """Annotations as texts."""
    return "from __future__ import annotations\n" + source


class Renamed(ast.NodeTransformer):
    """Other names for the local variables of a function."""

    def __init__(self, names):
        self.names = names

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node


def renamed_locals(source):
    """Local variables of functions have other names, in another order."""
    tree = ast.parse(source)
    outer = [node for node in ast.walk(tree) if isinstance(node, Function)]
    inner = {b for node in outer for b in ast.walk(node) if b is not node}
    for node in outer:
        if node not in inner:
            names = sorted(local_names(node))
            number = {name: f"z{len(names) - k}" for k, name in enumerate(names)}
            Renamed(number).visit(node)
    return ast.unparse(tree)


def local_names(function):
    """What is assigned in a function, and named by nothing else but names."""
    assigned, others = set(), set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        elif isinstance(node, ast.arg):
            others.add(node.arg)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            others.update(node.names)
        elif isinstance(node, ast.ClassDef):  # its variables are attributes
            others.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        elif isinstance(node, ast.ExceptHandler):
            others.add(node.name)
    return assigned - others


def other_code(source):
    """Functions, classes and variables that nothing uses, above and below."""
    return f"""
import collections as other_module
other_constant = [1, 2, 3]
def other_function(x): return other_constant[0] * x
{source}

class OtherClass:
    def go(self): return other_function(1)
another = OtherClass()
"""


def functions_moved(source):
    """Functions that stand one after the other change places."""
    return moved(source, ast.Module)


def methods_moved(source):
    """Methods that stand one after the other change places."""
    return moved(source, ast.ClassDef)


def moved(source, kind):
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, kind):
            body = node.body
            for k in range(0, len(body) - 1, 2):
                pair = body[k : k + 2]
                if all(type(x) is ast.FunctionDef and plain(x) for x in pair):
                    body[k : k + 2] = reversed(pair)
    return ast.unparse(tree)


def plain(function):
    args = function.args
    return not (function.decorator_list or args.defaults or args.kw_defaults)


def another_name(source):
    """The file and its folder have other names (as in all of these)."""
    return source


EDITS = {
    edit.__name__.replace("_", " "): edit
    for edit in (
        another_name, comments, docstrings, annotations, nested_annotations,
        future_annotations, renamed_locals, other_code, functions_moved, methods_moved,
    )
}  # fmt: skip


def scripts():
    """Scripts by name, without those that see what the edits change."""
    tables = {**edited_scripts.EDITED, **edited_scripts.UNTOUCHED}
    found = {name: pair[0] for name, pair in tables.items()}
    return {
        name: edited_scripts.headed(script)
        for name, script in found.items()
        if not any(text in script for text in SEES)
    }


def measured(names=tuple(EDITS), part=slice(None)):
    """For each edit, how many programs are found after it, and which are not.

    Args:
        names: The edits.
        part: Which of the scripts.
    """
    chosen = dict([*scripts().items()][part])
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as name:
        folder = Path(name)
        (folder / "cache").mkdir(0o700)
        start(chosen, folder, 0)
        again = start(chosen, folder, 1)
        kept = {k: v for k, v in chosen.items() if again[k]["hits"]}
        shutil.copytree(folder / "cache", folder / "first")
        for number, edit in enumerate(names):
            shutil.rmtree(folder / "cache")
            shutil.copytree(folder / "first", folder / "cache")
            edited = {k: EDITS[edit](script) for k, script in kept.items()}
            found = start(edited, folder, 2 + number)
            missed = [
                f"---- {k}, {edit}: {one['hits']} found, {one['misses']} compiled, "
                f"plain {one['plain']}, kept {one['kept']}\n{edited[k]}"
                for k, one in found.items()
                if not one["hits"] or one["misses"] or one["kept"] != one["plain"]
            ]
            yield edit, len(kept) - len(missed), missed


def main(*names):
    """Run edits, and show after which programs are not found."""
    total = collections.Counter()
    for edit, count, missed in measured(names or tuple(EDITS)):
        print(*missed, sep="\n", flush=True)
        print(f"{edit}: {count} of {count + len(missed)} found", flush=True)
        total.update(found=count, missed=len(missed))
    print(f"{total['found'] / total.total():.2%} found: {dict(total)}")
    return total["missed"]


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 1))
