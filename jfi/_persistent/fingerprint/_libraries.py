"""What libraries hold: no version stands for what a script has set there.

A flag, a policy, a default, a registry with functions of the user's: library code reads
them, and a program is made of what they were. `contents` writes down what a name in a
library stands for, as far as values tell. `LibraryReads` notes which names code read
that ran in a trace, and whether the user's own code ran that nothing else leads to.
"""

import contextlib
import contextvars
import functools
import hashlib
import importlib
import re
import sys
import types
import weakref
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import Any, ClassVar, TypeAlias

import jax
import numpy as np

from ..._autojit._reading import LRU_CACHED
from ..._errors import FingerprintError
from ..._values import (
    code_digest,
    constant,
    is_installed_module,
    is_key,
    is_tracer,
    is_user_code,
    is_user_function,
    is_user_module,
    line_label,
    references,
)
from ._names import library_name
from ._walk import CONSTANTS


LibraryState: TypeAlias = dict[str, dict[str, str | dict[str, str]]]
"""By module and name: a digest of what it stands for, or of some parts of that."""

_Parts: TypeAlias = dict[str, str]  # digests of attributes, or of one value under ""

# No script sets there what changes results, but for what is in the key by itself; or
# they only look at what runs.
_LEFT_OUT = frozenset(
    """IPython _pytest beartype coverage debugpy ipykernel jax jaxlib jaxtyping jfi
    jfi_server ml_dtypes numpy opt_einsum pluggy pydevd pytest tqdm typeguard
    typing_extensions""".split()
)
_MOST_VALUES = 20_000  # in what one name stands for
_NOT_OPENED = (
    weakref.ref, weakref.WeakKeyDictionary, weakref.WeakValueDictionary,
    weakref.WeakSet, types.GeneratorType, types.FrameType, types.CodeType,
)  # fmt: skip
_OF_CLASSES = frozenset(
    """__annotations__ __dict__ __doc__ __firstlineno__ __module__ __qualname__
    __static_attributes__ __weakref__ _abc_impl""".split()
)


def is_left_out(module: object) -> bool:
    """Whether what a module holds is not looked at: Python's, JAX's, NumPy's."""
    top = str(module).partition(".")[0]
    return top in _LEFT_OUT or top in sys.stdlib_module_names


def contents(value: Any) -> str:
    """A digest of what a name in a library stands for.

    Raises:
        FingerprintError: It can't be looked at.
    """
    writer = _Contents()
    writer.add(value)
    if isinstance(value, type):
        writer.add_class(value)
    return hashlib.sha256(b"".join(writer.parts)).hexdigest()[:16]


