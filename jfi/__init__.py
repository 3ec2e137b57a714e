"""jfi, the friendly JAX interface: `import jfi as jnp`.

All of `jax.numpy` under one name, with JAX's transformations, PyTorch's names where
they collide with nothing, random numbers without keys, and tools that take what
researchers have. This file is the table of contents.
"""

import sys as _sys
import typing as _typing

from ._optional._packages import without_collections as _without_collections


# These import the rest: a look for garbage on the way takes longer than all of it.
with _without_collections():
    from . import _numpy_names as _numpy_names, _random as _random
    from ._transforms import _public as _public

# All of jax.numpy, and what jfi has in its place. Python and pyright keep the last
# definition of a name, mypy the first.
from ._numpy_names import *  # isort: split


from jax.numpy import *  # type: ignore[assignment,no-redef]  # pyright: ignore[reportWildcardImportFromLibrary]

from ._numpy_names import *


# isort: split
import jax as jax
from jax import (
    Array as Array,
    ShapeDtypeStruct as ShapeDtypeStruct,
    debug as debug,
    devices as devices,
    lax as lax,
    make_mesh as make_mesh,
    numpy as numpy,
    sharding as sharding,
    tree as tree,
)

from . import nn as nn
from ._arrays._config import (
    Config as Config,
    config as config,
    default_dtype as default_dtype,
    default_dtype_for_device as default_dtype_for_device,
    get_default_dtype as get_default_dtype,
    resolve_dtype as resolve_dtype,
    set_default_dtype as set_default_dtype,
)
from ._arrays._conversion import to as to
from ._arrays._devices import (
    default_device as default_device,
    get_default_device as get_default_device,
    resolve_device as resolve_device,
    set_default_device as set_default_device,
)
from ._errors import (
    AmbiguousBatchError as AmbiguousBatchError,
    AutoJitError as AutoJitError,
    AutoJitOptionError as AutoJitOptionError,
    BatchError as BatchError,
    CacheWarning as CacheWarning,
    CallbackError as CallbackError,
    ComparisonError as ComparisonError,
    DefaultsError as DefaultsError,
    DerivativeError as DerivativeError,
    DeviceError as DeviceError,
    FingerprintError as FingerprintError,
    Float64Warning as Float64Warning,
    HaikuError as HaikuError,
    ImageError as ImageError,
    InterpolationError as InterpolationError,
    JaxifyError as JaxifyError,
    JfiError as JfiError,
    JfiWarning as JfiWarning,
    KDTreeError as KDTreeError,
    LateDefaultsWarning as LateDefaultsWarning,
    LocalFallbackWarning as LocalFallbackWarning,
    LoopError as LoopError,
    LostWriteWarning as LostWriteWarning,
    MaterialiseError as MaterialiseError,
    MaterialiseWarning as MaterialiseWarning,
    MissingDependencyError as MissingDependencyError,
    PlainJitWarning as PlainJitWarning,
    RandomError as RandomError,
    RecompileWarning as RecompileWarning,
    RemoteError as RemoteError,
    RepeatedDrawWarning as RepeatedDrawWarning,
    SlowCallWarning as SlowCallWarning,
    SolverError as SolverError,
    StateError as StateError,
    TangentError as TangentError,
    TreeError as TreeError,
    UncompiledWarning as UncompiledWarning,
)
from ._random._seeding import (
    RngState as RngState,
    fork_rng as fork_rng,
    get_rng_state as get_rng_state,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)
from ._random.traced import (
    PlainJitPolicy as PlainJitPolicy,
    set_plain_jit_policy as set_plain_jit_policy,
)
from ._transforms._public import (
    block_until_ready as block_until_ready,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    device_put as device_put,
    eval_shape as eval_shape,
    jit as jit,
    key as key,
    make_jaxpr as make_jaxpr,
    pure_callback as pure_callback,
    shard_map as shard_map,
    stop_gradient as stop_gradient,
    vmap as vmap,
)


import jfi as _jfi  # isort: skip


__version__ = "0.1.0"  # pyproject.toml reads it here
jaxm = _jfi  # the module itself, for `from jfi import jaxm`

