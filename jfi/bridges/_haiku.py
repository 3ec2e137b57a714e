"""`from_haiku`: haiku networks with keys from jfi's generator."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import jax

from .._advice import hiding_frames
from .._errors import HaikuError
from .._optional._packages import require
from .._random.torch_style import make_random_key


if TYPE_CHECKING:
    import haiku as hk


@dataclass(frozen=True)
class HaikuNetwork:
    """A haiku network without state: `init` and `apply`, with `key=` optional.

    Made by `from_haiku`.
    """

    _transformed: Any

    @hiding_frames
    def init(self, *args: Any, key: jax.Array | None = None, **kwargs: Any) -> Any:
        """Create the parameters for inputs like these.

        Args:
            *args: Example arguments of the network.
            key: A random key, in place of a fresh one from jfi's generator.
            **kwargs: Further arguments of the network.

        Returns:
            The parameters, nested dicts of arrays.

        Raises:
            RandomError: A key is needed under a JAX transformation, without `key=`.
        """
        return _call("init", self._transformed.init, (), key, args, kwargs)

    @hiding_frames
    def apply(
        self, params: Any, *args: Any, key: jax.Array | None = None, **kwargs: Any
    ) -> Any:
        """Run the network.

        Args:
            params: What `init` returned, or an update of it.
            *args: The arguments of the network.
            key: A random key, in place of a fresh one from jfi's generator. Networks
                that draw no random numbers need none.
            **kwargs: Further arguments of the network.

        Returns:
            What the network returns.

        Raises:
            RandomError: A key is needed under a JAX transformation, without `key=`.
        """
        return _call("apply", self._transformed.apply, (params,), key, args, kwargs)


@dataclass(frozen=True)
class StatefulHaikuNetwork:
    """A haiku network with state, such as the averages of batch normalisation.

    Made by `from_haiku`.
    """

    _transformed: Any

    @hiding_frames
    def init(
        self, *args: Any, key: jax.Array | None = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Create the parameters and the first state for inputs like these.

        Args:
            *args: Example arguments of the network.
            key: A random key, in place of a fresh one from jfi's generator.
            **kwargs: Further arguments of the network.

        Returns:
            The pair `(params, state)`, each nested dicts of arrays.

        Raises:
            RandomError: A key is needed under a JAX transformation, without `key=`.
        """
        params, state = _call("init", self._transformed.init, (), key, args, kwargs)
        return params, state

    @hiding_frames
    def apply(
        self,
        params: Any,
        state: Any,
        *args: Any,
        key: jax.Array | None = None,
        **kwargs: Any,
    ) -> tuple[Any, Any]:
        """Run the network, and update its state.

        Args:
            params: The parameters that `init` returned, or an update of them.
            state: The state that `init` or the last `apply` returned.
            *args: The arguments of the network.
            key: A random key, in place of a fresh one from jfi's generator. Networks
                that draw no random numbers need none.
            **kwargs: Further arguments of the network.

        Returns:
            The pair `(out, state)`.

        Raises:
            RandomError: A key is needed under a JAX transformation, without `key=`.
        """
        function = self._transformed.apply
        out, state = _call("apply", function, (params, state), key, args, kwargs)
        return out, state


@overload
def from_haiku(network: "hk.TransformedWithState") -> StatefulHaikuNetwork: ...
@overload
def from_haiku(network: "hk.Transformed | Callable[..., Any]") -> HaikuNetwork: ...
def from_haiku(network: Any) -> HaikuNetwork | StatefulHaikuNetwork:
    """Give a haiku network `init` and `apply` that need no key.

    Where the network draws random numbers (initial weights, dropout), each call takes
    a fresh key from jfi's generator, so that `jfi.manual_seed` makes runs repeat.
    `key=` gives a key by hand, which jit, grad and vmap need if the network draws.

    >>> import haiku as hk
    >>> import jfi as jnp
    >>> network = jnp.from_haiku(lambda x: hk.nets.MLP([8, 2])(x))
    >>> x = jnp.ones((5, 3))
    >>> params = network.init(x)
    >>> network.apply(params, x).shape
    (5, 2)

    Args:
        network: A function that builds and calls haiku modules, or what
            `hk.transform` or `hk.transform_with_state` returns for it.

    Returns:
        A `HaikuNetwork`; for `hk.transform_with_state` a `StatefulHaikuNetwork`, whose
        `init` returns `(params, state)` and whose `apply` takes `(params, state, ...)`.

    Raises:
        HaikuError: `network` is none of these.
        MissingDependencyError: haiku is not installed.
    """
    hk = require("haiku", extra="haiku", needed_by="from_haiku")
    if isinstance(network, hk.TransformedWithState):
        _check_takes_key(network, "hk.transform_with_state", leading=2)
        return StatefulHaikuNetwork(network)
    if isinstance(network, hk.Transformed):
        _check_takes_key(network, "hk.transform", leading=1)
        return HaikuNetwork(network)
    if isinstance(network, type):
        message = (
            f"from_haiku() got the class {network.__name__}.\n"
            "Pass a function that builds and calls it: "
            f"from_haiku(lambda x: {network.__name__}()(x))"
        )
        raise HaikuError(message)
    if not callable(network):
        message = (
            f"from_haiku() got a {type(network).__name__}.\nPass a function that calls "
            "haiku modules, or what hk.transform or hk.transform_with_state returns."
        )
        raise HaikuError(message)
    return HaikuNetwork(hk.transform(network))


def _call(
    name: str,
    function: Callable[..., Any],
    leading: tuple[Any, ...],
    key: jax.Array | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call haiku's `init` or `apply`, with a fresh key if it turns out to need one."""
    try:
        return function(*leading, key, *args, **kwargs)
    except ValueError as error:
        # haiku's class is not public. Only a network that draws raises it, whether or
        # not it is traced: so the same networks draw eagerly and under jit.
        if key is not None or type(error).__name__ != "MissingRNGError":
            raise
    return function(*leading, make_random_key(), *args, **kwargs)


def _check_takes_key(transformed: Any, maker: str, leading: int) -> None:
    """Refuse `hk.without_apply_rng`, which would take the key for the first input."""
    init, apply = (
        len(inspect.signature(function).parameters)
        for function in (transformed.init, transformed.apply)
    )
    if apply - init < leading:
        message = (
            "from_haiku() got a network whose apply takes no random key, as "
            "hk.without_apply_rng makes it.\n"
            f"Pass it without that wrapper: from_haiku({maker}(f))"
        )
        raise HaikuError(message)
