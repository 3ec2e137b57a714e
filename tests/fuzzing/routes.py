"""By which ways a function gets at what it reads: helpers, methods, arguments ..."""

import random
from collections.abc import Callable
from typing import NamedTuple

from .pieces import Change, Piece, filled


class Route(NamedTuple):
    """Another way to an expression, `<read>`, with placeholders as in sources.

    Attributes:
        setup: Lines before the function under the tool.
        read: The expression in place of the first.
        changes: What may happen between calls.
        argument: What to pass for the parameter `p<n>`.
        init: Lines of `Model.__init__`.
        methods: Lines of the body of `class Model`.
    """

    setup: str
    read: str
    changes: tuple[str, ...] = ()
    argument: str = ""
    init: str = ""
    methods: str = ""


ANYWHERE = {  # also where the expression has `self` or a parameter in it
    "a comprehension": Route("", "[<read> for _ in range(2)][0]"),
    "a generator": Route("", "sum(<read> for _ in range(2))"),
    "a lambda called at once": Route("", "(lambda: <read>)()"),
    "a default of a lambda": Route("", "(lambda k=<read>: k)()"),
    "a dict made inside": Route("", '{"k": <read>}["k"]'),
    "a choice": Route("S<n> = True", "(<read> if S<n> else 0.5)", (
        "S<n> = False", "S<n> = True",
    )),
    "a factor": Route("F<n> = <v>", "(F<n> * <read>)", ("F<n> = <v>", "F<n> = <any>")),
}  # fmt: skip

OF_GLOBALS = {
    "a function": Route("def h<n>():\n    return <read>", "h<n>()", (
        "def h<n>():\n    return <i> * <read>", "def h<n>():\n    return <read>",
        "h<n>.__code__ = (lambda: <i> * <read>).__code__",
    )),
    "two functions": Route(
        "def h<n>():\n    return <read>\ndef g<n>():\n    return h<n>()", "g<n>()", (
        "def h<n>():\n    return <i> * <read>", "def g<n>():\n    return <i> + h<n>()",
        "g<n> = h<n>",
    )),
    "three functions": Route(
        "def h<n>():\n    return <read>\ndef g<n>():\n    return h<n>()\n"
        "def k<n>():\n    return g<n>()", "k<n>()", (
        "def h<n>():\n    return <i> * <read>", "def g<n>():\n    return <i> + h<n>()",
    )),
    "a function with a default factor": Route(
        "def h<n>(k=<i>):\n    return k * <read>", "h<n>()", (
        "h<n>.__defaults__ = (<v>,)",
    )),
    "a lambda in a dict": Route("D<n> = {'f': lambda: <read>}", "D<n>['f']()", (
        "D<n>['f'] = lambda: <i> * <read>", "D<n> = {'f': lambda: <read>}",
    )),
    "a lambda in a list": Route("L<n> = [lambda: <read>]", "L<n>[0]()", (
        "L<n>[0] = lambda: <i> * <read>", "L<n>.insert(0, lambda: <read>)",
    )),
    "a list of functions": Route(
        "L<n> = [lambda: <read>, lambda: <v>]", "sum(f() for f in L<n>)", (
        "L<n>[1] = lambda: <v>", "L<n>.pop()\nL<n>.append(lambda: <v>)",
    )),
    "a static method": Route(
        "class S<n>:\n    @staticmethod\n    def f():\n        return <read>", "S<n>.f()",
        ("S<n>.f = staticmethod(lambda: <i> * <read>)",),
    ),
    "a class method": Route(
        "class S<n>:\n    @classmethod\n    def f(cls):\n        return <read>",
        "S<n>.f()", ("S<n>.f = classmethod(lambda cls: <i> * <read>)",),
    ),
    "a method of a global object": Route(
        "class S<n>:\n    def f(self):\n        return <read>\ns<n> = S<n>()",
        "s<n>.f()", (
        "S<n>.f = lambda self: <i> * <read>", "s<n>.f = lambda: <i> * <read>",
        "vars(s<n>).pop('f', None)",
    )),
    "a method of an object made inside": Route(
        "class S<n>:\n    def f(self):\n        return <read>", "S<n>().f()", (
        "S<n>.f = lambda self: <i> * <read>",
    )),
    "a property of a global object": Route(
        "class S<n>:\n    @property\n    def f(self):\n        return <read>\n"
        "s<n> = S<n>()", "s<n>.f", ("S<n>.f = property(lambda self: <i> * <read>)",),
    ),
    "a callable object": Route(
        "class S<n>:\n    def __call__(self):\n        return <read>\ns<n> = S<n>()",
        "s<n>()", ("S<n>.__call__ = lambda self: <i> * <read>",),
    ),
    "a closure": Route(
        "def make<n>(k):\n    def f():\n        return k * <read>\n    return f\n"
        "f<n> = make<n>(<v>)", "f<n>()", (
        "f<n> = make<n>(<v>)", "f<n>.__closure__[0].cell_contents = <v>",
    )),
    "a decorated function": Route(
        "def twice<n>(f):\n    @functools.wraps(f)\n    def wrapper():\n"
        "        return 2 * f()\n    return wrapper\n@twice<n>\ndef h<n>():\n"
        "    return <read>", "h<n>()", ("h<n> = h<n>.__wrapped__",
        "h<n> = twice<n>(h<n>)",
    )),
    "a partial": Route(
        "def h<n>(k):\n    return k * <read>\nf<n> = functools.partial(h<n>, <v>)",
        "f<n>()", ("f<n> = functools.partial(h<n>, <v>)",
        "def h<n>(k):\n    return k + <read>",
    )),
    "a function of autojit": Route(
        "@tools.autojit\ndef h<n>(k):\n    return k * <read>", "h<n>(2.0)", (
        "@tools.autojit\ndef h<n>(k):\n    return k + <read>",
    )),
    "a function by a computed name": Route(
        "def h<n>_1():\n    return <read>\ndef h<n>_2():\n    return 2 * <read>\nI<n> = 1",
        "globals()[f'h<n>_{I<n>}']()", ("I<n> = 2", "I<n> = 1"),
    ),
    "map": Route("def h<n>(k):\n    return k * <read>", "sum(map(h<n>, (1, 2)))", (
        "def h<n>(k):\n    return k + <read>",
    )),
}  # fmt: skip