# Imported on first use, which spares a third of the time of `import jfi`. Type checkers
# see plain imports, and no `__getattr__`, which would excuse every typo.
if _typing.TYPE_CHECKING:
    from . import random as random, scipy as scipy, testing as testing
    from ._advice import explain_errors as explain_errors
    from ._autojit import (
        AdvancedAutoJIT as AdvancedAutoJIT,
        AutoJIT as AutoJIT,
        autojit as autojit,
    )
    from ._derivatives import (
        ZERO as ZERO,
        apply_updates as apply_updates,
        grad as grad,
        hessian as hessian,
        jacfwd as jacfwd,
        jacobian as jacobian,
        jacrev as jacrev,
        jvp as jvp,
        linearize as linearize,
        value_and_grad as value_and_grad,
        vjp as vjp,
        zero_cotangent as zero_cotangent,
    )
    from ._dispatch._custom_array import CustomArray as CustomArray
    from ._dispatch._materialising import (
        materialise as materialise,
        on_materialise as on_materialise,
    )
    from ._dispatch._overriding import override as override
    from ._dispatch._rules import (
        implements as implements,
        register_function as register_function,
    )
    from ._inspect import (
        Inspection as Inspection,
        Summary as Summary,
        Timing as Timing,
        inspect as inspect,
        summary as summary,
        timeit as timeit,
    )
    from ._loops import (
        ScanWhileResult as ScanWhileResult,
        associative_scan as associative_scan,
        checkpoint as checkpoint,
        cond as cond,
        fori_loop as fori_loop,
        map as map,
        remat as remat,
        safe_where as safe_where,
        scan as scan,
        scan_while as scan_while,
        switch as switch,
        while_loop as while_loop,
    )
    from ._persistent import (
        CacheReport as CacheReport,
        cache_report as cache_report,
        enable_cache as enable_cache,
        on_server as on_server,
        persistent as persistent,
        persistent_call as persistent_call,
        remote as remote,
        use_server as use_server,
    )
    from ._random._generator_objects import Generator as Generator
    from ._random.torch_style import (
        bernoulli as bernoulli,
        choice as choice,
        dropout as dropout,
        make_random_key as make_random_key,
        make_random_keys as make_random_keys,
        multinomial as multinomial,
        next_key as next_key,
        normal as normal,
        poisson as poisson,
        rand as rand,
        rand_like as rand_like,
        randint as randint,
        randint_like as randint_like,
        randn as randn,
        randn_like as randn_like,
        randperm as randperm,
        uniform as uniform,
    )
    from ._state import load_state as load_state, save_state as save_state
    from ._torch_names import (
        bmm as bmm,
        cat as cat,
        cdist as cdist,
        cho_factor as cho_factor,
        cholesky_solve as cholesky_solve,
        chunk as chunk,
        clamp as clamp,
        cross_entropy as cross_entropy,
        detach as detach,
        flatten as flatten,
        gather as gather,
        gelu as gelu,
        index_select as index_select,
        item as item,
        log_softmax as log_softmax,
        logsumexp as logsumexp,
        lu_factor as lu_factor,
        lu_solve as lu_solve,
        masked_fill as masked_fill,
        mse_loss as mse_loss,
        norm as norm,
        one_hot as one_hot,
        permute as permute,
        relu as relu,
        scatter as scatter,
        sigmoid as sigmoid,
        softmax as softmax,
        t as t,
        tensor as tensor,
        to_numpy as to_numpy,
        topk as topk,
        unsqueeze as unsqueeze,
    )
    from ._transforms.batching import (
        auto_vmap as auto_vmap,
        batched as batched,
        shared as shared,
        stack_trees as stack_trees,
        unstack_tree as unstack_tree,
        vmap_automatically as vmap_automatically,
    )
    from ._values.trees import pytree as pytree
    from .bridges._autoray import register_autoray as register_autoray
    from .bridges._haiku import (
        HaikuNetwork as HaikuNetwork,
        StatefulHaikuNetwork as StatefulHaikuNetwork,
        from_haiku as from_haiku,
    )
    from .bridges.jaxify import jaxify as jaxify
    from .bridges.numpy_functions import from_numpy as from_numpy
    from .bridges.torch import from_torch as from_torch
    from .scipy.spatial._kdtree import (
        KDTree as KDTree,
        Neighbors as Neighbors,
        Pairs as Pairs,
    )
