"""jfi, the friendly JAX interface: `import jfi as jnp`.

All of `jax.numpy` under one name, with JAX's transformations, PyTorch's names where
they collide with nothing, random numbers without keys, and tools that take what
researchers have. This file is the table of contents.
"""

# All of jax.numpy, first: what follows may override it.
from jax.numpy import *  # pyright: ignore[reportWildcardImportFromLibrary]


# isort: split
import jax as jax
from jax import (
    Array as Array,
    ShapeDtypeStruct as ShapeDtypeStruct,
    debug as debug,
    lax as lax,
    numpy as numpy,
    sharding as sharding,
    tree as tree,
)

from jax import nn as nn, random as random  # TEMP
from ._config import (
    Config as Config,
    config as config,
    default_dtype as default_dtype,
    default_dtype_for_device as default_dtype_for_device,
    get_default_dtype as get_default_dtype,
    resolve_dtype as resolve_dtype,
    set_default_dtype as set_default_dtype,
)
from ._conversion import (
    array as array,
    asarray as asarray,
    empty_like as empty_like,
    full_like as full_like,
    ones_like as ones_like,
    to as to,
    zeros_like as zeros_like,
)
from ._creation import (
    empty as empty,
    eye as eye,
    full as full,
    identity as identity,
    ones as ones,
    tri as tri,
    zeros as zeros,
)
from ._devices import (
    default_device as default_device,
    get_default_device as get_default_device,
    resolve_device as resolve_device,
    set_default_device as set_default_device,
)
from ._errors import (
    AmbiguousBatchError as AmbiguousBatchError,
    AutoJitError as AutoJitError,
    BatchError as BatchError,
    CallbackError as CallbackError,
    DefaultsError as DefaultsError,
    FingerprintError as FingerprintError,
    JfiError as JfiError,
    JfiWarning as JfiWarning,
    LateDefaultsWarning as LateDefaultsWarning,
    LocalFallbackWarning as LocalFallbackWarning,
    LoopError as LoopError,
    MissingDependencyError as MissingDependencyError,
    RandomError as RandomError,
    ServerError as ServerError,
)
from ._generator import manual_seed as manual_seed, seed as seed
from ._random import (
    bernoulli as bernoulli,
    choice as choice,
    make_random_key as make_random_key,
    make_random_keys as make_random_keys,
    normal as normal,
    rand as rand,
    randint as randint,
    randn as randn,
    randperm as randperm,
    uniform as uniform,
)
from ._ranges import (
    arange as arange,
    geomspace as geomspace,
    linspace as linspace,
    logspace as logspace,
)
from ._transforms import (
    associative_scan as associative_scan,
    block_until_ready as block_until_ready,
    checkpoint as checkpoint,
    cond as cond,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    device_put as device_put,
    eval_shape as eval_shape,
    fori_loop as fori_loop,
    grad as grad,
    hessian as hessian,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
    jit as jit,
    jvp as jvp,
    key as key,
    linearize as linearize,
    make_jaxpr as make_jaxpr,
    map as map,
    pure_callback as pure_callback,
    scan as scan,
    stop_gradient as stop_gradient,
    switch as switch,
    value_and_grad as value_and_grad,
    vjp as vjp,
    vmap as vmap,
    while_loop as while_loop,
)


import jfi as _jfi  # isort: skip


jaxm = _jfi  # the module itself, for scripts that say `from jfi import jaxm`
