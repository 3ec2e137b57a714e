"""Which rule makes a JAX function of an object: by object, class or name of a class."""

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from ..._advice import hiding_frames
from ..._errors import JaxifyError
from ..._values import full_name


Rule = TypeVar("Rule", bound=Callable[..., Any])


class Jaxify:
    """Make a JAX function, or array, of an object of another library.

    Example:
        >>> import jax
        >>> import scipy.interpolate
        >>> import jfi as jnp
        >>> spline = scipy.interpolate.CubicSpline([0, 1, 2, 3], [0, 1, 8, 27])
        >>> f = jnp.jaxify(spline)
        >>> f(1.5), jax.grad(f)(1.5)
        (Array(3.375, dtype=float32), Array(6.75, dtype=float32, weak_type=True))

    What has a rule: SciPy's interpolators, k-d trees, sparse matrices, LU factors and
    LinearOperators; NumPy's and SciPy's functions, ufuncs, polynomials and arrays;
    torch modules, functions and tensors; haiku networks; PyTensor's variables. See
    `jaxify.register` for others.
    """

    __jfi_static__ = True  # `autojit` does not open it: the rules are not data

    def __init__(self) -> None:
        self.__name__ = "jaxify"
        self._by_class = functools.singledispatch(_no_rule)
        self._by_object: dict[int, tuple[Any, Callable[..., Any]]] = {}
        self._by_name: dict[str, Callable[..., Any]] = {}

    @hiding_frames
    def __call__(self, obj: Any, **options: Any) -> Any:
        """Make a JAX function, or array, of an object.

        Args:
            obj: The object.
            **options: What the rule of its class takes, such as `inputs=` for PyTensor.

        Returns:
            A function of JAX arrays; for data (a tensor, a sparse matrix) JAX's data.

        Raises:
            JaxifyError: There is no rule for it, or this one can't be translated.
        """
        rule = self.rule_of(obj) or _no_rule
        try:
            return rule(obj, **options)
        except JaxifyError:
            raise
        except NotImplementedError as error:
            message = f"jaxify() can't translate {object_label(obj)}: {error}"
            raise JaxifyError(message) from error

    def rule_of(self, obj: Any) -> Callable[..., Any] | None:
        """What makes a JAX function of an object, if there is a rule."""
        self._find_named()
        known = self._by_object.get(id(obj))
        if known is not None and known[0] is obj:
            return known[1]
        rule: Callable[..., Any] = self._by_class.dispatch(type(obj))
        return None if rule is _no_rule else rule

    def register(self, what: Any) -> Callable[[Rule], Rule]:
        """Say how objects of a class, or one object, become JAX functions.

        Example:
            >>> import jfi as jnp
            >>> class Gain:
            ...     def __init__(self, factor):
            ...         self.factor = factor
            >>> @jnp.jaxify.register(Gain)
            ... def gain_in_jax(gain):
            ...     return lambda x: gain.factor * jnp.asarray(x)
            >>> jnp.jaxify(Gain(3))(2.0)
            Array(6., dtype=float32, weak_type=True)

        Args:
            what: A class, whose subclasses have the rule too; the name of one, such as
                "torch.nn.Module", which is not imported for that; or an object, such as
                the function `numpy.linalg.inv`. The rule of an operation of PyTensor
                holds inside its graphs, too.

        Returns:
            A decorator for the rule, a function of the object and of options.
        """

        def decorate(rule: Rule) -> Rule:
            if isinstance(what, type):
                self._by_class.register(what, rule)
            elif isinstance(what, str):
                self._by_name[what] = rule
            else:
                self._by_object[id(what)] = what, rule
            return rule

        return decorate

    def _find_named(self) -> None:
        """Register what is known by name and imported by now: who has it, has it so."""
        for name, rule in list(self._by_name.items()):
            module, _, attribute = name.rpartition(".")
            if module in sys.modules:
                found = getattr(sys.modules[module], attribute, None)
                if found is not None:
                    del self._by_name[name]
                    self.register(found)(rule)

    def __repr__(self) -> str:
        return "<function jaxify>"


def object_label(obj: Any) -> str:
    """An object in a message: its text and its class."""
    cls, text = type(obj), repr(obj).split("\n")[0]
    text = text if len(text) < 60 else text[:57] + "..."
    return f"{text} (a {full_name(cls)})"


def _no_rule(obj: Any, **options: Any) -> Any:
    if type(obj).__module__.partition(".")[0] in ("jax", "jaxlib", "jfi"):
        return obj  # a compiled function, or what jaxify made
    name = full_name(type(obj))
    message = (
        f"jaxify() has no rule for {object_label(obj)}.\nWrite one:\n"
        f'    @jnp.jaxify.register("{name}")\n'
        "    def rule(obj):\n"
        "        return lambda *args: ...  # written with jax.numpy"
    )
    if callable(obj):
        message += (
            "\nOr call it as it is, on the host: jnp.from_numpy(obj) if it computes "
            "with NumPy, jnp.from_torch(obj) with torch."
        )
    raise JaxifyError(message)


jaxify: Jaxify = Jaxify()