ARGUMENTS = {
    "a lambda as an argument": Route("", "p<n>()", argument="lambda: <read>"),
    "a function as an argument": Route(
        "def h<n>():\n    return <read>", "p<n>()", (
        "def h<n>():\n    return <i> * <read>",
        "h<n>.__code__ = (lambda: <i> * <read>).__code__",
    ), argument="h<n>"),
    "a dict of functions as an argument": Route(
        "D<n> = {'f': lambda: <read>}", "p<n>['f']()", (
        "D<n>['f'] = lambda: <i> * <read>",
    ), argument="D<n>"),
    "a list of lambdas as an argument": Route("", "p<n>[0]()", argument="[lambda: <read>]"),
    "a partial as an argument": Route(
        "def h<n>(k):\n    return k * <read>", "p<n>()", (
        "def h<n>(k):\n    return k + <read>",
    ), argument="functools.partial(h<n>, <v>)"),
    "a bound method as an argument": Route(
        "class S<n>:\n    k = <v>\n    def f(self):\n        return self.k * <read>\n"
        "s<n> = S<n>()", "p<n>()", (
        "s<n>.k = <v>", "S<n>.k = <v>", "S<n>.f = lambda self: <i> * <read>",
    ), argument="s<n>.f"),
    "a static method as an argument": Route(
        "class S<n>:\n    @staticmethod\n    def f():\n        return <read>", "p<n>()", (
        "S<n>.f = staticmethod(lambda: <i> * <read>)",
    ), argument="S<n>.f"),
    "an object as an argument": Route(
        "class S<n>:\n    def f(self):\n        return <read>\ns<n> = S<n>()", "p<n>.f()",
        ("S<n>.f = lambda self: <i> * <read>", "s<n>.f = lambda: <i> * <read>"),
        argument="s<n>",
    ),
    "a class as an argument": Route(
        "class S<n>:\n    @classmethod\n    def f(cls):\n        return <read>",
        "p<n>.f()", ("S<n>.f = classmethod(lambda cls: <i> * <read>)",),
        argument="S<n>",
    ),
    "a callable object as an argument": Route(
        "class S<n>:\n    def __call__(self):\n        return <read>\ns<n> = S<n>()",
        "p<n>()", ("S<n>.__call__ = lambda self: <i> * <read>",), argument="s<n>",
    ),
    "a closure over a loop variable": Route(
        "", "p<n>[1]()", argument="[lambda k=k: k * <read> for k in (1.0, 2.0)]",
    ),
    "a closure as an argument": Route(
        "K<n> = <v>\ndef make<n>(k):\n    return lambda: k * <read>", "p<n>()", (
        "K<n> = <v>",
    ), argument="make<n>(K<n>)"),
    "the value as an argument": Route("", "p<n>", argument="<read>"),
    "a dict with the value as an argument": Route(
        "", "p<n>['k']", argument="{'k': <read>, 'f': np.sin}",
    ),
}  # fmt: skip