else:
    from jax.numpy import __array_api_version__, __array_namespace_info__

    from ._advice._missing_names import explained as _explained
    from ._dispatch._names import homes_of as _homes_of
    from ._jax_internals import (
        deprecated_numpy as _deprecations,
        from_numpy as _jax_numpy,
    )
    from ._optional._packages import attach as _attach

    __getattr__, __dir__ = _attach(
        __name__,
        {
            "AdvancedAutoJIT": "_autojit",
            "AutoJIT": "_autojit",
            "CacheReport": "_persistent",
            "CustomArray": "_dispatch._custom_array",
            "Generator": "_random._generator_objects",
            "HaikuNetwork": "bridges._haiku",
            "Inspection": "_inspect",
            "Summary": "_inspect",
            "KDTree": "scipy.spatial._kdtree",
            "Neighbors": "scipy.spatial._kdtree",
            "Pairs": "scipy.spatial._kdtree",
            "ScanWhileResult": "_loops",
            "StatefulHaikuNetwork": "bridges._haiku",
            "ZERO": "_derivatives",
            "apply_updates": "_derivatives",
            "associative_scan": "_loops",
            "autojit": "_autojit",
            "auto_vmap": "_transforms.batching",
            "batched": "_transforms.batching",
            "cache_report": "_persistent",
            "checkpoint": "_loops",
            "cond": "_loops",
            "detach": "_torch_names",
            "enable_cache": "_persistent",
            "explain_errors": "_advice",
            "fori_loop": "_loops",
            "from_haiku": "bridges._haiku",
            "from_numpy": "bridges.numpy_functions",
            "from_torch": "bridges.torch",
            "grad": "_derivatives",
            "hessian": "_derivatives",
            "implements": "_dispatch._rules",
            "jacfwd": "_derivatives",
            "jacobian": "_derivatives",
            "jacrev": "_derivatives",
            "jaxify": "bridges.jaxify",
            "inspect": "_inspect",
            "jvp": "_derivatives",
            "linearize": "_derivatives",
            "load_state": "_state",
            "map": "_loops",
            "materialise": "_dispatch._materialising",
            "on_materialise": "_dispatch._materialising",
            "on_server": "_persistent",
            "override": "_dispatch._overriding",
            "persistent": "_persistent",
            "persistent_call": "_persistent",
            "pytree": "_values.trees",
            "random": "random",
            "register_function": "_dispatch._rules",
            "testing": "testing",
            "register_autoray": "bridges._autoray",
            "remat": "_loops",
            "remote": "_persistent",
            "safe_where": "_loops",
            "save_state": "_state",
            "scan": "_loops",
            "scipy": "scipy",
            "scan_while": "_loops",
            "shared": "_transforms.batching",
            "stack_trees": "_transforms.batching",
            "summary": "_inspect",
            "switch": "_loops",
            "Timing": "_inspect",
            "timeit": "_inspect",
            "unstack_tree": "_transforms.batching",
            "use_server": "_persistent",
            "value_and_grad": "_derivatives",
            "vjp": "_derivatives",
            "vmap_automatically": "_transforms.batching",
            "while_loop": "_loops",
            "zero_cotangent": "_derivatives",
            **_homes_of("", globals()),
            **dict.fromkeys(
                """bernoulli choice dropout make_random_key make_random_keys multinomial
                next_key normal poisson rand rand_like randint randint_like randn
                randn_like randperm uniform""".split(),
                "_random.torch_style",
            ),
            **dict.fromkeys(
                """bmm cat cdist cho_factor cholesky_solve chunk clamp cross_entropy
                flatten gather gelu index_select item log_softmax logsumexp
                lu_factor lu_solve masked_fill mse_loss norm one_hot permute relu
                scatter sigmoid softmax t tensor to_numpy topk unsqueeze""".split(),
                "_dispatch._torch_functions",
            ),
        },
        _explained(__name__, _jax_numpy),
    )
    __all__ = [name for name in __dir__() if not name.startswith("_")]

    if "autoray" in _sys.modules:  # so that `do(..., like="jfi")` needs no more lines
        from .bridges._autoray import register_if_possible as _register

        _register()
