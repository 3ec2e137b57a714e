"""What a code object does and which names it reads, without its place in a file."""

import __future__

import bisect
import contextlib
import dis
import functools
import hashlib
import importlib.util
import inspect
import itertools
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ._class_questions import compared_classes, is_in_place
from ._handlers import Handlers, handlers_in
from ._made_up_names import made_up_names


_READS_GLOBAL = frozenset(
    {
        "LOAD_GLOBAL",
        "LOAD_NAME",
        "LOAD_FROM_DICT_OR_GLOBALS",
        "STORE_GLOBAL",
        "DELETE_GLOBAL",
    }
)
_WRITES_GLOBAL = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_READS_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_NAMES_ATTRIBUTE = _READS_ATTRIBUTE | {"LOAD_SUPER_ATTR", "IMPORT_FROM", "DELETE_ATTR"}
_WRITES_ITEM = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR"})
_FORMATS = frozenset({"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"})
_NO_EFFECT = frozenset({"CACHE", "PUSH_NULL", "PRECALL", "EXTENDED_ARG", "NOP"})
_HAS_DOCSTRING = 0x4000000  # a flag of Python 3.13, of no effect on what code does


@dataclass(frozen=True)
class References:
    """The names that code reads, its nested functions included.

    Attributes:
        chains: Global names with the attributes read from them: `("np", "linalg")`.
        bare: Those of them that are called without arguments.
        imports: Modules imported by a statement inside, as they are written there:
            ".sub" is one beside the module of the code.
        written: Global names that are assigned or deleted.
        assigned: Attributes of global names that are assigned or deleted, as
            `("config", "on")`.
        attributes: What is read of whatever: attributes, and the texts that are names,
            as in `getattr(x, "rate")`.
        owners: Attributes of which it reads or assigns attributes, as `step` in
            `Model.step.calls += 1` and in `getattr(Model.step, "calls")`.
        stored: The attributes that are assigned. This runs code, where the class has a
            property or another descriptor of that name.
        texts: The texts that are names.
        made_up: Those of `getattr`, `hasattr` ... that it may call with other names.
        compared: The classes with which it compares `type(x)`, by their names.
        in_place: Whether it writes into what a local variable holds: `x += 1`.
        handlers: What it catches.
    """

    chains: tuple[tuple[str, ...], ...]
    bare: frozenset[tuple[str, ...]]
    imports: tuple[str, ...]
    written: tuple[str, ...]
    assigned: frozenset[tuple[str, ...]]
    attributes: frozenset[str]
    owners: frozenset[str]
    stored: frozenset[str]
    texts: frozenset[str]
    made_up: frozenset[str]
    compared: frozenset[str]
    in_place: bool
    handlers: Handlers

    def joined_with(self, other: "References") -> "References":
        """What either of two codes reads and does."""
        own, others = vars(self), vars(other)
        return References(**{name: _joined(own[name], others[name]) for name in own})

    def imports_in(self, variables: Mapping[str, Any]) -> tuple[str, ...]:
        """The full names of the modules imported inside, in code with these globals."""
        package = str(variables.get("__package__") or "")
        found = (_full_name(name, package) for name in self.imports)
        return tuple(dict.fromkeys(filter(None, found)))


def _full_name(name: str, package: str) -> str:
    with contextlib.suppress(ImportError):  # no package: the statement will say so
        return importlib.util.resolve_name(name, package)
    return ""


@functools.lru_cache(maxsize=4096)
def references(code: CodeType) -> References:
    """Read the global names and imports off the bytecode."""
    nested = [references(x) for x in code.co_consts if isinstance(x, CodeType)]
    return functools.reduce(References.joined_with, nested, _references_of(code))


def codes_within(codes: Iterable[CodeType]) -> Iterator[CodeType]:
    """Code, and that of the functions and classes that it makes."""
    for code in codes:
        yield code
        yield from codes_within(x for x in code.co_consts if isinstance(x, CodeType))


