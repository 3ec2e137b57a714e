"""The identity of a function: the same in every process, another after any change.

A walk over everything that decides what a function does: its bytecode, constants,
defaults, closure, and the globals, classes and user modules that it reaches, by value.
Installed libraries count by name and version. File names, lines, comments, docstrings,
hash seeds and memory addresses don't count. (Pickled bytes would not do: they hold
line numbers and ids made per process, and leave out what is pickled by reference.)
"""

import builtins
import dataclasses
import functools
import sys
import types
from collections.abc import Callable, Collection, Iterator
from enum import Enum
from functools import WRAPPER_ASSIGNMENTS
from typing import Any

import jax

from ..._autojit._reading import LRU_CACHED
from ..._autojit.kinds._functions import AutojitMark, is_autojitted
from ..._errors import FingerprintError
from ..._jax_internals import (
    Device,
    WholeStructure,
    is_primitive,
    jit_options,
    pytree_node,
)
from ..._jit._function import is_jitted, options_of
from ..._values import (
    code_digest,
    has_effects,
    is_user_code,
    is_user_module,
    reads_surroundings,
    references,
)
from ._given import add_attribute
from ._names import (
    call_name,
    differs_by_process,
    extension_digest,
    library_name,
    library_state,
)
from ._pytree_classes import registration
from ._walk import Walk, is_copy


_BUILTINS = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodWrapperType,
)
_MODULE_OWN = frozenset(
    {
        "__annotations__", "__builtins__", "__cached__", "__doc__", "__file__",
        "__loader__", "__name__", "__package__", "__path__", "__spec__",
    }
)  # fmt: skip
_CLASS_OWN = frozenset(
    {
        "__abstractmethods__", "__annotate__", "__annotate_func__", "__annotations__",
        "__annotations_cache__", "__dataclass_params__", "__dict__", "__doc__",
        "__firstlineno__", "__module__", "__qualname__",
        "__slotnames__", "__static_attributes__", "__weakref__", "_abc_impl",
        "_member_map_", "_value2member_map_",
    }
)  # fmt: skip


def fingerprint(fn: Callable[..., object]) -> str:
    """Identify a function, in a way that holds in other processes too.

    >>> from jfi._persistent.fingerprint import fingerprint
    >>> def area(r): return 3 * r**2
    >>> before = fingerprint(area)
    >>> def area(r):
    ...     return 3 * r**2  # three is close enough
    >>> fingerprint(area) == before
    True
    >>> def area(r): return 3.14 * r**2
    >>> fingerprint(area) == before
    False

    Args:
        fn: Any callable.

    Returns:
        64 hexadecimal digits, which change with anything that the function uses: its
        code, closure, defaults, globals, and the helpers in the user's own modules.

    Raises:
        FingerprintError: It uses something that exists in this process alone (a lock,
            an open file, a generator), or that differs at each call (the clock).
    """
    walk = ProgramWalk(call_name(fn))
    walk.look_at(fn)
    return walk.digest()


