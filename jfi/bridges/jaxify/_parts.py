"""Rules for what jfi has a function or a class for: each part has its own."""

import importlib
import sys
from collections.abc import Callable
from typing import Any

from ._registry import jaxify


@jaxify.register("haiku.Transformed")
@jaxify.register("haiku.TransformedWithState")
def _haiku(network: Any) -> Any:
    from .._haiku import from_haiku

    return from_haiku(network)


@jaxify.register("torch.nn.Module")
def _torch_module(module: Any) -> Any:
    from ..torch import from_torch

    return from_torch(module)


@jaxify.register("torch.Tensor")
def _torch_tensor(tensor: Any) -> Any:
    from ..torch import from_torch

    return from_torch(lambda: tensor.detach())()


@jaxify.register("scipy.spatial.cKDTree")
def _tree(tree: Any) -> Any:
    return _jfi().KDTree(tree.data, leafsize=tree.leafsize, boxsize=tree.boxsize)


@jaxify.register("pytensor.graph.basic.Variable")
@jaxify.register("pytensor.graph.fg.FunctionGraph")
def _pytensor(graph: Any, **options: Any) -> Any:
    from ..pytensor import from_pytensor

    return from_pytensor(graph, **options)


@jaxify.register(list)
@jaxify.register(tuple)
def _several(outputs: Any, **options: Any) -> Any:
    base = getattr(sys.modules.get("pytensor.graph.basic"), "Variable", None)
    if base is None or not all(isinstance(out, base) for out in outputs):
        raise NotImplementedError(
            "of sequences it takes those of PyTensor's variables only"
        )
    return _pytensor(outputs, **options)


@jaxify.register("pytensor.compile.executor.Function")
@jaxify.register("pytensor.compile.function.types.Function")
def _compiled_pytensor(function: Any) -> Any:
    raise NotImplementedError(
        "PyTensor has compiled it. Pass the variables that it was made of, "
        "jaxify([out], inputs=[x, y])"
    )


def _by_our_class(name: str) -> Callable[[Any], Any]:
    """The rule for a class of SciPy's that `jfi.scipy` has under the same name."""

    def rule(interpolator: Any) -> Any:
        return getattr(_jfi().scipy.interpolate, name).of_scipy(interpolator)

    return rule


_INTERPOLATORS = (
    *("BSpline", "BivariateSpline", "PPoly", "RBFInterpolator"),
    *("RegularGridInterpolator", "UnivariateSpline", "interp1d"),
)
for _name in _INTERPOLATORS:
    jaxify.register(f"scipy.interpolate.{_name}")(_by_our_class(_name))


@jaxify.register("scipy.interpolate.BPoly")
def _bernstein(polynomial: Any) -> Any:
    import scipy.interpolate

    in_powers: Any = scipy.interpolate.PPoly.from_bernstein_basis(polynomial)
    return _jfi().scipy.interpolate.PPoly.of_scipy(in_powers)


def _jfi() -> Any:
    """Jfi itself: what other wings have is reached as users reach it."""
    return importlib.import_module(__name__.partition(".")[0])
