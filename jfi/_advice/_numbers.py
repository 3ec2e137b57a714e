"""Python and NumPy code that needs a traced array's value: `float(x)`, `np.sin(x)`.

A name of another module is looked up in jfi, so that the advised line is one that runs.
"""

import ast
import builtins
import copy
import math
import operator
import re
import sys
import types
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from .._values import is_tracer
from ._finding import CodePlace, code_place
from ._rewriting import for_loop
from ._sizes import SIZES, is_size, of_result
from ._wording import line_with, of_traced, statement_with, what_to_write


# ---- float(x), int(x), x.item(), math.sin(x), "%f" % x ----


def of_value(error: BaseException) -> str | None:
    """For JAX's error that it needs a concrete value."""
    place = code_place(error)
    if place is None:
        return None
    jnp = place.alias
    node: ast.AST | str | None = place.node
    what = place.node
    general = _ARRAYS_INSTEAD.format(jnp=jnp)
    line = None
    match node if place.is_direct else None:
        case ast.Call(ast.Name("float" | "int" | "complex" as kind), [x]):
            what, line = x, f"({ast.unparse(x)}).astype({kind})"
        case ast.Call(ast.Attribute(x, "item" | "tolist" as method), []):
            what, line = x, ast.unparse(x)
            node = f"{method}()"
        case ast.Call(ast.Attribute(ast.Name(module), name)) if (
            place.frame.f_globals.get(module) is math
        ):
            what = None
            line = _called(place.node, name, jnp)
        case ast.BinOp(ast.Constant(str()), ast.Mod()) | ast.JoinedStr():
            return _printing(place)
        case ast.Call():
            return of_result(place)
        case _:
            pass
    needs = "a value" if what is None else f"the value of `{ast.unparse(what)}`"
    if is_size(place):
        line, general = None, SIZES
    if line is not None:
        line = statement_with(place, line)
    return of_traced(place, _failed_code(node), needs) + what_to_write(line, general)


_ARRAYS_INSTEAD = (
    "arrays of shape () in place of Python numbers: {jnp}.sin(x) for math.sin(x), "
    "x.astype(int) for int(x). What must be a Python number, such as a size, must be "
    "passed as one"
)


def of_format(error: BaseException) -> str | None:
    """For `f"{x:.2f}"`."""
    place = code_place(error)
    return None if place is None else _printing(place)


def _printing(place: CodePlace) -> str:
    line = None
    # Inside a text, Python 3.11 has no exact places.
    around: Any = place.node
    while around is not None and not isinstance(around, ast.Call):
        around = place.parents.get(around)
    match around:
        case ast.Call(ast.Name("print"), [ast.JoinedStr() as text], []):
            line = _debug_print(text, place.alias)
        case _:
            pass
    general = (
        f'{place.alias}.debug.print("x is {{}}", x), which prints values when the '
        "compiled function runs"
    )
    said = of_traced(place, "A text", "the digits of a value")
    return said + what_to_write(line, general)


def _debug_print(text: ast.JoinedStr, jnp: str) -> str | None:
    """`print(f"{x:.2f}")` as JAX can do it."""
    form, values = "", list[str]()
    for part in text.values:
        match part:
            case ast.Constant(str() as words):
                form += words.replace("{", "{{").replace("}", "}}")
            case ast.FormattedValue(value, -1, None):
                form, values = form + "{}", [*values, ast.unparse(value)]
            case ast.FormattedValue(value, -1, ast.JoinedStr([ast.Constant(spec)])):
                form, values = (
                    form + "{:" + str(spec) + "}",
                    [*values, ast.unparse(value)],
                )
            case _:
                return None
    return f"{jnp}.debug.print({', '.join([repr(form), *values])})"


# ---- range(n), items[i] ----


def of_index(error: BaseException) -> str | None:
    """For JAX's error that it needs an int."""
    place = code_place(error)
    if place is None:
        return None
    jnp, line = place.alias, None
    match place.node:
        case ast.Call(ast.Name("range"), bounds):
            line = for_loop(place.parents.get(place.node), jnp)
            general = _LOOPS.format(jnp=jnp)
            needed = " and ".join(_traced_names(place, bounds)) or "`n`"
        case ast.Subscript(items, i):
            chosen = ast.unparse(items), ast.unparse(i)
            needed = f"`{chosen[1]}`"
            if _are_functions(place.value_of(items)):
                line = f"{jnp}.switch({chosen[1]}, {chosen[0]}, ...)"
            else:
                line = statement_with(place, f"{jnp}.array({chosen[0]})[{chosen[1]}]")
            general = ""
        case _:
            needed, general = "an int", SIZES
    said = of_traced(place, _failed_code(place.node), f"the value of {needed}")
    return said + what_to_write(line, general)