OF_SELF = {
    "a method": Route("", "self.m<n>()", (
        "Model.m<n> = lambda self: <i> * <read>", "model.m<n> = lambda: <v>",
        "vars(model).pop('m<n>', None)",
    ), methods="def m<n>(self):\n    return <read>"),
    "two methods": Route("", "self.m<n>()", (
        "Model.o<n> = lambda self: <i> * <read>",
    ), methods="def m<n>(self):\n    return self.o<n>()\n"
               "def o<n>(self):\n    return <read>"),
    "a property": Route("", "self.m<n>", (
        "Model.m<n> = property(lambda self: <i> * <read>)",
    ), methods="@property\ndef m<n>(self):\n    return <read>"),
    "a loop over methods": Route("", "sum(f() for f in (self.m<n>, self.m<n>))",
        methods="def m<n>(self):\n    return <read>",
    ),
}  # fmt: skip

HELD_BY_SELF = {
    "a function held by self": Route(
        "def h<n>():\n    return <read>", "self.h<n>()", (
        "model.h<n> = lambda: <i> * <read>", "def h<n>():\n    return <v>",
    ), init="self.h<n> = h<n>"),
    "a lambda held by self": Route("", "self.h<n>()", (
        "model.h<n> = lambda: <i> * <read>",
    ), init="self.h<n> = lambda: <read>"),
    "functions held by self": Route("", "self.h<n>[0]()", (
        "model.h<n>[0] = lambda: <i> * <read>",
    ), init="self.h<n> = [lambda: <read>]"),
    "a static method of self": Route("", "self.m<n>()", (
        "Model.m<n> = staticmethod(lambda: <i> * <read>)",
    ), methods="@staticmethod\ndef m<n>():\n    return <read>"),
}  # fmt: skip


def routed(piece: Piece, number: int, rng: random.Random, of_self: bool) -> Piece:
    """A piece with one route more.

    Args:
        piece: What is read.
        number: A part of the names of the route.
        rng: Chooses.
        of_self: Whether the function is a method.
    """
    tables = [ANYWHERE]
    if not piece.is_local:
        tables += [OF_GLOBALS] * 4 + [ARGUMENTS] * 2
    if of_self and not piece.params:
        tables += [OF_SELF] * 2
    if of_self and not piece.is_local:
        tables += [HELD_BY_SELF] * 2
    name, route = rng.choice(list(rng.choice(tables).items()))
    fill = _filler(piece, number, rng)
    level = piece.level + 1
    changes = tuple(
        Change(change.replace("<read>", piece.read), number, change, level)
        for change in route.changes
    )
    params = piece.params
    if route.argument:
        params = (*params, (f"p{number}", fill(route.argument)))
    return Piece(
        f"{piece.name}, through {name}",
        piece.number,
        _lines(piece.setup, fill(route.setup)),
        fill(route.read),
        piece.changes + changes,
        _lines(piece.init, fill(route.init)),
        _lines(piece.methods, fill(route.methods)),
        params,
        piece,
    )


def _filler(piece: Piece, number: int, rng: random.Random) -> Callable[[str], str]:
    def fill(text: str) -> str:
        return filled(text.replace("<read>", "\0"), number, rng).replace(
            "\0", piece.read
        )

    return fill


def _lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)
