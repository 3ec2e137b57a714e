"""How classes are looked at: what their instances read from them."""

import types
from collections.abc import Sequence
from typing import Any

from .._trees import Constant, identity, is_library
from ._function_kinds import is_autojitted
from ._kinds import Expression, Kind, Source, Split


class ClassKind(Kind):
    """A class of the user: itself, with what instances read from it, by value.

    Plain functions are told by identity and code; the captured values and defaults of
    others are looked at.
    """

    named = keyed = True

    def split(self, x: Any) -> Split:
        plain: list[Any] = []
        names: list[tuple[type, str]] = []
        values: list[Any] = []
        for key, value in class_data(x).items():
            function = function_behind(value)
            if isinstance(function, types.FunctionType) and (
                # A dataclass makes its own with a closure: slow to look at each time.
                key[1] == "__repr__" or _is_plain(function, x.__mro__)
            ):
                plain += (value, function.__code__, identity(function.__defaults__))
            else:
                names.append(key)
                values.append(function)
        return (identity(x), tuple(names), tuple(plain)), values

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part[0].value

    def contents(self, x: Any) -> Split:
        data = class_data(x)
        return tuple(data), tuple(data.values())

    def restore(self, cls: type, names: Sequence[Any], values: Sequence[Any]) -> None:
        """Undo what code did to the attributes of a class."""
        before, now = dict(zip(names, values, strict=True)), class_data(cls)
        for base, name in now.keys() - before.keys():
            delattr(base, name)
        for (base, name), value in before.items():
            if now.get((base, name)) is not value:
                setattr(base, name, value)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        base, name = (part[1] if isinstance(part[0], Constant) else part)[k]
        return f"{base.__qualname__}.{name}"

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        constant, names, _ = part
        cls: type = constant.value
        if name != source.constant(cls):
            source.require(f"{name} is {source.constant(cls)}")
        data = {base for base, _ in names}
        for base in cls.__mro__:
            if base in data:
                source.require(
                    f"len({source.constant(base)}.__dict__) == {len(vars(base))}"
                )
            elif not is_library(base):
                attributes = dict(vars(base))
                ids = tuple((k, id(value)) for k, value in attributes.items())
                expected = source.constant(attributes, ids)
                source.require(f"{source.constant(base)}.__dict__ == {expected}")
        for (base, key), value in class_data(cls).items():
            if (base, key) not in names:
                _guard_plain(source, base, key, value, look_up=base in data)
        return [
            f"function_behind({source.constant(base)}.__dict__[{key!r}])"
            for base, key in names
        ]


def class_data(cls: type) -> dict[tuple[type, str], Any]:
    """The attributes that users gave a class and its bases, by base and name."""
    return {
        (base, name): value
        for base in cls.__mro__
        if not is_library(base)
        for name, value in vars(base).items()
        if name[:2] != "__" or callable(value)
        if not isinstance(value, _SLOTS) and not name.startswith("_abc_")
    }


# Of these, the value can't change while the tuple of defaults is the same.
_CONSTANT = frozenset((int, float, complex, str, bool, bytes, type(None)))


def _is_plain(fn: types.FunctionType, classes: Sequence[type]) -> bool:
    """Whether its code and the identity of its defaults tell a function of a class."""
    if fn.__kwdefaults__ or fn.__dict__:
        return False
    if not all(type(default) in _CONSTANT for default in fn.__defaults__ or ()):
        return False
    try:
        captured = [cell.cell_contents for cell in fn.__closure__ or ()]
    except ValueError:  # a captured variable has no value yet
        return False
    # `super()` captures the class, which is looked at anyway.
    return all(
        isinstance(value, type) and (value in classes or is_library(value))
        for value in captured
    )


_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def _guard_plain(
    source: Source, base: type, key: str, value: Any, *, look_up: bool
) -> None:
    if look_up:
        attribute = f"{source.constant(base)}.__dict__[{key!r}]"
        source.require(f"{attribute} is {source.constant(value)}")
    # Editors that reload a module replace the code of its functions in place.
    function = function_behind(value)
    name = source.constant(function)
    source.require(
        f"{name}.__code__ is {source.constant(function.__code__)} and "
        f"{name}.__defaults__ is {source.constant(function.__defaults__)}"
    )


def function_behind(value: Any) -> Any:
    """What a property, class method, static method or `autojit` calls."""
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    return value.__wrapped__ if is_autojitted(value) else value