def _references_of(code: CodeType) -> References:
    """The same, without nested functions."""
    # `a.b.c` is LOAD_GLOBAL a, LOAD_ATTR b, LOAD_ATTR c: a chain is open as long as
    # attributes follow. The syntax tree would be easier to read, and is not there for
    # functions of notebooks and of `exec`.
    chains: list[tuple[str, ...]] = []
    bare: set[tuple[str, ...]] = set()
    imports: list[str] = []
    written: list[str] = []
    texts = frozenset(part for text in _texts(code) for part in _names_in(text))
    steps = [x for x in dis.get_instructions(code) if x.opname not in _NO_EFFECT]
    open_chain: tuple[str, ...] = ()
    for k, step in enumerate(steps):
        if step.opname in _WRITES_GLOBAL:
            written.append(step.argval)
        if step.opname in _READS_ATTRIBUTE and open_chain:
            open_chain = (*open_chain, step.argval)
            continue
        if open_chain:
            chains.append(open_chain)
            if step.opname == "CALL" and step.arg == 0:
                bare.add(open_chain)
        open_chain = (step.argval,) if step.opname in _READS_GLOBAL else ()
        if step.opname == "IMPORT_NAME":
            level = steps[k - 2].argval  # then the names that are imported
            imports.append("." * level + step.argval)
    if open_chain:
        chains.append(open_chain)
    return References(
        tuple(dict.fromkeys(chains)),
        frozenset(bare),
        tuple(dict.fromkeys(imports)),
        tuple(dict.fromkeys(written)),
        frozenset(_assigned(steps)),
        texts.union(_attributes(steps)),
        frozenset(_owners(steps)),
        frozenset(step.argval for step in steps if step.opname == "STORE_ATTR"),
        texts,
        frozenset(made_up_names(code)),
        frozenset(compared_classes(steps)),
        any(map(is_in_place, steps, steps[1:])),
        handlers_in(steps),
    )


def _joined(one: Any, two: Any) -> Any:
    """What two codes do, of one of the fields of `References`."""
    return tuple(dict.fromkeys(one + two)) if type(one) is tuple else one | two


def _attributes(steps: Sequence[dis.Instruction]) -> Iterator[str]:
    """The attributes that are read or deleted."""
    for step in steps:
        if step.opname in _NAMES_ATTRIBUTE:
            yield step.argval
        elif step.opname == "MATCH_CLASS":  # `case Point(x)`, `case float()`
            yield "__class__"
            if step.argval:
                yield "__match_args__"
        elif step.opname in _FORMATS:
            yield from ("__format__", "__repr__", "__str__")


def _assigned(steps: Sequence[dis.Instruction]) -> Iterator[tuple[str, ...]]:
    """Chains of names that are assigned or deleted.

    `config.on = 1`, `setattr(config, "on", 1)`, `config.__dict__["on"] = 1`,
    `vars(config)["on"] = 1`.
    """
    before: tuple[str, ...] = ()  # the chain that stands right before this one
    chain: tuple[str, ...] = ()
    for step, after in itertools.zip_longest(steps, steps[1:]):
        if step.opname in _READS_ATTRIBUTE and chain:
            chain = (*chain, step.argval)
            continue
        if step.opname in {"STORE_ATTR", "DELETE_ATTR"} and chain:
            yield (*chain, step.argval)
        if step.opname == "CALL" and before == ("vars",) and chain:
            before, chain = (), (*chain, "__dict__")
            continue
        if step.opname == "LOAD_CONST" and isinstance(step.argval, str) and chain:
            is_item = after is not None and after.opname in _WRITES_ITEM
            if before in (("setattr",), ("delattr",)):
                yield (*chain, step.argval)
            elif is_item and chain[-1] == "__dict__":
                yield (*chain[:-1], step.argval)
        before, chain = chain, ()
        if step.opname in _READS_GLOBAL:
            chain = (step.argval,)