_LOOPS = (
    "{jnp}.fori_loop(0, n, body, state) for a loop of n steps. If n is a setting, pass "
    "it as a Python int"
)


def _are_functions(items: Any) -> bool:
    return isinstance(items, Sequence) and all(map(callable, items))


def _traced_names(place: CodePlace, nodes: Sequence[ast.AST]) -> list[str]:
    """The names in some expressions that stand for traced values."""
    names = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    traced = (n.id for n in names if is_tracer(place.value_of(n)))
    return [f"`{name}`" for name in dict.fromkeys(traced)]


# ---- np.sin(x), scipy.special.erf(x), table[i], a[0] = x ----


def of_array(error: BaseException) -> str | None:
    """For JAX's error that it has no NumPy array to give."""
    place = code_place(error)
    if place is None:
        return None
    line, needs = None, "an array"
    match place.node if place.is_direct else None:
        case ast.Call(function) as call:
            needs = _needed(place, call)
            line = _in_jfi(place, call, function)
        case ast.Subscript(items, i, ast.Load()):
            needs = f"the value of `{ast.unparse(i)}`"
            array = f"{place.alias}.asarray({ast.unparse(items)})"
            line = statement_with(place, f"{array}[{ast.unparse(i)}]")
        case _:
            pass
    general = (
        "{jnp}.f(x) for np.f(x); for a function that takes NumPy's arrays alone, "
        "{jnp}.from_numpy(f)(x)"
    )
    if line is not None and isinstance(place.node, ast.Call):
        line = statement_with(place, line)
    said = of_traced(place, _failed_code(place.node), needs)
    return said + what_to_write(line, general.format(jnp=place.alias))


def of_elements(error: BaseException) -> str | None:
    """For `a[0] = x` where `a` is a NumPy array."""
    place = code_place(error)
    if place is None or not isinstance(error.__cause__, jax.errors.JAXTypeError):
        return None
    line = None
    match place.node, place.parents.get(place.node) if place.node else None:
        case ast.Subscript(ast.Name(array), i), ast.Assign([_], value):
            index, new = ast.unparse(i), ast.unparse(value)
            line = f"{array} = {place.alias}.asarray({array}).at[{index}].set({new})"
        case _:
            pass
    said = of_traced(place, "A NumPy array", "the value of an element")
    return said + what_to_write(line, f"{place.alias}.asarray(a).at[i].set(x)")


WIDE = r"^An overflow .* argument path .* <class 'int'> with value (-?\d+)$"


def of_wide(error: BaseException) -> str | None:
    """For `x + 2**40`: an integer of Python that 32 bits don't hold."""
    place, found = code_place(error), re.search(WIDE, str(error))
    if place is None or found is None:
        return None
    operands: list[ast.expr] = []
    match place.node if place.is_direct else None:
        case ast.BinOp(left, _, right) | ast.Compare(left, [_], [right]):
            operands = [left, right]
        case ast.AugAssign(left, _, right):
            operands = [left, right]
        case _:
            pass
    plain = [x for x in operands if not isinstance(place.value_of(x), jax.Array)]
    counts = any(
        jax.numpy.issubdtype(getattr(place.value_of(x), "dtype", float), np.integer)
        for x in operands
    )
    line = None
    if len(plain) == 1 and not counts:
        line = line_with(place, f"float({ast.unparse(plain[0])})", plain[0])
    said = (
        f"The integer {found[1]}{place.within} is too large for the 32-bit world, "
        f"whose integers are below 2**31.\n{place.shown}"
    )
    return said + what_to_write(line, f"float(n) for n; or {_world(place)}")


WIDE_DTYPE = r"^Explicitly requested dtype (\w+) "


