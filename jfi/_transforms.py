"""JAX's transformations under their own names; `_transforms.pyi` holds their types."""

from jax import (
    block_until_ready as block_until_ready,
    checkpoint as checkpoint,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    device_put as device_put,
    eval_shape as eval_shape,
    grad as grad,
    hessian as hessian,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
    jit as jit,
    jvp as jvp,
    linearize as linearize,
    make_jaxpr as make_jaxpr,
    pure_callback as pure_callback,
    value_and_grad as value_and_grad,
    vjp as vjp,
    vmap as vmap,
)
from jax.lax import (
    associative_scan as associative_scan,
    cond as cond,
    fori_loop as fori_loop,
    map as map,
    scan as scan,
    stop_gradient as stop_gradient,
    switch as switch,
    while_loop as while_loop,
)
from jax.random import key as key