def _owners(steps: Sequence[dis.Instruction]) -> Iterator[str]:
    """Attributes that are asked for one of their own."""
    steps = [step for step in steps if step.opname != "COPY"]  # of `x.f.calls += 1`
    for step, after in itertools.pairwise(steps):
        # A method that is called may be followed by a text, too.
        if step.opname == "LOAD_ATTR" and "NULL" not in step.argrepr:
            is_text = after.opname == "LOAD_CONST" and isinstance(after.argval, str)
            if is_text or after.opname in {*_NAMES_ATTRIBUTE, "STORE_ATTR"}:
                yield step.argval


def _texts(code: CodeType) -> Iterator[str]:
    """Text constants, also those of the names in `case Point(x=0)`."""
    for value in code.co_consts:
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str):
                yield text


def _names_in(text: str) -> list[str]:
    """The attributes that a text names, as in `attrgetter("own.rate")`."""
    parts = text.split(".")
    return parts if all(map(str.isidentifier, parts)) else []


@functools.lru_cache(maxsize=4096)
def code_digest(code: CodeType) -> bytes:
    """A digest of what code does: no file, line, comment or docstring enters."""
    bytecode: Any = dis.Bytecode(code)  # checkers don't know its `exception_entries`
    steps = [step for step in bytecode if step.opname not in _NO_EFFECT]
    offsets = [step.offset for step in steps]

    def place(offset: int) -> int:
        # By the number of steps: `try:` in a line by itself is one more, a NOP.
        return bisect.bisect_left(offsets, offset)

    def operand(step: dis.Instruction) -> bytes:
        # Constants by value: their numbers change when a docstring comes or goes.
        if step.opcode in dis.hasconst:
            return constant(step.argval)
        is_jump = step.opcode in dis.hasjrel or step.opcode in dis.hasjabs
        return repr(place(step.argval) if is_jump else step.arg).encode()

    handlers = [
        (place(entry.start), place(entry.end), place(entry.target), *entry[3:])
        for entry in bytecode.exception_entries
    ]
    flags = code.co_flags & ~(_HAS_DOCSTRING | __future__.annotations.compiler_flag)
    starred = bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
    parameters = code.co_argcount + code.co_kwonlyargcount + starred
    shape = (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        flags,
        code.co_names,
        code.co_varnames[:parameters],
        *(_counted(code, names) for names in (
            code.co_varnames[parameters:], code.co_freevars, code.co_cellvars
        )),
    )  # fmt: skip
    digests = (token(step.opname.encode(), operand(step)) for step in steps)
    whole = token(repr((shape, handlers)).encode(), *digests)
    return hashlib.sha256(whole).digest()


def _counted(code: CodeType, names: tuple[str, ...]) -> tuple[object, ...]:
    """Names of local variables; their number alone where nothing asks for names."""
    if not _ASKS_FOR_LOCALS.isdisjoint(code.co_names):
        return names
    return len(names), [name for name in names if name.startswith("__")]


_ASKS_FOR_LOCALS = frozenset(
    ("__code__", "_getframe", "currentframe", "dir", "eval", "exec", "f_locals",
     "locals", "stack", "vars")
)  # fmt: skip


def constant(value: Any) -> bytes:
    """The bytes of a constant, such that only equal ones of one type share them."""
    kind = type(value).__name__.encode()
    if isinstance(value, CodeType):
        return token(kind, code_digest(value))
    if isinstance(value, tuple):
        return token(kind, *map(constant, value))
    if isinstance(value, frozenset):
        return token(kind, *sorted(map(constant, value)))
    if isinstance(value, float):
        return token(kind, struct.pack("<d", value))
    if isinstance(value, complex):
        return token(kind, struct.pack("<dd", value.real, value.imag))
    if isinstance(value, int) and not isinstance(value, bool):
        return token(kind, hex(value).encode())  # str() refuses long integers
    if isinstance(value, str):
        return token(kind, value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return token(kind, value)
    return token(kind, repr(value).encode())  # None, bool, ..., slices of these


def token(*fields: bytes) -> bytes:
    """Fields joined with their lengths, so that no two lists of fields look alike."""
    return b"".join(struct.pack("<Q", len(field)) + field for field in fields)
