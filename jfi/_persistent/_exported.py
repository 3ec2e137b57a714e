"""Programs as `jax.export` writes them down: sent to a server, compiled there.

The server takes no more than this process makes: arrays one by one, a list of arrays,
sizes that are numbers, one device, and calls of libraries that are on a list. Code of
XLA can call whatever the process has registered, such as Python.
"""

import re
from typing import Any

import jax
from jax.core import eval_jaxpr

from .._jax_internals import compiled_anew, without_source_lines


class NotExportedError(Exception):
    """A program can't be sent, and why."""


def exported(traced: Any, platform: str, name: str = "program") -> bytes:
    """The code of a program, for a platform.

    Args:
        traced: What `jax.jit` has traced.
        platform: Such as "cpu" or "cuda".
        name: What the owner of the server sees of it.

    Raises:
        NotExportedError: It has none.
    """
    from jax import export

    closed = traced.jaxpr

    def program(*arrays: Any) -> list[Any]:
        return list(eval_jaxpr(closed.jaxpr, closed.consts, *arrays))

    program.__name__ = program.__qualname__ = name
    try:
        with without_source_lines():
            made = export.export(jax.jit(program), platforms=[platform])(
                *map(_spec, closed.in_avals)
            )
        return bytes(made.serialize())
    except Exception as error:  # whatever JAX can't export, and where flatbuffers lacks
        why = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
        raise NotExportedError(f"jax.export can't write it down ({why})") from error


def compiled_from(code: bytes) -> tuple[Any, Any]:
    """What a server makes of the code that a client has sent.

    Returns:
        The compiled program, and what `jax.export` says of it.

    Raises:
        ValueError: It is not to be run here.
    """
    from jax import export

    try:
        made = export.deserialize(bytearray(code))
        text = made.mlir_module()
    except Exception as error:  # other versions; and what is no program
        why = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
        raise ValueError(
            f"JAX {jax.__version__} of the server can't read the program ({why})"
        ) from error
    _check(made, text)

    def program(*arrays: Any) -> list[Any]:
        return jax.tree.leaves(made.call(*arrays))

    with jax.enable_x64(True):  # programs of both worlds are compiled here
        lowered = jax.jit(program).lower(*map(_spec, made.in_avals))
        return compiled_anew(lowered), made


def _spec(type_: Any) -> jax.ShapeDtypeStruct:
    weak = bool(getattr(type_, "weak_type", False))
    return jax.ShapeDtypeStruct(type_.shape, type_.dtype, weak_type=weak)


def _check(made: Any, text: str) -> None:
    from jax import export

    platform = export.default_export_platform()
    if platform not in made.platforms:
        raise ValueError(f"it was exported for {made.platforms}, this is {platform}")
    avals = *made.in_avals, *made.out_avals
    if not all(isinstance(n, int) for type_ in avals for n in type_.shape):
        raise ValueError("its arrays have shapes without numbers")
    if made.nr_devices != 1:
        raise ValueError("it is for several devices")
    flat = jax.tree.structure(((0,) * len(made.in_avals), {}))
    if made.in_tree != flat or made.ordered_effects or made.unordered_effects:
        raise ValueError("it is no program of arrays one by one")
    for match in _LEAVES_XLA.finditer(text):
        if not _ALLOWED.fullmatch(match["name"] or ""):
            called = match["name"] or match[0]
            raise ValueError(f"it calls {called}, which is not allowed")


# Any mention: where MLIR writes a call in another way than the usual one, it has no
# name here, and is refused. So are texts in a program that look like one.
_LEAVES_XLA = re.compile(
    r"\.custom_call\b(?: @(?P<name>[A-Za-z0-9_.]+)\()?"
    r"|hlo\.(?:infeed|outfeed|send|recv)\b"
)


_ALLOWED = re.compile(
    r"lapack_[a-z0-9_]+"  # linear algebra, on CPUs and on GPUs
    r"|(?:cu|hip)(?:solver|blas|sparse)_[a-z0-9_]+_ffi"
    r"|(?:cu|hip)_threefry2x32_ffi|(?:cu|hip)_lu_pivots_to_permutation"
    r"|Eigh|Qr|ProductOfElementaryHouseholderReflectors|LuDecomposition|ApproxTopK"
    r"|Sharding|AllocateBuffer|annotate_device_placement"
    r"|stablehlo\.dynamic_[a-z_]+|mhlo\.(?:topk|erf)"
)
