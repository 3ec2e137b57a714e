"""What to write for methods of PyTorch's tensors, optimizers and modules.

`{x}` stands for the array, `{args}` for what the method got, `{jnp}` for jfi. A remark
comes after the code. Methods that are not here may be functions of jfi, which take the
array first, or in `_torch_lines`.
"""

_GRADIENT = "{jnp}.grad(loss)(params)  # derivatives are taken of functions"
_NOTHING = "{jnp}.grad(loss)(x)  # says what is differentiated: arrays record nothing"
_AS_NUMPY = (
    "{x}  # and {jnp}.f(x) for np.f(x); outside compiled functions np.asarray(x)"
)

#: Of arrays, traced or not.
OF_ARRAYS = {
    "backward": _GRADIENT,
    "bool": "{x}.astype(bool)",
    "contiguous": "{x}",
    "copy_": "{x} = {args}",
    "cpu": "{jnp}.to({x}, 'cpu')",
    "cuda": "{jnp}.to({x}, 'cuda')",
    "data": "{x}",
    "detach_": "{x} = {jnp}.detach({x})",
    "dim": "{x}.ndim",
    "double": "{x}.astype({jnp}.float64)  # after {jnp}.set_default_dtype('float64')",
    "expand": "{jnp}.broadcast_to({x}, ({args}))  # sizes, without -1",
    "expand_as": "{jnp}.broadcast_to({x}, {args}.shape)",
    "fill_": "{x} = {jnp}.full_like({x}, {args})",
    "float": "{x}.astype(float)",
    "get_device": "{x}.device",
    "grad": _GRADIENT,
    "grad_fn": _GRADIENT,
    "half": "{x}.astype({jnp}.float16)",
    "int": "{x}.astype(int)",
    "is_contiguous": "True",
    "is_cuda": "{x}.device.platform == 'gpu'",
    "is_leaf": _NOTHING,
    "long": "{x}.astype(int)",
    "ndimension": "{x}.ndim",
    "nelement": "{x}.size",
    "new_ones": "{jnp}.ones({args}, dtype={x}.dtype)",
    "new_tensor": "{jnp}.array({args}, dtype={x}.dtype)",
    "new_zeros": "{jnp}.zeros({args}, dtype={x}.dtype)",
    "normal_": "{x} = {jnp}.randn_like({x})",
    "numel": "{x}.size",
    "numpy": _AS_NUMPY,
    "register_hook": _GRADIENT,
    "requires_grad": _NOTHING,
    "requires_grad_": _NOTHING,
    "reshape_as": "{x}.reshape({args}.shape)",
    "retain_grad": _GRADIENT,
    "size": "{x}.shape",
    "split": "{jnp}.array_split({x}, n)  # into n parts",
    "type": "{x}.astype({args})  # the dtype is {x}.dtype",
    "type_as": "{x}.astype({args}.dtype)",
    "uniform_": "{x} = {jnp}.rand_like({x})",
    "view": "{x}.reshape({args})",
    "view_as": "{x}.reshape({args}.shape)",
    "where": "{jnp}.where(mask, {x}, y)",
    "zero_": "{x} = {jnp}.zeros_like({x})",
}

#: Names that jfi has with another meaning than PyTorch's method.
OTHER_MEANING = frozenset(
    "bernoulli equal histogram indices median multinomial nanmedian put resize select "
    "unique vsplit".split()
)

_UPDATE = (
    "updates, state = optimizer.update(grads, state, params); "
    "params = {jnp}.apply_updates(params, updates)"
)
_NO_PARAMETERS = (
    "{jnp}.grad(loss)(model, x)  # the model itself is the tree of its parameters; "
    "of an ordinary class with @{jnp}.pytree above it"
)
_MODE = "model(x, train=True)  # as an argument: autojit makes it a setting"

#: Of optimizers of optax.
OF_OPTIMIZERS = {
    "load_state_dict": "state = {jnp}.load_state(path)",
    "param_groups": "optax.multi_transform(...)",
    "state_dict": "{jnp}.save_state(path, state)",
    "step": _UPDATE,
    "zero_grad": _UPDATE + "  # gradients are not kept, and need no zeros",
}

#: Of models, which may be of any class.
OF_MODELS = {
    "cuda": "{jnp}.to(model, 'cuda')",
    "eval": _MODE,
    "load_state_dict": "model = {jnp}.load_state(path)",
    "named_parameters": _NO_PARAMETERS,
    "parameters": _NO_PARAMETERS,
    "requires_grad_": "{jnp}.grad(loss, argnums=...)  # says what to differentiate",
    "state_dict": "{jnp}.save_state(path, model)",
    "to": "{jnp}.to({x}, {args})",
    "train": _MODE,
    "zero_grad": _NO_PARAMETERS,
}