class _Contents:
    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[object] = []  # an id stands for its object while that lives

    def put(self, *words: object) -> None:
        self.parts.append(repr(words).encode("utf-8", "surrogatepass"))

    def add(self, value: Any) -> None:
        kind = type(value)
        if kind in CONSTANTS:
            self.parts.append(constant(value))
            return
        if (number := self._numbers.get(id(value))) is not None:
            self.put("seen", number)
            return
        self._numbers[id(value)] = len(self._numbers)
        self._alive.append(value)
        if len(self._alive) > _MOST_VALUES:
            raise FingerprintError("holds too much to be compared.")
        self._open(value, kind)

    def _open(self, value: Any, kind: type) -> None:
        if isinstance(value, (jax.Array, np.ndarray, np.generic, np.dtype)):
            self._array(value)
        elif isinstance(value, (type, types.ModuleType, Enum)) or _is_function(value):
            self._named(value)
        elif isinstance(value, (list, tuple, deque)):
            self.put(kind.__qualname__, len(value))
            for item in list(value):
                self.add(item)
        elif isinstance(value, (set, frozenset)):
            self.put(kind.__qualname__, sorted(map(contents, list(value))))
        elif isinstance(value, (dict, types.MappingProxyType)):
            self._mapping(value)
        else:
            self._object(value, kind)

    def _array(self, value: Any) -> None:
        self.put(type(value).__qualname__, repr(getattr(value, "dtype", value)))
        if isinstance(value, np.dtype) or is_tracer(value):
            return
        with contextlib.suppress(RuntimeError):  # it was donated
            array = np.asarray(jax.random.key_data(value) if is_key(value) else value)
            self.put(array.shape)
            if array.dtype.hasobject:
                self.add(array.tolist())
            else:
                self.parts.append(hashlib.sha256(array.tobytes()).digest())

    def _named(self, value: Any) -> None:
        """Functions, classes and the like: by name; the user's by all that they do."""
        if isinstance(value, types.ModuleType):
            self.put("module", value.__name__)
        elif isinstance(value, Enum):
            self.put("enum", library_name(type(value)), value.name)
        elif _is_users(value):
            self.put("user's", _fingerprint(value))
        else:
            self.put("named", library_name(value))
            for name in ("__defaults__", "__kwdefaults__"):
                self.add(getattr(value, name, None))
            if isinstance(value, types.FunctionType):
                self._attributes(value.__dict__)

    def _mapping(self, value: Mapping[Any, Any]) -> None:
        # Not in the order of the keys: libraries fill tables as they are imported.
        self.put(type(value).__qualname__, len(value))
        items = [(contents(key), item) for key, item in list(value.items())]
        for key, item in sorted(items, key=lambda pair: pair[0]):
            self.put(key)
            self.add(item)
        self._attributes(getattr(value, "__dict__", {}))

    def _object(self, value: Any, kind: type) -> None:
        self.put("object", library_name(kind))
        if isinstance(value, contextvars.ContextVar):
            self.add(value.get(None))
        elif isinstance(value, functools.partial):
            self.add((value.func, value.args, value.keywords))
        elif isinstance(value, (re.Pattern, PurePath)):
            self.put(str(getattr(value, "pattern", value)))
        elif isinstance(value, _NOT_OPENED):
            pass
        elif is_user_module(kind.__module__):
            self.put(_fingerprint(value))
        elif kind.__module__.partition(".")[0] in _LEFT_OUT:
            self.put(str(getattr(value, "__name__", "")))
        else:
            self._attributes(_attributes_of(value))

    def _attributes(self, attributes: Mapping[str, Any]) -> None:
        for name, value in sorted(attributes.items()):
            if name != "__wrapped__":
                self.put(name)
                self.add(value)

    def add_class(self, cls: type) -> None:
        """What a class of a library and its bases have as attributes."""
        for base in cls.__mro__:
            module = base.__module__
            if not (is_left_out(module) or is_user_module(module)):
                self.put(library_name(base))
                attributes = vars(base).items()
                self._attributes({k: v for k, v in attributes if k not in _OF_CLASSES})


def _is_function(value: Any) -> bool:
    return isinstance(value, _FUNCTIONS) or hasattr(type(value), "__wrapped__")


_FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    LRU_CACHED,
)  # fmt: skip