class ProgramWalk(Walk):
    """A walk that knows what programs are made of.

    Attributes:
        shared: The user's classes and functions that were reached, in the order of the
            walk: equal digests number them equally.
        libraries: Version of each installed library that was reached.
        codes: Digests of the code that was reached.
        asked: The names that it reads.
    """

    def __init__(self, root_name: str) -> None:
        super().__init__(root_name)
        self.shared: list[object] = []
        self.libraries: dict[str, str] = {}
        self.codes: set[bytes] = set()
        self.asked: set[str] = set()

    def look_at(self, root: object) -> None:
        """Add all that an object reaches.

        Raises:
            FingerprintError: Something can't be distinguished from its like elsewhere.
        """
        try:
            self.add(root)
        except FingerprintError:
            raise
        except RecursionError as error:
            raise self.refusal(
                "reaches data nested too deeply to be identified",
                "Keep them in arrays, or in flatter lists and dicts.",
            ) from error
        except Exception as error:  # an object that does not bear to be looked at
            raise self.refusal(
                f"reaches {self.place() or 'an argument'}, which can't be read "
                f"({type(error).__name__}: {error})",
                "Do without it in the function.",
            ) from error

    def add(self, value: Any) -> None:
        if type(value) is str and value.startswith("__"):
            self.asked.add(value)  # as in `getattr(fn, name)`
        super().add(value)

    def first_meeting(self, value: Any) -> None:
        if is_autojitted(value):
            self.autojitted(value)
        elif isinstance(value, types.FunctionType) and not is_jitted(value):
            self.function(value)
        elif isinstance(value, type):
            self.cls(value)
        elif isinstance(value, types.ModuleType):
            self.module(value)
        elif isinstance(value, types.CodeType):
            self.code("code", value)
        elif isinstance(value, types.MethodType):
            self.items("method", value.__func__, value.__self__)
        elif isinstance(value, _BUILTINS):
            self.builtin(value)
        elif not (self.by_name(value) or self.standard_object(value)):
            self.check_surroundings(library_name(type(value)))
            self.instance(value)

    def code(self, label: str, code: types.CodeType) -> None:
        """Add code, with the functions in it."""
        self.put(label, code_digest(code))
        self.codes.update(_digests(code))

    def function(self, fn: types.FunctionType) -> None:
        # Not `fn.__module__`, which functools.wraps copies from the wrapped function.
        module = str(fn.__globals__.get("__name__", ""))
        by_user = is_user_code(module, fn.__code__)
        if not by_user and self.by_name(fn):
            return
        self.shared.append(fn)
        self.code("function", fn.__code__)
        self.items("defaults", fn.__defaults__, fn.__kwdefaults__)
        cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        for name, cell in cells:
            with self.at(name):
                self.add(cell)
        if by_user:
            self.globals_of(fn)
        else:
            self.library(module, fn.__code__.co_qualname)
        self.attributes_of(fn)

    def autojitted(self, fn: Any) -> None:
        # Its own code has a number that counts such functions in this process.
        mark: AutojitMark = fn.__dict__[AutojitMark.ATTRIBUTE]
        self.shared.append(fn)
        defaults = fn.__defaults__, fn.__kwdefaults__
        self.items("autojit", fn.__wrapped__, mark.fill.options, *defaults)
        self.attributes_of(fn, mark.attributes)

    def attributes_of(self, fn: Any, left_out: Collection[str] = ()) -> None:
        for name, value in sorted(fn.__dict__.items()):
            if name not in left_out and not is_copy(fn.__dict__, name):
                self.put("attribute", name)
                with self.at(f".{name}"):
                    self.add(value)

    def globals_of(self, fn: types.FunctionType) -> None:
        named = references(fn.__code__)
        self.asked.update(named.attributes, *named.chains)
        if "__globals__" in named.attributes:
            what = "reads __globals__, by which it comes to any global variable"
            raise self.refusal(what, "Name the variable itself.")
        for name in named.imports_in(fn.__globals__):
            self.imported_inside(name)
        for name, *attributes in named.chains:
            self.put("global", name, *attributes)
            if name in fn.__globals__:
                with self.at(name):
                    self.chain(fn.__globals__[name], attributes)
            elif hasattr(builtins, name):
                self.check_surroundings(f"builtins.{name}")
                add_attribute(self, getattr(builtins, name), ())
                if differs_by_process(name, fn):
                    what = f"calls {name}(), which differs from process to process"
                    raise self.refusal(what, "Do without it in the function.")
            else:
                self.put("undefined")

    def imported_inside(self, name: str) -> None:
        self.check_surroundings(name)
        if is_user_module(name) or name not in sys.modules:
            raise self.refusal(
                f"imports {name} inside it", "Import it at the top of the file."
            )
        self.library(name)

    def chain(self, value: Any, attributes: list[str]) -> None:
        """Follow `module.attribute.attribute` to the first value that is no module."""
        while isinstance(value, types.ModuleType) and attributes:
            name, *attributes = attributes
            if value.__name__.partition(".")[0] == "jfi":
                getattr(value, name, None)  # names made on first use, made now
            if name not in vars(value):
                self.put("missing", name)
                break  # the module's __getattr__ may answer, from all that it knows
            module, value = value.__name__, vars(value)[name]
            self.trail.append(f".{name}")
            if not (is_user_module(module) or isinstance(value, types.ModuleType)):
                self.library_attribute(module, name, value, attributes)
                return
        if isinstance(value, type):
            self.check_surroundings(library_name(value, *attributes[:1]))
        self.add(value)

    def library_attribute(
        self, module: str, name: str, value: Any, attributes: list[str]
    ) -> None:
        """`np.pi`, `jnp.sin`, `datetime.datetime.now`: by name and version."""
        self.check_surroundings(f"{module}.{name}")
        self.check_surroundings(library_name(value, *attributes[:1]))
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, (type, types.ModuleType)):
            self.add(owner)  # np.random.rand: its results depend on its generator
        self.library(module, name)
        add_attribute(self, value, attributes)

    def module(self, module: types.ModuleType) -> None:
        """A module that is used as a value, so that any part of it may be read."""
        if not is_user_module(module.__name__):
            self.check_surroundings(module.__name__)
            self.library(module.__name__)
            return
        self.put("module", module.__name__)
        for name, value in sorted(vars(module).items()):
            if name not in _MODULE_OWN:
                self.put("global", name)
                with self.at(f".{name}"):
                    self.add(value)

    def library(self, module: str, name: str = "") -> None:
        version = library_state(module)
        self.libraries[module.partition(".")[0]] = version
        self.put("library", module, name, version)

    def by_name(self, value: Any) -> bool:
        """Whether a library has the object under the name that it says it has."""
        module = getattr(value, "__module__", None)
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if not (isinstance(module, str) and isinstance(name, str)):
            return False
        if module not in sys.modules or is_user_module(module):
            return False
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not value:
            return False
        self.check_surroundings(f"{module}.{name}")
        self.library(module, name)
        return True

    def builtin(self, value: Any) -> None:
        owner = getattr(value, "__self__", None)
        self.check_surroundings(library_name(value))
        self.put("builtin", library_name(value), extension_digest(value))
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.add(owner)

    def check_surroundings(self, name: str) -> None:
        if reads_surroundings(name):
            raise self.refusal(
                f"uses {name}, whose result differs from call to call",
                "Use it outside the function and pass the result as an argument.",
            )
        if has_effects(name):
            what = f"uses {name} when it is traced"
            raise self.refusal(what, "Use it outside the function.")

    # Classes and instances.

    def cls(self, cls: type) -> None:
        if not is_user_module(cls.__module__) and "<locals>" not in cls.__qualname__:
            self.check_surroundings(library_name(cls))
            self.library(cls.__module__, cls.__qualname__)
            return
        self.shared.append(cls)
        self.put("class", cls.__qualname__)
        self.items("bases", type(cls), *cls.__bases__)
        self.add(self.registration_of(cls))
        members: dict[str, Any] = {}
        if issubclass(cls, Enum):
            members = {name: member.value for name, member in cls.__members__.items()}
        self.items("members", members)
        for name, value in sorted(vars(cls).items()):
            if name in _CLASS_OWN or name in members:
                continue
            if isinstance(
                value, (types.GetSetDescriptorType, types.MemberDescriptorType)
            ):
                continue  # `__slots__` names them
            self.put("attribute", name)
            with self.at(f".{name}"):
                self.add(value)

    def registration_of(self, cls: type) -> object:
        try:
            return registration(cls)
        except LookupError:
            raise self.refusal(
                f"uses the pytree class {cls.__qualname__}, whose flatten functions "
                "can't be found",
                "Register it with jax.tree_util.register_pytree_node_class "
                "or jax.tree_util.register_dataclass.",
            ) from None

    def standard_object(self, value: Any) -> bool:
        """Whether it is of a type whose pickled form says too little or too much."""
        # By isinstance, since users subclass some of these; what comes first wins.
        if is_jitted(value) or isinstance(value, _jit_type()):
            self.items("jit", value.__wrapped__, *self.jit_options(value))
            if isinstance(value, _jit_type()):
                self.attributes_of(value, _made_by_jit())
        elif isinstance(value, functools.partial):
            self.items("partial", type(value), value.func, value.args, value.keywords)
        elif isinstance(value, property):
            self.items("property", value.fget, value.fset, value.fdel)
        elif isinstance(value, (staticmethod, classmethod)):
            self.items(type(value).__name__, value.__func__)
        elif isinstance(value, functools.cached_property):
            self.items("cached_property", value.func)
        elif isinstance(value, LRU_CACHED):
            self.items("lru_cache", value.__wrapped__)
        elif isinstance(value, dataclasses.Field):
            self.items(
                "field", value.name, value.default, value.default_factory, value.init,
                value.hash, value.compare, value.kw_only, value.metadata,
            )  # fmt: skip
        elif isinstance(value, Enum):
            self.items("enum", value.name, type(value))
        elif isinstance(value, jax.tree_util.PyTreeDef):
            self.treedef(value)
        elif isinstance(value, Device):
            self.put("device", value.platform, str(value.id))
        elif hasattr(type(value), "__jfi_portable__"):  # a class of jfi's
            self.items("portable", type(value), value.__jfi_portable__())
        elif is_primitive(value):
            what = f"{self.place() or 'an argument'}, a primitive of JAX"
            raise self.refusal(f"reaches {what}", "Its rules can't be read.")
        else:
            return False
        return True

    def jit_options(self, jitted: Any) -> tuple[object, ...]:
        ours = is_jitted(jitted)
        found: Any = [options_of(jitted)] if ours else jit_options(jitted)
        options = tuple(map(repr, found or ["unreadable at 0x"]))
        if any(" at 0x" in option for option in options):
            raise self.refusal(
                f"uses the jitted function {jitted.__name__}(), whose options can't be "
                "read",
                "Call the plain function instead: it is compiled along.",
            )
        return options

    def treedef(self, treedef: Any) -> None:
        node = pytree_node(treedef) or ()
        if any(isinstance(part, WholeStructure) for part in node):
            raise self.refusal(
                "uses a tree structure, whose static data this JAX hides",
                "Make it inside the function: jax.tree.structure(tree).",
            )
        self.items("node", *node)
        self.put("children", str(len(treedef.children())))
        for child in treedef.children():
            self.treedef(child)


def _digests(code: types.CodeType) -> Iterator[bytes]:
    yield code_digest(code)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _digests(inner)


@functools.cache
def _jit_type() -> Any:
    return type(jax.jit(lambda: None))


@functools.cache
def _made_by_jit() -> frozenset[str]:
    """The attributes that `jax.jit` sets, but for those that it copies."""
    return frozenset(vars(jax.jit(lambda: None))).difference(WRAPPER_ASSIGNMENTS)
