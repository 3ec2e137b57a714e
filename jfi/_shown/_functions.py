"""The functions that jfi returns: they show what they are and how often they compiled.

Things that don't work (times of a call of an empty function, which takes 24 ns):

- A class with `__call__` in Python packs the arguments: 118 ns more, with three
  keywords 400 ns. `functools.partial` is called in C: 20 ns more, its subclasses the
  same from Python 3.12, at most 2 % of a small call of `jit`. In 3.11 keywords take
  150 ns, and such calls 4 to 5 % longer: there, classes written in Python have no fast
  calls (vectorcall). Python has no other class that is as fast, may have subclasses and
  has a text of its own; what `lru_cache` makes may have none.
- The same for methods: `__get__` in Python takes 140 ns more for each `a.method(x)`.
  So functions of the body of a class stay Python's own, which print
  `<function A.method at ...>`; notebooks ask them for an attribute, `_repr_html_`.
  `__set_name__`, which could put them into the class later, makes two objects of one:
  what else holds the first is not `A.method` any more.
- To be no function for `isinstance`: equinox wraps the methods of its modules, and
  IPython's autoreload mends what a session has imported, if they are functions. The
  price: IPython in a terminal prints them as it prints functions, whatever `repr` says
  or `_repr_mimebundle_` returns: `<function __main__.f(x, n=3)>`.
"""

import functools
import inspect
import reprlib
import types
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from .._values import function_name, is_named, line_label
from ._reloading import follow_in_class, is_of_tool, owner_of, remember, with_code
from ._tables import html_facts


F = TypeVar("F", bound=Callable[..., Any])
HTML = "_repr_html_"  # what notebooks ask objects for


def shown(function: F, describe: "str | Callable[[], ToolFacts]") -> F:
    """What a tool returns: a function that shows what it is.

    Args:
        function: A function that the tool has made, with the user's as `__wrapped__`.
        describe: The name of the tool; or what returns more facts. It may not hold
            `function`, whose attribute it may become: that would outlive its last use.
    """
    wrapped = cast("Any", function).__wrapped__
    if is_in_class_body(wrapped):
        if isinstance(describe, str):
            describe = functools.partial(ToolFacts, describe, wrapped)
        setattr(function, HTML, Page(describe))
        follow_in_class(cast("Any", function), HTML)
        return function
    return cast("F", ShownFunction(function, describe))


def shown_as(tool: str) -> Callable[[F], F]:
    """Decorate what a tool returns, a function whose `__wrapped__` is the user's."""
    return lambda function: shown(function, tool)


def is_in_class_body(fn: object) -> bool:
    """Whether a function is decorated in the body of a class, which will hold it."""
    if not isinstance(fn, types.FunctionType):
        return False
    *_, owner, _ = ("<locals>", *fn.__qualname__.split("."))
    return owner != "<locals>" and not is_named(fn)


class ToolFacts(NamedTuple):
    """What there is to say of a function.

    Attributes:
        tool: What made it.
        fn: The user's function.
        so_far: How often it was compiled; empty for tools that don't compile.
        facts: What else notebooks show.
    """

    tool: str
    fn: Callable[..., Any]
    so_far: str = ""
    facts: Sequence[tuple[str, str]] = ()


class Page:
    """The form for notebooks, as an attribute of a function."""

    def __init__(self, describe: "Callable[[], ToolFacts]") -> None:
        self.describe = describe

    def __call__(self) -> str:
        return _for_notebooks(self.describe())


def _in_a_line(said: ToolFacts) -> str:
    place = _where_written(said.fn)
    parts = [f"{said.tool} of {_signature(said.fn, annotated=False)}"]
    parts += [f" in {place}"] * bool(place)
    parts += [f", {said.so_far}"] * bool(said.so_far)
    return f"<{''.join(parts)}>"


def _for_notebooks(said: ToolFacts) -> str:
    known = [
        ("function", _signature(said.fn, annotated=True)),
        ("from", _where_written(said.fn)),
        ("so far", said.so_far),
    ]
    facts = [*(fact for fact in known if fact[1]), *said.facts]
    return html_facts(said.tool, facts)


def times(n: int) -> str:
    """How often something was compiled."""
    return "not compiled yet" if n == 0 else f"compiled {n} time{'s' * (n != 1)}"