def _is_users(value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        return is_user_function(value)
    return isinstance(value, type) and is_user_module(value.__module__)


def _fingerprint(value: Any) -> str:
    from ._identity import fingerprint  # which needs this module

    return fingerprint(value)


def _is_opened(value: Any) -> bool:
    """Whether it is an object of a library with attributes of its own."""
    kind = type(value)
    is_other = isinstance(value, (type, types.ModuleType, Enum, *_NOT_OPENED))
    if is_other or _is_function(value) or is_user_module(kind.__module__):
        return False
    return bool(kind.__dictoffset__) and not is_left_out(kind.__module__)


def _attributes_of(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            with contextlib.suppress(Exception):  # it is not set, or has another name
                found[str(name)] = getattr(value, name)
    with contextlib.suppress(TypeError):
        found |= vars(value)
    return found


# ---- what a trace reads ----


class LibraryReads:
    """Notes what code reads in libraries, as it begins to run.

    What a trace itself changes there is a library's own account: what it counts, or
    remembers, or has on a stack. That is left out, attribute by attribute.
    """

    _changed: ClassVar[set[tuple[str, str, str]]] = set()  # by any trace so far

    def __init__(self) -> None:
        self._codes: dict[int, types.CodeType] = {}
        self._users: list[types.CodeType] = []
        self._before: dict[tuple[str, str], _Parts] = {}
        self._refused = ""

    def __call__(self, frame: types.FrameType) -> None:
        """Code begins to run that is neither JAX's nor jfi's."""
        code = frame.f_code
        if id(code) in self._codes:
            return
        self._codes[id(code)] = code
        module = str(frame.f_globals.get("__name__"))
        if module not in sys.modules:  # generated, as methods of named tuples are
            return
        if is_user_code(module, code):
            self._users.append(code)
        elif not is_left_out(module):
            for chain in references(code).chains:
                for slot in _slots(module, frame.f_globals, chain):
                    if slot not in self._before:
                        self._before[slot] = self._look(slot)

    def refusal(self, known: Collection[bytes]) -> str:
        """Why the program can't be kept; "" where it can.

        Args:
            known: Digests of the code that the program is known to be made of.
        """
        for code in self._users:
            if code_digest(code) not in known:
                line = line_label(code.co_filename, code.co_firstlineno)
                return (
                    f"it runs {code.co_name}() at {line}, which a library has been "
                    "given: no name in the function leads there"
                )
        return self._refused

    def state(self) -> LibraryState:
        """What the names stand for that were read."""
        state: LibraryState = {}
        for (module, name), before in sorted(self._before.items()):
            after = self._look((module, name))
            parts = before | after
            self._changed.update(
                (module, name, part)
                for part in parts
                if before.get(part) != after.get(part)
            )
            kept = {
                part: after[part]
                for part in parts
                if (module, name, part) not in self._changed
            }
            whole = len(kept) == len(parts)
            state.setdefault(module, {})[name] = _whole(after) if whole else kept
        return state

    def _look(self, slot: tuple[str, str]) -> _Parts:
        try:
            return _stands_for(*slot)
        except FingerprintError as error:
            self._refused = f"it reads {'.'.join(slot)}, which {error}".rstrip(".")
            return {}


def is_as_noted(state: LibraryState, *, imports: bool = True) -> bool:
    """Whether libraries hold what a trace has read there.

    Args:
        state: What it has read.
        imports: Whether libraries may be imported to see it.
    """
    try:
        return all(
            _is_as_noted(_stands_for(module, name, imports), noted)
            for module, names in state.items()
            for name, noted in names.items()
        )
    except FingerprintError:
        return False


def _is_as_noted(now: _Parts, noted: str | _Parts) -> bool:
    if isinstance(noted, str):
        return _whole(now) == noted
    return all(now.get(part) == digest for part, digest in noted.items())


def _whole(parts: _Parts) -> str:
    if parts.keys() == {""}:
        return parts[""]
    return hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()[:16]


def _stands_for(module: str, name: str, imports: bool = True) -> _Parts:
    if imports and module not in sys.modules and is_installed_module(module):
        with contextlib.suppress(ImportError):  # the trace has imported it
            importlib.import_module(module)
    variables = getattr(sys.modules.get(module), "__dict__", {})
    if name not in variables:
        return {"": "absent"}
    value = variables[name]
    try:
        if type(value) is dict:
            return {contents(key): contents(item) for key, item in list(value.items())}
        if _is_opened(value):
            parts = _attributes_of(value)
            return {key: contents(item) for key, item in parts.items()}
        return {"": contents(value)}
    except FingerprintError:
        raise
    except Exception as error:  # an object that does not bear to be looked at
        raise FingerprintError(
            f"can't be read ({type(error).__name__}: {error})."
        ) from error


def _slots(
    module: str, variables: Mapping[str, Any], chain: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The names of libraries that a chain of attributes leads through."""
    for name in chain:
        if variables is not getattr(sys.modules.get(module), "__dict__", None):
            return
        yield module, name
        value = variables.get(name)
        if not isinstance(value, types.ModuleType) or is_left_out(value.__name__):
            return
        module, variables = value.__name__, vars(value)
        if is_user_module(module):
            return