def of_wide_dtype(error: BaseException) -> str | None:
    """For `x.astype(jnp.float64)`."""
    place, found = code_place(error), re.search(WIDE_DTYPE, str(error))
    if place is None or found is None:
        return None
    default, line = _default_of(found[1]), None
    match place.node if place.is_direct else None:
        case ast.Call(ast.Attribute(_, "astype") as method, [_]):
            line = statement_with(place, f"{ast.unparse(method)}({default})")
        case _:
            pass
    said = f"The 32-bit world{place.within} has no {found[1]}.\n{place.shown}"
    if line is not None:
        return said + what_to_write(line, "") + f"\nOr {_world(place)}."
    return said + what_to_write(None, f"{default} for {found[1]}; or {_world(place)}")


def _default_of(dtype: str) -> str:
    """The Python type whose default dtype stands for a 64-bit one."""
    kinds = {"float64": "float", "complex128": "complex", "int64": "int"}
    return kinds.get(dtype, '"uint32"')


def _world(place: CodePlace) -> str:
    return f'{place.alias}.set_default_dtype("float64") at the start of the script'


WIDE_RESULT = "^result_shape_dtypes cannot specify 64-bit types"


def of_wide_result(error: BaseException) -> str | None:
    """For `pure_callback(f, ShapeDtypeStruct((), int), x)`: int is int64 there."""
    place = code_place(error)
    if place is None:
        return None
    line, jnp = None, place.alias
    match place.node if place.is_direct else None:
        case ast.Call(ast.Attribute(_, "pure_callback"), [f, _, *args], []) as call:
            arguments = ", ".join(map(ast.unparse, args))
            host = f"{jnp}.from_numpy({ast.unparse(f)})({arguments})"
            line = statement_with(place, host, call)
        case _:
            pass
    said = (
        f"The result of a callback{place.within} is declared with 64 bits, which the "
        "32-bit world does not have: int and float are int64 and float64 in a "
        f"ShapeDtypeStruct.\n{place.shown}"
    )
    other = f"{jnp}.ShapeDtypeStruct(shape, {jnp}.int32), or {jnp}.float32"
    if line is not None:
        return said + what_to_write(line, "") + f"\nOr {other}."
    return said + what_to_write(None, f"{other}; or {jnp}.from_numpy(f)(x)")


def _needed(place: CodePlace, call: ast.Call) -> str:
    names = _traced_names(place, call.args)
    return f"the value of {' and '.join(names)}" if names else "an array"


def _in_jfi(place: CodePlace, call: ast.Call, function: ast.expr) -> str | None:
    """A call of NumPy's or SciPy's function as one of jfi's."""
    match function:
        case ast.Attribute(of, method) if isinstance(place.value_of(of), np.ndarray):
            return _called(call, f"asarray({ast.unparse(of)}).{method}", place.alias)
        case _:
            name = _name_with_module(place, function)
    top, _, rest = name.partition(".")
    if top not in ("numpy", "scipy"):
        return None
    name = rest if top == "numpy" else name
    if (line := _called(call, name, place.alias)) is not None:
        return line
    host = f"{place.alias}.from_numpy({ast.unparse(function)})"
    return _with_function(call, host)


def _name_with_module(place: CodePlace, function: ast.expr) -> str:
    """The name of a function, from the module on; "" if it is not of a module."""
    match function:
        case ast.Attribute(of, name):
            module = place.value_of(of)
            is_module = isinstance(module, types.ModuleType)
            return f"{module.__name__}.{name}" if is_module else ""
        case _:
            value = place.value_of(function)
            module = getattr(value, "__module__", None) or "numpy"  # of a ufunc
            return f"{module}.{getattr(value, '__name__', '')}"


def _called(call: ast.AST | None, name: str, jnp: str) -> str | None:
    """A call of jfi's function of a name, with the same arguments; None if none is."""
    path = name.partition("(")[0]
    try:
        operator.attrgetter(path)(sys.modules["jfi"])
    except (AttributeError, ImportError):
        return None
    return _with_function(call, f"{jnp}.{name}")


def _with_function(call: ast.AST | None, function: str) -> str:
    other: Any = copy.copy(call)
    other.func = ast.Name(function)
    return ast.unparse(other)


def _failed_code(node: ast.AST | str | None) -> str:
    """What failed, at the beginning of a sentence."""
    match node:
        case str(text):
            return f"`{text}`"
        case ast.Call(function):
            name = ast.unparse(function)
            kind = "Python's " if name in vars(builtins) else ""
            return f"{kind}`{name}()`"
        case ast.Subscript(items):
            return f"The index of `{ast.unparse(items)}`"
        case _:
            return "Python code"