class _Here(type):
    # The class is pickled by this name. Its property of the name is for the functions.
    # A property here would be what `_Here.__module__` is.
    def __getattribute__(cls, name: str) -> Any:
        return __name__ if name == "__module__" else super().__getattribute__(name)


class ShownFunction(functools.partial[Any], metaclass=_Here):
    # A function in all but its type: all attributes are those of the function inside,
    # but for the two that begin with `_jfi`.
    #
    # _jfi_function: That function.
    # _jfi_describe: The name of the tool that made it, whose `__wrapped__` is the
    #     user's function; or what returns more facts.
    if TYPE_CHECKING:
        # No annotations: those of the class would hide those of the function.
        _jfi_function = _jfi_describe = cast("Any", None)
    else:  # type checkers want these to be what they are in other classes
        _jfi_function = functools.partial.func
        func = property(lambda self: _own(self, "func", self._jfi_function))
        args = property(lambda self: _own(self, "args", ()))
        keywords = property(lambda self: _own(self, "keywords", {}))

        __class__ = types.FunctionType
        __dict__ = property(attrgetter("_jfi_function.__dict__"))
        __doc__ = property(attrgetter("_jfi_function.__doc__"))
        __module__ = property(attrgetter("_jfi_function.__module__"))

    def __new__(
        cls, function: Any, describe: "str | Callable[[], ToolFacts]"
    ) -> "ShownFunction":
        self = functools.partial.__new__(cls, function)
        object.__setattr__(self, "_jfi_describe", describe)
        remember(self)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jfi_function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        is_reloaded = name in ("__code__", "__dict__")
        if not (is_reloaded and self._jfi_become(name, value)):
            setattr(self._jfi_function, name, value)

    def _jfi_become(self, name: str, value: Any) -> bool:
        # Become the function whose code or attributes a reloading editor gives.
        if name == "__dict__":
            new = owner_of(value)
            if type(new) is not ShownFunction:
                return False
            inside, describe = attrgetter("_jfi_function", "_jfi_describe")(new)
        elif is_of_tool(value):
            return True  # its attributes say the rest
        else:
            inside = with_code(inspect.unwrap(self._jfi_function), value)
            describe = functools.partial(ToolFacts, "function", inside)
        state = inside, (), cast("dict[str, Any]", {}), {"_jfi_describe": describe}
        cast("Any", functools.partial).__setstate__(self, state)
        return True

    def __delattr__(self, name: str) -> None:
        delattr(self._jfi_function, name)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return _in_a_line(_described(self))

    def _repr_html_(self) -> str:
        return _for_notebooks(_described(self))

    def __reduce__(self) -> str:
        return str(self.__qualname__)  # by reference, as functions are pickled

    def __copy__(self) -> "ShownFunction":
        return self

    def __deepcopy__(self, memo: Any) -> "ShownFunction":
        return self


ShownFunction.__name__ = "function"  # in messages: "got a function for ..."


def _described(function: ShownFunction) -> ToolFacts:
    # As text: the attribute is private to this module, and the class has its own rules.
    describe = getattr(function, "_jfi_describe")  # noqa: B009
    if isinstance(describe, str):
        return ToolFacts(describe, function.__wrapped__)
    facts: ToolFacts = describe()
    return facts


def _own(function: ShownFunction, name: str, default: Any) -> Any:
    """An attribute that `partial` has, and that the user's function may have, too."""
    return function.__dict__.get(name, default)


def _signature(fn: Callable[..., Any], *, annotated: bool) -> str:
    """The name and the parameters; annotations may take several lines."""
    try:
        found = inspect.signature(fn)
    except (TypeError, ValueError):  # some builtins have none
        return f"{function_name(fn)}(...)"
    if not annotated:
        found = found.replace(return_annotation=found.empty)
    parameters = [
        p.replace(
            annotation=p.annotation if annotated else p.empty,
            default=p.empty if p.default is p.empty else _Short(p.default),
        )
        for p in found.parameters.values()
    ]
    return f"{function_name(fn)}{found.replace(parameters=parameters)}"


class _Short:
    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return " ".join(reprlib.repr(self.value).split())  # arrays have several lines


def _where_written(fn: Callable[..., Any]) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    try:
        plain = inspect.unwrap(getattr(fn, "__func__", fn))
    except ValueError:  # it wraps itself
        return ""
    code = getattr(plain, "__code__", None)
    return "" if code is None else line_label(code.co_filename, code.co_firstlineno)
