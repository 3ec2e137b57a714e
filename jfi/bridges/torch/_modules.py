"""PyTorch modules as trees of JAX arrays."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.core import Tracer

from ..._advice import hiding_frames
from ..._errors import CallbackError
from ._skeletons import Skeleton, SkeletonInMode, with_tensors
from ._tensors import to_array, to_tensor


if TYPE_CHECKING:
    import torch


@jax.tree_util.register_pytree_with_keys_class
class TorchModule:
    """A PyTorch module as a JAX tree; `from_torch(module)` makes it.

    It is called as the module is, and never changes: what changes a module returns
    another one. To JAX it is a tree with the arrays of `params` and `buffers`.

    Attributes:
        params: The parameters by their names in PyTorch, a dict of JAX arrays. It is
            sorted, as all that JAX maps over a dict is.
        buffers: The buffers (the running statistics of a BatchNorm), a dict as well.
    """

    params: dict[str, Any]
    buffers: dict[str, Any]
    _form: SkeletonInMode

    def __init__(self, module: "torch.nn.Module") -> None:
        _refuse_scripted(module)
        _refuse_lazy(module)
        _refuse_aliases(module)
        _refuse_hooks_of_tensors(module)
        skeleton = Skeleton(module)
        name = skeleton.name
        self.params = _arrays(module.named_parameters(), name)
        self.buffers = _arrays(module.named_buffers(), name)
        self._form = skeleton.form(tuple(m.training for m in module.modules()))

    @hiding_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module.

        Args:
            *args: What `forward` of the module takes, with arrays for tensors.
            **kwargs: The same.

        Returns:
            What `forward` returns, with JAX arrays for tensors.

        Raises:
            CallbackError: The call would change buffers; see `call_and_update`.
        """
        return self._form.call(*self._values(), *args, **kwargs)

    @hiding_frames
    def call_and_update(self, *args: Any, **kwargs: Any) -> tuple[Any, "TorchModule"]:
        """Call the module in a mode in which it changes its buffers.

        Example:
            >>> import torch
            >>> import jfi as jnp
            >>> net = jnp.from_torch(torch.nn.BatchNorm1d(1))
            >>> result, net = net.call_and_update(jnp.array([[1.0], [3.0]]))
            >>> net.buffers["running_mean"]
            Array([0.2], dtype=float32)

        Args:
            *args: What `forward` of the module takes.
            **kwargs: The same.

        Returns:
            The result, and the module with the new buffers.
        """
        result, buffers = self._form.call_and_update(*self._values(), *args, **kwargs)
        return result, self.replace(buffers=buffers)

    def replace(
        self,
        *,
        params: Mapping[str, Any] | None = None,
        buffers: Mapping[str, Any] | None = None,
    ) -> "TorchModule":
        """The module with other parameters or buffers: all of them, by their names."""
        return _new(
            self.params if params is None else _sorted(params),
            self.buffers if buffers is None else _sorted(buffers),
            self._form,
        )

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return self._form.training[0]

    def train(self, mode: bool = True) -> "TorchModule":
        """The module in training mode, or in evaluation mode (False)."""
        form = self._form
        training = (mode,) * len(form.training)
        return _new(self.params, self.buffers, form.skeleton.form(training))

    def eval(self) -> "TorchModule":
        """The module in evaluation mode: no dropout, no new statistics."""
        return self.train(False)

    def to_torch(self) -> "torch.nn.Module":
        """A new PyTorch module with these values, on the CPU."""
        values = {**self.params, **self.buffers}
        form, name = self._form, self._form.skeleton.name

        def value_of(key: str, meta: "torch.Tensor") -> "torch.Tensor":
            return tensor_of(values[key], name).to(meta.dtype)

        module = with_tensors(form.skeleton.module, value_of)
        for part, mode in zip(module.modules(), form.training, strict=True):
            part.training = mode
        return module

    def state_dict(self) -> dict[str, Any]:
        """What `state_dict()` of the PyTorch module returns: names and tensors."""
        return self.to_torch().state_dict()

    def load_state_dict(
        self, state_dict: Mapping[str, Any], *, strict: bool = True
    ) -> "TorchModule":
        """The module with the values of a state dict.

        Args:
            state_dict: Tensors or arrays by their names in PyTorch.
            strict: Whether the names must be those of `state_dict()`.

        Raises:
            RuntimeError: Names or shapes don't fit; PyTorch's own message.
        """
        module, name = self.to_torch(), self._form.skeleton.name
        arrays = (jax.Array, np.ndarray, np.generic)
        state = {
            key: tensor_of(value, name) if isinstance(value, arrays) else value
            for key, value in state_dict.items()
        }
        module.load_state_dict(state, strict=strict)
        return self.replace(
            params=_arrays(module.named_parameters(), name),
            buffers=_arrays(module.named_buffers(), name),
        )

    def _values(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and buffers; those that PyTorch never differentiates are fixed."""
        frozen, params = self._form.skeleton.frozen, self.params
        if frozen:
            pairs = params.items()
            params = {name: _fixed(x) if name in frozen else x for name, x in pairs}
        return params, {name: _fixed(x) for name, x in self.buffers.items()}

    def __repr__(self) -> str:
        return f"from_torch({self._form.skeleton.module!r})"

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in TorchModule.__annotations__:
            name_of, line = self._form.skeleton.name, _CHANGED.get(name, _SET)
            message = f"{name_of} is in JAX now, and can't take {name} = {value!r}."
            raise AttributeError(f"{message} {line.format(name=name)}")
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:  # where it would excuse every typo

        def __getattr__(self, name: str) -> Any:
            message = f"A module of from_torch() has no attribute {name!r}."
            if not name.startswith("_"):  # which Python and JAX ask for
                module = self._form.skeleton.module
                message += _advice(module, name)
            raise AttributeError(message, name=name, obj=self)

    def __deepcopy__(self, memo: object) -> "TorchModule":
        return _new(dict(self.params), dict(self.buffers), self._form)

    def __reduce__(self) -> tuple[Any, ...]:
        return _new, (self.params, self.buffers, self._form)

    def tree_flatten(self) -> tuple[Any, SkeletonInMode]:
        """For JAX: the dicts of arrays, and what is no array."""
        return (self.params, self.buffers), self._form

    def tree_flatten_with_keys(self) -> tuple[Any, SkeletonInMode]:
        """The same, and what the dicts are called."""
        key = jax.tree_util.GetAttrKey
        children = (key("params"), self.params), (key("buffers"), self.buffers)
        return children, self._form

    @classmethod
    def tree_unflatten(
        cls, form: SkeletonInMode, children: Iterable[Any]
    ) -> "TorchModule":
        """For JAX: a module of other leaves, which may be anything."""
        module = object.__new__(cls)
        params, buffers = children
        vars(module).update(params=params, buffers=buffers, _form=form)
        return module


_CHANGED = {"training": "Write module = module.eval(), or module.train()."}
_SET = (
    "Set it in PyTorch: module = net.to_torch(), module.{name} = ..., "
    "net = from_torch(module)."
)


def _advice(module: "torch.nn.Module", name: str) -> str:
    """What to write for an attribute that the PyTorch module has."""
    attributes = vars(module)
    for kind in ("params", "buffers"):
        if name in attributes["_parameters" if kind == "params" else "_buffers"]:
            return f" Write net.{kind}[{name!r}]."
    if callable(getattr(type(module), name, None)):
        return (
            f" JAX calls forward() alone: let it call {name}(), for an argument of its "
            f"own, or wrap a module whose forward() is {name}()."
        )
    known = name in attributes or name in attributes["_modules"]
    return f" PyTorch's is net.to_torch().{name}." if known else ""


def _new(params: Any, buffers: Any, form: SkeletonInMode) -> TorchModule:
    return TorchModule.tree_unflatten(form, (params, buffers))


def _fixed(array: Any) -> Any:
    return jax.lax.stop_gradient(array) if isinstance(array, Tracer) else array


def _arrays(
    named: "Iterable[tuple[str, torch.Tensor]]", module: str
) -> dict[str, jax.Array]:
    return _sorted({name: to_array(tensor, module) for name, tensor in named})


def _sorted(values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(values.items()))


def tensor_of(array: Any, name: str) -> "torch.Tensor":
    """A tensor with the values of an array, in memory of its own."""
    return to_tensor(np.array(array), name)


def _refuse_lazy(module: "torch.nn.Module") -> None:
    import torch

    tensors = (*module.named_parameters(), *module.named_buffers())
    lazy = [n for n, t in tensors if torch.nn.parameter.is_lazy(t)]
    if lazy:
        message = (
            f"{type(module).__name__}() has parameters without a shape: "
            f"{', '.join(lazy)}. Call it once with PyTorch, module(x), and then write "
            "from_torch(module)."
        )
        raise CallbackError(message)


def _refuse_scripted(module: "torch.nn.Module") -> None:
    import torch

    if any(isinstance(part, torch.jit.ScriptModule) for part in module.modules()):
        message = (
            f"{type(module).__name__}() is compiled by torch.jit, which fixes its "
            "parameters. Pass the module that it was made of; or a function, "
            "from_torch(lambda x: module(x)), for which the parameters are constants."
        )
        raise CallbackError(message)


def _refuse_aliases(module: "torch.nn.Module") -> None:
    """Refuse attributes that would not follow when parameters get other values."""
    import torch

    named = (*module.named_parameters(), *module.named_buffers())
    registered = {id(tensor) for _, tensor in named}
    name_of = {place: name for name, tensor in named if (place := _memory(tensor))}
    for part in module.modules():
        hooks = vars(part)["_forward_pre_hooks"].values()
        # What spectral_norm() puts there, its hook makes anew before each call.
        made_anew = {getattr(hook, "name", None) for hook in hooks}
        for key, value in vars(part).items():
            is_tensor = isinstance(value, torch.Tensor) and id(value) not in registered
            if not is_tensor or key in made_anew or _memory(value) not in name_of:
                continue
            message = (
                f"{type(part).__name__}() keeps self.{key}, which has the memory of "
                f"{name_of[_memory(value)]}. JAX arrays share no memory, so it would "
                "keep the old values. Compute it in forward(), or register a tensor "
                "of its own: self.register_buffer(name, tensor.detach().clone())."
            )
            raise CallbackError(message)


def _refuse_hooks_of_tensors(module: "torch.nn.Module") -> None:
    """Refuse hooks of parameters: their values come as other tensors, without them."""
    for name, parameter in module.named_parameters():
        after: Any = getattr(parameter, "_post_accumulate_grad_hooks", None)
        if parameter._backward_hooks or after:  # noqa: SLF001
            message = (
                f"{type(module).__name__}() has a hook on the gradient of {name} "
                "(register_hook or the like), which JAX would not call. Change the "
                "gradient in JAX, after grad(); or in forward(): "
                "weight = self.weight.clone(), weight.register_hook(...)."
            )
            raise CallbackError(message)


def _memory(tensor: "torch.Tensor") -> int:
    """Where the memory of a tensor begins, the same for its views; 0 for none."""
    import torch

    if tensor.layout is not torch.strided:
        return 0
    return tensor.untyped_storage().data_ptr()
